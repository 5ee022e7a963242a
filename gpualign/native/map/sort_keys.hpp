// Sorts integers that differ in few bits, such as the seed hits of a read.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace gpualign {

// Radix sort by digits of 8 bits, least significant first (Knuth, vol. 3, section 5.2.5), skipping digits that do not
// differ; few keys are sorted by comparisons, and very many, to save memory. `scratch` is overwritten.
template <class Key> void sort_keys(Key* first, Key* last, std::vector<Key>& scratch) {
    constexpr size_t kFew = 100;  // measured: an unpredictable comparison costs more than a digit
    constexpr size_t kMany = 1 << 16;
    constexpr int kDigit = 8;
    const size_t count = size_t(last - first);
    if (count < kFew || count > kMany) return std::sort(first, last);
    uint64_t differ = 0;
    for (const Key* key = first; key < last; key++) differ |= uint64_t(*key) ^ uint64_t(*first);
    scratch.resize(std::max(scratch.size(), count));
    Key *from = first, *to = scratch.data();
    while (differ) {
        const int shift = __builtin_ctzll(differ);
        std::array<uint32_t, size_t(1) << kDigit> next{};
        const auto digit = [shift](Key key) { return size_t(uint64_t(key) >> shift & ((1 << kDigit) - 1)); };
        for (size_t i = 0; i < count; i++) next[digit(from[i])]++;
        uint32_t before = 0;
        for (uint32_t& n : next) {
            const uint32_t own = n;
            n = before;
            before += own;
        }
        for (size_t i = 0; i < count; i++) to[next[digit(from[i])]++] = from[i];
        std::swap(from, to);
        differ &= ~(uint64_t((1 << kDigit) - 1) << shift);
    }
    if (from != first) std::copy(from, from + count, first);
}

}  // namespace gpualign
