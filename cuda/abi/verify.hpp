// What the host hands to the kernels of verify (gpualign/verify/device/kernel.py), and what the CPU's way shares with them.
#pragma once
#include <cstdint>

struct uint4;  // CUDA's

namespace gpualign {

// Where a query lies: anywhere in its window, from the window's start on, or on all of it.
enum class VerifyMode : int32_t { infix = 0, prefix = 1, global = 2 };

// A pattern against the reference's bases [begin, begin + columns), read forward or, complemented, backward.
struct VerifyTask {
    uint32_t begin, columns;
    uint32_t profile;  // query * 2 + strand
    int32_t limit;     // errors of interest; cells that only lead beyond it may be left out
};

// A batch on a device.
struct VerifyArrays {
    const uint32_t* text;           // 2 bits a base
    const uint32_t* known;          // the ACGT mask, a bit a base, or null
    const uint32_t* planes;         // of all queries, both strands
    const uint32_t* plane_offsets;  // of each query's first strand
    const int32_t* lengths;         // of each query
    const uint4* tasks;             // a VerifyTask each
    int32_t* distances;             // -1 beyond the limit
    int32_t* ends;
    int32_t* starts;
    uint32_t* hits;  // tasks whose start is wanted
    uint32_t* hit_count;
    uint32_t* boundary;  // between strips: a word per 16 columns, `boundary_stride` words a group
    uint64_t boundary_stride;
    const uint32_t* band_profiles;  // of the queries whose pairs fit a band
    const uint32_t* band_offsets;   // of each query's first strand
};

static_assert(sizeof(VerifyTask) == 16 && sizeof(VerifyArrays) == 120, "laid out as the host writes them");

}  // namespace gpualign
