// Sorts integers that differ in few bits, such as the seed hits of a read. Only on the CPU.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace gpualign {

// Radix sort by digits of 9 bits, least significant first (Knuth, vol. 3, section 5.2.5), skipping bits that do not
// differ; few keys are sorted by comparisons, and very many, to save memory.
inline void radix_sort(uint64_t* first, uint64_t* last) {
    constexpr size_t kFew = 100;  // measured: an unpredictable comparison costs more than a digit
    constexpr size_t kMany = 1 << 16;
    constexpr uint64_t kDigit = (1 << 9) - 1;
    const size_t count = size_t(last - first);
    if (count < kFew || count > kMany) return std::sort(first, last);
    uint64_t differ = 0;
    for (const uint64_t* key = first; key < last; key++) differ |= *key ^ *first;
    static thread_local std::vector<uint64_t> scratch;
    scratch.resize(std::max(scratch.size(), count));
    uint64_t *from = first, *to = scratch.data();
    while (differ) {
#if defined(__AVX512F__)  // pext takes microcode in older processors of AMD
        const uint64_t mask = _pdep_u64(kDigit, differ);
        const auto digit = [mask](uint64_t key) { return size_t(_pext_u64(key, mask)); };
#else
        const int shift = __builtin_ctzll(differ);
        const uint64_t mask = kDigit << shift;
        const auto digit = [shift](uint64_t key) { return size_t(key >> shift & kDigit); };
#endif
        uint32_t next[kDigit + 1] = {}, before = 0;
        for (size_t i = 0; i < count; i++) next[digit(from[i])]++;
        for (uint32_t& n : next) {
            const uint32_t own = n;
            n = before;
            before += own;
        }
        for (size_t i = 0; i < count; i++) to[next[digit(from[i])]++] = from[i];
        std::swap(from, to);
        differ &= ~mask;
    }
    if (from != first) std::copy(from, from + count, first);
}

}  // namespace gpualign
