// Alignments that need no dynamic program: a read at a locus of no edit, or one or two that are substitutions, where nothing
// else in the band of the locus can be as good.
//
// Measured is what an alignment loses against a read that fits: a substitution match + mismatch, a gap at least gap_open +
// gap_extend, a clipped end at least clip + match. Where each of the latter two is more than the first, then
//
// - nothing but other loci without gaps loses as little as one substitution, and the locus is the best of them;
// - as little as two lose one gap alone or one clipped end alone, or up to two substitutions on another diagonal. In all of
//   them the read's head up to some base, and its tail from there on, each lie on a diagonal of the band without an edit:
//   all lanes together compare the read with each diagonal and tell its heads and tails.
#pragma once
#include "algo/map/locus.hpp"
#include "algo/map/seeds.hpp"

namespace gpualign {

// Whether a substitution loses less than any gap or clipped end.
GPUALIGN_HD bool substitution_loses_least(const AffineScores& scores) {
    const int32_t substitution = scores.match + scores.mismatch;
    return substitution < scores.gap_open + scores.gap_extend && substitution < scores.clip_penalty + scores.match;
}

// The read against the reference, both without gaps: how many bases differ, and how many there are before the first and after
// the last of these.
struct Diagonal {
    uint32_t differ;
    int32_t head, tail;
    bool all_acgt;  // all of the reference are bases
};

// Called by one lane; the read is clean.
GPUALIGN_HD Diagonal compare_diagonal(const MapRead& read, bool reverse, const MapTarget& target, int64_t begin) {
    Diagonal found{0, read.length, read.length, true};
    for (int32_t i = 0; i < read.length; i += kBasesPerWord) {
        const uint64_t at = uint64_t(begin + i);
        const int32_t beyond = i + kBasesPerWord > read.length ? i + kBasesPerWord - read.length : 0;
        const uint64_t all = differing_bases(read.window(i, reverse), packed_window(target.text, at));
        const uint64_t bits = all << (2 * beyond) >> (2 * beyond);
        found.all_acgt = found.all_acgt && uint32_t(~acgt_window(target, at) << beyond) == 0;
        if (!bits) continue;
        if (!found.differ) found.head = i + trailing_zeros(bits) / 2;
        found.tail = read.length - 1 - i - (63 - leading_zeros(bits)) / 2;
        found.differ += count_bits(uint32_t(bits)) + count_bits(uint32_t(bits >> 32));
    }
    return found;
}

// Whether two substitutions at `begin` lose less than anything else in the band: see above. `heads` and `tails` have room for a
// number for each of its diagonals.
template <class Group>
GPUALIGN_HD bool two_substitutions(const Group& group, const MapRead& read, bool reverse, const MapTarget& target, int64_t begin,
                                   int64_t left, int64_t right, const AffineScores& scores, int32_t* heads, int32_t* tails) {
    const int32_t band = 2 * read.limit + 1, lost = 2 * (scores.match + scores.mismatch);
    if (begin - read.limit < left || begin + read.limit + read.length > right) return false;
    const auto clipped = [&](int32_t kept) { return scores.clip_penalty + scores.match * (read.length - kept) <= lost; };
    bool suboptimal = false;
    for (int32_t b = int32_t(group.lane()); b < band; b += int32_t(Group::kLanes)) {
        const Diagonal found = compare_diagonal(read, reverse, target, begin - read.limit + b);
        const bool enough = b == read.limit ? found.differ == 2 : found.differ > 2;
        suboptimal = suboptimal || !enough || !found.all_acgt || clipped(found.head) || clipped(found.tail);
        heads[b] = found.head;
        tails[b] = found.tail;
    }
    group.sync();
    for (int32_t b = int32_t(group.lane()); b < band; b += int32_t(Group::kLanes))
        for (int32_t gap = 1; scores.gap_open + gap * scores.gap_extend <= lost && gap < band; gap++) {
            const bool deletion = b + gap < band && heads[b] + tails[b + gap] >= read.length;
            const bool insertion = b >= gap && heads[b] + tails[b - gap] >= read.length - gap;
            suboptimal = suboptimal || deletion || insertion;
        }
    return group.ballot(suboptimal) == 0;
}

// Whether the read is aligned at its locus without gaps or clips.
template <int Words, class Group>
GPUALIGN_HD bool is_ungapped(const Group& group, const MapRead& read, uint64_t locus, const MapTarget& target, int64_t left,
                          int64_t right, const AffineScores& scores, MapShared<Words>& shared) {
    const int64_t begin = locus_end(locus) - read.length;
    const uint32_t distance = locus_distance(locus);
    if (distance == 0) return true;
    if (distance > 2 || !read.clean || begin < left || !substitution_loses_least(scores)) return false;
    if (distance == 2)
        return two_substitutions(group, read, locus_reverse(locus), target, begin, left, right, scores, shared.reach,
                                 shared.reach + MapShared<Words>::kRows);
    const Diagonal found = compare_diagonal(read, locus_reverse(locus), target, begin);
    return found.all_acgt && found.differ == 1;
}

}  // namespace gpualign
