// What the kernels of `distances` share: texts of 32 targets interleaved for a warp, and profiles of one query in
// shared memory, which all threads of a block read. A profile's row of 4 words is one load; rows of different symbols
// stand side by side, so that threads with different symbols meet in no bank as long as there are few symbols.
#pragma once
#include <cstdint>

#include "algo/common/hd.hpp"

namespace gpualign {
namespace distances {

constexpr int kWarp = 32;
constexpr int kChunk = 16;  // symbols in one 128-bit load

// Targets in the order of their lengths; chunk c of target t at start[t / 32] + c * 32 + t % 32.
struct Texts {
    const uint4* text;
    const uint32_t* start;  // of each warp's targets, in chunks
    const int32_t* order;   // number of each target
    const int64_t* offsets; // by number
    int32_t count;

    __device__ __forceinline__ int32_t length(int32_t number) const {
        return int32_t(offsets[number + 1] - offsets[number]);
    }
};

__device__ __forceinline__ uint32_t symbol_of(const uint4& chunk, int i) {
    const uint32_t four = i / 4 == 0 ? chunk.x : i / 4 == 1 ? chunk.y : i / 4 == 2 ? chunk.z : chunk.w;
    return __byte_perm(four, 0, 0x4440 + i % 4);
}

}  // namespace distances
}  // namespace gpualign
