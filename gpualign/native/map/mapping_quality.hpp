// Mapping qualities: how likely a read lies elsewhere, in Phred units from 0 to 60.
//
// A posterior over the loci that are known, and a term for those that are not: their weights relative to the chosen locus', which
// is 1. Each edit that a suboptimal locus needs more multiplies its weight by 3 e / (1 - e), with e estimated from the read itself.
// What the seeds did not show is likely only where hits were left out: its terms are fitted to
// simulated reads (benchmarks/map_accuracy.py shows how well they fit; docs/algorithms.md, "Mapping quality").
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "algo/map/suboptimal.hpp"
#include "map/information.hpp"
#include "map/read_block.hpp"

namespace gpualign {

// The loci of a read but the best one.
inline Suboptimal suboptimal_alone(const std::vector<Locus>& loci) {
    Suboptimal suboptimal;
    for (size_t i = 1; i < loci.size(); i++) suboptimal.add(loci[0].score - loci[i].score);
    return suboptimal;
}

// What speaks for a locus.
struct Evidence {
    int32_t length;    // of the read
    bool hits_truncated;          // some of its hits were not followed
    int32_t distance;  // at the locus
    int32_t seed_hits;  // on its diagonals, anchors of a local alignment
};

inline Evidence evidence(const Read& read, const Locus& locus) {
    return {read.length, read.hits_truncated, locus.distance, locus.seed_hits};
}

// A read that was found through its mate has no seeds of its own: the mate's speak for both.
inline Evidence beside(Evidence end, const Evidence& mate) {
    if (end.seed_hits) return end;
    end.seed_hits = mate.seed_hits;
    end.hits_truncated = mate.hits_truncated;
    return end;
}

class MappingQuality {
public:
    // `bases`: of the reference.
    MappingQuality(const AffineScores& scores, uint64_t bases)
        : edit_(scores.match + scores.mismatch), loci_(loci_in_reference(bases)) {}

    // Of a read by itself. A lead of half an edit is none, as in chain_mapper.hpp.
    uint8_t single(const Evidence& chosen, const Suboptimal& suboptimal) const {
        if (suboptimal.least >= 0 && 2 * suboptimal.least <= edit_) return 0;
        return bounded(of(chosen, suboptimal), information(chosen.length, chosen.distance) - loci_);
    }

    // Of a mate of a proper pair: `alone` are the other loci of the read, null where the locus is not the best of them; `pairs`
    // put the read elsewhere. Pairs that lose no more than rounding does are as good, whatever speaks for the read by itself.
    // `bits`: what the mates say beyond what it takes to be found near each other.
    uint8_t paired(const Evidence& chosen, const Suboptimal* alone, const Suboptimal& pairs, double bits) const {
        if (pairs.least >= 0 && pairs.least <= kRounding) return 0;
        return std::max(alone ? single(chosen, *alone) : uint8_t(0), bounded(of(chosen, pairs), bits));
    }

    static constexpr double kManyBits = 20;  // more than the highest quality takes

private:
    // The lesser of a quality and what the bits allow; some quality stays with a locus without a suboptimal one.
    static uint8_t bounded(uint8_t quality, double bits) {
        return bits >= kManyBits ? quality : std::min(quality, uint8_t(std::max(1.0, max_quality(bits))));
    }

    uint8_t of(const Evidence& chosen, const Suboptimal& suboptimal) const {
        // most reads: no logarithms
        if (suboptimal.least < 0 && !chosen.hits_truncated && kNotTruncated + chosen.seed_hits >= kSurest) return kMax;
        const double edits = suboptimal.least < 0 ? 0 : double(suboptimal.least) / edit_;
        double wrong = unseen(chosen, suboptimal.least < 0, edits);
        if (suboptimal.least > 0) {
            const double rate = (chosen.distance + 1.0) / (chosen.length + 2.0);
            wrong += suboptimal.count * std::pow(3 * rate / (1 - rate), edits);
        }
        return uint8_t(std::clamp(-10 * std::log10(wrong / (1 + wrong)), 1.0, double(kMax)));
    }

    static constexpr uint8_t kMax = 60;
    // Powers of ten: the least chance of a better locus, and that without seed hits where none were left out.
    static constexpr double kSurest = 6.0, kNotTruncated = 2.0;

    // What an insert size costs is a whole number, and it is taken from loci whose gaps are not known yet.
    static constexpr int32_t kRounding = 1;

    // The chance of a better locus among those that were not verified. The more seeds speak for the chosen locus, the more
    // of them a better one would have shown; where hits were left out, a suboptimal one close by is a sign of a family of repeats
    // whose other members were not met.
    static double unseen(const Evidence& chosen, bool alone, double edits) {
        if (!chosen.hits_truncated) return std::pow(10, -std::min(kSurest, kNotTruncated + chosen.seed_hits));
        const double by_seed_hits = std::pow(10, -std::min(kSurest, 0.1 + 0.5 * chosen.seed_hits));
        return alone ? by_seed_hits : std::max(by_seed_hits, 0.04 * std::pow(10, 0.8 * (1 - edits)));
    }

    const int edit_;
    const double loci_;
};

}  // namespace gpualign
