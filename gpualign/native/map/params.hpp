// How short reads are mapped.
#pragma once
#include <cmath>
#include <cstdint>

#include "algo/map/affine.hpp"
#include "algo/map/thresholds.hpp"
#include "map/information.hpp"
#include "map/chain_mapper.hpp"
#include "map/pair_model.hpp"
#include "map/seeding.hpp"

namespace gpualign {

// Longer reads are mapped as by the presets of long reads, by chaining alone: a whole alignment takes memory and time with the
// square of the length, and so does trying every suboptimal chain.
constexpr int32_t kLongestWhole = 1000;

struct MapParams {
    SeedingParams seeding;
    double error_rate;
    AffineScores scores;
    PairModel pairs;
    bool local;              // align by chaining what does not align end to end
    int32_t max_secondary;  // secondary alignments reported per read
    int32_t strata;          // of those with at most that many edits more than the best
    uint64_t bases;          // of the reference
    ChainRules long_reads;

    bool is_long(int64_t length) const { return local && length > kLongestWhole; }

    // Edits allowed in a read: the rate of its length, rounded down. The tiny summand keeps 0.29 * 100 at 29.
    int32_t limit(int64_t length) const { return int32_t(std::floor(error_rate * double(length) + 1e-9)); }

    // Bits that a mate says beyond those that name its locus in the windows near the other mate.
    double bits_beside_mate(int32_t length, int32_t distance) const {
        return information(length, distance) - std::log2(double(kMaxAnchors) * double(pairs.max + 2 * limit(length)));
    }
    // Edits allowed in a mate that is looked for near the other; -1: it says too little to be found at all.
    int32_t limit_beside_mate(int32_t length) const {
        int32_t edits = limit(length);
        if (length < kShortMate)
            while (edits >= 0 && bits_beside_mate(length, edits) < kSpareBits) edits--;
        return edits;
    }
};

}  // namespace gpualign
