// Costs of gaps and scores of ungapped alignments.
#pragma once
#include "abi/map.hpp"
#include "algo/common/hd.hpp"

namespace gpualign {

GPUALIGN_HD bool has_long_gaps(const AffineScores& scores) { return scores.long_gap_extend || scores.long_gap_open; }

// The lower of the two gap costs.
GPUALIGN_HD int32_t gap_cost(const AffineScores& scores, int32_t length) {
    const int32_t cost = scores.gap_open + length * scores.gap_extend;
    return has_long_gaps(scores) ? min(cost, scores.long_gap_open + length * scores.long_gap_extend) : cost;
}

GPUALIGN_HD int32_t ungapped_score(const AffineScores& scores, int32_t length, int32_t mismatches) {
    return (length - mismatches) * scores.match - mismatches * scores.mismatch;
}

constexpr int32_t kChainUnit = 64;  // chain scores are in units of 1/64 base

// Gap cost of chaining: a linear part of 0.01 * 0.8 * k per base, as in minimap2, in chain score units / 256, and log2
// interpolated linearly between powers of two, which the bits of a float below 2^24 give; it vectorises, unlike log2.
GPUALIGN_HD int32_t chain_gap_rate(int32_t k) { return k * kChainUnit * 256 / 125; }
GPUALIGN_HD int32_t chain_log2(int32_t number) {  // in chain score units
    const float n = float(number);
    int32_t bits;
#if defined(__CUDA_ARCH__)
    bits = __float_as_int(n);
#else
    __builtin_memcpy(&bits, &n, sizeof bits);
#endif
    return (bits >> 17) - (127 << 6);
}
GPUALIGN_HD int32_t chain_gap_cost(int32_t difference, int32_t rate) {
    return (difference * rate >> 8) + (chain_log2(difference + 1) >> 1);
}
// An intron costs the lower of the two parts, the logarithm whole.
GPUALIGN_HD int32_t chain_intron_cost(int32_t difference, int32_t rate) {
    return min(min(difference, 1 << 16) * rate >> 8, chain_log2(difference + 1));
}

// Excess of a long gap's cost in an alignment over its cost in a chain.
GPUALIGN_HD int32_t gap_excess(const AffineScores& scores, int32_t k, int32_t length) {
    if (!length || !has_long_gaps(scores)) return 0;
    return max(0, gap_cost(scores, length) - chain_gap_cost(length, chain_gap_rate(k)) * scores.match / kChainUnit);
}

}  // namespace gpualign
