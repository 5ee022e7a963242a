// Where an alignment that is extended from a pair of equal bases ends: the score alone, by anti-diagonals, with cells
// that fall far below the best left out (the X-drop of Zhang et al. 2000, "A greedy algorithm for aligning DNA
// sequences"; the limits are those of nucmer, Delcher et al. 2002). The lanes of a group share an anti-diagonal.
//
// The search ends where `reach` anti-diagonals have brought no score as high as the best one, or no cell is left that
// is at most reach x match below it. Of equal scores the last cell counts: the longest extension.
#pragma once
#include "algo/common/group.hpp"

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

// n and m: rows and columns of the alignment found, the first pair included; 0: the memory did not suffice. The cells
// that were computed are on the diagonals (column - row) low .. high and in the first far_n rows and far_m columns.
struct Extension {
    int32_t n, m, low, high, far_n, far_m;
    int32_t reached;  // the last cell of the rectangle is the alignment's end
};

// Where scores of columns -1 .. m + 1 are kept: each column's for itself, or the last Width columns' (a power of two).
struct AllColumns {
    int32_t m;
    GPUALIGN_HD int32_t size() const { return m + 3; }
    GPUALIGN_HD bool hold(int32_t) const { return true; }
    static GPUALIGN_HD int32_t at(int32_t j) { return j + 1; }
};
template <int32_t Width> struct LastColumns {
    static constexpr GPUALIGN_HD int32_t size() { return Width; }
    GPUALIGN_HD bool hold(int32_t columns) const { return columns <= Width; }
    static GPUALIGN_HD int32_t at(int32_t j) { return j & (Width - 1); }
};
constexpr int32_t kExtendRows = 6;  // of scores that an extension keeps

// The scores of anti-diagonal d in the columns low .. high; returns the best of this lane's.
template <class Columns, class Group, class A, class B>
GPUALIGN_HD int32_t next_scores(const Group& group, const A& a, const B& b, int32_t d, int32_t low, int32_t high,
    const ExtendScores& scores, const int32_t* __restrict__ two_before, const int32_t* __restrict__ before,
    int32_t* __restrict__ best, int32_t* __restrict__ rows_alone, const int32_t* __restrict__ columns_alone,
    int32_t* __restrict__ next_columns_alone) {
    int32_t top = -(1 << 29);
    for (int32_t j = low + int32_t(group.lane()); j <= high; j += int32_t(Group::kLanes)) {
        const int32_t here = Columns::at(j), left = Columns::at(j - 1);
        const int32_t by_rows = max(rows_alone[here] - scores.gap_extend, before[here] - scores.gap_open);
        const int32_t by_columns = max(columns_alone[left] - scores.gap_extend, before[left] - scores.gap_open);
        const int32_t pair = two_before[left] + (a(d - j) == b(j) ? scores.match : scores.mismatch);
        const int32_t score = max(pair, max(by_rows, by_columns));
        rows_alone[here] = by_rows;
        next_columns_alone[here] = by_columns;
        best[here] = score;
        top = max(top, score);
    }
    return top;
}

// The first or last of the columns low .. high that `holds`; none: high + 1 or low - 1.
template <class Group, class Holds>
GPUALIGN_HD int32_t first_column(const Group& group, int32_t low, int32_t high, Holds&& holds) {
    for (int32_t j = low; j <= high; j += int32_t(Group::kLanes)) {
        const int32_t mine = j + int32_t(group.lane());
        if (const uint32_t found = group.ballot(mine <= high && holds(mine))) return j + int32_t(first_lane(found));
    }
    return high + 1;
}
template <class Group, class Holds>
GPUALIGN_HD int32_t last_column(const Group& group, int32_t low, int32_t high, Holds&& holds) {
    for (int32_t j = high; j >= low; j -= int32_t(Group::kLanes)) {
        const int32_t mine = j - int32_t(group.lane());
        if (const uint32_t found = group.ballot(mine >= low && holds(mine))) return j - int32_t(first_lane(found));
    }
    return low - 1;
}

