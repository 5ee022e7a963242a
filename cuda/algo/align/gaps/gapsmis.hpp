// Alignment with at most K gaps: GapsMis (Barton, Flouri, Iliopoulos, Pissis 2014), GPUGapsMis (Carroll, Ojiaku, Wong).
//
// A pattern of m symbols (rows i) against a text of n symbols (columns j). G_q(i,j) is the best score of an alignment
// of the first i symbols of the pattern with the first j of the text that has at most q gaps; a gap is a run of
// columns with symbols of one sequence only, and costs open + extend*(length-1). With s the score of two symbols,
//
//   G_q(i,j) = max( G_q(i-1,j-1) + s,                                        the two symbols paired
//                   max over l of G_{q-1}(i,j-l) - open - extend*(l-1),      a gap of l symbols of the text   (D)
//                   max over l of G_{q-1}(i-l,j) - open - extend*(l-1) )     a gap of l symbols of the pattern (I)
//
// Two changes of scale leave running maxima only. Adding extend*(i+j) pays every gap's extensions in advance, so a gap
// of any length costs open-extend; adding q*(open-extend) to layer q pays that too. In this scale
//
//   G_q(i,j) = max( G_q(i-1,j-1) + s + 2*extend, D_q(i,j), I_q(i,j) )
//   D_q(i,j) = max of G_{q-1}(i,j') over j' < j,    I_q(i,j) = max of G_{q-1}(i',j) over i' < i
//
// Example with open 3, extend 1, and one gap of 2 in the text after the first symbol: G_0(1,1) = s, and one layer up
// D_1(1,3) = s' without a subtraction; scaling back takes off 1*(3-1) and extend*(1+3), 2 of which s' had been given:
// s - 2 - 2 = s - (3 + 1*(2-1)).
//
// Where extend > open (Strict) it would pay to cut a gap in two, so a gap must not follow a gap of its own sequence:
// D opens from the best of (paired, I) and I from the best of (paired, D). Otherwise cutting never pays, and with the
// fewest gaps first it is never reported either.
//
// Word is an integer on the GPU (or two 16-bit pairs packed into one), Vec<T> on the CPU: a pair per lane.
#pragma once
#include <cstdint>

#include "algo/common/hd.hpp"

namespace gpualign {
namespace gapsmis {

// Which ends of the text are free. The pattern is always aligned end to end.
enum Ends : int32_t { text_end_free = 0, both_ends_free = 1, no_end_free = 2 };

constexpr int32_t no_score = INT32_MIN;

// The scoring in the scale above.
struct Model {
    int32_t gaps;  // K
    int32_t opening;  // open - extend: what a gap costs here, whatever its length
    int32_t extend;  // the cost of one more symbol, paid in advance
    int32_t ends;  // Ends
    int32_t unreached;  // stands for minus infinity

    // G_q on the border of the matrix, `distance` symbols from its corner: one gap, or nothing.
    GPUALIGN_HD int32_t border(int32_t q, int32_t distance) const {
        if (distance == 0) return q * opening;
        return q == 0 ? unreached : (q - 1) * opening;
    }
    // G_q(0,j): the text's first j symbols cost a gap, or nothing where its start is free.
    GPUALIGN_HD int32_t top(int32_t q, int32_t j) const {
        return ends == both_ends_free ? extend * j + q * opening : border(q, j);
    }
    // A value of layer q at (i,j) as a score.
    GPUALIGN_HD int32_t score(int32_t value, int32_t q, int32_t i, int32_t j) const {
        return value - q * opening - extend * (i + j);
    }
    // Whether an alignment exists: without gaps the lengths must allow one.
    GPUALIGN_HD bool possible(int32_t m, int32_t n) const {
        return gaps > 0 || (ends == no_end_free ? m == n : m <= n);
    }
};

// The value that stands for minus infinity where values are `bits` wide and symbols score smallest..largest (plain
// scores), or 0 where the values of an m x n matrix do not fit. An unreached value never overtakes a reached one and
// never wraps around: along a path a value rises by at most `up` and falls by at most `down`.
GPUALIGN_HD int32_t unreached_value(
    const Model& model, int32_t bits, int64_t m, int64_t n, int64_t smallest, int64_t largest) {
    const int64_t step_up = largest + 2 * int64_t(model.extend), step_down = -(smallest + 2 * int64_t(model.extend));
    const int64_t symbols = m < n ? m : n;
    const int64_t openings = int64_t(model.gaps) * (model.opening < 0 ? -int64_t(model.opening) : model.opening);
    const int64_t free_text = int64_t(model.extend) * (n + 1);
    const int64_t up = symbols * (step_up > 0 ? step_up : 0) + openings + free_text;
    const int64_t down = symbols * (step_down > 0 ? step_down : 0) + openings + free_text;
    const int64_t limit = (int64_t(1) << (bits - 1)) - 1;
    return up + 2 * down + 1 <= limit && n < limit ? int32_t(-(up + down + 1)) : 0;
}

// What an alignment's last row says: the best score, the fewest gaps that reach it, the leftmost end in the text.
struct Best {
    int32_t score, gaps, end;

