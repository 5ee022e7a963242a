// Bits of 512 things as a word (algo/seeds/words/counts.hpp), and the words of 8 bases of sequences.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#include "algo/common/dna.hpp"
#include "algo/seeds/words/counts.hpp"

namespace gpualign {
namespace words {

constexpr int word_bases = 8, all_words = 1 << 2 * word_bases;

using Bits = uint64_t __attribute__((vector_size(64)));

template <> struct BitWord<Bits> {
    static constexpr uint32_t kParts = 8;
    static Bits load(const uint64_t* at) {
        Bits bits;
        std::memcpy(&bits, at, sizeof bits);
        return bits;
    }
    static uint64_t part(const Bits& bits, uint32_t i) { return bits[int(i)]; }
    static bool any(const Bits& bits) {
        uint64_t all = 0;
        for (int i = 0; i < 8; i++) all |= bits[i];
        return all != 0;
    }
};

// Calls found(word) for each word of upper-case A, C, G and T.
template <class Found> void each_word(std::string_view sequence, const Found& found) {
    uint32_t word = 0;
    int known = 0;
    for (const char base : sequence) {
        const uint8_t code = base < 'a' && base != 'U' ? base_code(uint8_t(base)) : kNoBase;
        known = code == kNoBase ? 0 : known + 1;
        word = (word << 2 | (code & 3u)) & (all_words - 1);
        if (known >= word_bases) found(word);
    }
}

}  // namespace words
}  // namespace gpualign
