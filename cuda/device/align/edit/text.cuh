// Reading packed text on the device, 16 bases at a time, forward or as the other strand.
#pragma once
#include <cstdint>

namespace gpualign {

// The 16 bases of columns [column, column + 16) of a window [begin, begin + columns) of 2-bit packed text. Backward
// reads from the window's end, complemented. Two words may be read on either side of the window: packed text on the
// device is padded by 32 bases at both ends.
template <bool Backward>
__device__ __forceinline__ uint32_t bases16(const uint32_t* text, uint32_t begin, uint32_t columns, uint32_t column) {
    const int64_t position = Backward ? int64_t(begin) + columns - column - 16 : int64_t(begin) + column;
    const uint32_t* word = text + (position >> 4);
    const uint32_t codes = __funnelshift_r(word[0], word[1], 2 * uint32_t(position & 15));
    if (!Backward) return codes;
    const uint32_t reversed = __brev(~codes);  // pairs in reverse order, but also the two bits of each
    return (reversed >> 1 & 0x55555555u) | (reversed & 0x55555555u) << 1;
}

// The ACGT mask of columns [column, column + 16), read like the bases.
template <bool Backward>
__device__ __forceinline__ uint32_t known16(const uint32_t* bits, uint32_t begin, uint32_t columns, uint32_t column) {
    const int64_t position = Backward ? int64_t(begin) + columns - column - 16 : int64_t(begin) + column;
    const uint32_t* word = bits + (position >> 5);
    const uint32_t known = __funnelshift_r(word[0], word[1], uint32_t(position & 31));
    return Backward ? __brev(known) >> 16 : known & 0xFFFFu;
}

}  // namespace gpualign
