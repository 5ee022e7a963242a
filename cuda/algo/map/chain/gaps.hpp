// What gaps and pairs of bases are worth.
#pragma once
#include "abi/map.hpp"
#include "algo/common/hd.hpp"

namespace gpualign {

GPUALIGN_HD bool has_long_gaps(const AffineScores& scores) { return scores.long_gap_extend || scores.long_gap_open; }

// Of the two prices the lesser.
GPUALIGN_HD int32_t gap_cost(const AffineScores& scores, int32_t length) {
    const int32_t cost = scores.gap_open + length * scores.gap_extend;
    return has_long_gaps(scores) ? min(cost, scores.long_gap_open + length * scores.long_gap_extend) : cost;
}

GPUALIGN_HD int32_t ungapped_score(const AffineScores& scores, int32_t length, int32_t mismatches) {
    return (length - mismatches) * scores.match - mismatches * scores.mismatch;
}

}  // namespace gpualign
