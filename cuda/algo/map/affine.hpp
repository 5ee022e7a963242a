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

// What a cell's traceback byte says.
enum : uint8_t {
    kFromDiagonal = 0,   // low two bits: where the best value of the cell comes from
    kFromInsertion = 1,
    kFromDeletion = 2,
    kFromStart = 3,      // the alignment begins after this cell: bases up to here are clipped
    kFromMask = 3,
    kInsertionExtends = 4,  // the insertion that ends here is longer than one base
    kDeletionExtends = 8,
};

// One cell: its value, what a gap that ends here is worth, and its traceback byte, the byte in a Score.
template <class Score>
struct AffineCell {
    Score value, insertion, deletion, from;
};

// `above_*`: the cell where an insertion that ends here came from, `left_*`: a deletion's.
//
// Ties prefer the diagonal, then the insertion, then the deletion, and a longer gap over a new one: read from the end of
// the alignment that puts a gap as far left as it goes. An alignment that is worth no more than clipping all of it is
// clipped, as by bwa: a gap next to the end of a read is no evidence. A cell's value is never below `clipped`, the value
// of an alignment that begins after it.
template <class Score>
GPUALIGN_HD AffineCell<Score> affine_cell(Score diagonal, Score above_best, Score above_insertion, Score left_best,
                                          Score left_deletion, Score open_extend, Score extend, Score clipped) {
    const Score open_insertion = above_best - open_extend, longer_insertion = above_insertion - extend;
    const Score ins = max(longer_insertion, open_insertion);
    const Score open_deletion = left_best - open_extend, longer_deletion = left_deletion - extend;
    const Score del = max(longer_deletion, open_deletion);
    const Score gap = max(ins, del);
    const Score value = max(max(diagonal, gap), clipped);
    Score from = select(del > ins, Score(kFromDeletion), Score(kFromInsertion));
    from = select(value > gap, Score(kFromStart), from);
    from = select(value > diagonal, from, Score(kFromDiagonal));
    from = select(value > clipped, from, Score(kFromStart));
    from = from | select(open_insertion > longer_insertion, Score(0), Score(kInsertionExtends));
    from = from | select(open_deletion > longer_deletion, Score(0), Score(kDeletionExtends));
    return {value, ins, del, from};
}

// One row of the band. `best` and `insertion` hold row i - 1 on entry (band + 1 cells, the last one `lowest`) and row i on
// return. substitution(b) is the score of pairing the row's base with the text base of diagonal b. store(b, value, from)
// sees every cell's value and traceback byte.
template <class Score, class Substitution, class Store>
GPUALIGN_HD void affine_row(Substitution&& substitution, int band, Score open_extend, Score extend, Score clipped,
                            Score lowest, Score* best, Score* insertion, Store&& store) {
    Score left_best = lowest, left_deletion = lowest;
    for (int b = 0; b < band; b++) {
        const AffineCell<Score> cell = affine_cell<Score>(best[b] + substitution(b), best[b + 1], insertion[b + 1], left_best,
                                                          left_deletion, open_extend, extend, clipped);
        store(b, cell.value, cell.from);
        best[b] = cell.value;
        insertion[b] = cell.insertion;
        left_best = cell.value;
        left_deletion = cell.deletion;
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
        const uint8_t source = from(i, b) & kFromMask;
        if (source == kFromStart) break;
        const bool insertion = source == kFromInsertion;
        const uint8_t extends = insertion ? kInsertionExtends : kDeletionExtends;
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
