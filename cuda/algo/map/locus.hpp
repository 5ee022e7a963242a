// A locus of a read. `Loci` are those of a read, best first: PackedLoci on the device's fast path, else MixedLoci
// (algo/map/mixed_loci.hpp).
//
// A packed locus is one integer, so that sorting puts the best first: distance (10 bits) | end on the reference (33) |
// strand (1) | missing seed hits (20). Ties go to the leftmost, then to the forward strand.
#pragma once
#include "algo/common/group.hpp"
#include "algo/map/base_quality.hpp"
#include "algo/map/chain/short_reads.hpp"
#include "algo/map/types.hpp"

namespace gpualign {

GPUALIGN_HD uint64_t make_locus(uint32_t distance, int64_t end, bool reverse, uint32_t seed_hits) {
    return uint64_t(distance) << 54 | uint64_t(end) << 21 | uint64_t(reverse) << 20 | (0xFFFFF - seed_hits);
}
GPUALIGN_HD uint32_t locus_distance(uint64_t locus) { return uint32_t(locus >> 54); }
GPUALIGN_HD int64_t locus_end(uint64_t locus) { return int64_t(locus >> 21 & ((uint64_t(1) << 33) - 1)); }
GPUALIGN_HD bool locus_reverse(uint64_t locus) { return locus >> 20 & 1; }
GPUALIGN_HD uint32_t locus_seed_hits(uint64_t locus) { return 0xFFFFF - uint32_t(locus & 0xFFFFF); }
GPUALIGN_HD uint32_t locus_contig(const MapTarget& target, uint64_t locus) {
    return contig_of(target, locus_end(locus) - 1);
}

// Cost of a forgiven ambiguous base, as in bwa. At the cost of a mismatch, reads would be clipped at a few of them.
GPUALIGN_HD int32_t ambiguous_cost(const AffineScores& scores) { return min(1, scores.mismatch); }

// Score of an end-to-end alignment whose edits are all mismatches.
GPUALIGN_HD int32_t end_to_end_score(const AffineScores& scores, int32_t length, int32_t distance, int32_t ambiguous) {
    return ungapped_score(scores, length, distance) +
           min(ambiguous, distance) * (scores.mismatch - ambiguous_cost(scores));
}

// Difference in score of one edit.
GPUALIGN_HD int32_t edit_of(const AffineScores& scores) { return scores.match + scores.mismatch; }

struct PackedLoci {
    const MapTarget& target;
    const AffineScores& scores;
    const uint64_t* list;
    uint32_t count;
    int32_t length, limit, ambiguous;  // of the read
    bool hits_truncated;
    PackedBases bases;

