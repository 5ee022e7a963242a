// Global alignment by strips of columns (Needleman and Wunsch 1970; affine gaps by Gotoh 1982; "LazyRScan" and "RScan"
// of Truong et al. 2014). Rows are the query, columns the target.
//
// Gap-free transform. With x the cost of extending a gap by one symbol, the recurrence is run on
//     H'(i,j) = H(i,j) + x (i + j),   E' and F' alike,   s' = s + 2x,   o' = open - x,
// so that extending a gap costs nothing and opening one costs o':
//     H'(i,j)   = max(H'(i-1,j-1) + s'(i,j), E'(i,j), F'(i,j))
//     E'(i,j+1) = max(E'(i,j), H'(i,j) - o')        a gap in the query: consumes target symbols, CIGAR D
//     F'(i+1,j) = max(F'(i,j), H'(i,j) - o')        a gap in the target: consumes query symbols, CIGAR I
// A linear gap has o' = 0: E' and F' fall together with the left and the upper H'. Values never sink below -2o' (the
// path of two gaps), which bounds the word: see range().
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {
namespace nw {

// `bits` where the mask holds.
GPUALIGN_HD int32_t flag(bool mask, uint32_t bits) { return mask ? int32_t(bits) : 0; }

template <class Word> GPUALIGN_HD Word add_max(Word a, Word b, Word c) { return max(a + b, c); }
GPUALIGN_HD int32_t add_max(int32_t a, int32_t b, int32_t c) {
#if defined(__CUDA_ARCH__)
    return __viaddmax_s32(a, b, c);
#else
    return max(a + b, c);
#endif
}

template <class Word> GPUALIGN_HD Word add_max_floor(Word a, Word b, Word c) { return max(add_max(a, b, c), Word(0)); }
GPUALIGN_HD int32_t add_max_floor(int32_t a, int32_t b, int32_t c) {
#if defined(__CUDA_ARCH__)
    return __viaddmax_s32_relu(a, b, c);
#else
    return max(max(a + b, c), 0);
#endif
}

// Four bits a cell say where its values came from; ties go to the diagonal, then to E, and gaps close early.
enum : uint32_t {
    not_diagonal = 1,  // H came from E or F
    from_f = 2,        // ... from F; without not_diagonal: a local alignment begins after this cell
    extend_e = 4,      // E of the cell to the right extends this cell's E
    extend_f = 8,      // F of the cell below extends this cell's F
};

// K columns of the matrix, kept in registers while the rows go by.
template <class Word, int K, bool Affine> struct Strip {
    Word h[K];                 // H' of the row above
    Word f[Affine ? K : 1];    // F' of the coming row

    // One row. On entry `left` and `e` are H' and E' at the strip's left border in this row and `diagonal` is H' one
    // row up; on return `left` is H' of the last column and `e` is E' to its right. scores(k) gives s' of column k.
    template <class Scores>
    GPUALIGN_HD void row(const Scores& scores, Word diagonal, Word& left, Word& e, Word minus_open) {
#if defined(__CUDACC__)
#pragma unroll
#endif
        for (int k = 0; k < K; k++) {
            const Word up = h[k];
            if (Affine) {
                // E opens from H, but never from the part of H that is E itself: so e waits for one operation a cell
                const Word not_e = add_max(diagonal, scores(k), f[k]);
                const Word value = max(not_e, e);
                e = add_max(not_e, minus_open, e);
                f[k] = add_max(value, minus_open, f[k]);
                h[k] = left = value;
            } else {
                h[k] = left = max(add_max(diagonal, scores(k), up), left);
            }
            diagonal = up;
        }
    }

    // Computes a row as row() does, handing the four bits of each cell to put(k, bits). With Ahead E opens as in row(),
    // and does not wait for H: an operation more a cell, where threads are few.
    template <bool Ahead = false, class Scores, class Put>
    GPUALIGN_HD void row_directions(
        const Scores& scores, Word diagonal, Word& left, Word& e, Word minus_open, const Put& put) {
#if defined(__CUDACC__)
#pragma unroll
#endif
        for (int k = 0; k < K; k++) {
            const Word up = h[k];
            const Word gap_e = Affine ? e : left, gap_f = Affine ? f[k] : up;
            const Word through = diagonal + scores(k);
            const Word not_f = max(through, gap_e);
            const Word value = max(not_f, gap_f);
            Word bits = flag(value > through, not_diagonal) | flag(value > not_f, from_f);
            if (Affine) {
                const Word opened = value + minus_open;
                bits = bits | flag(e > opened, extend_e) | flag(f[k] > opened, extend_f);
                e = max(Ahead ? Word(max(through, gap_f) + minus_open) : opened, e);
                f[k] = max(opened, f[k]);
            }
            h[k] = left = value;
            diagonal = up;
            put(k, bits);
        }
    }

    // Smith and Waterman 1981, without the transform: values are floored at zero and gaps cost what they cost.
    template <bool Ahead = false, class Scores, class Put>
    GPUALIGN_HD void row_local(
        const Scores& scores, Word diagonal, Word& left, Word& e, Word minus_open, Word minus_extend, const Put& put) {
#if defined(__CUDACC__)
#pragma unroll
#endif
        for (int k = 0; k < K; k++) {
            const Word up = h[k];
            const Word through = max(diagonal + scores(k), Word(0));
            const Word not_f = max(through, e);
            const Word value = max(not_f, f[k]);
            const Word stop = flag(value == Word(0), from_f);
            const Word opened = value + minus_open, longer_e = e + minus_extend, longer_f = f[k] + minus_extend;
            const Word bits = flag(value > through, not_diagonal) | flag(value > not_f, from_f) | stop |
                              flag(longer_e > opened, extend_e) | flag(longer_f > opened, extend_f);
            e = max(Ahead ? Word(max(through, f[k]) + minus_open) : opened, longer_e);
            f[k] = max(opened, longer_f);
            h[k] = left = value;
            diagonal = up;
            put(k, bits);
        }
    }

    // A row for scores alone.
    template <bool Ahead = false, class Scores>
    GPUALIGN_HD void row_local(
        const Scores& scores, Word diagonal, Word& left, Word& e, Word minus_open, Word minus_extend) {
#if defined(__CUDACC__)
#pragma unroll
#endif
        for (int k = 0; k < K; k++) {
            const Word up = h[k];
            const Word not_e = Ahead ? add_max_floor(diagonal, scores(k), f[k]) : Word(0);
            const Word value = Ahead ? max(not_e, e) : add_max_floor(diagonal, scores(k), max(e, f[k]));
            const Word opened = value + minus_open;
            e = add_max(e, minus_extend, Ahead ? Word(not_e + minus_open) : opened);
            f[k] = add_max(f[k], minus_extend, opened);
            h[k] = left = value;
            diagonal = up;
        }
    }
};

// A row of local alignment in words that saturate: 0 is the lowest value that there is, so nothing falls below it, and
// a best value that is the highest one may have been higher (Rognes 2011, SWIPE).
template <class Word, int K, class Scores>
GPUALIGN_HD void saturated_local_row(
    const Scores& scores, Word diagonal, Word& left, Word& e, Word* h, Word* f, Word open, Word extend, Word& best) {
    for (int k = 0; k < K; k++) {
        const Word value = max(add_saturated(diagonal, scores(k)), max(e, f[k]));
        best = max(best, value);
        const Word opened = subtract_saturated(value, open);
        e = max(opened, subtract_saturated(e, extend));
        f[k] = max(opened, subtract_saturated(f[k], extend));
        diagonal = h[k];
        h[k] = left = value;
    }
}

// What a gap costs at one end of a sequence; nothing where that end is free.
struct EndGap {
    int32_t open, extend;

    template <class Int> GPUALIGN_HD Int cost(Int symbols) const { return symbols ? open + (symbols - 1) * extend : 0; }
    // H' of the border cell so many symbols from the corner.
    template <class Int> GPUALIGN_HD Int border(Int symbols, int32_t shift) const {
        return shift * symbols - cost(symbols);
    }
};

// Symbols before and after the alignment, of the query (column 0 and the last one) and of the target (row 0 and the
// last one). A gap there costs no more than elsewhere, so an alignment's last pair of symbols may be looked for in all
// of the last row and column, at H minus the cost of the rest.
struct EndGaps {
    EndGap query_start, query_end, target_start, target_end;
};

// The bits of these ends, where a set of them is a word.
enum EndBit : uint32_t { query_start_bit = 1, query_end_bit = 2, target_start_bit = 4, target_end_bit = 8 };

// A last cell of an alignment of n x m symbols, with what follows it: gaps at the ends, or nothing where they are free.
template <class Int> struct EndOf {
    Int score, i, j;

    // A local alignment of no symbols, where no cell was above zero (the best that is looked for is 1 at least).
    GPUALIGN_HD EndOf found() const { return i == INT32_MAX ? EndOf{0, 0, 0} : *this; }
    // The higher score. Of two with the same: where the whole sequences are aligned the shortest gap at the end, in the
    // query rather than the target; else the fewest symbols of the target, then of the query.
    GPUALIGN_HD bool preferred_to(const EndOf& other, bool whole, Int n, Int m) const {
        if (score != other.score) return score > other.score;
        if (!whole) return j < other.j || (j == other.j && i < other.i);
        const bool in_row = i == n, other_in_row = other.i == n;
        return in_row != other_in_row ? in_row : i - n + j - m > other.i - n + other.j - m;
    }
};

// Where a traceback through the directions stands.
struct Walk {
    int64_t i, j;  // symbols of query and target not yet consumed
    int state;  // 0: in H; 1: the cell to the right was reached by E; 2: the cell below was reached by F; or ended
};

constexpr int ended = 3;  // a local alignment's start is reached

enum Operation : uint32_t { op_match = 0, op_insert = 1, op_delete = 2 };  // as in BAM

// One step of the walk from a cell (i, j >= 1) with these bits; emit(operation) takes the path from its end to its
// start. Returns false, and emits nothing, where a local alignment ends.
template <class Emit> GPUALIGN_HD bool step(Walk& walk, uint32_t bits, const Emit& emit) {
    const bool longer = (walk.state == 1 && (bits & extend_e)) || (walk.state == 2 && (bits & extend_f));
    if (!longer) walk.state = !(bits & not_diagonal) ? 0 : bits & from_f ? 2 : 1;
    if (walk.state == 0 && (bits & from_f)) return false;
    emit(walk.state == 0 ? op_match : walk.state == 1 ? op_delete : op_insert);
    if (walk.state != 1) walk.i--;
    if (walk.state != 2) walk.j--;
    return true;
}

}  // namespace nw
}  // namespace gpualign
