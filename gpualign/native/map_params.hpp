// How short reads are mapped.
#pragma once
#include <cmath>
#include <cstdint>

#include "algo/affine.hpp"
#include "chain_mapper.hpp"
#include "pair_model.hpp"
#include "seeding.hpp"

namespace gpualign {

// Longer reads are mapped as by the presets of long reads, by chaining alone: a whole alignment takes memory and time with the
// square of the length, and so does trying every rival of a chain.
constexpr int32_t kLongestWhole = 1000;

struct MapParams {
    SeedingParams seeding;
    double error_rate;
    AffineScores scores;
    PairModel pairs;
    bool local;              // align parts of a read where the whole fits nowhere
    int32_t most_secondary;  // further places reported per read
    int32_t strata;          // of those with at most that many edits more than the best
    ChainMapParams long_reads;

    bool is_long(int64_t length) const { return local && length > kLongestWhole; }

    // Edits allowed in a read: the rate of its length, rounded up. The tiny subtrahend keeps 0.07 * 100 at 7.
    int32_t limit(int64_t length) const { return int32_t(std::ceil(error_rate * double(length) - 1e-9)); }
};

}  // namespace gpualign
