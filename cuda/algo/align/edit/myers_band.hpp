// A window of W * bits rows that slides down along the diagonals of a limited alignment.
//
// With at most k errors between a pattern of m rows and a text of n columns, n >= m, only rows i with
// j - (n - m) - k <= i <= j + k matter in column j (Ukkonen 1985). The window stands still for a block of kColumns
// columns, which is what its height beyond n - m + 2k is for, then slides down by as many rows: with striped rows
// (myers_striped.hpp) a shift of every word by kColumns / W bits. Values outside the band are taken one larger than
// their neighbour inside, which only makes them too large, so that any distance within the limit comes out exact.
//
// The first block is shorter, so that the window comes to rest with the pattern's last row as its own last row; there
// it stays for the columns that are left. Rows above the pattern's first (i <= 0) match every base and stay level.
#pragma once
#include "algo/align/edit/myers_striped.hpp"

namespace gpualign {

// Where a pair's window stands.
template <int Rows, int Columns> struct BandPlan {
    int first_columns;  // of block 0, 1 to Columns
    int slides;         // blocks before the window rests
    int top;            // pattern row above the window in block 0; below 0 when the window begins with free rows

    // 0 <= limit < length.
    GPUALIGN_HD BandPlan(int length, int limit) {
        first_columns = (length - limit - 1) % Columns + 1;
        slides = (length - limit - first_columns) / Columns;
        top = first_columns + limit - Rows;
    }
    // Pattern row of local row 0 in a block, counted from 0.
    GPUALIGN_HD int first_row(int block) const { return top + (block < slides ? block : slides) * Columns; }
    // Whether the window covers the band.
    static GPUALIGN_HD bool fits(int64_t length, int64_t columns, int64_t limit) {
        return limit < length && columns >= length && columns - length + 2 * limit + Columns <= Rows;
    }
};

// Slides a window of striped rows down by Columns: rows leave at the top, rows one larger each enter at the bottom.
template <class Word, int W, int Columns> GPUALIGN_HD void slide_band(StripedColumn<Word, W>& column) {
    static_assert(Columns % W == 0, "whole stripes leave");
    constexpr int kBits = int(sizeof(typename word_traits<Word>::scalar) * 8), kShift = Columns / W;
    for (int w = 0; w < W; w++) {
        column.vp[w] = (column.vp[w] >> kShift) | ~(~Word(0) >> kShift);
        column.vn[w] = column.vn[w] >> kShift;
    }
    static_assert(kShift < kBits, "some rows stay");
}

}  // namespace gpualign
