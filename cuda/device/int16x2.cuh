// Two 16-bit values in one 32-bit register: a word type for algorithm headers that aligns two pairs a thread. Sums
// stand with the kernels (device/align/score/lazy_scan.cuh, device/align/gaps/pairs.cuh), which use different
// instructions for them. From compute capability 9.0 on each is one instruction; CUDA emulates them before.
#pragma once
#include <cstdint>

#include "algo/common/hd.hpp"

namespace gpualign {

struct int16x2 {
    uint32_t bits;

    int16x2() = default;
    __device__ __forceinline__ explicit int16x2(uint32_t bits) : bits(bits) {}
    // Both halves set to one value.
    static __device__ __forceinline__ int16x2 both(int32_t value) {
        return int16x2((uint32_t(value) & 0xffffu) * 0x10001u);
    }
    static __device__ __forceinline__ int16x2 of(int32_t low, int32_t high) {
        return int16x2((uint32_t(low) & 0xffffu) | uint32_t(high) << 16);
    }
    __device__ __forceinline__ int32_t lane(int i) const { return i ? int32_t(bits) >> 16 : int32_t(int16_t(bits)); }

    friend __device__ __forceinline__ int16x2 max(int16x2 a, int16x2 b) { return int16x2(__vmaxs2(a.bits, b.bits)); }
};

// Two unsigned 16-bit values, for sums with signed scores that stay within 0 ... 65535: one addition serves both
// halves without a carry between them.
struct uint16x2 {
    uint32_t bits;

    uint16x2() = default;
    __device__ __forceinline__ explicit uint16x2(uint32_t bits) : bits(bits) {}
    static __device__ __forceinline__ uint16x2 both(int32_t value) {
        return uint16x2((uint32_t(value) & 0xffffu) * 0x10001u);
    }
    // A negative low value borrows one from the high half; the next addition returns it.
    static __device__ __forceinline__ uint16x2 of(int32_t low, int32_t high) {
        return uint16x2(uint32_t(low) + (uint32_t(high) << 16));
    }
    __device__ __forceinline__ int32_t lane(int i) const { return i ? bits >> 16 : bits & 0xffffu; }
};

// Bytes of a (0..3) and b (4..7) by the selector's nibbles; with its top bit set a nibble gives the byte's sign eight
// times over, which CUDA's __byte_perm does not offer.
__device__ __forceinline__ uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
    uint32_t result = 0;
#if defined(__CUDACC__)
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
#else
    for (int i = 0; i < 4; i++) {
        const uint32_t pick = selector >> (4 * i) & 15,
                       byte = uint32_t((uint64_t(b) << 32 | a) >> (8 * (pick & 7))) & 0xffu;
        result |= (pick & 8 ? byte >> 7 ? 0xffu : 0u : byte) << (8 * i);
    }
#endif
    return result;
}

}  // namespace gpualign
