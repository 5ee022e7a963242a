// Matches whose string occurs once in the reference, found with a suffix array of the reference.
//
// At most one such match starts at a query position s: the longest one, if a single reference position has it. The
// suffixes that agree longest with the query's are adjacent to where the query itself would be sorted (Manber and
// Myers 1993). So a binary search finds the longest match, and one more neighbour shows whether it is unique: the work
// does not depend on the number of repeats.
//
// Suffixes are grouped by their first k bases; each group is sorted by the following bases, up to kSortedBases:
// suffixes that agree further stay in order of position and are scanned. The order compares complements of bases, the
// first base first, and the end of a segment before any base.
#pragma once
#include "algo/seeds/matches/mem.hpp"

namespace gpualign {

constexpr uint32_t kSortedBases = 512;  // after the first k

// A view of the suffix array: offsets has 4^k + 1 elements; k is at most the minimum length of a match.
struct SuffixArray {
    const uint32_t* offsets;
    const uint32_t* positions;
    int k;
};

// What the search of one query position needs.
struct UniqueMemTask {
    TextView text;
    SegmentedReference reference;
    SuffixArray suffixes;
    uint32_t min_length;
};

// Equal bases from (s, r) on, at most `maximum`, of which `have`, at least 1, are known.
GPUALIGN_HD uint32_t common_bases(const UniqueMemTask& task, uint64_t s, uint32_t r, uint32_t have, uint32_t maximum) {
    const uint32_t after = r + have, available = task.reference.bases - after, wanted = maximum - have;
    const uint32_t limit = wanted < available ? wanted : available;
    return have +
           clip_right(task.reference, after, extend_right(task.text, s + have, task.reference.words, after, limit));
}

// Whether, `n` bases being equal and no more, the query at s stands before the position r.
GPUALIGN_HD bool stands_before(const UniqueMemTask& task, uint64_t s, uint32_t r, uint32_t n) {
    const uint64_t q = s + n;
    if (task.text.breaks[q >> 6] >> (q & 63) & 1) return true;
    const uint32_t after = r + n;
    if (after == task.reference.bases) return false;
    if (may_break(task.reference, after, after) &&
        task.reference.segment_ends[segment_of(task.reference, after - 1)] == after)
        return false;
    return packed_base(task.text.words, q) > packed_base(task.reference.words, after);
}

// The longest match at a query position: its length, a reference position that has it, whether that is the only one.
struct LongestMem {
    uint32_t length, reference;
    bool unique;