    GPUALIGN_HD int32_t distance(uint32_t i) const { return int32_t(locus_distance(list[i])); }
    GPUALIGN_HD int32_t seed_hits(uint32_t i) const { return int32_t(locus_seed_hits(list[i])); }
    GPUALIGN_HD int32_t score(uint32_t i) const { return end_to_end_score(scores, length, distance(i), ambiguous); }
    GPUALIGN_HD int64_t begin(uint32_t i) const { return end(i) - length; }
    GPUALIGN_HD int64_t end(uint32_t i) const { return locus_end(list[i]); }
    GPUALIGN_HD int64_t introns(uint32_t) const { return 0; }
    GPUALIGN_HD bool reverse(uint32_t i) const { return locus_reverse(list[i]); }
    GPUALIGN_HD uint32_t contig(uint32_t i) const { return locus_contig(target, list[i]); }
    // only a local alignment has a quality of its own
    GPUALIGN_HD bool local(uint32_t) const { return false; }
    GPUALIGN_HD uint8_t local_quality(uint32_t) const { return 0; }
};

// Whether a read aligns end to end within the limit; a distance of its whole length does not count.
GPUALIGN_HD bool aligns_end_to_end(int32_t length, int32_t distance, int32_t limit) {
    return distance <= limit && distance < length;
}

// Number of loci as good as the best one.
template <class Loci> GPUALIGN_HD uint32_t equally_good(const Loci& loci) {
    uint32_t n = loci.count ? 1 : 0;
    while (n < loci.count && loci.score(n) == loci.score(0)) n++;
    return n;
}

// Whether to follow more hits of a read that has too many, as another locus may be better.
template <class Loci> GPUALIGN_HD bool wants_more_hits(const Loci& loci) {
    if (!loci.hits_truncated) return false;
    if (loci.count == 0 || loci.seed_hits(0) < kManySeedHits) return true;
    return loci.count > 1 && loci.distance(1) - loci.distance(0) < kClearLead;
}

// Whether such a read also follows a part of the hits of its first seed that exceeds the limit. An error in a tandem
// repeat makes k-mers that may be elsewhere by chance; these are rarer than those of the repeat, which would not be
// followed. The seed hits of a candidate from such a sample are no evidence for it, and count as 0. `failed`: maximum
// seed hits of a candidate beyond the limit.
template <class Loci> GPUALIGN_HD bool wants_part_of_hits(const Loci& loci, int32_t failed) {
    return loci.count == 0 && failed < kManySeedHits;
}

// Whether of a read that wants more hits only chaining follows them: it probably does not align end to end anywhere.
template <class Loci>
GPUALIGN_HD bool leaves_hits_to_chaining(const MapRules& rules, const Loci& loci, int32_t failed) {
    return rules.local && loci.count == 0 && !wants_part_of_hits(loci, failed);
}

// Whether the best of several candidates has so many edits that an alignment with a long gap may be better.
template <class Loci>
GPUALIGN_HD bool near_hits_matter(const AffineScores& scores, const Loci& loci, uint32_t candidates) {
    return candidates > 1 && loci.count && long_gap_costs_less(scores, loci.limit, loci.distance(0));
}

// Why the one-substitution variants of a read (variants.hpp) are looked up: to find its locus, which its own seeds may
// miss, or to find suboptimal ones.
enum class VariantsFor { nothing, locus, suboptimal };
template <class Loci> GPUALIGN_HD VariantsFor variants_for(const MapRules& rules, const Loci& loci, bool paired) {
    const int32_t distance = loci.count ? loci.distance(0) : -1;
    if (wants_suboptimal_variants(loci.length, rules.k, distance, paired)) return VariantsFor::suboptimal;
    return wants_variants(loci.length, loci.ambiguous, rules.k, rules.w, distance, loci.bases.converted())
               ? VariantsFor::locus
               : VariantsFor::nothing;
}

// Whether a read with edits may lie across an intron instead of at its best end-to-end locus: if that has several edits
// near one end, or if another locus shares seeds with the read, as the exons do where the best one is a copy without
// introns.
template <class Loci, class Found> GPUALIGN_HD_CALL bool may_cross_intron(const Loci& loci, const Found& found) {
    constexpr int32_t kEnd = 16, kSeveral = 2;
    if (loci.distance(0) <= loci.ambiguous) return false;
    const int64_t* const contig = loci.bases.contig_offsets() + loci.contig(0);
    if (found.failed || loci.count > 1 || loci.begin(0) < contig[0] || loci.begin(0) + loci.length > contig[1])
        return true;
    int32_t first = 0, last = 0;
    loci.bases.for_each_difference(loci.begin(0), loci.reverse(0), [&](int32_t i) {
        first += i < kEnd;
        last += i >= loci.length - kEnd;
        return true;
    });
    return max(first, last) >= kSeveral;
}

// Whether to chain a read, as it does not align end to end, or not well; `Found` is like FoundRead
// (algo/map/loci.hpp).
template <class Loci, class Found>
GPUALIGN_HD bool wants_chaining(const MapRules& rules, const Loci& loci, const Found& found) {
    if (!rules.local || maps_as_long(rules, loci.length)) return false;
    if (loci.count == 0) return found.any_hits;
    if (rules.pairs.max_intron && may_cross_intron(loci, found)) return true;
    return chaining_may_be_better(
        rules.scores, loci.limit, loci.distance(0), loci.seed_hits(0), int32_t(found.failed), int32_t(found.near_hits));
}

// Insert size of the mates at loci i of R1 and j of R2, without introns, -1 if they are not a proper pair. If the mates
// are further apart than any insert, an intron may lie between them: then it is pairs.max + 1.
template <class Loci>
GPUALIGN_HD int64_t insert_size(
    const PairLibrary& pairs, const Loci& first, uint32_t i, const Loci& second, uint32_t j) {
    const int64_t size = outer_distance(
        pairs, first.begin(i), first.end(i), first.reverse(i), second.begin(j), second.end(j), second.reverse(j));
    if (!pairs.max_intron)
        return size >= pairs.min && size <= pairs.max && first.contig(i) == second.contig(j) ? size : -1;
    const int64_t own = first.introns(i), others = second.introns(j),
                  apart = size - own - others;  // too short where both lie across the same intron
    const int64_t insert = apart >= min(first.length, second.length) ? apart : size - (own > others ? own : others);
    if (insert < pairs.min || insert > pairs.max + pairs.max_intron || first.contig(i) != second.contig(j)) return -1;
    return insert <= pairs.max ? insert : pairs.max + 1;
}

// Loci this close count as one; only the better one is kept.
GPUALIGN_HD bool same_locus(int64_t end, bool reverse, int64_t other_end, bool other_reverse, int32_t limit) {
    return reverse == other_reverse && end - other_end >= -limit && end - other_end <= limit;
}

// Sorts loci, best first; each removes the later ones that are the same.
template <class Group>
GPUALIGN_HD uint32_t settle_loci(const Group& group, int32_t limit, uint64_t* loci, uint32_t count) {
    if (count < 2) return count;
    constexpr uint64_t kRuledOut = ~uint64_t(0);
    sort_keys(group, loci, count);
    for (uint32_t p = 0; p + 1 < count; p++) {
        const uint64_t locus = loci[p];
        if (locus == kRuledOut) continue;
        for (uint32_t q = p + 1 + group.lane(); q < count; q += Group::kLanes) {
            const uint64_t other = loci[q];
            if (other != kRuledOut &&
                same_locus(locus_end(other), locus_reverse(other), locus_end(locus), locus_reverse(locus), limit))
                loci[q] = kRuledOut;
        }
        group.sync();
    }
    return keep_keys(group, loci, count, [](uint64_t locus) { return locus != kRuledOut; });
}

}  // namespace gpualign
