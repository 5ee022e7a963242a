// Two 16-bit lanes in one register: two alignments a thread.
#pragma once
#include <cstdint>

#include "algo/common/hd.hpp"

namespace gpualign {

struct Pair16 {
    uint32_t v;

    Pair16() = default;
    __device__ __forceinline__ explicit Pair16(uint32_t raw) : v(raw) {}
    // The same value in both lanes.
    static __device__ __forceinline__ Pair16 both(int32_t x) { return Pair16((uint32_t(x) & 0xffffu) * 0x10001u); }
    static __device__ __forceinline__ Pair16 of(int32_t low, int32_t high) {
        return Pair16((uint32_t(low) & 0xffffu) | uint32_t(high) << 16);
    }
    __device__ __forceinline__ int32_t lane(int i) const { return i ? int32_t(v) >> 16 : int32_t(int16_t(v)); }

    friend __device__ __forceinline__ Pair16 operator+(Pair16 a, Pair16 b) { return Pair16(__vadd2(a.v, b.v)); }
    friend __device__ __forceinline__ Pair16 max(Pair16 a, Pair16 b) { return Pair16(__vmaxs2(a.v, b.v)); }
};

// One instruction on sm_90 and later (DPX), a few elsewhere.
__device__ __forceinline__ Pair16 add_max(Pair16 a, Pair16 b, Pair16 c) {
    return Pair16(__viaddmax_s16x2(a.v, b.v, c.v));
}

// And not below zero.
__device__ __forceinline__ Pair16 add_max_floor(Pair16 a, Pair16 b, Pair16 c) {
    return Pair16(__viaddmax_s16x2_relu(a.v, b.v, c.v));
}

}  // namespace gpualign
