// Mapping qualities: how likely a read lies elsewhere, in Phred units from 0 to 60. Whole numbers alone, as host and device must
// agree (algo/common/fixed_point.hpp).
//
// A posterior over the loci that are known, and a term for those that are not: their weights relative to the chosen locus', which
// is 1. Each edit that a suboptimal locus needs more multiplies its weight by 3 e / (1 - e), with e estimated from the read itself.
// What the seeds did not show is likely only where hits were left out: its terms are fitted to simulated reads
// (benchmarks/map_accuracy.py shows how well they fit; docs/algorithms.md, "Mapping quality").
#pragma once
#include "algo/common/fixed_point.hpp"
#include "algo/map/suboptimal.hpp"
#include "algo/map/thresholds.hpp"

namespace gpualign {

// What an alignment of a read says, in bits with kLogBits after the point: minus the logarithm of the chance that random bases from
// some position on fit the read within `distance` edits. That is 4^-length for an exact copy, and about C(length, distance)
// 7^distance times that within so many edits, as one substitutes, drops or adds a base at any base. The binomial coefficient is
// about (e length / distance)^distance.
GPUALIGN_HD int64_t information(int32_t length, int32_t distance) {
    constexpr int64_t kOfKind = 7 * kLogOne / 2;  // on top of log2(length / distance), fitted to 10 to 100 bases with up to 8 % edits
    const int64_t copy = 2 * int64_t(length) * kLogOne;
    return distance ? copy - distance * (kOfKind + log2_fixed(uint64_t(length)) - log2_fixed(uint64_t(distance))) : copy;
}

// The same from below without a logarithm, in whole bits: enough to tell that most reads say more than enough.
GPUALIGN_HD int64_t min_information(int32_t length, int32_t distance) {
    if (!distance) return information(length, distance);
    const int64_t ratio = leading_zeros(uint64_t(distance)) - leading_zeros(uint64_t(length)) + 1;
    return 2 * int64_t(length) * kLogOne - distance * (4 + ratio) * kLogOne;
}

// What it takes to name one of so many positions on either strand of a reference.
GPUALIGN_HD int32_t bits_of_locus(uint64_t bases) { return log2_fixed(2 * bases + 1); }

// What a mate says beyond what names its locus in the windows near the other mate.
GPUALIGN_HD int64_t bits_near_mate(int32_t length, int32_t limit, int32_t distance, int64_t longest_insert) {
    return information(length, distance) - log2_fixed(uint64_t(kMaxAnchors) * uint64_t(longest_insert + 2 * limit));
}

// Edits allowed in a mate that is looked for near the other; -1: it says too little to be found at all.
GPUALIGN_HD int32_t limit_near_mate(int32_t length, int32_t limit, int64_t longest_insert) {
    int32_t edits = limit;
    if (length < kShortMate)
        while (edits >= 0 && bits_near_mate(length, limit, edits, longest_insert) < kSpareBits * kLogOne) edits--;
    return edits;
}

// Ten times the decimal logarithm of 2 to the power of so many bits, rounded down.
GPUALIGN_HD int64_t phred(int64_t bits) { return bits * 30103 / 10000 >> kLogBits; }
constexpr int32_t kTenth = 5573271;  // log2(10) / 10, 24 bits after the point

// What speaks for a locus.
struct Evidence {
    int32_t length;       // of the read, A, C, G and T alone
    bool hits_truncated;  // some of its hits were not followed
    int32_t distance;     // at the locus, of these
    int32_t seed_hits;    // on its diagonals, anchors of a local alignment
};

// A read that was found through its mate has no seeds of its own: the mate's speak for both.
GPUALIGN_HD Evidence with_mate(Evidence end, const Evidence& mate) {
    if (end.seed_hits) return end;
    end.seed_hits = mate.seed_hits;
    end.hits_truncated = mate.hits_truncated;
    return end;
}

class MappingQuality {
public:
    static constexpr int64_t kManyBits = 20 * int64_t(kLogOne);  // more than the highest quality takes

    GPUALIGN_HD explicit MappingQuality(const MapRules& rules)
        : edit_(rules.scores.match + rules.scores.mismatch), locus_bits_(rules.locus_bits), k_(rules.k), w_(rules.w) {}

    // Of a read by itself. A lead of half an edit is none, as in chaining.
    GPUALIGN_HD_CALL uint8_t single(const Evidence& chosen, const Suboptimal& suboptimal) const {
        if (suboptimal.minimum >= 0 && 2 * suboptimal.minimum <= edit_) return 0;
        const uint8_t quality = by_itself(chosen, suboptimal);
        return uint8_t(min(quality, surest_quality(chosen.length, chosen.distance, chosen.hits_truncated, k_, w_)));
    }