// Extends through rows a(1) .. a(n) and columns b(1) .. b(m), whose first ones are equal; a(0) and b(0) can be read.
// `memory`: kExtendRows rows of columns.size() scores.
template <class Group, class Columns, class A, class B>
GPUALIGN_HD Extension extend(const Group& group, const Columns& columns, const A& a, const B& b, int32_t n, int32_t m,
    const ExtendScores& scores, ExtendMode mode, int32_t* memory) {
    constexpr int32_t lowest = -(1 << 29);
    const int32_t size = columns.size();
    // by column: best scores of the last three anti-diagonals, and gaps in the columns (rows alone) and in the rows
    int32_t *best = memory, *before = memory + size, *two_before = memory + 2 * size;
    int32_t *rows_alone = memory + 3 * size, *columns_alone = memory + 4 * size,
            *next_columns_alone = memory + 5 * size;
    const int32_t max_drop = scores.match * scores.reach;
    Extension found{0, 0, 0, 0, 0, 0, false};
    int32_t high_score = lowest, high_at = 0, high_column = 0, border_score = lowest, border_at = 0, border_column = 0;
    for (int32_t j = int32_t(group.lane()) - 1; j <= 1; j += int32_t(Group::kLanes)) {
        before[Columns::at(j)] = j == 0 ? 0 : lowest;
        two_before[Columns::at(j)] = rows_alone[Columns::at(j)] = columns_alone[Columns::at(j)] = lowest;
    }
    group.sync();
    int32_t low = 0, high = m < 1 ? m : 1, d = 1;
    for (; d <= n + m && d - high_at <= scores.reach && low <= high; d++) {
        if (!columns.hold(high - low + 3)) return {0, 0, 0, 0, 0, 0, false};
        const int32_t own = next_scores<Columns>(
            group, a, b, d, low, high, scores, two_before, before, best, rows_alone, columns_alone, next_columns_alone);
        for (int32_t side = int32_t(group.lane()); side < 2; side += int32_t(Group::kLanes)) {
            const int32_t next = Columns::at(side ? high + 1 : low - 1);
            best[next] = rows_alone[next] = next_columns_alone[next] = lowest;
        }
        const int32_t top = group.largest(own);
        group.sync();
        const auto score = [=](int32_t j) { return best[Columns::at(j)]; };
        if (top >= high_score) {
            high_score = top;
            high_at = d;
            high_column = last_column(group, low, high, [&](int32_t j) { return score(j) == top; });
        }
        found.low = min(found.low, 2 * low - d);
        found.high = max(found.high, 2 * high - d);
        found.far_n = max(found.far_n, d - low);
        found.far_m = max(found.far_m, high);
        if (mode.to_border) {  // the end of the shorter sequence
            const int32_t column = n <= m ? d - n : m;
            if (column >= 0 && (n <= m ? column == low && low <= high : column == high && d <= n) &&
                score(column) >= border_score) {
                border_score = score(column);
                border_at = d;
                border_column = column;
            }
        }
        const auto is_near = [&](int32_t j) { return high_score - score(j) <= max_drop; };
        const int32_t first = first_column(group, low, high, is_near), last = last_column(group, low, high, is_near);
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

// An extension of two texts: row i is rows[row + i], or rows[row - i] backwards, and so are columns.
struct ExtendTask {
    int64_t row, column;
    int32_t n, m, flags, unused;
};
enum ExtendFlags : int32_t {
    kExtendBackward = 1,
    kExtendReverse = 2,  // of the columns
    kExtendOptimal = 4,
    kExtendToBorder = 8,
    kExtendCut = 16,  // the rectangle is only a part: to come to its end is not to reach its aim
};

// columns: of the text's forward and reverse strand.
template <class Group, class Columns>
GPUALIGN_HD Extension extend_task(const Group& group, const Columns& memory_of, const ExtendTask& task,
    const uint8_t* rows, const uint8_t* const columns[2], const ExtendScores& scores, int32_t* memory) {
    const uint8_t* const a = rows + task.row;
    const uint8_t* const b = columns[task.flags & kExtendReverse ? 1 : 0] + task.column;
    const ExtendMode mode{(task.flags & kExtendOptimal) != 0, (task.flags & kExtendToBorder) != 0};
    Extension found;
    if (task.flags & kExtendBackward) {
        found = extend(
            group, memory_of, [=](int32_t i) { return a[-i]; }, [=](int32_t j) { return b[-j]; }, task.n, task.m,
            scores, mode, memory);
    } else {
        found = extend(
            group, memory_of, [=](int32_t i) { return a[i]; }, [=](int32_t j) { return b[j]; }, task.n, task.m, scores,
            mode, memory);
    }
    if (task.flags & kExtendCut) found.reached = false;
    return found;
}

}  // namespace gpualign
