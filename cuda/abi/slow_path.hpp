// What the host hands to the kernels of cuda/map_slow_path.cu, for the templates that cuda/map.cu leaves to them.
#pragma once
#include "abi/chains.hpp"
#include "abi/map.hpp"

namespace gpualign {

constexpr int kWantedBandBits = 20;

struct SlowPathLaunch {
    MapBatch batch;
    ChainBatch chains[2];         // of short reads by their minimizers, and by all their k-mers: one set of arenas, two of states
    ChainBatch long_chains;       // of the reads that are mapped as long ones, which have been chained before
    uint8_t* states;              // of each template: algo/map/slow_path/state.hpp
    uint32_t* statuses;              // of each: 0, or the flag of its records where it is not mapped
    uint8_t* workspace;           // of each group of lanes
    uint64_t state_bytes, workspace_bytes;
    uint64_t band_bytes;          // of a group's workspace for a dynamic program
    uint64_t max_band_bytes;     // what needs more is left to the host
    uint32_t* next;               // of what groups take in turn
    uint32_t* done_chains;        // of chains that an earlier round has reported
    uint32_t* wanted_loci;        // most loci of a read: where they are more than there is space for all is done again
    uint32_t* wanted_hits;        // the same of hits at once
    uint32_t* wanted_band;        // the same of those bytes, in pieces of 1 << kWantedBandBits
    uint32_t* wanted_templates;   // how many are doubtful
    uint32_t first, templates;    // of the doubtful ones those that are mapped together
    uint32_t round;               // of chains
    uint32_t longest;             // bases of a read
    uint32_t max_hits, max_loci;  // powers of two
    uint32_t hit_limit;           // a read with more is left to the host
    uint32_t mates;               // of a template, at most
    uint32_t full;                // 1: every locus within the limit is found
    uint32_t max_seeds;           // of a read, at least as many as it has bases
};

}  // namespace gpualign
