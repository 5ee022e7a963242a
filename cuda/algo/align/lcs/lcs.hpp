// Length of the longest common subsequence (LCS), one bit a cell.
//
// The DP row after j subject symbols is the vector of increments
//     grows[i] = LCS(query[0..i], subject[0..j)) - LCS(query[0..i), subject[0..j))    (0 or 1)
// spread over words, lowest query position in the lowest bit. One subject symbol c turns it into the next row, given
// the mask M of the query positions that hold c (Crochemore, Iliopoulos, Pinzon and Reid 2001, "A fast and practical
// bit-vector algorithm for the longest common subsequence problem"): a word of the row is V = ~grows, and
// V' = (V + (V & M)) | (V & ~M), three operations. LcsCarry carries from a word to the next one. The formulation of
// Allison and Dix (1986) takes four operations, and is slower.
//
// Between tiles (groups of words that are kept in registers over all subject symbols) exactly one bit a column
// crosses. These bits travel packed: the first column in the top bit of a word, taken out and put in by shifting left,
// so that a carry costs one instruction on either side.
//
// Worked example, query GATC (bit 0 = G), V = complement of grows = 1111, subject symbol A (M = 0010):
//     u = V & M = 0010; V + u = 1 0001; V' = 0001 | (V & ~M = 1101) = 1101: the increment sits at A.
// A column whose mask is empty and whose carry is 0 changes nothing, so any padding symbol that is absent
// from the query is harmless.
#pragma once
#include <cstdint>

#include "algo/common/hd.hpp"

#if defined(__CUDACC__)
#define GPUALIGN_LCS_UNROLL _Pragma("unroll")
#else
#define GPUALIGN_LCS_UNROLL _Pragma("GCC unroll 32")
#endif

namespace gpualign {

// Bits of one lane of a word; the vector types of the CPU specialise it.
template <class Word> struct LaneBits {
    static constexpr int value = 8 * int(sizeof(Word));
};

// An addition spread over words; the carry is 0 or 1 in each lane.
template <class Word> struct LcsCarry {
    static constexpr int top = LaneBits<Word>::value - 1;
    Word carry;

    // Starts with the top bit of `packed` and shifts it out.
    GPUALIGN_HD explicit LcsCarry(Word& packed) : carry(packed >> top) { packed = packed << 1; }

    // v + part with carry, where part is a subset of v's bits.
    GPUALIGN_HD Word add_part(Word v, Word part) {
        const Word sum = v + part + carry;
        carry = (part | (v & ~sum)) >> top;
        return sum;
    }

    // Shifts the carry into `packed`.
    GPUALIGN_HD void pack(Word& packed) const { packed = (packed << 1) | carry; }
};

#if defined(__CUDA_ARCH__)
// The hardware's carry flag: one instruction a word. The statements are volatile, so they stay in order, and no other
// instruction that the compiler puts between them touches the flag.
template <> struct LcsCarry<uint32_t> {
    GPUALIGN_HD explicit LcsCarry(uint32_t& packed) { asm volatile("add.cc.u32 %0, %0, %0;" : "+r"(packed)); }
    GPUALIGN_HD uint32_t add_part(uint32_t v, uint32_t part) {
        uint32_t sum;
        asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(sum) : "r"(v), "r"(part));
        return sum;
    }
    GPUALIGN_HD void pack(uint32_t& packed) const { asm volatile("addc.u32 %0, %0, %0;" : "+r"(packed)); }
};
#elif defined(__x86_64__) && !defined(__CUDACC__)
template <> struct LcsCarry<uint64_t> {
    unsigned char carry;

    GPUALIGN_HD explicit LcsCarry(uint64_t& packed) : carry(uint8_t(packed >> 63)) { packed <<= 1; }
    GPUALIGN_HD uint64_t add_part(uint64_t v, uint64_t part) {
        unsigned long long sum;
        carry = __builtin_ia32_addcarryx_u64(carry, v, part, &sum);
        return sum;
    }
    GPUALIGN_HD void pack(uint64_t& packed) const { packed = (packed << 1) | carry; }
};
#endif

template <class Word> GPUALIGN_HD Word lcs_first_row() { return ~Word(0); }
template <class Word> GPUALIGN_HD Word lcs_grows(Word row) { return ~row; }

// One subject symbol through a tile of W words.
//   row          the tile's words, updated
//   mask(w)      word w of the symbol's mask, asked for once each, in order
//   carries_in   packed bits of the tile below, its top bit is this column's; shifted left
//   carries_out  receives this column's bit from the right
template <int W, class Word, class Mask>
GPUALIGN_HD void lcs_column(Word (&row)[W], Mask&& mask, Word& carries_in, Word& carries_out) {
    LcsCarry<Word> carry(carries_in);
    GPUALIGN_LCS_UNROLL
    for (int w = 0; w < W; w++) {
        const Word v = row[w], m = mask(w);
        row[w] = carry.add_part(v, v & m) | (v & ~m);
    }
    carry.pack(carries_out);
}

}  // namespace gpualign
