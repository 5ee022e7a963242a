// Loops over bytes in blocks of one size, which compilers turn into vector code without a tail of single bytes.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpualign {

// Calls each(at, count) for blocks that cover [0, n), count a constant. The last block may begin within the one before
// it, so that doing something twice must do no harm.
template <class Each> void in_blocks(ptrdiff_t n, Each&& each) {
    constexpr ptrdiff_t kBlock = 32;
    if (n < kBlock)
        for (ptrdiff_t at = 0; at < n; at++) each(at, std::integral_constant<ptrdiff_t, 1>());
    else
        for (ptrdiff_t at = 0; at < n; at += kBlock)
            each(std::min(at, n - kBlock), std::integral_constant<ptrdiff_t, kBlock>());
}

// 0 for A, C, G and T, something else for all other bytes; no comparisons, of which compilers make a table.
inline uint8_t differs_from_bases(uint8_t symbol) {
    const auto from = [&](char base) { return uint8_t(symbol ^ base); };
    return std::min(std::min(from('A'), from('C')), std::min(from('G'), from('T')));
}

// Newlines in [p, end).
inline int64_t newlines(const char* p, const char* end) {
    constexpr int64_t kLanes = 64, kMax = 255;  // as many as a lane of a byte can count
    int64_t n = 0;
    while (end - p >= kLanes) {
        uint8_t found[kLanes] = {};
        const int64_t rows = std::min((end - p) / kLanes, kMax);
        for (int64_t row = 0; row < rows; row++, p += kLanes)
            for (int64_t i = 0; i < kLanes; i++) found[i] += p[i] == '\n';
        for (const uint8_t lane : found) n += lane;
    }
    return n + std::count(p, end, '\n');
}

// Whether a line that begins in [p, end) has nothing but its end; `last` is the character before.
inline bool has_blank_line(const char* p, const char* end, char last) {
    const auto ends = [](char c) { return uint8_t((c == '\n') | (c == '\r')); };
    if (p == end) return false;
    uint8_t blank = uint8_t((last == '\n') & ends(p[0]));
    for (const char* c = p + 1; c < end; c++) blank |= uint8_t((c[-1] == '\n') & ends(c[0]));
    return blank != 0;
}

}  // namespace gpualign
