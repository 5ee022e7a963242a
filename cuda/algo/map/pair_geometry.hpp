// Orientation and distance of mates, and the penalties of insert sizes.
#pragma once
#include "abi/map.hpp"
#include "algo/common/hd.hpp"

namespace gpualign {

struct MateWindow {
    int64_t begin, end;
    bool reverse;
};

// Outer distance of the loci [start, end) of R1 and R2 on one contig; -1 if the orientation is not the library's.
GPUALIGN_HD int64_t outer_distance(const PairLibrary& pairs, int64_t start1, int64_t end1, bool reverse1,
    int64_t start2, int64_t end2, bool reverse2) {
    if ((reverse1 == reverse2) != (pairs.orientation == Orientation::same_strand)) return -1;
    // whether R1 is on the left in a proper pair; with both on one strand, along that strand
    const bool first_left = pairs.orientation == Orientation::reverse_forward ? reverse1 : !reverse1;
    return first_left ? end2 - start1 : end1 - start2;
}

// Where the other mate of a proper pair lies, given one mate's locus [start, end): at insert sizes [nearest, farthest].
// If the bounds are wide, these are only kMaxMateWindow next to the lower one, so that the work per pair is bounded.
GPUALIGN_HD MateWindow mate_window(
    const PairLibrary& pairs, int64_t start, int64_t end, bool reverse, bool anchor_is_first) {
    const bool mate_reverse = pairs.orientation == Orientation::same_strand ? reverse : !reverse;
    constexpr int64_t kMaxMateWindow = 1 << 15;
    const int64_t beyond = pairs.max - kMaxMateWindow;
    const int64_t nearest = beyond < 0 ? 0 : beyond < pairs.min ? beyond : pairs.min;
    const int64_t farthest = pairs.max - nearest < kMaxMateWindow ? pairs.max : nearest + kMaxMateWindow;
    bool anchor_left;
    switch (pairs.orientation) {
        case Orientation::forward_reverse: anchor_left = !reverse; break;
        case Orientation::reverse_forward: anchor_left = reverse; break;
        default: anchor_left = anchor_is_first != reverse;
    }
    return anchor_left ? MateWindow{start + nearest, start + farthest, mate_reverse}
                       : MateWindow{end - farthest, end - nearest, mate_reverse};
}

// Penalty of an insert size: half its squared deviation in standard deviations, in units of log 4, as a match is one
// base in four by chance. `mean` and `sd` have 16 fractional bits; sd is at least 1.
GPUALIGN_HD int32_t insert_penalty(int64_t insert, int64_t mean, int64_t sd) {
    constexpr int64_t kMaxPenalty = 1000, kFarthest = 53;  // in standard deviations
    constexpr int64_t kUnit = 189097;                // 1 / (2 log 4), 19 fractional bits
    const int64_t away = (insert << 16) - mean, deviation = away < 0 ? -away : away;
    if (deviation / sd >= kFarthest) return kMaxPenalty;
    const int64_t z = (deviation / sd << 16) + (deviation % sd << 16) / sd;
    const int64_t penalty = ((z * z * kUnit >> 50) + 1) >> 1;
    return int32_t(penalty < kMaxPenalty ? penalty : kMaxPenalty);
}

}  // namespace gpualign
