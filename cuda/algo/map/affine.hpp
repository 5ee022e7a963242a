// Banded affine-gap alignment of a query, end to end or clipped, against a text window, with traceback.
//
// Gotoh's recurrences (1982) with bwa's scoring: a gap of length l costs open + l * extend, and each clipped end of
// the query costs a fixed penalty. Text ends are free.
//
// Rows are query bases, columns diagonals of the band: cell (i, b) pairs query base i with text base i + b, 0 <= b <
// band. Its neighbour along the diagonal is (i - 1, b); an insertion (a query base alone) comes from (i - 1, b + 1), a
// deletion (a text base alone) from (i, b - 1).
#pragma once
#include "abi/map.hpp"
#include "algo/common/hd.hpp"
#include "algo/map/sam_codes.hpp"

namespace gpualign {

// Codes of text columns that match no base: outside the contig, and ambiguous.
constexpr uint8_t kOutside = 7, kTextNoBase = 5;

// Traceback byte of a cell.
enum : uint8_t {
    kFromDiagonal = 0,   // the low two bits: which move gives the cell's value
    kFromInsertion = 1,
    kFromDeletion = 2,
    kFromStart = 3,      // the alignment begins after this cell; the bases up to it are clipped
    kFromMask = 3,
    kFromLong = 4,          // the gap has the costs of long gaps
    kInsertionExtends = 8,  // the insertion that ends here has more than one base
    kDeletionExtends = 16,
    kLongInsertionExtends = 32,
    kLongDeletionExtends = 64,
};

// Gap costs: one affine function; two, of which the lower counts (Gotoh 1990; minimap2); or one, and introns of any
// length, whose cost depends on the bases at their ends (as in minimap2, Li 2018, section 2.2.3).
enum class Gaps : int { affine, two_costs, introns };

template <class Score> struct GapCosts {
    Score open_extend, extend, long_open_extend, long_extend;  // with introns long_open_extend: what any intron costs
};

// What an intron costs in addition that begins, or ends, with a column.
template <class Score> struct IntronEnds {
    Score begin, end;
};

// Best scores of alignments that end in a gap.
template <class Score> struct GapScores {
    Score gap, long_gap;
};

// A DP cell; `from` is its traceback byte as a Score.
template <class Score> struct AffineCell {
    Score value, from;
    GapScores<Score> insertion, deletion;
};

// Extends a gap or opens one, whichever scores more; sets `extends` in `from` if it extends.
template <class Score>
GPUALIGN_HD Score longer_gap(Score best, Score gap, Score open_extend, Score extend, Score extends, Score& from) {
    const Score opened = best - open_extend, longer = gap - extend;
    from = from | select(opened > longer, Score(0), extends);
    return max(longer, opened);
}

// `above` is the cell that an insertion comes from, `left` the one that a deletion comes from.
//
// Ties prefer the diagonal, then the insertion, then the deletion, the costs of short gaps, and extending over
// opening, so that the traceback from the end places gaps as far left as possible. An alignment that scores no more
// than clipping all of it is clipped, as in bwa: a gap next to the end of a read is no evidence. `clipped` is the
// score of an alignment that begins after the cell, its lower bound. An intron is a deletion with long-gap costs.
template <Gaps Model, class Score>
GPUALIGN_HD AffineCell<Score> affine_cell(Score diagonal, Score above_best, const GapScores<Score>& above,
    Score left_best, const GapScores<Score>& left, const GapCosts<Score>& costs, Score clipped,
    const IntronEnds<Score>& ends = {}) {
    AffineCell<Score> cell{};
    Score extends(0);
    cell.insertion.gap =
        longer_gap(above_best, above.gap, costs.open_extend, costs.extend, Score(kInsertionExtends), extends);
    cell.deletion.gap =
        longer_gap(left_best, left.gap, costs.open_extend, costs.extend, Score(kDeletionExtends), extends);
    Score gap = max(cell.insertion.gap, cell.deletion.gap);
    Score from = select(cell.deletion.gap > cell.insertion.gap, Score(kFromDeletion), Score(kFromInsertion));
    if constexpr (Model == Gaps::introns) {
        cell.deletion.long_gap = longer_gap(left_best - ends.begin, left.long_gap, costs.long_open_extend, Score(0),
            Score(kLongDeletionExtends), extends);
        const Score intron = cell.deletion.long_gap - ends.end;
        from = select(intron > gap, Score(kFromDeletion | kFromLong), from);
        gap = max(gap, intron);
    }
    if constexpr (Model == Gaps::two_costs) {
        cell.insertion.long_gap = longer_gap(above_best, above.long_gap, costs.long_open_extend, costs.long_extend,
            Score(kLongInsertionExtends), extends);
        cell.deletion.long_gap = longer_gap(
            left_best, left.long_gap, costs.long_open_extend, costs.long_extend, Score(kLongDeletionExtends), extends);
        const Score long_gap = max(cell.insertion.long_gap, cell.deletion.long_gap);
        const Score from_long = select(cell.deletion.long_gap > cell.insertion.long_gap,
            Score(kFromDeletion | kFromLong), Score(kFromInsertion | kFromLong));
        from = select(long_gap > gap, from_long, from);
        gap = max(gap, long_gap);
    }
    cell.value = max(max(diagonal, gap), clipped);
    from = select(cell.value > gap, Score(kFromStart), from);
    from = select(cell.value > diagonal, from, Score(kFromDiagonal));
    from = select(cell.value > clipped, from, Score(kFromStart));
    cell.from = from | extends;
    return cell;
}

// One row of the band. On entry `best` and `insertion` hold row i - 1 (band + 1 cells, the last one the lowest score),
// on return row i. substitution(b) is the score of pairing the row's base with the text base of diagonal b. store(b,
// value, from) receives every cell's value and traceback byte.
//
// With introns ends(b) is what one costs that begins or ends with the text base of diagonal b, and none but an intron
// leads from the diagonals before `fold` to those from there on.
template <Gaps Model, class Score, class Substitution, class Ends, class Store>
GPUALIGN_HD void affine_row(Substitution&& substitution, Ends&& ends, int band, int fold, const GapCosts<Score>& costs,
    Score clipped, Score lowest, Score* best, GapScores<Score>* insertion, Store&& store) {
    Score left_best = lowest;
    GapScores<Score> left{lowest, lowest};
    for (int b = 0; b < band; b++) {
        Score above_best = best[b + 1];
        GapScores<Score> above = insertion[b + 1];
        IntronEnds<Score> intron{};
        if constexpr (Model == Gaps::introns) {
            intron = ends(b);
            if (fold && b + 1 == fold) above_best = above.gap = lowest;
            if (fold && b == fold) left_best = left.gap = lowest;
        }
        const AffineCell<Score> cell =
            affine_cell<Model>(best[b] + substitution(b), above_best, above, left_best, left, costs, clipped, intron);
        store(b, cell.value, cell.from);
        best[b] = cell.value;
        insertion[b].gap = cell.insertion.gap;
        if (Model == Gaps::two_costs) insertion[b].long_gap = cell.insertion.long_gap;
        left_best = cell.value;
        left = cell.deletion;
    }
}

// Follows the traceback bytes of one alignment from its last cell. from(i, b) is the byte of cell (i, b), matches(i,
// b) the number of consecutive cells up its diagonal that come from the diagonal. emit(op, n) receives operations 'M',
// 'I', 'D' and 'N', the last one first. On return `row` is the first aligned query base, `diagonal` that of the first
// column.
struct TracedIntrons {
    int shortest = 0;  // shorter ones are deletions; 0: gaps with long-gap costs are no introns
    int fold = 0, jump = 0;  // of the band
};

// The CIGAR operation of a traced one; `swapped`: rows are bases of the reference.
GPUALIGN_HD uint32_t traced_operation(char operation, bool swapped) {
    return operation == 'M' ? kCigarM : operation == 'N' ? kCigarN : (operation == 'I') != swapped ? kCigarI : kCigarD;
}

template <class From, class Matches, class Emit>
GPUALIGN_HD void affine_traceback(
    From&& from, Matches&& matches, int& row, int& diagonal, const TracedIntrons& introns, Emit&& emit) {
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
        const bool after_fold = b >= introns.fold;
        for (; longer && i >= 0; length++) {
            longer = from(i, b) & extends;
            if (insertion) i--;
            b += insertion ? 1 : -1;
        }
        if (introns.fold && after_fold && b < introns.fold && !insertion) length += uint32_t(introns.jump);
        const bool intron = introns.shortest && (source & kFromLong) && length >= uint32_t(introns.shortest);
        emit(insertion ? 'I' : intron ? 'N' : 'D', length);
    }
    row = i + 1;
    diagonal = b;
}

}  // namespace gpualign
