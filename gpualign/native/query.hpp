// A read on both strands, as codes and as bit planes in 64-bit words, built once for all its candidates.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algo/dna.hpp"

namespace gpualign {

struct PlaneWord {
    uint64_t low, high, known, rows;
};

inline int pattern_words(int64_t length) { return int((length + 63) / 64); }

// Bit planes of codes[0, length), at the top of pattern_words(length) words (see algo/myers.hpp).
inline void make_planes(const uint8_t* codes, int64_t length, PlaneWord* out) {
    const int words = pattern_words(length);
    const int64_t shift = int64_t(words) * 64 - length;
    std::fill(out, out + words, PlaneWord{0, 0, 0, 0});
    int64_t i = 0;
    for (int w = 0; w < words; w++) {
        PlaneWord plane{0, 0, 0, 0};
        const int64_t first_bit = w == 0 ? shift : 0;
        const int64_t count = std::min<int64_t>(64 - first_bit, length - i);
        for (int64_t b = 0; b < count; b++) {
            const uint64_t code = codes[i + b];
            plane.low |= (code & 1) << b;
            plane.high |= (code >> 1 & 1) << b;
            plane.known |= uint64_t(code < 4) << b;
        }
        plane.low <<= first_bit;
        plane.high <<= first_bit;
        plane.known <<= first_bit;
        plane.rows = ~uint64_t(0) << first_bit;
        i += count;
        out[w] = plane;
    }
}

}  // namespace gpualign
