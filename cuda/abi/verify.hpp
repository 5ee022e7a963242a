// Arguments of the kernels of verify (host side: gpualign/align/edit/device/kernel.py), also used on the CPU.
#pragma once
#include <cstdint>

struct uint4;  // CUDA's

namespace gpualign {

// How a query aligns to its window: to any substring, to a prefix, or to all of it.
enum class VerifyMode : int32_t { infix = 0, prefix = 1, global = 2 };

// A pattern against the bases [begin, begin + columns) of the reference, on either strand.
struct VerifyTask {
    uint32_t begin, columns;
    uint32_t profile;  // query * 2 + strand
    int32_t limit;     // maximum distance of interest; cells that only lead beyond it may be skipped
};

// A batch on a device.
struct VerifyArrays {
    const uint32_t* text;           // 2 bits a base
    const uint32_t* known;          // the ACGT mask, a bit a base, or null
    const uint32_t* planes;         // bit planes of all queries on both strands
    const uint32_t* plane_offsets;  // of each query's forward strand
    const int32_t* lengths;         // of each query
    const uint4* tasks;             // a VerifyTask each
    int32_t* distances;             // -1: beyond the limit
    int32_t* ends;
    int32_t* starts;
    uint32_t* hits;  // tasks whose start is wanted
    uint32_t* hit_count;
    uint32_t* boundary;  // scratch between strips: a word per 16 columns, boundary_stride words a group
    uint64_t boundary_stride;
    const uint32_t* band_profiles;  // of queries whose pairs are computed in a band
    const uint32_t* band_offsets;   // of each query's forward strand
};

static_assert(sizeof(VerifyTask) == 16 && sizeof(VerifyArrays) == 120, "laid out as the host writes them");

}  // namespace gpualign
