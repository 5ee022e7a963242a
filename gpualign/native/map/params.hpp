// How short reads are mapped.
#pragma once
#include <cmath>
#include <cstdint>

#include "abi/map.hpp"
#include "map/chain_mapper.hpp"
#include "map/seeding.hpp"

namespace gpualign {

// Longer reads are mapped as by the presets of long reads, by chaining alone: a whole alignment takes memory and time with the
// square of the length, and so does trying every suboptimal chain.
constexpr int32_t kLongestWhole = 1000;

struct MapParams {
    MapRules rules;  // as the device has them, but for `limits`
    SeedingParams seeding;
    double error_rate;
    AffineScores scores;
    bool local;  // align by chaining what does not align end to end
    ChainRules long_reads;

    bool is_long(int64_t length) const { return local && length > kLongestWhole; }

    // Edits allowed in a read: the rate of its length, rounded down. The tiny summand keeps 0.29 * 100 at 29.
    int32_t limit(int64_t length) const { return int32_t(std::floor(error_rate * double(length) + 1e-9)); }
};

}  // namespace gpualign
