// Two 16-bit values in one 32-bit register: a word type for algorithm headers that solves two problems a thread.
// One instruction each from compute capability 9.0 on; CUDA emulates them before.
#pragma once
#include <cstdint>

#include "algo/common/hd.hpp"

namespace gpualign {

struct Halves {
    uint32_t bits;

    Halves() = default;
    __device__ __forceinline__ explicit Halves(uint32_t bits) : bits(bits) {}

    static __device__ __forceinline__ Halves both(int32_t value) {
        return Halves((uint32_t(value) & 0xffffu) | (uint32_t(value) << 16));
    }
    __device__ __forceinline__ int32_t get(int half) const { return int16_t(bits >> (16 * half)); }
};

// The sum wraps around as 16-bit integers do.
__device__ __forceinline__ Halves operator+(Halves a, Halves b) {
    return Halves(__viaddmax_s16x2(a.bits, b.bits, 0x80008000u));
}
__device__ __forceinline__ Halves max(Halves a, Halves b) { return Halves(__vmaxs2(a.bits, b.bits)); }

// Bytes of a (0..3) and b (4..7) by the selector's nibbles; with its top bit set a nibble gives the byte's sign eight
// times over, which CUDA's __byte_perm does not offer.
__device__ __forceinline__ uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
    uint32_t result;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
    return result;
}

namespace gapsmis {
__device__ __forceinline__ Halves add_max(Halves a, Halves b, Halves c) {
    return Halves(__viaddmax_s16x2(a.bits, b.bits, c.bits));
}
}  // namespace gapsmis

}  // namespace gpualign
