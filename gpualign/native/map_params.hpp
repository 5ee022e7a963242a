// How short reads are mapped.
#pragma once
#include <cmath>
#include <cstdint>

#include "algo/affine.hpp"
#include "pair_model.hpp"
#include "seeding.hpp"

namespace gpualign {

struct MapParams {
    SeedingParams seeding;
    double error_rate;
    AffineScores scores;
    PairModel pairs;
    bool local;              // align parts of a read where the whole fits nowhere
    int32_t most_secondary;  // further places reported per read
    int32_t strata;          // of those with at most that many edits more than the best

    // Edits allowed in a read: the rate of its length, rounded up. The tiny subtrahend keeps 0.07 * 100 at 7.
    int32_t limit(int64_t length) const { return int32_t(std::floor(error_rate * double(length) + 1e-9)); }
};

}  // namespace gpualign
