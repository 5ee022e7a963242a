// How short reads are mapped.
#pragma once
#include <cmath>
#include <cstdint>

#include "abi/map.hpp"
#include "algo/map/chain/short_reads.hpp"
#include "map/chain_mapper.hpp"
#include "map/seeding.hpp"

namespace gpualign {

struct MapParams {
    MapRules rules;  // as the device has them, but for `limits`
    SeedingParams seeding;
    double error_rate;
    AffineScores scores;
    bool local;  // align by chaining what does not align end to end
    ChainRules long_reads;

    bool is_long(int64_t length) const { return maps_as_long(rules, length); }

    // Edits allowed in a read: the rate of its length, rounded down. The tiny summand keeps 0.29 * 100 at 29.
    int32_t limit(int64_t length) const { return int32_t(std::floor(error_rate * double(length) + 1e-9)); }
};

}  // namespace gpualign
