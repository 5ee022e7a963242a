// Counts how often a match's string occurs, from the matches themselves.
//
// In the reference: let M be a match of query interval [s, e), both of one strand of one record. Every occurrence of
// its string, lined up with [s, e) and extended while the bases agree, is a maximal match whose query interval holds
// [s, e), on a diagonal of its own, of at least M's length, hence one that was found; and a match whose interval holds
// [s, e) shows the string at its own position. So M's string occurs as often as there are matches whose query interval
// holds M's, M itself among them. In order of starts, the largest ends so far decide whether these are more than a
// given number.
//
// In the query: by the same argument with the sides exchanged, M is unique in the query when no other match's reference
// interval holds its own. It is enough to compare matches that are unique in the reference: if M's string is unique
// there, so is every string that holds it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "algo/seeds/matches/mem.hpp"
#include "common/parallel_for.hpp"
#include "seeds/matches/columns.hpp"

namespace gpualign {

// The `maximum` largest numbers: a heap with the smallest of them on top.
class Largest {
public:
    explicit Largest(size_t maximum) : max_(maximum) {}

    void add(uint64_t value) {
        if (values_.size() == max_) {
            if (value <= values_.front()) return;
            std::pop_heap(values_.begin(), values_.end(), std::greater<>());
            values_.pop_back();
        }
        values_.push_back(value);
        std::push_heap(values_.begin(), values_.end(), std::greater<>());
    }

    // The `maximum`-th largest number, or 0 while there are fewer.
    uint64_t last() const { return values_.size() == max_ ? values_.front() : 0; }
    // The one before it: the next of the heap.
    uint64_t last_but_one() const {
        if (values_.size() < max_) return 0;
        return max_ == 2 ? values_[1] : std::min(values_[1], values_[2]);
    }

private:
    size_t max_;
    std::vector<uint64_t> values_;
};

// Passes on the matches whose string occurs at most `maximum` times in the reference. They must come in order of
// starts; those of one start in any. Text positions grow from strand sequence to strand sequence, so one filter serves
// all.
class RareInReference {
public:
    RareInReference(MemColumns& next, size_t maximum) : next_(next), ends_(maximum + 1) {}

    // Adds the end of a match that begins before the first one given.
    void add_end(uint64_t end) { ends_.add(end); }

    void put(const Mem* mems, size_t count) {
        for (size_t i = 0; i < count; i++) {
            if (!group_.empty() && mems[i].start != group_.front().start) finish();
            group_.push_back(mems[i]);
        }
    }

    void finish() {
        for (const Mem& mem : group_) ends_.add(end_of(mem));
        for (const Mem& mem : group_)
            if (end_of(mem) > ends_.last()) next_.put(&mem, 1);
        group_.clear();
    }

    bool full() const { return next_.full(); }

    // Later matches that end by there are not passed on, nor do they keep others from it. No more matches of the last
    // start must come.
    uint64_t passed() {
        finish();
        return ends_.last_but_one();
    }

private:
    static uint64_t end_of(const Mem& mem) { return uint64_t(mem.start) + mem.length; }

    MemColumns& next_;
    Largest ends_;
    std::vector<Mem> group_;  // of one start
};

// Marks those of the matches numbered *begin .. *end, all that there are at their reference positions, that no other
// covers; `furthest`: the largest reference end of the matches before them.
inline void mark_unique_in_query(
    const std::vector<Mem>& mems, uint32_t* begin, uint32_t* end, uint64_t furthest, std::vector<uint8_t>& unique) {
    const auto end_of = [&](uint32_t i) { return uint64_t(mems[i].reference) + mems[i].length; };
    std::sort(begin, end, [&](uint32_t a, uint32_t b) {
        return mems[a].reference != mems[b].reference ? mems[a].reference < mems[b].reference : end_of(a) > end_of(b);
    });
    for (uint32_t* i = begin; i < end; i++) {
        const bool twin = i + 1 < end && mems[i[1]].reference == mems[*i].reference && end_of(i[1]) == end_of(*i);
        unique[*i] = !twin && end_of(*i) > furthest;
        furthest = std::max(furthest, end_of(*i));
    }
}

// Leaves those of one strand sequence's matches, all unique in the reference, that are unique in it as well. Stretches
// of the reference are looked at one by one, by all threads.
inline void keep_unique_in_query(std::vector<Mem>& mems, int threads = 1) {
    constexpr size_t kOfPart = 1024, kMaxParts = 4096;
    const size_t parts = std::min(mems.size() / kOfPart + 1, kMaxParts);
    uint32_t highest = 0;
    for (const Mem& mem : mems) highest = std::max(highest, mem.reference);
    const uint64_t width = highest / parts + 1;
    std::vector<uint32_t> begins(parts + 1, 0), order(mems.size());
    std::vector<uint64_t> furthest(parts + 1, 0);
    for (const Mem& mem : mems) {
        const size_t part = mem.reference / width;
        begins[part + 1]++;
        furthest[part + 1] = std::max(furthest[part + 1], uint64_t(mem.reference) + mem.length);
    }
    for (size_t p = 0; p < parts; p++) {
        begins[p + 1] += begins[p];
        furthest[p + 1] = std::max(furthest[p + 1], furthest[p]);
    }
    std::vector<uint32_t> next = begins;
    for (size_t i = 0; i < mems.size(); i++) order[next[mems[i].reference / width]++] = uint32_t(i);
    std::vector<uint8_t> unique(mems.size());
    parallel_for(threads, parts, [&](size_t p, int) {
        mark_unique_in_query(mems, order.data() + begins[p], order.data() + begins[p + 1], furthest[p], unique);
    });
    size_t kept = 0;
    for (size_t i = 0; i < mems.size(); i++)
        if (unique[i]) mems[kept++] = mems[i];
    mems.resize(kept);
}

}  // namespace gpualign
