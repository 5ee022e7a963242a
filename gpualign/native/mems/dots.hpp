// The longest of the printed matches, for a picture of bounded size.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace gpualign {

struct Dot {
    uint64_t query;      // of the match's left end on the forward strand, in the batch's records laid end to end
    uint32_t reference;  // in the concatenated reference
    uint32_t length;
    bool reverse;
};

class LongestDots {
public:
    size_t maximum = 0;     // to keep
    uint64_t total = 0;  // seen

    void add(const Dot& dot) {
        total++;
        if (dots_.size() == maximum) {
            if (!better(dot, dots_.front())) return;
            std::pop_heap(dots_.begin(), dots_.end(), better);
            dots_.pop_back();
        }
        dots_.push_back(dot);
        std::push_heap(dots_.begin(), dots_.end(), better);
    }

    const std::vector<Dot>& kept() const { return dots_; }

private:
    // A total order, so that the choice does not depend on the order of matches.
    static bool better(const Dot& a, const Dot& b) {
        return std::tie(b.length, a.query, a.reference, a.reverse) <
               std::tie(a.length, b.query, b.reference, b.reverse);
    }

    std::vector<Dot> dots_;  // a heap with the worst on top
};

}  // namespace gpualign
