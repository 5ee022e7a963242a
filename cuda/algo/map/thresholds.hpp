// Numbers that both mappers go by, the CPU's and the device's. They are heuristics, for speed: each was chosen on simulated
// reads (docs/algorithms.md).
#pragma once
#include <cstdint>

#include "algo/map/affine.hpp"

namespace gpualign {

constexpr int32_t kDepth = 4;               // times as many hits are followed where the best locus is in doubt
constexpr int32_t kManyCandidates = 1024;   // of neighbours, at least: a seed or two do not say which is the right one
constexpr int32_t kSeedHitShare = 4;        // candidates with fewer than the most hits / kSeedHitShare are dropped
constexpr int32_t kManySeedHits = 9;        // seed hits, and
constexpr int32_t kClearLead = 4;           // edits, that leave no doubt
constexpr uint32_t kMaxPairedLoci = 512;    // of each mate that are tried with those of the other: by default all, but of neighbours
constexpr uint64_t kLongGap = 64;           // diagonals between the two sides of a long gap, at most
constexpr uint32_t kMaxAnchors = 4;         // best loci of a mate near which the other is looked for
constexpr int32_t kFewBases = 34;           // reads with fewer may be another locus' exact copy by one error
constexpr int32_t kShortMate = 32;          // bases; shorter mates may fit by chance: it is weighed what they say
constexpr int32_t kMinLocalScore = 30;      // of a local alignment
constexpr int32_t kMinMateScore = 20;       // of side by side mate, where fewer bases say as much
constexpr int32_t kSpareBits = 8;           // that such a mate must say beyond what names its locus near the other

// A limit on hits or candidates where `depth` times as many are followed, up to kDepth.
GPUALIGN_HD uint32_t limit_at(int32_t limit, int32_t depth) { return uint32_t(min(limit, (1 << 30) / kDepth) * depth); }

// Candidates that are kept.
GPUALIGN_HD uint32_t candidate_limit(int32_t limit, int32_t depth, bool of_variants) {
    const uint32_t usual = limit_at(limit, depth);
    return of_variants && usual < kManyCandidates ? kManyCandidates : usual;
}

// Bases that are not A, C, G or T are no edits, unless they are many: none of them counts then.
GPUALIGN_HD int32_t forgiven_bases(int32_t length, int32_t ambiguous) { return 4 * ambiguous <= length ? ambiguous : 0; }

// Edits allowed in a read: `edits` and its forgiven ones of so many unknown bases.
template <class Read>
GPUALIGN_HD void allow_edits(Read& read, int32_t edits, int32_t ambiguous) {
    read.ambiguous = forgiven_bases(read.length, ambiguous);
    read.limit = edits + read.ambiguous;
}

// Whether a read's neighbours, with one base changed, are looked up too. Where a read has few windows of w k-mers, an edit or two
// spoil all of them; with one undone, one is left. Where a read has a locus, `distance` from it (else negative), another as good has
// k-mers in common with the read if a piece between so many edits has. `unknown`: how many of its bases are forgiven.
GPUALIGN_HD bool wants_variants(int32_t length, int32_t ambiguous, int32_t k, int32_t w, int32_t distance) {
    const int32_t window = w + k - 1;
    if (length < k) return false;
    if (distance < 0) return length < 3 * window || ambiguous > 0;
    const int32_t edits = distance - ambiguous;
    return edits > 0 && length < 2 * window && (length - edits) / (edits + 1) <= k;
}

// The longest read without an unknown base of which they are.
GPUALIGN_HD int32_t longest_with_variants(int32_t k, int32_t w) { return max(3 * (w + k - 1), kFewBases) - 1; }

// Whether those of an exact copy are, for its rivals: so short a read with one error is now and then an exact copy of another
// locus. That of a mate has the other mate's.
GPUALIGN_HD bool wants_suboptimal_variants(int32_t length, int32_t k, int32_t distance, bool paired) {
    return distance == 0 && length >= k && length < kFewBases && !paired;
}

// Whether another locus of a short read would have been seen, with as many edits as the best one: of all pieces between its edits
// (with neighbours, all but one) one is long enough for a k-mer; without edits, for a whole window. Of a read of two windows and
// more one piece mostly is, unless they are short on average.
GPUALIGN_HD bool others_are_seen(int32_t length, int32_t edits, int32_t k, int32_t w) {
    const int32_t window = w + k - 1;
    if (length >= 3 * window || edits == 0) return length >= window;
    const int32_t undone = wants_variants(length, 0, k, w, edits), piece = (length - edits) / (edits + 1 - undone);
    return length >= window && (length < 2 * window ? piece >= k : 3 * piece >= 2 * k);
}

// The highest MAPQ of a read that speaks for itself: of a short one others as good may share no seed with it, or none that was
// followed (`hits_truncated`: of neighbours there are many), nor those with an edit more. The numbers are fitted to simulated reads.
GPUALIGN_HD uint8_t surest_quality(int32_t length, int32_t edits, bool hits_truncated, int32_t k, int32_t w) {
    constexpr uint8_t kUnlikely = 3, kOthersUnseen = 13, kWorseUnseen = 40, kSure = 60;
    const int32_t window = w + k - 1;
    if (length >= 3 * window) return kSure;
    if (!others_are_seen(length, edits, k, w)) return hits_truncated ? kUnlikely : kOthersUnseen;
    if (hits_truncated && wants_variants(length, 0, k, w, edits)) return kOthersUnseen;
    return length < 2 * window || !others_are_seen(length, edits + 1, k, w) || (length - edits) / (edits + 1) < k ? kWorseUnseen : kSure;
}
constexpr int32_t kShortClip = 20;     // bases of a clipped end that rather hide two edits than another sequence

// Whether a gap that takes a read beyond its limit costs less than `distance` edits.
GPUALIGN_HD bool long_gap_costs_less(const AffineScores& scores, int32_t limit, int32_t distance) {
    return scores.gap_open + limit * scores.gap_extend < distance * (scores.match + scores.mismatch);
}

// Whether less is lost where a read that fits somewhere within more than its limit is clipped there than by `distance` edits
// elsewhere: a clipped base takes one edit away at most, and an edit costs more than a base.
GPUALIGN_HD bool clipping_costs_less(const AffineScores& scores, int32_t limit, int32_t distance) {
    return (limit + 1) * scores.match < distance * (scores.match + scores.mismatch);
}

// Whether chaining may know better than a read's best end-to-end alignment, of `distance` edits and `seed_hits`: a candidate
// beyond the limit has as many seed hits, `failed`, and clipping costs less, or loci a long gap apart have more together,
// `near_hits`, and the gap does.
GPUALIGN_HD bool chaining_may_be_better(const AffineScores& scores, int32_t limit, int32_t distance, int32_t seed_hits, int32_t failed,
                                        int32_t near_hits) {
    return (failed >= seed_hits && clipping_costs_less(scores, limit, distance)) ||
           (near_hits > seed_hits && long_gap_costs_less(scores, limit, distance));
}

}  // namespace gpualign