    GPUALIGN_HD void offer(int32_t other_score, int32_t other_gaps, int32_t other_end) {
        const bool better = other_score > score ||
                            (other_score == score && (other_gaps < gaps || (other_gaps == gaps && other_end < end)));
        if (better) score = other_score, gaps = other_gaps, end = other_end;
    }
};

// The candidates in column 0: no symbol of the text at all.
GPUALIGN_HD Best best_without_text(const Model& model, int32_t m, int32_t n) {
    Best best{no_score, -1, -1};
    if (model.ends == no_end_free && n > 0) return best;
    for (int32_t q = 0; q <= model.gaps && q <= 1; q++)
        if (m == 0 || q > 0) best.offer(model.score(model.border(q, m), q, m, 0), q, 0);
    return best;
}

// A copy through registers; gpualign/native/align/gaps/lanes.hpp has one for Vec, which GCC would copy in
// memory.
template <class Word> GPUALIGN_HD Word copy_of(const Word& word) { return word; }

template <class Word> GPUALIGN_HD Word add_max(Word a, Word b, Word c) { return max(a + b, c); }

// Directions of one cell, for each layer q >= 1 four bits (Strict: eight, of which five count).
enum Direction : int32_t {
    takes_gap = 1,  // G_q is D_q or I_q and more than the paired symbols give
    takes_insert = 2,  // of the two, I_q is more
    delete_runs = 4,  // D_q to the right of this cell began further left than here
    insert_runs = 8,  // I_q below this cell began further up than here
    either_gap = 16  // Strict: D_q and I_q are both more than the paired symbols give
};

template <bool Strict> constexpr int direction_bits = Strict ? 8 : 4;

template <class Word, class Mask> GPUALIGN_HD Word flag(Mask mask, Direction direction, int shift) {
    return select(mask, Word(int32_t(uint32_t(direction) << shift)), Word(0));
}

// One cell (i,j). `score` is s + 2*extend.
//   above_g[0..K]   in: G_q(i-1,j)               out: G_q(i,j)
//   above_i[0..K-1] in: I_q(i,j), q = 1..K       out: I_q(i+1,j)
//   left_d[0..K-1]  in: D_q(i,j), q = 1..K       out: D_q(i,j+1)
//   corner[0..K]    in: G_q(i-1,j-1)             out: G_q(i-1,j), the corner of the next column
//   directions      filled where Trace: layers_per_word layers to a word
// Layers go downwards, so that layer q reads what layer q-1 has not yet renewed.
template <class Word, bool Strict, bool Trace, int layers_per_word>
GPUALIGN_HD void cell(int K, Word score, Word* above_g, Word* above_i, Word* left_d, Word* corner, Word* directions) {
    constexpr int bits_per_layer = direction_bits<Strict>;
    if constexpr (Trace) {
        GPUALIGN_UNROLL
        for (int w = 0; w * layers_per_word < K; w++) directions[w] = Word(0);
    }
    GPUALIGN_UNROLL
    for (int q = K; q >= 0; q--) {
        Word value, before_delete, before_insert;
        if (q == 0) {
            value = before_delete = before_insert = corner[0] + score;
        } else {
            const Word deleted = left_d[q - 1], inserted = above_i[q - 1];
            if (Strict || Trace) {
                const Word paired = corner[q] + score, gap = max(deleted, inserted);
                value = max(paired, gap);
                before_delete = Strict ? max(paired, inserted) : value;
                before_insert = Strict ? max(paired, deleted) : value;
                if constexpr (Trace) {
                    const int shift = bits_per_layer * ((q - 1) % layers_per_word);
                    Word& bits = directions[(q - 1) / layers_per_word];
                    bits = bits | flag<Word>(gap > paired, takes_gap, shift) |
                           flag<Word>(inserted > deleted, takes_insert, shift);
                    if (Strict) bits = bits | flag<Word>(min(deleted, inserted) > paired, either_gap, shift);
                }
            } else {
                value = add_max(corner[q], score, max(deleted, inserted));
                before_delete = before_insert = value;
            }
        }
        corner[q] = copy_of(above_g[q]);
        above_g[q] = value;
        if (q < K) {
            if constexpr (Trace) {
                const int shift = bits_per_layer * (q % layers_per_word);
                Word& bits = directions[q / layers_per_word];
                bits = bits | flag<Word>(left_d[q] > before_delete, delete_runs, shift) |
                       flag<Word>(above_i[q] > before_insert, insert_runs, shift);
            }
            left_d[q] = max(left_d[q], before_delete);
            above_i[q] = max(above_i[q], before_insert);
        }
    }
}

// One gap: `length` symbols of the pattern (> 0) or -length of the text (< 0) after i symbols of the pattern and j of
// the text.
struct Gap {
    int32_t i, j, length;
};

// Walks an alignment back from its end; it can stop at a row and go on when earlier rows' directions are at hand.
// Ties: symbols are paired before a gap is taken, a gap in the pattern (D) before one in the text (I), and a gap ends
// as soon as it can; so gaps lie as far left as they can.
template <bool Strict> struct Walker {
    int32_t i, j, layer;
    int32_t length = 0;  // symbols of the open gap
    bool deleting = false, inserting = false;
    bool after_delete = false, after_insert = false;  // the gap just ended at this cell

    GPUALIGN_HD Walker(int32_t i, int32_t j, int32_t layer) : i(i), j(j), layer(layer) {}

    // Goes up to row `floor`. `directions(i, j, q)` gives the four bits of layer q >= 1, 1 <= j, floor < i.
    // The gap taken in layer q goes to gaps[q - 1].
    template <class Directions> GPUALIGN_HD void advance(const Directions& directions, int32_t floor, Gap* gaps) {
        while (i > floor && j > 0) {
            const int32_t bits = layer > 0 ? directions(i, j, layer) : 0;
            if (deleting) {
                if (bits & delete_runs) {
                    length++;
                    j--;
                } else {
                    end_gap(gaps);
                }
            } else if (inserting) {
                if (bits & insert_runs) {
                    length++;
                    i--;
                } else {
                    end_gap(gaps);
                }
            } else if (gap_here(bits)) {
                length = 1;
                if (inserting) i--;
                else j--;
            } else {
                i--;
                j--;
            }
        }
    }

    // Whether G takes a gap at this cell, and then which.
    GPUALIGN_HD bool gap_here(int32_t bits) {
        bool gap = bits & takes_gap, insert = bits & takes_insert;
        if (Strict && (insert ? after_insert : after_delete)) {  // the other kind is the only one allowed here
            gap = bits & either_gap;
            insert = !insert;
        }
        after_delete = after_insert = false;
        inserting = gap && insert;
        deleting = gap && !insert;
        return gap;
    }

    // Closes the alignment at the border; the text then begins at symbol j.
    GPUALIGN_HD void finish(const Model& model, Gap* gaps) {
        if (deleting || inserting) end_gap(gaps);
        if (i > 0) {
            length = i;
            inserting = true;
            i = 0;
            end_gap(gaps);
        } else if (j > 0 && model.ends != both_ends_free) {
            length = j;
            deleting = true;
            j = 0;
            end_gap(gaps);
        }
    }

    GPUALIGN_HD void end_gap(Gap* gaps) {
        gaps[--layer] = Gap{i, j, inserting ? length : -length};
        after_delete = deleting;
        after_insert = inserting;
        deleting = inserting = false;
    }
};

}  // namespace gapsmis
}  // namespace gpualign
