// The host/device macros, and scalar forms of the lane-wise operations, for all algorithm headers.
//
// An algorithm header compiles with g++, clang++ and nvcc. It is a template on its word type: a plain integer on the
// GPU (one lane is one thread), Vec<T> of gpualign/native/simd/vector.hpp on the CPU (one lane is one of several
// independent problems). The functions below are the scalar overloads of what vector.hpp defines for Vec.
#pragma once
#include <cstdint>

#if defined(__CUDACC__)
#define GPUALIGN_HD __host__ __device__ __forceinline__
#define GPUALIGN_HD_CALL __host__ __device__ __noinline__
#define GPUALIGN_HOST_DEVICE __host__ __device__ inline
#define GPUALIGN_UNROLL _Pragma("unroll")
#else
#define GPUALIGN_HD inline __attribute__((always_inline))
#define GPUALIGN_HD_CALL inline  // not inlined into its callers
#define GPUALIGN_HOST_DEVICE inline  // long functions: the compiler decides
#define GPUALIGN_UNROLL _Pragma("GCC unroll 8")  // needed to keep arrays in registers
#endif

namespace gpualign {

GPUALIGN_HD uint32_t select(bool mask, uint32_t yes, uint32_t no) { return mask ? yes : no; }
GPUALIGN_HD uint64_t select(bool mask, uint64_t yes, uint64_t no) { return mask ? yes : no; }
GPUALIGN_HD int32_t select(bool mask, int32_t yes, int32_t no) { return mask ? yes : no; }
GPUALIGN_HD int16_t select(bool mask, int16_t yes, int16_t no) { return mask ? yes : no; }

GPUALIGN_HD int32_t max(int32_t a, int32_t b) { return a > b ? a : b; }
GPUALIGN_HD int16_t max(int16_t a, int16_t b) { return a > b ? a : b; }
GPUALIGN_HD int32_t min(int32_t a, int32_t b) { return a < b ? a : b; }

// a | ~(b | c) and (a & ~b) | c: one three-input instruction each, which compilers do not always find.
GPUALIGN_HD uint32_t or_nor(uint32_t a, uint32_t b, uint32_t c) { return a | ~(b | c); }
GPUALIGN_HD uint64_t or_nor(uint64_t a, uint64_t b, uint64_t c) { return a | ~(b | c); }
GPUALIGN_HD uint32_t andnot_or(uint32_t a, uint32_t b, uint32_t c) { return (a & ~b) | c; }
GPUALIGN_HD uint64_t andnot_or(uint64_t a, uint64_t b, uint64_t c) { return (a & ~b) | c; }
// a where b and c are equal.
GPUALIGN_HD uint32_t and_equal(uint32_t a, uint32_t b, uint32_t c) { return a & ~(b ^ c); }
GPUALIGN_HD uint64_t and_equal(uint64_t a, uint64_t b, uint64_t c) { return a & ~(b ^ c); }

GPUALIGN_HD int trailing_zeros(uint64_t x) {  // 64 for 0
#if defined(__CUDA_ARCH__)
    return x ? __ffsll(int64_t(x)) - 1 : 64;
#else
    return x ? __builtin_ctzll(x) : 64;
#endif
}

GPUALIGN_HD int leading_zeros(uint64_t x) {  // 64 for 0
#if defined(__CUDA_ARCH__)
    return __clzll(int64_t(x));
#else
    return x ? __builtin_clzll(x) : 64;
#endif
}

// The integer type of a lane: the word itself, or the T of a Vec<T>.
template <class Word> struct word_traits {
    using scalar = Word;
};

// True when the mask holds in any lane.
GPUALIGN_HD bool any(bool mask) { return mask; }

}  // namespace gpualign
