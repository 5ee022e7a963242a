// The CPU's search for matches whose string occurs once in the reference (cuda/algo/seeds/matches/unique_mem.hpp). A
// thread that goes from start to start need not look at all of them:
//
// - A match that starts after s and is to be printed ends after the longest match at s: one that ends with it is a part
// of
//   an occurrence of that one, so it is not alone or could begin earlier. So where the match at s ends at e, the next
//   start is the first from which on a match reaches beyond e; such starts stay such as they grow, which is what a
//   binary search needs.
// - A match of at least L bases from s' <= u on, with u < s' + L, holds the bases from u to s' + L. So where the
// longest
//   match at u ends before s' + L there is none.
#pragma once
#include <algorithm>
#include <cstdint>

#include "algo/seeds/matches/unique_mem.hpp"

namespace gpualign {

class UniqueMemFinder {
public:
    UniqueMemFinder(const UniqueMemTask& task, uint64_t text_length)
        : task_(task), text_length_(text_length), stride_(stride_of(task)) {}

    // Hands the matches with starts in [from, to) to `sink.put(const Mem*, size_t)` in order. Stops early when
    // `sink.full()`. Returns the first start that was not searched.
    template <class Sink> uint64_t run(uint64_t from, uint64_t to, Sink& sink) const {
        uint64_t start = from, probed = from,
                 possible = from;  // of the starts before `probed`, those before `possible`
        while (start < to) {
            if (sink.full()) return start;
            prefetch(start);
            if (stride_ && start >= probed) {
                const uint64_t at = std::min(start + stride_, text_length_ - 1), end = end_of(at) + 1;
                probed = at + 1;
                possible = end > task_.min_length ? end - task_.min_length : 0;
            }
            if (stride_ && start >= possible) {
                start = probed;
                continue;
            }
            const LongestMem longest = longest_mem(task_, start, task_.min_length);
            if (longest.length < task_.min_length) {
                start++;
                continue;
            }
            if (longest.unique && !extends_left(task_, start, longest.reference)) {
                const Mem mem{uint32_t(start), longest.reference, longest.length};
                sink.put(&mem, 1);
            }
            start = next_start(start, start + longest.length);
        }
        return to;
    }

private:
    static constexpr uint64_t kAheadOffsets = 16, kAheadPositions = 6;  // searches between a prefetch and its use

    // Starts that one search rules out where a longer string is rarely found by chance.
    static uint64_t stride_of(const UniqueMemTask& task) {
        uint32_t rare = 1;
        for (uint32_t bases = task.reference.bases; bases; bases >>= 2) rare++;
        return task.min_length > rare ? task.min_length - rare : 0;
    }

    // What the searches some starts on will need, before they do.
    void prefetch(uint64_t start) const {
        const SuffixArray& suffixes = task_.suffixes;
        const uint64_t step = stride_ + 1, far = start + kAheadOffsets * step, near = start + kAheadPositions * step;
        if (far >= text_length_) return;
        __builtin_prefetch(suffixes.offsets + group_of(far));
        const uint64_t group = group_of(near);
        __builtin_prefetch(suffixes.positions + (uint64_t(suffixes.offsets[group]) + suffixes.offsets[group + 1]) / 2);
    }
    uint64_t group_of(uint64_t start) const {
        return packed_window(task_.text.words, start) & kmer_mask(task_.suffixes.k);
    }

    uint64_t end_of(uint64_t start) const { return start + longest_mem(task_, start, ~uint32_t(0)).length; }

    // The first start after `start`, whose match ends at `end`, that may give another.
    uint64_t next_start(uint64_t start, uint64_t end) const {
        uint64_t last = end + 1 - task_.min_length;
        if (last <= start + 1) return start + 1;
        if (end_of(last) <= end) return last + 1;
        while (last - start > 1) {
            const uint64_t middle = start + (last - start) / 2;
            if (end_of(middle) > end) last = middle;
            else start = middle;
        }
        return last;
    }

    const UniqueMemTask task_;
    const uint64_t text_length_, stride_;
};

}  // namespace gpualign
