// Pairs whose insert is shorter than their reads: beyond it both mates go on into an adapter, and are clipped there.
// The mates' own overlap tells the insert size, so no DP has to find where the read ends.
#pragma once
#include "algo/map/chain/query.hpp"
#include "algo/map/chain/short_reads.hpp"
#include "algo/map/locus.hpp"

namespace gpualign {

constexpr int32_t kShortestInsert = 30;  // bases; shorter ones are not looked for
constexpr int32_t kOverlapBasesPerMismatch = 8;
constexpr int32_t kLongestOverlapGap = 3;   // bases of an indel between the mates
constexpr int32_t kOverlapGapOpen = 1;  // and what it costs next to a mismatch, as does each of its bases
constexpr int32_t kGoesOn = 8;  // bases that match beyond an insert; one adapter of 65,000 has as many by chance

// Insert size by which R1 equals the reverse complement of R2, shorter than a read; 0 if there is none, or several, as
// in tandem repeats. `first` and `second` are the mates' lengths; differences(begin, end, size, most) counts the bases
// [begin, end) of R1 that are not those of R2 with an insert of that size, and may stop when there are more than
// `most`.
template <class Group, class Differences>
GPUALIGN_HOST_DEVICE int32_t read_through(
    const Group& group, const MapRules& rules, int32_t first, int32_t second, Differences&& differences) {
    if (!rules.local || maps_as_long(rules, max(first, second))) return 0;
    int32_t fits = 0, insert = 0;
    for (int32_t size = kShortestInsert + int32_t(group.lane()); size < max(first, second);
        size += int32_t(Group::kLanes)) {
        const int32_t begin = max(0, size - second), end = min(size, first);
        const int32_t most = (end - begin) / kOverlapBasesPerMismatch;
        if (end - begin < kShortestInsert || differences(begin, end, size, most) > most) continue;
        fits++;
        insert = size;
    }
    const int32_t all = int32_t(group.sum(uint32_t(fits)));
    insert = group.largest(insert);
    return all == 1 ? insert : 0;
}

// The insert size of the mates whose first read is `first`, from the bases of a batch.
template <class Group>
GPUALIGN_HOST_DEVICE int32_t read_through(
    const Group& group, const MapRules& rules, const uint8_t* bases, const int64_t* offsets, uint32_t first) {
    const uint8_t *const one = bases + offsets[first], *const two = bases + offsets[first + 1];
    return read_through(group, rules, int32_t(two - one), int32_t(offsets[first + 2] - offsets[first + 1]),
        [&](int32_t begin, int32_t end, int32_t size, int32_t most) {
            int32_t differ = 0;
            for (int32_t i = begin; i < end && differ <= most; i++)
                differ += base_code(one[i]) + base_code(two[size - 1 - i]) != 3;
            return differ;
        });
}

// The bases of each mate that are of their insert.
struct Inserts {
    int32_t of[2];
};

// Inserts of mates as above that a gap of a few bases tells apart: an error, as both are the same molecule. R1 equals
// the reverse complement of R2 at one insert size up to the gap, that of R2, and at another one behind it, its own.
// {0, 0} if mates overlap without a gap, or there are several such pairs of sizes. differs(i, size) says whether base i
// of R1 is not that of R2 with an insert of that size. One half of the overlap has no gap, which rules most sizes out.
template <class Group, class Differs>
GPUALIGN_HOST_DEVICE Inserts gapped_read_through(const Group& group, int32_t first, int32_t second, Differs&& differs) {
    constexpr int32_t kLengthBits = 10;  // of reads that do not map as long ones
    static_assert(kLongestEndToEnd + kLongestOverlapGap < 1 << kLengthBits);
    constexpr int32_t none = -1;
    if (max(first, second) > kLongestEndToEnd) return {0, 0};
    int32_t best = none, lowest = -(1 << kLengthBits), highest = 0;  // the best: missing mismatches | sizes
    const auto few_differ = [&](int32_t begin, int32_t end, int32_t size) {
        int32_t left = (end - begin) / kOverlapBasesPerMismatch;
        for (int32_t i = begin; i < end && left >= 0; i++) left -= differs(i, size);
        return left >= 0;
    };
    // the overlap with R2's insert `front` up to some base of R1, and R1's `back` from there on
    const auto add = [&](int32_t front, int32_t back) {
        const int32_t begin = max(0, front - second), end = min(back, first), gap = back - front;
        const int32_t inserted = max(0, gap), cost = gap ? kOverlapGapOpen + max(gap, -gap) : 0;
        const int32_t most = (end - begin) / kOverlapBasesPerMismatch;
        if (back < kShortestInsert || front < kShortestInsert || end - begin < kShortestInsert) return;
        int32_t mismatches = 0;
        for (int32_t i = begin + inserted; i < end; i++) mismatches += differs(i, back);
        int32_t fewest = mismatches;
        for (int32_t i = begin; i + inserted < end; i++) {
            mismatches += differs(i, front) - differs(i + inserted, back);
            fewest = min(fewest, mismatches);
        }
        if (fewest + cost > most) return;
        best = max(best, ((1 << kLengthBits) - fewest - cost) << 2 * kLengthBits | front << kLengthBits | back);
        lowest = max(lowest, -front);
        highest = max(highest, front);
    };
    for (int32_t size = kShortestInsert + int32_t(group.lane()); size < max(first, second);
        size += int32_t(Group::kLanes)) {
        const int32_t begin = max(0, size - second), end = min(size, first), middle = begin + (end - begin) / 2;
        if (end - begin < kShortestInsert - kLongestOverlapGap) continue;
        const bool in_front = few_differ(begin, middle, size), behind = few_differ(middle, end, size);
        if (!in_front && !behind) continue;
        for (int32_t gap = -kLongestOverlapGap; gap <= kLongestOverlapGap; gap++) {
            if (in_front) add(size, size + gap);
            if (behind) add(size + gap, size);
        }
    }
    best = group.largest(best);
    const bool several = group.largest(highest) + group.largest(lowest) > 2 * kLongestOverlapGap;
    const int32_t back = best & ((1 << kLengthBits) - 1), front = best >> kLengthBits & ((1 << kLengthBits) - 1);
    return best == none || several || front == back ? Inserts{0, 0} : Inserts{back, front};
}

template <class Group>
GPUALIGN_HOST_DEVICE Inserts gapped_read_through(
    const Group& group, const uint8_t* bases, const int64_t* offsets, uint32_t first) {
    const uint8_t *const one = bases + offsets[first], *const two = bases + offsets[first + 1];
    return gapped_read_through(group, int32_t(two - one), int32_t(offsets[first + 2] - offsets[first + 1]),
        [&](int32_t i, int32_t size) { return base_code(one[i]) + base_code(two[size - 1 - i]) != 3; });
}

// Whether a read goes on beyond its insert as the reference does beyond locus i of the insert. Then it is not an
// adapter that follows, but the next copy of a repeat.
template <class Loci, class Text>
GPUALIGN_HOST_DEVICE bool goes_on(
    const AffineScores& scores, const Loci& loci, uint32_t i, const ChainQuery& query, const Text& text) {
    const uint32_t contig = loci.contig(i);
    const bool reverse = loci.reverse(i);
    const int32_t insert = loci.length, distance = loci.distance(i);
    const int64_t left = text.contig_begin(contig), right = text.contig_begin(contig + 1);
    for (int32_t shift = -distance; shift <= distance; shift++) {  // gaps move the locus's begin
        const int64_t edge = (reverse ? loci.begin(i) : loci.end(i)) + shift;
        const int64_t within = reverse ? edge - left : right - edge, behind = query.length() - insert;
        const auto mismatches = [&](int32_t from) {
            return reverse ? mismatches_before(query, true, query.length() - insert - from, text, edge - from)
                           : mismatches_after(query, false, insert + from, text, edge + from);
        };
        const int32_t length = int32_t(within < behind ? within : behind);
        if (extends_ungapped(scores, length, kGoesOn * scores.match, mismatches)) return true;
    }
    return false;
}

// Whether a read is clipped beyond its insert, whose loci are given: it aligns there, no long gap would be better, and
// the whole read, `query`, goes on as the reference does at none of them. That another locus might explain a clipped
// part of it better does not count, as the mates have told where it ends.
template <class Group, class Loci, class Found, class Text>
GPUALIGN_HOST_DEVICE bool is_clipped_at_insert(const Group& group, const MapRules& rules, const Loci& loci,
    const Found& found, const ChainQuery& query, const Text& text) {
    if (loci.count == 0 || chaining_may_be_better(rules.scores, loci.limit, loci.distance(0), loci.seed_hits(0), -1,
                               int32_t(found.near_hits)))
        return false;
    bool any = false;
    for (uint32_t i = group.lane(); i < loci.count && !any; i += Group::kLanes)
        any = goes_on(rules.scores, loci, i, query, text);
    return group.ballot(any) == 0;
}

}  // namespace gpualign
