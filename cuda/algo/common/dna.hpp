// Nucleotides as two bits. A = 0, C = 1, G = 2, T = 3, so that the complement of c is 3 - c; anything else is
// `kNoBase`, which matches nothing, not even itself.
//
// A packed sequence holds 32 bases in a uint64_t, base i in bits 2 * (i % 32) of word i / 32.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

constexpr uint8_t kNoBase = 4;
constexpr int kBasesPerWord = 32;

// Branch-free: bits 1 and 2 of A, C, T, G count from 0 to 3.
GPUALIGN_HD uint8_t base_code(uint8_t symbol) {
    const uint8_t upper = symbol & 0xDF, order = upper >> 1 & 3, code = order ^ order >> 1;
    const bool base = upper == uint8_t(0x54474341u >> (8 * code)) || upper == 'U';  // "ACGT" from the lowest byte on
    return base ? code : kNoBase;
}

GPUALIGN_HD uint8_t complement_code(uint8_t code) { return code < 4 ? uint8_t(3 - code) : code; }

GPUALIGN_HD uint8_t packed_base(const uint64_t* words, uint64_t i) {
    return uint8_t(words[i / kBasesPerWord] >> (2 * (i % kBasesPerWord)) & 3);
}

// The 32 bases from position i on. Reads words[i / 32 + 1] too: packed sequences carry one word of padding.
GPUALIGN_HD uint64_t packed_window(const uint64_t* words, uint64_t i) {
    const int shift = 2 * int(i % kBasesPerWord);
    const uint64_t low = words[i / kBasesPerWord] >> shift;
    return shift ? low | words[i / kBasesPerWord + 1] << (64 - shift) : low;
}

// Bit i of the result's every second bit, from the lowest on, is bit i of `bits`.
GPUALIGN_HD uint64_t every_second_bit(uint32_t bits) {
    uint64_t x = bits;
    x = (x | x << 16) & 0x0000FFFF0000FFFFu;
    x = (x | x << 8) & 0x00FF00FF00FF00FFu;
    x = (x | x << 4) & 0x0F0F0F0F0F0F0F0Fu;
    x = (x | x << 2) & 0x3333333333333333u;
    return (x | x << 1) & 0x5555555555555555u;
}

// A bit at the even position of each of the 32 bases that differ.
GPUALIGN_HD uint64_t differing_bases(uint64_t a, uint64_t b) {
    const uint64_t x = a ^ b;
    return (x | x >> 1) & 0x5555555555555555u;
}

// 32 packed bases in reverse order, each complemented.
GPUALIGN_HD uint64_t reverse_complement(uint64_t bases) {
#if defined(__CUDA_ARCH__)
    const uint64_t x = __brevll(~bases);  // and the two bits of each base the other way round again
    return (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
#else
    uint64_t x = ~bases;
    x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
    x = (x >> 4 & 0x0F0F0F0F0F0F0F0Fu) | (x & 0x0F0F0F0F0F0F0F0Fu) << 4;
    x = (x >> 8 & 0x00FF00FF00FF00FFu) | (x & 0x00FF00FF00FF00FFu) << 8;
    x = (x >> 16 & 0x0000FFFF0000FFFFu) | (x & 0x0000FFFF0000FFFFu) << 16;
    return x >> 32 | x << 32;
#endif
}

}  // namespace gpualign
