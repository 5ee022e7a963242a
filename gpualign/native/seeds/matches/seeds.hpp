// Canonical seeds of a range of query starts, found with a sliding minimum that vectorises.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algo/seeds/matches/mem.hpp"
#include "seeds/index/minimizers.hpp"

namespace gpualign {

// A canonical seed, with its hash.
struct LookUp {
    MemSeed seed;
    bool on_reverse;
    uint64_t hash;
};

class SeedScanner {
public:
    static constexpr uint64_t kBlock = 4096;  // positions per block

    // `length`: positions of the text; no k-mer extends beyond it.
    SeedScanner(const TextView& text, uint64_t length, int k, int w) : text_(text), length_(length), k_(k), w_(w) {}

    // The seeds of the starts [from, to), at most kBlock of them, in order; their ranges are clipped to those starts.
    const std::vector<LookUp>& scan(uint64_t from, uint64_t to) {
        const size_t reach = size_t(w_) - 1, windows = size_t(to - from);
        fill_keys(from, reach, windows + 2 * reach);
        minima_.assign(keys_.begin() + long(reach), keys_.begin() + long(windows + 2 * reach));
        slide(minima_, int64_t(minima_.size()), w_, [](uint64_t a, uint64_t b) { return std::min(a, b); });
        pick(from, keys_.data() + reach, windows);
        return seeds_;
    }

private:
    // keys_[i] is the key at text position from - reach + i.
    void fill_keys(uint64_t from, size_t reach, size_t count) {
        keys_.assign(count + kBasesPerWord, 0);
        const size_t missing = from < reach ? reach - size_t(from) : 0;
        const uint64_t first = from - reach + missing;
        const uint64_t stop = std::min(first + (count - missing), length_);
        for (uint64_t p = first; p < stop; p += kBasesPerWord) fill_word(p, keys_.data() + missing + (p - first));
        if (stop < first + (count - missing)) std::fill(keys_.begin() + long(missing + (stop - first)), keys_.end(), 0);
    }

    void fill_word(uint64_t position, uint64_t* __restrict keys) const {
        const uint64_t low = packed_window(text_.words, position),
                       high = packed_window(text_.words, position + kBasesPerWord);
        const uint64_t broken = spread_breaks(break_window(text_.breaks, position), k_);
        const int k = k_;
        for (uint64_t j = 0; j < uint64_t(kBasesPerWord); j++) {
            const uint64_t window = low >> (2 * j) | (high << 1) << (63 - 2 * j);
            keys[j] = seed_key(window, k) & ((broken >> j & 1) - 1);
        }
    }

    void pick(uint64_t from, const uint64_t* keys, size_t windows) {
        seeds_.clear();
        for (size_t start = 0; start < windows;) {
            const uint64_t smallest = minima_[start];
            if (smallest == 0) {  // a window that holds a break
                start++;
                continue;
            }
            size_t at = start;
            while (keys[at] != smallest) at++;
            int minimum, maximum;
            canonical_range(keys, int64_t(at), w_, minimum, maximum);
            const size_t last = std::min(at - size_t(minimum), windows - 1);
            const uint64_t position = from + at;
            const bool on_reverse = seed_on_reverse(packed_window(text_.words, position), k_);
            seeds_.push_back(
                {{uint32_t(position), uint16_t(at - last), uint16_t(at - start)}, on_reverse, smallest - 1});
            start = last + 1;
        }
    }

    const TextView text_;
    const uint64_t length_;
    const int k_, w_;
    std::vector<uint64_t> keys_, minima_;
    std::vector<LookUp> seeds_;
};

}  // namespace gpualign
