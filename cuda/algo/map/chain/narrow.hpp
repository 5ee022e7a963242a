// Narrow bands for segments between two points: an upper bound on the score of any alignment that leaves the band
// shows whether the best one inside is optimal.
//
// With h diagonals on both sides of those between the pins, an alignment that leaves the band has at least h + 1 bases
// more in insertions and in deletions than necessary. So many rows are unpaired; at best all others match and there is
// one gap of each kind (Ukkonen 1985, for scores). The bound holds for every prefix and suffix of the best alignment,
// so the traceback is the same as in the wide band.
//
// With an intron between the pins, half of the band lies around each of them, and the middle of the intron is left out.
// An alignment that leaves this band has two introns, with an exon between them, or a gap that reaches a side of the
// band.
#pragma once
#include "abi/chains.hpp"
#include "algo/map/chain/gaps.hpp"
#include "algo/map/chain/introns.hpp"

namespace gpualign {

constexpr int32_t kNarrowBands[] = {16, 32};  // tried in this order
constexpr int32_t kNarrowRows = 256;  // most rows of a folded band
constexpr int32_t kMinMargin = 3;  // diagonals on each side; with fewer the bound rarely suffices

struct NarrowBand {
    BandTask task;  // rows 0: no band of this width applies
    int32_t beyond;  // upper bound for alignments that leave the band
};

GPUALIGN_HD NarrowBand folded_band(
    const AffineScores& scores, const IntronModel& introns, const BandTask& task, int32_t band) {
    NarrowBand narrow{task, 0};
    const int32_t half = band / 2, margin = (half - 1) / 2, across = task.end_pin + task.jump - task.begin_pin;
    if (task.begin_pin < 0 || task.end_pin < 0 || task.rows > kNarrowRows || across < band) {
        narrow.task.rows = 0;
        return narrow;
    }
    const int64_t begin = task.diagonal + task.begin_pin;
    narrow.task.diagonal = begin - margin;
    narrow.task.begin_pin = margin;
    narrow.task.end_pin = half + margin;
    narrow.task.fold = half;
    narrow.task.jump = across - half;
    narrow.task.band = band;
    const uint32_t count = uint32_t(introns.known.count), site = first_site(introns.known.ends, count, begin);
    const bool any_known = site < count && introns.known.ends[site].position < begin + across - margin - 1;
    const int32_t intron = task.intron - (any_known ? 2 * introns.rules.known : 0);
    narrow.beyond =
        task.rows * scores.match - min(gap_cost(scores, across), intron + min(intron, gap_cost(scores, margin + 1)));
    return narrow;
}

GPUALIGN_HD NarrowBand narrow_band(
    const AffineScores& scores, const IntronModel& introns, const BandTask& task, int32_t band) {
    if (task.transcript) return folded_band(scores, introns, task, band);
    NarrowBand narrow{task, 0};
    const int32_t across = task.end_pin - task.begin_pin, margin = (band - 1 - across) / 2;
    const int32_t first = task.begin_pin - margin;
    if (task.begin_pin < 0 || task.end_pin < 0 || across < 0 || margin < kMinMargin || first < 0 ||
        first + band > task.band) {
        narrow.task.rows = 0;
        return narrow;
    }
    narrow.task.diagonal += first;
    narrow.task.begin_pin = margin;
    narrow.task.end_pin = margin + across;
    narrow.task.band = band;
    narrow.beyond =
        (task.rows - margin - 1) * scores.match - gap_cost(scores, margin + 1) - gap_cost(scores, across + margin + 1);
    return narrow;
}

}  // namespace gpualign
