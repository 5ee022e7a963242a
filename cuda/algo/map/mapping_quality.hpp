// Mapping qualities in Phred units from 0 to 60, in integer arithmetic, so that host and device agree
// (algo/common/fixed_point.hpp).
//
// A posterior over the known loci, plus a term for unknown ones. Weights are relative to the chosen locus: each
// additional edit of a suboptimal locus multiplies its weight by 3 e / (1 - e), with the error rate e estimated from
// the read; of a bisulfite read by e / 3 / (1 - e), which fits those. Loci that the seeds missed are likely only if
// hits were left out; that term is fitted to simulated reads (benchmarks/map_accuracy.py; docs/internals/algorithms.md,
// "Mapping quality").
#pragma once
#include "algo/common/fixed_point.hpp"
#include "algo/map/thresholds.hpp"

namespace gpualign {

// Information content of an alignment, in bits with kLogBits fractional bits: minus the logarithm of the probability
// that random bases fit the read within `distance` edits. That is 4^-length for an exact copy, times about C(length,
// distance) 7^distance within so many edits, as each substitutes, deletes or inserts a base. The binomial coefficient
// is about (e length / distance)^distance.
GPUALIGN_HD int64_t information(int32_t length, int32_t distance) {
    // added to log2(length / distance); fitted to 10 to 100 bases with up to 8 % edits
    constexpr int64_t kOfKind = 7 * kLogOne / 2;
    const int64_t copy = 2 * int64_t(length) * kLogOne;
    return distance ? copy - distance * (kOfKind + log2_fixed(uint64_t(length)) - log2_fixed(uint64_t(distance)))
                    : copy;
}

// Lower bound of information() without logarithms, which suffices for most reads.
GPUALIGN_HD int64_t min_information(int32_t length, int32_t distance) {
    if (!distance) return information(length, distance);
    const int64_t ratio = leading_zeros(uint64_t(distance)) - leading_zeros(uint64_t(length)) + 1;
    return 2 * int64_t(length) * kLogOne - distance * (4 + ratio) * kLogOne;
}

// Bits needed to name a position on either strand of a reference.
GPUALIGN_HD int32_t bits_of_locus(uint64_t bases) { return log2_fixed(2 * bases + 1); }

// Information of a mate beyond what it takes to name its locus in the windows near the other mate.
GPUALIGN_HD int64_t bits_near_mate(int32_t length, int32_t limit, int32_t distance, int64_t longest_insert) {
    return information(length, distance) - log2_fixed(uint64_t(kMaxAnchors) * uint64_t(longest_insert + 2 * limit));
}

// Edits allowed in mate rescue; -1: the mate is too short to be found.
GPUALIGN_HD int32_t limit_near_mate(int32_t length, int32_t limit, int64_t longest_insert) {
    int32_t edits = limit;
    if (length < kShortMate)
        while (edits >= 0 && bits_near_mate(length, limit, edits, longest_insert) < kSpareBits * kLogOne) edits--;
    return edits;
}

// Informative bases of [begin, end) of a read: those that differ from the base one unit before, for the unit of a few
// bases that leaves the fewest. A microsatellite, which has copies all over a genome, has none but its first unit.
// Counts no further than `enough`. Bases is like PackedBases.
template <class Bases>
GPUALIGN_HD int32_t informative_bases(const Bases& bases, int32_t begin, int32_t end, int32_t enough) {
    int32_t fewest = enough;
    for (int32_t unit = 1; unit <= kLongestUnit; unit++) {
        int32_t informative = unit;
        for (int32_t i = begin + unit; i < end && informative < fewest; i++)
            informative += bases.code(i) != bases.code(i - unit);
        fewest = min(fewest, informative);
    }
    return fewest;
}

// Information content of the bases [begin, end) of a read if they repeat a unit of a few bases. A third is added to
// the informative ones, as one in four is the same by chance. Counts no further than `enough`.
template <class Bases>
GPUALIGN_HD int64_t information_of_repeat(const Bases& bases, int32_t begin, int32_t end, int64_t enough) {
    constexpr int64_t kEach = 8 * int64_t(kLogOne) / 3;
    return informative_bases(bases, begin, end, int32_t((enough + kEach - 1) / kEach)) * kEach;
}

// The lower of a quality and what the bases of a bisulfite read allow: converted, most of a genome's simple repeats
// are alike.
template <class Bases>
GPUALIGN_HD_CALL uint8_t quality_of_converted(const Bases& bases, int32_t length, uint8_t quality) {
    constexpr int32_t kQualityOfBase = 2;
    if (!quality) return 0;
    const int32_t informative = informative_bases(bases, 0, length, quality / kQualityOfBase + 1);
    return uint8_t(min(int32_t(quality), informative * kQualityOfBase));
}

// Phred value of a number of bits, rounded down.
GPUALIGN_HD int64_t phred(int64_t bits) { return bits * 30103 / 10000 >> kLogBits; }
constexpr int32_t kTenth = 5573271;  // log2(10) / 10, 24 fractional bits

// Score differences of suboptimal alignments to the reported one: the smallest, and how many alignments have it.
struct Suboptimal {
    int32_t minimum = -1;  // negative: there are none
    uint32_t count = 0;

