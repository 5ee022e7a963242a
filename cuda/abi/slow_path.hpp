// Arguments of the kernels of cuda/map_slow_path.cu, which map the templates that cuda/map.cu leaves to them.
#pragma once
#include "abi/chains.hpp"
#include "abi/map.hpp"

namespace gpualign {

constexpr int kWantedBandBits = 20;

// What a batch needs, as far as kernels know. If that is more than it has, the host repeats it with more memory.
struct SlowPathWanted {
    uint32_t templates;  // of the slow path
    uint32_t loci, hits;  // maximum loci of a read, and hits of a read at once
    uint32_t band;  // maximum bytes of a banded DP matrix, in units of 1 << kWantedBandBits
};

struct SlowPathLaunch {
    MapBatch batch;
    ChainBatch
        chains[2];  // short reads chained by minimizers, and by all k-mers: they share arenas and have separate states
    ChainBatch long_chains;  // reads that are mapped as long ones and are already chained
    uint8_t* states;  // of each template: algo/map/slow_path/state.hpp
    uint32_t* statuses;  // of each template: 0, or the flag for its records if it is not mapped here
    uint8_t* workspace;  // of each group of lanes
    uint64_t state_bytes, workspace_bytes;
    uint64_t band_bytes;  // workspace for one banded DP matrix, per group
    uint64_t max_band_bytes;  // the host maps reads that need more
    uint32_t* next;  // work counter of the groups
    uint32_t* done;  // ChainLaunch::done of an earlier round
    SlowPathWanted* wanted;
    uint32_t first, templates;  // the templates of this launch
    uint32_t round;  // of chaining
    uint32_t longest;  // bases of the longest read
    uint32_t max_hits, max_loci;  // powers of two
    uint32_t hit_limit;  // the host maps reads with more hits
    uint32_t mates;  // per template, at most
    uint32_t full;  // 1: find every locus within the limit
    uint32_t max_seeds;  // per read, at least as many as it has bases
};

static_assert(sizeof(SlowPathWanted) == 16, "laid out as the host reads it");

}  // namespace gpualign
