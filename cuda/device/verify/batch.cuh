// What the host hands to the verification kernels (gpualign/verify/device/kernel.py builds it).
#pragma once
#include <cstdint>

namespace gpualign {

struct Task {
    uint32_t begin, columns, profile;  // profile: query * 2 + strand
    int32_t limit;
};

struct Batch {
    const uint32_t* text;           // 2 bits a base
    const uint32_t* known;          // a bit a base, or null
    const uint32_t* planes;         // of all queries, both strands
    const uint32_t* plane_offsets;  // of each query's first strand
    const int32_t* lengths;         // of each query
    const uint4* tasks;
    int32_t* distances;  // -1 beyond the limit
    int32_t* ends;
    int32_t* starts;
    uint32_t* hits;       // tasks whose start is wanted
    uint32_t* hit_count;
    uint32_t* boundary;   // between strips: a word per 16 columns, `boundary_stride` words a group
    uint64_t boundary_stride;
    const uint32_t* band_profiles;  // of the queries whose pairs fit a band
    const uint32_t* band_offsets;   // of each query's first strand
};

static_assert(sizeof(Task) == 16 && sizeof(Batch) == 120, "laid out as the host writes them");

}  // namespace gpualign