    GPUALIGN_HD void add(int32_t loss) {
        if (minimum < 0 || loss < minimum) {
            minimum = loss;
            count = 1;
        } else if (loss == minimum) {
            count++;
        }
    }
};

// Evidence for a locus.
struct Evidence {
    int32_t length;  // unambiguous bases of the read
    bool hits_truncated;  // some of its hits were not followed
    int32_t distance;  // edits in these bases
    int32_t seed_hits;  // on its diagonals; anchors for a local alignment
};

// A rescued mate has no seeds of its own: those of the other mate count.
GPUALIGN_HD Evidence with_mate(Evidence end, const Evidence& mate) {
    if (end.seed_hits) return end;
    end.seed_hits = mate.seed_hits;
    end.hits_truncated = mate.hits_truncated;
    return end;
}

class MappingQuality {
public:
    static constexpr uint8_t kMax = 60;
    static constexpr uint8_t kNearMate = 40;  // the highest of a mate that its own seeds do not tell from unseen loci
    static constexpr int64_t kManyBits = 20 * int64_t(kLogOne);  // enough for the highest quality

    GPUALIGN_HD explicit MappingQuality(const MapRules& rules, bool converted = false)
        : converted_(converted), edit_(rules.scores.match + rules.scores.mismatch), locus_bits_(rules.locus_bits),
          k_(rules.k), w_(rules.w) {}

    // The quality of a read by itself. A lead of half an edit counts as none, as in chaining.
    GPUALIGN_HD_CALL uint8_t single(const Evidence& chosen, const Suboptimal& suboptimal) const {
        if (suboptimal.minimum >= 0 && 2 * suboptimal.minimum <= edit_) return 0;
        const uint8_t quality = by_itself(chosen, suboptimal);
        return uint8_t(min(quality, surest_quality(chosen.length, chosen.distance, chosen.hits_truncated, k_, w_)));
    }

    // The quality of a mate of a proper pair. `alone`: the other loci of the read, null if the chosen one is not its
    // best. `pairs`: pairs with the read at another locus, counting the edits of both mates, but for those that base
    // qualities weigh; `nearest`: the smallest difference of all. `bits`: information of the
    // mates beyond what it takes to find one near the other. `surest`: upper bound, of mates that are the same bases.
    // Pairs within the rounding error count as equal.
    GPUALIGN_HD_CALL uint8_t paired(const Evidence& chosen, const Evidence& mate, const Suboptimal* alone,
        const Suboptimal& pairs, int32_t nearest, int64_t bits, uint8_t surest) const {
        if (pairs.minimum >= 0 && pairs.minimum <= kRounding) return 0;
        Evidence both = chosen;
        both.length += mate.length;
        both.distance += mate.distance;
        const uint8_t together = bounded(of(both, pairs, nearest), bits),
                      by_itself = alone ? single(chosen, *alone) : uint8_t(0);
        return uint8_t(min(surest, max(together, by_itself)));
    }

    // Whether a better locus of `mate` would have been seen more probably than one of `other`.
    static GPUALIGN_HD bool tells_more(const Evidence& mate, const Evidence& other) {
        return mate.seed_hits > 0 && unseen_tenths(mate) > unseen_tenths(other);
    }

