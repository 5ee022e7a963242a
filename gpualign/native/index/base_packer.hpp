// Bases to codes of two bits, several at a time.
#pragma once
#include <cstdint>
#include <cstring>

namespace gpualign {

// Eight bases at a time: codes packed into 16 bits, and a bit for each that is none of A, C, G and T.
class BasePacker {
public:
    static uint32_t codes(uint64_t ascii) {
        // bits 1-2 of A, C, T, G are 0, 1, 2, 3; x ^ x >> 1 swaps the last two
        uint64_t x = ascii >> 1 & 0x0303030303030303u;
        x ^= x >> 1 & 0x0101010101010101u;
        x = (x | x >> 6) & 0x000F000F000F000Fu;
        x = (x | x >> 12) & 0x000000FF000000FFu;
        return uint32_t((x | x >> 24) & 0xFFFF);
    }

    static uint32_t not_bases(uint64_t ascii) {
        const uint64_t upper = ascii & 0xDFDFDFDFDFDFDFDFu;
        const uint64_t base = equal(upper, 'A') | equal(upper, 'C') | equal(upper, 'G') | equal(upper, 'T');
        // one bit a byte, gathered into the top byte
        return uint32_t((~base >> 7 & 0x0101010101010101u) * 0x0102040810204080u >> 56);
    }

    // The codes of 32 bases, and bits of those that are not A, C, G or T.
    static uint64_t word(const uint8_t* ascii, uint32_t& others) {
        uint64_t packed = 0;
        others = 0;
        for (int part = 0; part < 4; part++) {
            uint64_t eight;
            std::memcpy(&eight, ascii + 8 * part, 8);
            packed |= uint64_t(codes(eight)) << (16 * part);
            others |= not_bases(eight) << (8 * part);
        }
        return packed;
    }

private:
    // 0x80 in each byte that equals `symbol`; exact, as no carry leaves a byte.
    static uint64_t equal(uint64_t bytes, char symbol) {
        const uint64_t x = bytes ^ 0x0101010101010101u * uint8_t(symbol);
        return ~(((x & 0x7F7F7F7F7F7F7F7Fu) + 0x7F7F7F7F7F7F7F7Fu) | x) & 0x8080808080808080u;
    }
};

}  // namespace gpualign
