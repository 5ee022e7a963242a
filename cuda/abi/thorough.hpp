// What the host hands to the kernel of cuda/map_thorough.cu, for the templates that map_reads leaves to it.
#pragma once
#include "abi/chains.hpp"
#include "abi/map.hpp"

namespace gpualign {

struct ThoroughLaunch {
    MapBatch batch;
    ChainBatch chains[2];         // of short reads by their minimizers, and by all their k-mers: one set of arenas, two of states
    ChainBatch long_chains;       // of the reads that are mapped as long ones, which have been chained before
    uint8_t* workspace;           // of each team
    uint64_t workspace_bytes;
    uint64_t band_bytes;          // of it for the dynamic programs of each group
    uint32_t* next;               // of the doubtful templates
    uint32_t* wanted_loci;        // most loci of a read: where they are more than there is space for all is done again
    uint32_t* wanted_hits;        // the same of hits at once
    uint32_t longest;             // bases of a read
    uint32_t max_hits, max_loci;  // powers of two
    uint32_t full;                // 1: every locus within the limit is found
};

}  // namespace gpualign
