// Sorting of integers, or what becomes one, of which few bits differ, as the seed hits of a read.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace gpualign {

// By digits of 8 bits from the lowest on (Knuth, vol. 3, section 5.2.5), those without a difference left out; few keys by
// comparisons, and very many, for which there should not be as much memory again. `scratch` is overwritten.
template <class Key>
void sort_keys(std::vector<Key>& keys, std::vector<Key>& scratch) {
    constexpr size_t kFew = 100;  // measured: a comparison that nobody can predict costs more than a digit
    constexpr size_t kMany = 1 << 16;
    constexpr int kDigit = 8;
    if (keys.size() < kFew || keys.size() > kMany) return std::sort(keys.begin(), keys.end());
    uint64_t differ = 0;
    for (const Key key : keys) differ |= uint64_t(key) ^ uint64_t(keys[0]);
    scratch.resize(keys.size());
    while (differ) {
        const int shift = __builtin_ctzll(differ);
        std::array<uint32_t, size_t(1) << kDigit> next{};
        const auto digit = [shift](Key key) { return size_t(uint64_t(key) >> shift & ((1 << kDigit) - 1)); };
        for (const Key key : keys) next[digit(key)]++;
        uint32_t before = 0;
        for (uint32_t& n : next) {
            const uint32_t count = n;
            n = before;
            before += count;
        }
        for (const Key key : keys) scratch[next[digit(key)]++] = key;
        keys.swap(scratch);
        differ &= ~(uint64_t((1 << kDigit) - 1) << shift);
    }
}

}  // namespace gpualign
