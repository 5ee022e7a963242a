// Pairs whose insert is shorter than their reads: beyond it both mates go on into an adapter, and are clipped there.
// The mates' own overlap tells the insert size, so no DP has to find where the read ends.
#pragma once
#include "algo/map/mixed_loci.hpp"

namespace gpualign {

constexpr int32_t kShortestInsert = 30;  // bases; shorter ones are not looked for
constexpr int32_t kOverlapBasesPerMismatch = 8;
constexpr int32_t kGoesOn = 8;  // bases that match beyond an insert; one adapter of 65,000 has as many by chance

// Insert size by which R1 equals the reverse complement of R2, shorter than a read; 0 if there is none, or several, as
// in tandem repeats. code(mate, i) is encoded base i.
template <class Group, class Code>
GPUALIGN_HOST_DEVICE int32_t read_through(const Group& group, int32_t first, int32_t second, Code&& code) {
    int32_t fits = 0, insert = 0;
    for (int32_t size = kShortestInsert + int32_t(group.lane()); size < max(first, second);
        size += int32_t(Group::kLanes)) {
        const int32_t begin = max(0, size - second), end = min(size, first);
        int32_t left = (end - begin) / kOverlapBasesPerMismatch;  // mismatches that are still allowed
        for (int32_t i = begin; i < end && left >= 0; i++) left -= code(0, i) + code(1, size - 1 - i) != 3;
        if (end - begin < kShortestInsert || left < 0) continue;
        fits++;
        insert = size;
    }
    const int32_t all = int32_t(group.sum(uint32_t(fits)));
    insert = group.largest(insert);
    return all == 1 ? insert : 0;
}

// Whether a read of `length` bases goes on beyond its insert as the reference does beyond the locus of the insert. Then
// it is not an adapter that follows, but the next copy of a repeat. code(i) is encoded base i of the read.
template <class Code, class Text>
GPUALIGN_HOST_DEVICE bool goes_on(
    const AffineScores& scores, const Locus& locus, int32_t insert, int32_t length, Code&& code, const Text& text) {
    const int64_t left = text.contig_begin(locus.contig), right = text.contig_begin(locus.contig + 1);
    for (int32_t shift = -locus.distance; shift <= locus.distance; shift++) {  // gaps move the locus's begin
        int32_t score = 0;
        for (int32_t i = insert; i < length && score + (length - i) * scores.match >= kGoesOn * scores.match; i++) {
            const int64_t at = (locus.reverse ? locus.begin - 1 - (i - insert) : locus.end + (i - insert)) + shift;
            if (at < left || at >= right) break;
            const int32_t met = text.code(at), base = code(i);
            score += base < kNoBase && (locus.reverse ? 3 - met : met) == base ? scores.match : -scores.mismatch;
            if (score >= kGoesOn * scores.match) return true;
        }
    }
    return false;
}

// Whether a read is clipped beyond its insert, whose loci are given: it aligns there as a read of that length should,
// better than the whole read by `score`.
template <class Group, class Loci, class Found, class Code, class Text>
GPUALIGN_HOST_DEVICE bool is_clipped_at_insert(const Group& group, const MapRules& rules, const Loci& loci,
    const Found& found, int32_t score, int32_t length, Code&& code, const Text& text) {
    if (loci.count == 0 || loci.score(0) <= score || wants_chaining(rules, loci, found)) return false;
    bool any = false;
    const uint32_t best = equally_good(loci);
    for (uint32_t i = group.lane(); i < best && !any; i += Group::kLanes)
        any = goes_on(rules.scores, loci.list[i], loci.length, length, code, text);
    return group.ballot(any) == 0;
}

}  // namespace gpualign
