// Uniqueness, derived from the matches themselves.
//
// In the reference: let M be a match of query interval [s, e), both of one strand of one record. Its string occurs a
// second time in the reference exactly when another match covers [s, e): the second occurrence, lined up with [s, e) and
// extended while the letters agree, is a maximal match whose query interval holds [s, e), on another diagonal, of at
// least M's length, hence one that was found; and a match that covers [s, e) shows the string at its own place. So M is
// unique in the reference when no other match's query interval holds its own. In order of starts one running
// maximum of ends decides that; of equal intervals none is unique, and of equal starts only the longest can be.
//
// In the query: by the same argument with the sides exchanged, M is unique in the query when no other match's reference
// interval holds its own. It is enough to compare matches that are unique in the reference: if M's string is unique there,
// so is every string that holds it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algo/mem.hpp"

namespace gpualign {

enum class MemKind { all = 0, unique_in_reference = 1, unique_in_both = 2 };

// Passes on the matches that are unique in the reference. They must come in order of starts; those of one start in any.
// Text positions grow from strand sequence to strand sequence, so one filter serves them all.
template <class Sink>
class UniqueInReference {
public:
    // `furthest`: the largest end of the matches that begin before the first one given.
    UniqueInReference(Sink& next, uint64_t furthest) : next_(next), furthest_(furthest) {}

    void put(const Mem* mems, size_t count) {
        for (size_t i = 0; i < count; i++) {
            const Mem& mem = mems[i];
            if (pending_ && mem.start == longest_.start) {
                if (mem.length > longest_.length) {
                    longest_ = mem;
                    pending_ = 1;
                } else if (mem.length == longest_.length) {
                    pending_++;
                }
            } else {
                finish();
                longest_ = mem;
                pending_ = 1;
            }
        }
    }

    void finish() {
        if (!pending_) return;
        const uint64_t end = uint64_t(longest_.start) + longest_.length;
        if (pending_ == 1 && end > furthest_) next_.put(&longest_, 1);
        furthest_ = std::max(furthest_, end);
        pending_ = 0;
    }

    bool full() const { return next_.full(); }
    uint64_t furthest() const { return furthest_; }

private:
    Sink& next_;
    uint64_t furthest_;
    Mem longest_{};
    uint32_t pending_ = 0;  // matches as long as longest_ that begin where it does
};

// Leaves those of one strand sequence's matches, all unique in the reference, that are unique in it as well.
inline void keep_unique_in_query(std::vector<Mem>& mems) {
    std::vector<uint32_t> order(mems.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = uint32_t(i);
    const auto end = [&](uint32_t i) { return uint64_t(mems[i].reference) + mems[i].length; };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return mems[a].reference != mems[b].reference ? mems[a].reference < mems[b].reference : end(a) > end(b);
    });
    std::vector<uint8_t> unique(mems.size(), 0);
    uint64_t furthest = 0;
    for (size_t i = 0; i < order.size(); i++) {
        const bool twin = i + 1 < order.size() && mems[order[i + 1]].reference == mems[order[i]].reference &&
                          end(order[i + 1]) == end(order[i]);
        unique[order[i]] = !twin && end(order[i]) > furthest;
        furthest = std::max(furthest, end(order[i]));
    }
    size_t kept = 0;
    for (size_t i = 0; i < mems.size(); i++)
        if (unique[i]) mems[kept++] = mems[i];
    mems.resize(kept);
}

}  // namespace gpualign
