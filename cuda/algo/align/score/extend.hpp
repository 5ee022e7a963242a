// Where an alignment that is extended from a pair of equal bases ends: the score alone, by anti-diagonals, with cells
// that fall far below the best left out (the X-drop of Zhang et al. 2000, "A greedy algorithm for aligning DNA
// sequences"; the limits are those of nucmer, Delcher et al. 2002).
//
// The search ends where `reach` anti-diagonals have brought no score as high as the best one, or no cell is left that
// is at most reach x match below it. Of equal scores the last cell counts: the longest extension.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

// match and mismatch are added, gaps cost; gap_open is the cost of a gap's first symbol.
struct ExtendScores {
    int32_t match, mismatch, gap_open, gap_extend, reach;
};

// How an extension ends: at its best cell; `optimal`: also where it has reached the end of the rectangle; `to_border`:
// where the shorter sequence ends, if it gets there.
struct ExtendMode {
    bool optimal, to_border;
};

// n and m: rows and columns of the alignment found, the first pair included. The cells that were computed are on the
// diagonals (column - row) low .. high and in the first far_n rows and far_m columns.
struct Extension {
    int32_t n, m, low, high, far_n, far_m;
    bool reached;  // the last cell of the rectangle is the alignment's end
};

// Memory for one extension: six rows of m + 3 scores.
constexpr GPUALIGN_HD int64_t extend_scores(int64_t m) { return 6 * (m + 3); }

// The scores of anti-diagonal d in the columns low .. high; returns the best.
template <class Rows, class Columns>
GPUALIGN_HD int32_t next_scores(const Rows& a, const Columns& b, int32_t d, int32_t low, int32_t high,
    const ExtendScores& scores, const int32_t* __restrict__ two_before, const int32_t* __restrict__ before,
    int32_t* __restrict__ best, int32_t* __restrict__ rows_alone, const int32_t* __restrict__ columns_alone,
    int32_t* __restrict__ next_columns_alone) {
    int32_t top = -(1 << 29);
    for (int32_t j = low; j <= high; j++) {
        const int32_t by_rows = max(rows_alone[j] - scores.gap_extend, before[j] - scores.gap_open);
        const int32_t by_columns = max(columns_alone[j - 1] - scores.gap_extend, before[j - 1] - scores.gap_open);
        const int32_t pair = two_before[j - 1] + (a(d - j) == b(j) ? scores.match : scores.mismatch);
        const int32_t score = max(pair, max(by_rows, by_columns));
        rows_alone[j] = by_rows;
        next_columns_alone[j] = by_columns;
        best[j] = score;
        top = max(top, score);
    }
    return top;
}

// Extends through rows a(1) .. a(n) and columns b(1) .. b(m), whose first ones are equal; a(0) and b(0) can be read.
template <class Rows, class Columns>
GPUALIGN_HD Extension extend(const Rows& a, const Columns& b, int32_t n, int32_t m, const ExtendScores& scores,
    ExtendMode mode, int32_t* memory) {
    constexpr int32_t lowest = -(1 << 29);
    int32_t* const row = memory + 1;
    const int32_t size = m + 3;
    // by column: best scores of the last three anti-diagonals, and gaps in the columns (rows alone) and in the rows
    int32_t *best = row, *before = row + size, *two_before = row + 2 * size;
    int32_t *rows_alone = row + 3 * size, *columns_alone = row + 4 * size, *next_columns_alone = row + 5 * size;
    const int32_t max_drop = scores.match * scores.reach;
    Extension found{0, 0, 0, 0, 0, 0, false};
    int32_t high_score = lowest, high_at = 0, high_column = 0, border_score = lowest, border_at = 0, border_column = 0;
    before[-1] = before[1] = two_before[-1] = two_before[0] = two_before[1] = lowest;
    before[0] = 0;
    for (int32_t j = -1; j <= 1; j++) rows_alone[j] = columns_alone[j] = lowest;
    int32_t low = 0, high = m < 1 ? m : 1, d = 1;
    for (; d <= n + m && d - high_at <= scores.reach && low <= high; d++) {
        const int32_t top = next_scores(
            a, b, d, low, high, scores, two_before, before, best, rows_alone, columns_alone, next_columns_alone);
        best[low - 1] = best[high + 1] = lowest;
        rows_alone[low - 1] = rows_alone[high + 1] = lowest;
        next_columns_alone[low - 1] = next_columns_alone[high + 1] = lowest;
        if (top >= high_score) {
            high_score = top;
            high_at = d;
            for (high_column = high; best[high_column] != top;) high_column--;
        }
        found.low = min(found.low, 2 * low - d);
        found.high = max(found.high, 2 * high - d);
        found.far_n = max(found.far_n, d - low);
        found.far_m = max(found.far_m, high);
        if (mode.to_border) {  // the end of the shorter sequence
            const int32_t column = n <= m ? d - n : m;
            if (column >= 0 && (n <= m ? column == low && low <= high : column == high && d <= n) &&
                best[column] >= border_score) {
                border_score = best[column];
                border_at = d;
                border_column = column;
            }
        }
        int32_t first = low, last = high;
        while (first <= high && high_score - best[first] > max_drop) first++;
        while (last >= low && high_score - best[last] > max_drop) last--;
        low = max(first, max(0, d + 1 - n));
        high = min(last + 1, min(d + 1, m));
        int32_t* const oldest = two_before;
        two_before = before;
        before = best;
        best = oldest;
        int32_t* const other = columns_alone;
        columns_alone = next_columns_alone;
        next_columns_alone = other;
    }
    if (d - 1 == n + m) {
        if (!mode.optimal || mode.to_border) {
            high_at = n + m;
            high_column = m;
        }
        found.reached = high_at == n + m;
    } else if (mode.to_border && border_at) {
        high_at = border_at;
        high_column = border_column;
    }
    found.n = high_at - high_column;
    found.m = high_column;
    return found;
}

}  // namespace gpualign
