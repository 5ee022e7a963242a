// Arrays of bits in which the number of set bits before each 64 is known.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

GPUALIGN_HD int bits_of(uint64_t x) {
#if defined(__CUDA_ARCH__)
    return __popcll(x);
#else
    return __builtin_popcountll(x);
#endif
}

// How many set bits there are before bit i; `ranks` has that of each 64.
GPUALIGN_HD uint32_t rank_of(const uint64_t* bits, const uint32_t* ranks, uint64_t i) {
    return ranks[i >> 6] + uint32_t(bits_of(bits[i >> 6] & ((uint64_t(1) << (i & 63)) - 1)));
}

}  // namespace gpualign
