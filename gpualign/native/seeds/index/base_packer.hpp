// Encodes bases in two bits, several at a time, and appends them to words.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace gpualign {

// Eight bases per step: two bits each, and a mask of ambiguous ones.
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
        // gathers one bit per byte in the top byte
        return uint32_t((~base >> 7 & 0x0101010101010101u) * 0x0102040810204080u >> 56);
    }

    // Encodes 32 bases; `others` is the mask of ambiguous ones.
    static uint64_t word(const uint8_t* ascii, uint32_t& others) {
#ifdef __AVX2__
        const __m256i text = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ascii));
        __m256i x = _mm256_and_si256(_mm256_srli_epi16(text, 1), _mm256_set1_epi8(3));
        x = _mm256_xor_si256(x, _mm256_and_si256(_mm256_srli_epi16(x, 1), _mm256_set1_epi8(1)));
        const __m256i bases = _mm256_shuffle_epi8(_mm256_set1_epi32('A' | 'C' << 8 | 'G' << 16 | 'T' << 24), x);
        const __m256i upper = _mm256_and_si256(text, _mm256_set1_epi8(char(0xDF)));
        others = ~uint32_t(_mm256_movemask_epi8(_mm256_cmpeq_epi8(upper, bases)));
        const __m256i twos = _mm256_maddubs_epi16(x, _mm256_set1_epi16(1 | 4 << 8));
        const __m256i fours = _mm256_madd_epi16(twos, _mm256_set1_epi32(1 | 16 << 16));  // 32 bits, of which 8 are used
        const __m256i lanes = _mm256_shuffle_epi8(fours, _mm256_set1_epi32(0 | 4 << 8 | 8 << 16 | 12 << 24));
        return uint32_t(_mm256_extract_epi32(lanes, 0)) | uint64_t(uint32_t(_mm256_extract_epi32(lanes, 4))) << 32;
#else
        return word_by_eights(ascii, others);
#endif
    }

    // Encodes 32 bases without vectors of bytes.
    static uint64_t word_by_eights(const uint8_t* ascii, uint32_t& others) {
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

// Packed bases, with zeros after the last.
class BaseWriter {
public:
    // Memory for so many more bases, and a word after them.
    void reserve(uint64_t bases) {
        const size_t wanted = (size_ + bases) / 32 + 2;
        if (words.size() < wanted) words.resize(wanted);
    }

    // The low `count` codes, 32 at most; there is memory for them.
    void put(uint64_t codes, int count) {
        const int shift = 2 * int(size_ % 32);
        uint64_t* const word = &words[size_ / 32];
        word[0] |= codes << shift;
        if (shift) word[1] |= codes >> (64 - shift);
        size_ += uint64_t(count);
    }

    std::vector<uint64_t> words;

protected:
    uint64_t size_ = 0;  // bases
};

}  // namespace gpualign
