// Parameters of the CPU's mapper.
#pragma once
#include <cmath>
#include <cstdint>

#include "abi/map.hpp"
#include "algo/map/chain/short_reads.hpp"
#include "map/chain_mapper.hpp"

namespace gpualign {

struct SeedingParams {
    int k, w;
    int32_t max_hits;        // hits followed per read after the rarest seed
    int32_t max_candidates;  // candidates kept per read
    bool full;                // follow all hits and keep all candidates
};

struct MapperParams {
    MapRules rules;  // as on the device, without `limits`
    SeedingParams seeding;
    double error_rate;
    ChainRules long_reads;
    IntronRules introns{};
    KnownIntrons known{};

    bool is_long(int64_t length) const { return maps_as_long(rules, length); }

    // Edits allowed in a read: the error rate times its length, rounded down. The tiny summand keeps 0.29 * 100 at 29.
    int32_t limit(int64_t length) const { return int32_t(std::floor(error_rate * double(length) + 1e-9)); }
};

}  // namespace gpualign
