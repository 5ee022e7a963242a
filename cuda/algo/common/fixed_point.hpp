// Logarithms and powers in integer arithmetic, so that host and device agree on every bit, unlike with floating point.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

constexpr int kLogBits = 16;                           // fractional bits of a logarithm
constexpr int32_t kLogOne = 1 << kLogBits;
constexpr int kShareBits = 40;  // fractional bits of a number from 0 to 1, and of sums of such
constexpr uint64_t kShareOne = uint64_t(1) << kShareBits;

// The logarithm to base 2 of x >= 1, rounded down: a bit for each squaring of the mantissa.
GPUALIGN_HD int32_t log2_fixed(uint64_t x) {
    const int exponent = 63 - leading_zeros(x);
    uint64_t mantissa =
        exponent >= 31 ? x >> (exponent - 31) : x << (31 - exponent);  // 1 to 2, 31 bits after the point
    int32_t logarithm = exponent;
    for (int bit = 0; bit < kLogBits; bit++) {
        mantissa = mantissa * mantissa >> 31;
        const int carry = int(mantissa >> 32);
        mantissa >>= carry;
        logarithm = 2 * logarithm + carry;
    }
    return logarithm;
}

// 2 to a power of 0 or less, a share: Taylor's polynomial of 2^f, with errors below 1e-4 of the result.
GPUALIGN_HD uint64_t exp2_share(int64_t power) {
    const int64_t whole = -(power >> kLogBits);
    if (whole > kShareBits) return 0;
    const int64_t f = (power & (kLogOne - 1)) << (30 - kLogBits);  // 30 bits after the point
    const int64_t terms[] = {10327387, 59597083, 257941248, 744261118, 1 << 30};  // ln(2)^i / i!, from 4 to 0
    int64_t sum = 1431680;
    for (const int64_t term : terms) sum = term + (sum * f >> 30);
    return uint64_t(sum) << (kShareBits - 30) >> whole;
}

}  // namespace gpualign