    // Of a mate of a proper pair: `alone` are the other loci of the read, null where the locus is not the best of them; `pairs`
    // put the read elsewhere, by the edits of both mates. Pairs that lose no more than rounding does are as good, whatever speaks for the read by itself.
    // `bits`: what the mates say beyond what it takes to be found near each other.
    GPUALIGN_HD_CALL uint8_t paired(const Evidence& chosen, const Evidence& mate, const Suboptimal* alone, const Suboptimal& pairs,
                                    int64_t bits) const {
        if (pairs.minimum >= 0 && pairs.minimum <= kRounding) return 0;
        Evidence both = chosen;
        both.length += mate.length;
        both.distance += mate.distance;
        const uint8_t together = bounded(of(both, pairs), bits), by_itself = alone ? single(chosen, *alone) : uint8_t(0);
        return together > by_itself ? together : by_itself;
    }

private:
    GPUALIGN_HD uint8_t by_itself(const Evidence& chosen, const Suboptimal& suboptimal) const {
        const int32_t quality = of(chosen, suboptimal);
        if (min_information(chosen.length, chosen.distance) >= locus_bits_ + kManyBits) return uint8_t(quality);
        return bounded(quality, information(chosen.length, chosen.distance) - locus_bits_);
    }

    static constexpr int32_t kMax = 60;
    // Powers of ten: the least chance of a better locus, and that without seed hits where none were left out.
    static constexpr int32_t kSurest = 6, kNotTruncated = 2;
    // What an insert size costs is a whole number, and it is taken from loci whose gaps are not known yet.
    static constexpr int32_t kRounding = 1;

    // The lesser of a quality and what the bits allow, as chance matches are likelier than that; some quality stays with a locus
    // without a suboptimal one.
    static GPUALIGN_HD uint8_t bounded(int32_t quality, int64_t bits) {
        if (bits >= kManyBits) return uint8_t(quality);
        const int32_t maximum = max(1, int32_t(phred(bits)));
        return uint8_t(min(quality, maximum));
    }

    GPUALIGN_HD int32_t of(const Evidence& chosen, const Suboptimal& suboptimal) const {
        // most reads: no logarithms
        if (suboptimal.minimum < 0 && !chosen.hits_truncated && kNotTruncated + chosen.seed_hits >= kSurest) return kMax;
        uint64_t wrong = unseen(chosen, suboptimal.minimum);
        if (suboptimal.minimum > 0) {
            const int32_t right = max(1, chosen.length + 1 - chosen.distance);
            const int64_t odds = log2_fixed(3 * uint64_t(chosen.distance + 1)) - log2_fixed(uint64_t(right));
            const int64_t power = odds * suboptimal.minimum / edit_ + log2_fixed(suboptimal.count);
            // the quality is 1 in any case where they are four times as likely
            wrong += power < 2 * kLogOne ? exp2_share(power - 2 * kLogOne) << 2 : kShareOne << 2;
        }
        const int64_t quality = phred(log2_fixed(kShareOne + wrong) - log2_fixed(wrong));
        return quality < 1 ? 1 : quality > kMax ? kMax : int32_t(quality);
    }

    // The chance of a better locus among those that were not verified. The more seeds speak for the chosen locus, the more
    // of them a better one would have shown; where hits were left out, a suboptimal one close by, which loses
    // `minimum`, is a sign of a family of repeats whose other members were not met.
    GPUALIGN_HD uint64_t unseen(const Evidence& chosen, int32_t minimum) const {
        if (!chosen.hits_truncated) {
            uint64_t chance = kShareOne / 100;
            for (int32_t tens = kNotTruncated; tens < kSurest && tens < kNotTruncated + chosen.seed_hits; tens++) chance /= 10;
            return chance;
        }
        const int32_t tenths = min(10 * kSurest, 1 + 5 * chosen.seed_hits);
        const uint64_t by_seed_hits = exp2_share(-(int64_t(tenths) * kTenth >> 8));
        if (minimum < 0) return by_seed_hits;
        const uint64_t of_family = exp2_share(kFamily - int64_t(kFamilyEdit) * minimum / edit_);
        return by_seed_hits > of_family ? by_seed_hits : of_family;
    }
    static constexpr int32_t kFamily = -130175, kFamilyEdit = 174165;  // 0.04 10^0.8 and the 10^0.8 that an edit takes off

    const int32_t edit_;
    const int64_t locus_bits_;
    const int32_t k_, w_;
};

}  // namespace gpualign