    // The lower of a quality and what the information content allows, at least 1 for a locus without a suboptimal one.
    static GPUALIGN_HD uint8_t bounded(int32_t quality, int64_t bits) {
        if (bits >= kManyBits) return uint8_t(quality);
        const int32_t maximum = max(1, int32_t(phred(bits)));
        return uint8_t(min(quality, maximum));
    }

private:
    GPUALIGN_HD uint8_t by_itself(const Evidence& chosen, const Suboptimal& suboptimal) const {
        const int32_t quality = of(chosen, suboptimal, suboptimal.minimum);
        if (min_information(chosen.length, chosen.distance) >= locus_bits_ + kManyBits) return uint8_t(quality);
        return bounded(quality, information(chosen.length, chosen.distance) - locus_bits_);
    }

    // Negative powers of ten: the lowest probability of a better locus, and that without seed hits if none were left
    // out.
    static constexpr int32_t kSurest = 6, kNotTruncated = 2;
    // Insert-size penalties are rounded, and computed before gaps are known.
    static constexpr int32_t kRounding = 1;

    GPUALIGN_HD int32_t of(const Evidence& chosen, const Suboptimal& suboptimal, int32_t nearest) const {
        // fast path of most reads: no logarithms
        if (suboptimal.minimum < 0 && !chosen.hits_truncated && kNotTruncated + chosen.seed_hits >= kSurest)
            return kMax;
        uint64_t wrong = unseen(chosen, nearest);
        if (suboptimal.minimum > 0) {
            const int32_t right = max(1, chosen.length + 1 - chosen.distance);
            const uint64_t edits = uint64_t(chosen.distance + 1), bases = uint64_t(right);
            const int64_t odds =
                converted_ ? log2_fixed(edits) - log2_fixed(3 * bases) : log2_fixed(3 * edits) - log2_fixed(bases);
            const int64_t power = odds * suboptimal.minimum / edit_ + log2_fixed(suboptimal.count);
            // the quality is 1 anyway if the others are four times as likely
            wrong += power < 2 * kLogOne ? exp2_share(power - 2 * kLogOne) << 2 : kShareOne << 2;
        }
        const int64_t quality = phred(log2_fixed(kShareOne + wrong) - log2_fixed(wrong));
        return quality < 1 ? 1 : quality > kMax ? kMax : int32_t(quality);
    }

    // Probability of a better locus among those that were not verified. The more seeds support the chosen locus, the
    // more a better one would have shown. If hits were left out, a close suboptimal locus, `minimum` below, indicates
    // a family of repeats with unseen members.
    GPUALIGN_HD uint64_t unseen(const Evidence& chosen, int32_t minimum) const {
        if (!chosen.hits_truncated) {
            uint64_t chance = kShareOne / 100;
            for (int32_t tens = kNotTruncated; tens < kSurest && tens < kNotTruncated + chosen.seed_hits; tens++)
                chance /= 10;
            return chance;
        }
        const uint64_t by_seed_hits = exp2_share(-(int64_t(unseen_tenths(chosen)) * kTenth >> 8));
        if (minimum < 0) return by_seed_hits;
        const uint64_t of_family = exp2_share(kFamily - int64_t(kFamilyEdit) * minimum / edit_);
        return by_seed_hits > of_family ? by_seed_hits : of_family;
    }
    // Minus ten times the decimal logarithm of the probability of unseen loci where there is no close one.
    static GPUALIGN_HD int32_t unseen_tenths(const Evidence& chosen) {
        const int32_t tenths =
            chosen.hits_truncated ? 1 + 5 * chosen.seed_hits : 10 * (kNotTruncated + chosen.seed_hits);
        return min(10 * kSurest, tenths);
    }
    // log2 of 0.04 * 10^0.8, and of the 10^0.8 that each edit divides by
    static constexpr int32_t kFamily = -130175, kFamilyEdit = 174165;

    const bool converted_;
    const int32_t edit_;
    const int64_t locus_bits_;
    const int32_t k_, w_;
};

}  // namespace gpualign
