// A narrower band for what lies between two points, and what an alignment that leaves it can be worth at most: where the best one
// within is worth more, it is the best of all.
//
// With h diagonals on both sides of those from pin to pin, an alignment that leaves them has insertions and deletions of h + 1
// bases each more than it needs. So many rows are not paired, the others are matches at best, and one gap of each kind is the
// cheapest (Ukkonen 1985, for scores). The same holds for every part of the best alignment, so the traceback is the same, too.
#pragma once
#include "abi/chains.hpp"
#include "algo/map/chain/gaps.hpp"

namespace gpualign {

constexpr int32_t kNarrowBands[] = {16, 32};  // that are tried one after the other
constexpr int32_t kMinMargin = 3;           // diagonals on each side: with fewer it is seldom shown

struct NarrowBand {
    BandTask task;   // no rows: the stretch has no narrower band of that width
    int32_t beyond;  // score that no alignment exceeds that leaves it
};

GPUALIGN_HD NarrowBand narrow_band(const AffineScores& scores, const BandTask& task, int32_t band) {
    NarrowBand narrow{task, 0};
    const int32_t across = task.end_pin - task.begin_pin, margin = (band - 1 - across) / 2;
    const int32_t first = task.begin_pin - margin;
    if (task.begin_pin < 0 || task.end_pin < 0 || across < 0 || margin < kMinMargin || first < 0 || first + band > task.band) {
        narrow.task.rows = 0;
        return narrow;
    }
    narrow.task.diagonal += first;
    narrow.task.begin_pin = margin;
    narrow.task.end_pin = margin + across;
    narrow.task.band = band;
    narrow.beyond = (task.rows - margin - 1) * scores.match - gap_cost(scores, margin + 1) - gap_cost(scores, across + margin + 1);
    return narrow;
}

}  // namespace gpualign