    GPUALIGN_HD void take(uint32_t other_length, uint32_t other_reference) {
        if (other_length < length) return;
        unique = other_length > length;
        length = other_length;
        reference = other_reference;
    }
};

// Whether a match of (s, r) could begin one base earlier: the bases before them are equal.
GPUALIGN_HD bool extends_left(const UniqueMemTask& task, uint64_t s, uint32_t r) {
    if (r == 0 || packed_base(task.text.words, s - 1) != packed_base(task.reference.words, r - 1) ||
        (task.text.breaks[(s - 1) >> 6] >> ((s - 1) & 63) & 1))
        return false;
    return !may_break(task.reference, r, r) || task.reference.segment_starts[segment_of(task.reference, r)] != r;
}

// Alike positions that are looked at before their lengths are.
constexpr uint32_t kMaxTriedAlike = 8;

// The longest match at those of the positions [begin, end) around `at`, one of them, that agree with the query in
// `depth` bases. With `only_begins`, none where a match begins earlier at each of them: starts within a long match need
// not walk to its end.
GPUALIGN_HD LongestMem longest_of_alike(const UniqueMemTask& task, uint64_t s, uint32_t begin, uint32_t end,
    uint32_t at, uint32_t depth, bool only_begins) {
    const uint32_t k = uint32_t(task.suffixes.k), no_limit = ~uint32_t(0);
    const auto alike = [&](uint32_t i) { return common_bases(task, s, task.suffixes.positions[i], k, depth) == depth; };
    if (only_begins) {
        const auto earlier = [&](uint32_t i) { return extends_left(task, s, task.suffixes.positions[i]); };
        uint32_t tried = 0;
        bool all = true;
        for (uint32_t i = at; all && i < end && tried < kMaxTriedAlike && alike(i); i++, tried++) all = earlier(i);
        for (uint32_t i = at; all && i > begin && tried < kMaxTriedAlike && alike(i - 1); i--, tried++)
            all = earlier(i - 1);
        if (all && tried < kMaxTriedAlike) return {0, 0, false};
    }
    LongestMem longest{0, 0, false};
    // two that agree with the query as far as it goes: nothing will be longer, or alone
    const auto settled = [&] {
        const uint64_t q = s + longest.length;
        return longest.length && !longest.unique && (task.text.breaks[q >> 6] >> (q & 63) & 1);
    };
    for (uint32_t i = at; i < end && !settled() && alike(i); i++)
        longest.take(common_bases(task, s, task.suffixes.positions[i], depth, no_limit), task.suffixes.positions[i]);
    for (uint32_t i = at; i > begin && !settled() && alike(i - 1); i--)
        longest.take(
            common_bases(task, s, task.suffixes.positions[i - 1], depth, no_limit), task.suffixes.positions[i - 1]);
    return longest;
}

// The longest match at s, where it has at least `minimum` bases, k or more; otherwise a length below that. With
// `only_begins` also where it begins before s.
GPUALIGN_HD LongestMem longest_mem(const UniqueMemTask& task, uint64_t s, uint32_t minimum, bool only_begins = false) {
    const SuffixArray& suffixes = task.suffixes;
    const uint32_t k = uint32_t(suffixes.k), depth = k + kSortedBases;
    const uint64_t group = packed_window(task.text.words, s) & kmer_mask(suffixes.k);
    if (break_window(task.text.breaks, s) & ((uint64_t(1) << suffixes.k) - 1)) return {0, 0, false};
    const uint32_t begin = suffixes.offsets[group], end = suffixes.offsets[group + 1];
    const uint64_t next_word = packed_window(task.text.words, s + k);
    const int bases_in_word = trailing_zeros(break_window(task.text.breaks, s + k));
    uint32_t low = begin, high = end, before = k,
             after = k;  // bases that the positions low - 1 and high share with the query
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2, r = suffixes.positions[middle];
        // nearly always the next word decides
        const uint64_t word = packed_window(task.reference.words, r + k);
        const int same = trailing_zeros(next_word ^ word) >> 1;
        uint32_t n = k + uint32_t(same);
        bool is_before;
        if (same < kBasesPerWord && same < bases_in_word && !may_break(task.reference, r + k, r + n)) {
            is_before = (next_word >> (2 * same) & 3) > (word >> (2 * same) & 3);
        } else {
            n = common_bases(task, s, r, before < after ? before : after, depth);
            if (n == depth) return longest_of_alike(task, s, begin, end, middle, depth, only_begins);
            is_before = stands_before(task, s, r, n);
        }
        if (is_before) {
            high = middle;
            after = n;
        } else {
            low = middle + 1;
            before = n;
        }
    }
    LongestMem longest{0, 0, false};
    if (low > begin) longest.take(before, suffixes.positions[low - 1]);
    if (low < end) longest.take(after, suffixes.positions[low]);
    if (longest.length < minimum || !longest.unique) return longest;
    // the next position on the same side
    const bool on_left = low > begin && longest.reference == suffixes.positions[low - 1];
    if (on_left ? low - begin > 1 : end - low > 1) {
        const uint32_t next = suffixes.positions[on_left ? low - 2 : low + 1];
        longest.unique = common_bases(task, s, next, k, longest.length) < longest.length;
    }
    return longest;
}

// The match that begins at s and is unique in the reference, for a thread that knows of no other start: false without
// one.
GPUALIGN_HD bool unique_mem_at(const UniqueMemTask& task, uint64_t s, Mem& mem) {
    const LongestMem longest = longest_mem(task, s, task.min_length, true);
    mem = {uint32_t(s), longest.reference, longest.length};
    return longest.unique && longest.length >= task.min_length && !extends_left(task, s, longest.reference);
}

}  // namespace gpualign
