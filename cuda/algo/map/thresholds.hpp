// Thresholds that the mappers of CPU and device share. They are heuristics for speed, chosen on simulated reads
// (docs/internals/algorithms.md).
#pragma once
#include <cstdint>

#include "algo/map/affine.hpp"

namespace gpualign {

constexpr int32_t kDepth = 4;               // factor on the hits followed if the best locus is uncertain
constexpr int32_t kManyCandidates = 1024;  // minimum kept for variants, as one or two seeds do not tell the right one
constexpr int32_t kSeedHitShare = 4;  // candidates with fewer than the maximum seed hits / kSeedHitShare are dropped
constexpr int32_t kManySeedHits = 9;  // a locus is certain with so many seed hits,
constexpr int32_t kClearLead = 4;  // and so many edits fewer than the next one
constexpr uint32_t kMaxPairedLoci = 512;  // loci per mate tried in pairs; enough by default except with variants
constexpr uint64_t kLongGap = 64;  // maximum diagonals between the two sides of a long gap
constexpr uint32_t kMaxAnchors = 4;  // best loci of a mate near which the other is searched for
constexpr uint32_t kMaxConvertedAnchors = 16;  // of a bisulfite read, which has more in three letters
constexpr int32_t kFewBases = 34;  // shorter reads may be an exact copy of another locus after one error
constexpr int32_t kShortMate = 32;  // bases; shorter mates may fit by chance, so their information content is checked
constexpr int32_t kMinLocalScore = 30;  // minimum score of a local alignment
constexpr int32_t kMinMateScore = 20;  // minimum score of a rescued clipped mate, which needs less evidence
constexpr int32_t kSpareBits = 8;  // bits that such a mate must have beyond what names its locus near the other

constexpr int32_t kLongestUnit = 6;  // of a microsatellite, whose k-mers are met thousands of times in a genome

// A limit on hits or candidates, times `depth` <= kDepth, without overflow.
GPUALIGN_HD uint32_t limit_at(int32_t limit, int32_t depth) { return uint32_t(min(limit, (1 << 30) / kDepth) * depth); }

// Maximum number of candidates kept.
GPUALIGN_HD uint32_t candidate_limit(int32_t limit, int32_t depth, bool of_variants) {
    const uint32_t usual = limit_at(limit, depth);
    return of_variants && usual < kManyCandidates ? kManyCandidates : usual;
}

// Sets the limit of a read: `edits` plus its forgiven ambiguous bases. These are no edits; if they are more than a
// quarter of the read, none is forgiven.
template <class Read> GPUALIGN_HD void allow_edits(Read& read, int32_t edits, int32_t ambiguous) {
    read.ambiguous = 4 * ambiguous <= read.length ? ambiguous : 0;
    read.limit = edits + read.ambiguous;
}

// Reads of fewer windows whose variants are looked up if they have no locus. Bisulfite reads have longer k-mers and
// more edits.
GPUALIGN_HD int32_t windows_with_variants(bool converted) { return converted ? 5 : 3; }

// Whether a read's one-substitution variants are looked up. In a read with few windows of w k-mers one or two edits
// spoil all of them; undoing one restores a window. A read with a locus at `distance` (negative: none) shares k-mers
// with another locus as good if a piece between so many edits has a k-mer.
GPUALIGN_HD bool wants_variants(
    int32_t length, int32_t ambiguous, int32_t k, int32_t w, int32_t distance, bool converted = false) {
    const int32_t window = w + k - 1;
    if (length < k) return false;
    if (distance < 0) return length < windows_with_variants(converted) * window || ambiguous > 0;
    const int32_t edits = distance - ambiguous;
    return edits > 0 && length < 2 * window && (length - edits) / (edits + 1) <= k;
}

// Longest read without ambiguous bases for which they are looked up.
GPUALIGN_HD int32_t longest_with_variants(int32_t k, int32_t w, bool converted) {
    return max(windows_with_variants(converted) * (w + k - 1), kFewBases) - 1;
}

// Whether the variants of an exact match are looked up for suboptimal loci: a read this short with one error may equal
// another locus exactly. The other mate resolves this for pairs.
GPUALIGN_HD bool wants_suboptimal_variants(int32_t length, int32_t k, int32_t distance, bool paired) {
    return distance == 0 && length >= k && length < kFewBases && !paired;
}

// Whether another locus with as many edits as the best one would have been seen: one of the pieces between its edits
// (one edit less with variants) is long enough for a k-mer, or without edits for a whole window. In reads of two
// windows and more one mostly is, unless the pieces are short on average.
GPUALIGN_HD bool others_are_seen(int32_t length, int32_t edits, int32_t k, int32_t w) {
    const int32_t window = w + k - 1;
    if (length >= 3 * window || edits == 0) return length >= window;
    const int32_t undone = wants_variants(length, 0, k, w, edits), piece = (length - edits) / (edits + 1 - undone);
    return length >= window && (length < 2 * window ? piece >= k : 3 * piece >= 2 * k);
}

// Upper bound on the mapping quality of an unpaired read: a short one may have loci as good, or with one edit more,
// that share no seed with it or none that was followed (`hits_truncated`). Fitted to simulated reads.
GPUALIGN_HD uint8_t surest_quality(int32_t length, int32_t edits, bool hits_truncated, int32_t k, int32_t w) {
    constexpr uint8_t kUnlikely = 3, kOthersUnseen = 13, kWorseUnseen = 40, kSure = 60;
    const int32_t window = w + k - 1;
    if (length >= 3 * window) return kSure;
    if (!others_are_seen(length, edits, k, w)) return hits_truncated ? kUnlikely : kOthersUnseen;
    if (hits_truncated && wants_variants(length, 0, k, w, edits)) return kOthersUnseen;
    return length < 2 * window || !others_are_seen(length, edits + 1, k, w) || (length - edits) / (edits + 1) < k
               ? kWorseUnseen
               : kSure;
}
constexpr int32_t kShortClip = 20;  // shorter clipped ends are more likely two edits than another sequence

// Whether a gap beyond the limit costs less than `distance` edits.
GPUALIGN_HD bool long_gap_costs_less(const AffineScores& scores, int32_t limit, int32_t distance) {
    return scores.gap_open + limit * scores.gap_extend < distance * (scores.match + scores.mismatch);
}

// Whether clipping a read at a locus beyond its limit costs less than `distance` edits elsewhere: each clipped base
// removes at most one edit, and costs less than an edit.
GPUALIGN_HD bool clipping_costs_less(const AffineScores& scores, int32_t limit, int32_t distance) {
    return (limit + 1) * scores.match < distance * (scores.match + scores.mismatch);
}

// Whether chaining may beat a read's best end-to-end alignment, with `distance` edits and `seed_hits`: a candidate
// beyond the limit has as many seed hits, `failed`, and clipping costs less; or loci a long gap apart together have
// more, `near_hits`, and the gap costs less.
GPUALIGN_HD bool chaining_may_be_better(
    const AffineScores& scores, int32_t limit, int32_t distance, int32_t seed_hits, int32_t failed, int32_t near_hits) {
    return (failed >= seed_hits && clipping_costs_less(scores, limit, distance)) ||
           (near_hits > seed_hits && long_gap_costs_less(scores, limit, distance));
}

}  // namespace gpualign
