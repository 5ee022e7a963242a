// Banded affine-gap alignment of a whole query against a text window, with clipping and traceback.
//
// Gotoh's recurrences (1982) with bwa's scoring: match and mismatch, a gap of length l costs open + l * extend, and a
// query end may be clipped for a fixed penalty, so that clipping has to earn it. Text ends are free.
//
// Rows are query bases, the band holds the diagonals [0, band): cell (i, b) pairs query base i with text base
// i + b. The neighbour along the diagonal is (i - 1, b), an insertion (query base alone) comes from (i - 1, b + 1), a
// deletion (text base alone) from (i, b - 1).
#pragma once
#include "abi/map.hpp"
#include "algo/common/hd.hpp"

namespace gpualign {

// Codes of text columns that match no base: beyond the contig, and where it has no base.
constexpr uint8_t kOutside = 7, kTextNoBase = 5;

// What a cell's traceback byte says.
enum : uint8_t {
    kFromDiagonal = 0,   // low two bits: where the best value of the cell comes from
    kFromInsertion = 1,
    kFromDeletion = 2,
    kFromStart = 3,      // the alignment begins after this cell: bases up to here are clipped
    kFromMask = 3,
    kFromLong = 4,          // the gap is one at the price of long ones
    kInsertionExtends = 8,  // the insertion that ends here is longer than one base
    kDeletionExtends = 16,
    kLongInsertionExtends = 32,
    kLongDeletionExtends = 64,
};

// Prices of gaps: two of them, of which the lesser counts (Gotoh 1990; minimap2), or one.
template <class Score>
struct GapCosts {
    Score open_extend, extend, long_open_extend, long_extend;
};

// What gaps that end in a cell are worth.
template <class Score>
struct GapScores {
    Score gap, long_gap;
};

// One cell: its value, what gaps that end here are worth, and its traceback byte, the byte in a Score.
template <class Score>
struct AffineCell {
    Score value, from;
    GapScores<Score> insertion, deletion;
};

// A gap that ends here: from the cell before it, or longer than the one that ends there; `extends` tells which.
template <class Score>
GPUALIGN_HD Score longer_gap(Score best, Score gap, Score open_extend, Score extend, Score extends, Score& from) {
    const Score opened = best - open_extend, longer = gap - extend;
    from = from | select(opened > longer, Score(0), extends);
    return max(longer, opened);
}

// `above`: the cell where an insertion that ends here came from, `left`: a deletion's.
//
// Ties prefer the diagonal, then the insertion, then the deletion, the price of short gaps, and a longer gap over a new one:
// read from the end of the alignment that puts a gap as far left as it goes. An alignment that is worth no more than clipping
// all of it is clipped, as by bwa: a gap next to the end of a read is no evidence. A cell's value is never below `clipped`, the
// value of an alignment that begins after it; without `Clips` none does.
template <bool LongGaps, class Score, bool Clips = true>
GPUALIGN_HD AffineCell<Score> affine_cell(Score diagonal, Score above_best, const GapScores<Score>& above, Score left_best,
                                          const GapScores<Score>& left, const GapCosts<Score>& costs, Score clipped) {
    AffineCell<Score> cell{};
    Score extends(0);
    cell.insertion.gap = longer_gap(above_best, above.gap, costs.open_extend, costs.extend, Score(kInsertionExtends), extends);
    cell.deletion.gap = longer_gap(left_best, left.gap, costs.open_extend, costs.extend, Score(kDeletionExtends), extends);
    Score gap = max(cell.insertion.gap, cell.deletion.gap);
    Score from = select(cell.deletion.gap > cell.insertion.gap, Score(kFromDeletion), Score(kFromInsertion));
    if (LongGaps) {
        cell.insertion.long_gap = longer_gap(above_best, above.long_gap, costs.long_open_extend, costs.long_extend,
                                             Score(kLongInsertionExtends), extends);
        cell.deletion.long_gap =
            longer_gap(left_best, left.long_gap, costs.long_open_extend, costs.long_extend, Score(kLongDeletionExtends), extends);
        const Score long_gap = max(cell.insertion.long_gap, cell.deletion.long_gap);
        const Score from_long = select(cell.deletion.long_gap > cell.insertion.long_gap, Score(kFromDeletion | kFromLong),
                                       Score(kFromInsertion | kFromLong));
        from = select(long_gap > gap, from_long, from);
        gap = max(gap, long_gap);
    }
    cell.value = Clips ? max(max(diagonal, gap), clipped) : max(diagonal, gap);
    if (Clips) from = select(cell.value > gap, Score(kFromStart), from);
    from = select(cell.value > diagonal, from, Score(kFromDiagonal));
    if (Clips) from = select(cell.value > clipped, from, Score(kFromStart));
    cell.from = from | extends;
    return cell;
}

// One row of the band. `best` and `insertion` hold row i - 1 on entry (band + 1 cells, the last one the lowest score) and row i
// on return. substitution(b) is the score of pairing the row's base with the text base of diagonal b. store(b, value, from)
// sees every cell's value and traceback byte.
template <bool LongGaps, class Score, class Substitution, class Store>
GPUALIGN_HD void affine_row(Substitution&& substitution, int band, const GapCosts<Score>& costs, Score clipped, Score lowest,
                            Score* best, GapScores<Score>* insertion, Store&& store) {
    Score left_best = lowest;
    GapScores<Score> left{lowest, lowest};
    for (int b = 0; b < band; b++) {
        const AffineCell<Score> cell =
            affine_cell<LongGaps>(best[b] + substitution(b), best[b + 1], insertion[b + 1], left_best, left, costs, clipped);
        store(b, cell.value, cell.from);
        best[b] = cell.value;
        insertion[b].gap = cell.insertion.gap;
        if (LongGaps) insertion[b].long_gap = cell.insertion.long_gap;
        left_best = cell.value;
        left = cell.deletion;
    }
}

// The same row where no base is clipped, in differences between neighbours, which 8 bits hold however long the rows are (Suzuki &
// Kasahara 2018): a cell counts from its neighbour along the diagonal. `best` holds each cell less the one to its left,
// `insertion` likewise. store(b, from) sees every cell's traceback byte.
template <bool LongGaps, class Score, class Substitution, class Store>
GPUALIGN_HD void affine_difference_row(Substitution&& substitution, int band, const GapCosts<Score>& costs, Score lowest,
                                       Score* best, GapScores<Score>* insertion, Store&& store) {
    Score left_best = lowest;
    GapScores<Score> left{lowest, lowest};
    for (int b = 0; b < band; b++) {
        const Score above_best = best[b + 1];
        const AffineCell<Score> cell = affine_cell<LongGaps, Score, false>(substitution(b), above_best, insertion[b + 1], left_best,
                                                                           left, costs, lowest);
        store(b, cell.from);
        best[b] = cell.value - left_best;
        insertion[b].gap = cell.insertion.gap - left_best;
        left.gap = cell.deletion.gap - above_best;
        if (LongGaps) {
            insertion[b].long_gap = cell.insertion.long_gap - left_best;
            left.long_gap = cell.deletion.long_gap - above_best;
        }
        left_best = cell.value - above_best;
    }
}

// Walks the traceback bytes of one alignment from its last cell. from(i, b) is the byte of cell (i, b), matches(i, b) the
// number of cells from (i, b) up its diagonal, one after the other, that come from the diagonal. emit(op, n) takes runs of
// 'M', 'I' or 'D', the last one first. Returns the first query base that is aligned in `row` and the diagonal of the first
// column in `diagonal`.
template <class From, class Matches, class Emit>
GPUALIGN_HD void affine_traceback(From&& from, Matches&& matches, int& row, int& diagonal, Emit&& emit) {
    int i = row, b = diagonal;
    while (true) {
        const int paired = matches(i, b);
        if (paired) emit('M', uint32_t(paired));
        i -= paired;
        if (i < 0) break;
        const uint8_t source = from(i, b);
        if ((source & kFromMask) == kFromStart) break;
        const bool insertion = (source & kFromMask) == kFromInsertion;
        const int extends = (insertion ? kInsertionExtends : kDeletionExtends) << (source & kFromLong ? 2 : 0);
        uint32_t length = 0;
        bool longer = true;
        for (; longer && i >= 0; length++) {
            longer = from(i, b) & extends;
            if (insertion) i--;
            b += insertion ? 1 : -1;
        }
        emit(insertion ? 'I' : 'D', length);
    }
    row = i + 1;
    diagonal = b;
}

}  // namespace gpualign
