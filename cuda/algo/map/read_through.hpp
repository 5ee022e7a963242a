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

// The bases of each mate that are of their insert; 0 if unknown.
struct Inserts {
    int32_t of[2];
};

// Inserts of mates that a gap of a few bases tells apart: an error, as both are the same molecule. R1 equals the
// reverse complement of R2 at one insert size up to the gap, that of R2, and at another one behind it, its own. {0, 0}
// if mates overlap better without a gap, or there are several such pairs of sizes. `first`, `second` and
// `differences` are as below. One half of the overlap has no gap, which rules most sizes out.
template <class Group, class Differences>
GPUALIGN_HOST_DEVICE Inserts gapped_read_through(
    const Group& group, int32_t first, int32_t second, Differences&& differences) {
    constexpr int32_t kLengthBits = 10;  // of reads that do not map as long ones
    static_assert(kLongestEndToEnd + kLongestOverlapGap < 1 << kLengthBits);
    constexpr int32_t kFar = 1 << kLengthBits, kMostCost = kFar / kOverlapBasesPerMismatch;
    if (max(first, second) > kLongestEndToEnd) return {0, 0};
    int32_t best = 0, lowest = -kFar, highest = 0;  // the best: missing costs | a gap | sizes
    const auto few_differ = [&](int32_t begin, int32_t end, int32_t size) {
        const int32_t most = (end - begin) / kOverlapBasesPerMismatch;
        return differences(begin, end, size, most) <= most;
    };
    const auto differs = [&](int32_t i, int32_t size) { return differences(i, i + 1, size, 0); };
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
        const int32_t rank = (kMostCost - fewest - cost) << 1 | (gap != 0);
        best = max(best, (rank << kLengthBits | front) << kLengthBits | back);
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
    const int32_t back = best % kFar, front = (best >> kLengthBits) % kFar;
    return several || front == back ? Inserts{0, 0} : Inserts{back, front};
}

// Inserts by which R1 equals the reverse complement of R2, shorter than a read: of one size, or with a gap that
// explains their mismatches as well; {0, 0} if there is no such size, or several, as in tandem repeats. `first` and
// `second` are the mates' lengths; differences(begin, end, size, most) counts the bases [begin, end) of R1 that are not
// those of R2 with an insert of that size, and may stop when there are more than `most`.
template <class Group, class Differences>
GPUALIGN_HOST_DEVICE Inserts read_through(
    const Group& group, const MapRules& rules, int32_t first, int32_t second, Differences&& differences) {
    if (!rules.local || maps_as_long(rules, max(first, second))) return {0, 0};
    int32_t fits = 0, insert = 0, differ = 0;
    for (int32_t size = kShortestInsert + int32_t(group.lane()); size < max(first, second);
        size += int32_t(Group::kLanes)) {
        const int32_t begin = max(0, size - second), end = min(size, first);
        const int32_t most = (end - begin) / kOverlapBasesPerMismatch;
        if (end - begin < kShortestInsert) continue;
        const int32_t different = differences(begin, end, size, most);
        if (different > most) continue;
        fits++;
        insert = size;
        differ = different;
    }
    if (group.sum(uint32_t(fits)) != 1) return {0, 0};
    insert = group.largest(insert);
    if (group.largest(differ) > kOverlapGapOpen) {
        const Inserts gapped = gapped_read_through(group, first, second, differences);
        if (gapped.of[0]) return gapped;
    }
    return {insert, insert};
}

// Bases of a batch as the `differences` of the mates whose first read is `first`.
struct MatesOfBatch {
    const uint8_t *one, *two;
    int32_t first, second;  // lengths

    GPUALIGN_HD MatesOfBatch(const uint8_t* bases, const int64_t* offsets, uint32_t number)
        : one(bases + offsets[number]), two(bases + offsets[number + 1]), first(int32_t(two - one)),
          second(int32_t(offsets[number + 2] - offsets[number + 1])) {}
    GPUALIGN_HD int32_t operator()(int32_t begin, int32_t end, int32_t size, int32_t most) const {
        int32_t differ = 0;
        for (int32_t i = begin; i < end && differ <= most; i++)
            differ += base_code(one[i]) + base_code(two[size - 1 - i]) != 3;
        return differ;
    }
};

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

// What the loci of a mate, clipped beyond its insert, show about that end: nothing goes on there; they are none, or
// not good enough to tell; or the read goes on as the reference does.
enum class Clip : uint8_t { none, ends, unclear, goes_on };

// The clip of a read whose loci are those of its insert; `query` is the whole read. That another locus might explain a
// clipped part of it better does not count, as the mates have told where it ends.
template <class Group, class Loci, class Found, class Text>
GPUALIGN_HOST_DEVICE Clip clip_at_insert(const Group& group, const MapRules& rules, const Loci& loci,
    const Found& found, const ChainQuery& query, const Text& text) {
    bool any = false;
    for (uint32_t i = group.lane(); i < loci.count && !any; i += Group::kLanes)
        any = goes_on(rules.scores, loci, i, query, text);
    if (group.ballot(any)) return Clip::goes_on;
    return loci.count == 0 || chaining_may_be_better(rules.scores, loci.limit, loci.distance(0), loci.seed_hits(0), -1,
                                  int32_t(found.near_hits))
               ? Clip::unclear
               : Clip::ends;
}

// Whether the mates of a pair keep their clips. They have the bases of one molecule, so that either both end with the
// insert, which one of them may show alone, or neither does.
GPUALIGN_HD bool keeps_clips(Clip first, Clip second) {
    return first != Clip::goes_on && second != Clip::goes_on && (first == Clip::ends || second == Clip::ends);
}

}  // namespace gpualign
