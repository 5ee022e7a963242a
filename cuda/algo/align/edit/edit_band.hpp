// Edit distance within a limit, bit-parallel along a band of diagonals (Myers 1999; the banded form of Hyyrö 2003).
//
// An alignment with at most k edits uses at most (k + n - m) / 2 more query than target symbols ahead of the main
// diagonal, and (k - n + m) / 2 the other way, so k + 1 diagonals are enough. Bit b of column j stands for row
// j - below + b, where `below` and `above` count the diagonals on either side; the band slides down one row a column,
// so what Myers shifts left stays in place here and D0 is shifted right instead. Rows before the first are a plain
// continuation (vertical difference 0 in column 0), which gives D(0,j) = j without a special case.
//
// Worked example, n = m = 4, k = 2, one diagonal on either side: in column j bits 0, 1, 2 stand for rows j-1, j, j+1.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {
namespace nw {

// Diagonals of the band: rows j - below ... j + above of column j. `fits` is false when no path has so few edits.
struct EditBand {
    int32_t below, above;
    bool fits;
};
GPUALIGN_HD EditBand edit_band(int32_t n, int32_t m, int32_t k) {
    const int32_t ahead = n - m;
    if (ahead > k || -ahead > k) return {0, 0, false};
    return {(k - ahead) / 2, (k + ahead) / 2, true};
}

// Edits that an identity allows a pair (IdentityBound.max_edits): those of two sequences as long as the shorter one,
// and where all symbols beyond it count, the difference of the lengths.
struct EditLimits {
    const int32_t* by_length;
    int64_t with_difference;

    GPUALIGN_HD int32_t of(int32_t n, int32_t m) const {
        const int32_t shorter = n < m ? n : m;
        return by_length[shorter] + (with_difference ? (n < m ? m : n) - shorter : 0);
    }
};

// State of one pair (or of one pair a lane) in W words of 64 bits.
template <class Word, int W> struct BandColumn {
    Word vp[W], vn[W];  // vertical differences of the column to the left, in this column's rows

    // Before column 1: rows from the first on differ by one.
    GPUALIGN_HD void start(int32_t below) {
        for (int w = 0; w < W; w++) {
            const int32_t zeros = below - 64 * w;
            const uint64_t bits = zeros <= 0 ? ~uint64_t(0) : zeros >= 64 ? 0 : ~uint64_t(0) << zeros;
            vp[w] = Word(bits);
            vn[w] = Word(uint64_t(0));
        }
    }

    // One column; eq has a bit where the query's symbol in that row equals the column's symbol. Returns in d0, hp and
    // hn what the distance is read from.
    GPUALIGN_HD void step(const Word* eq, Word* d0, Word* hp, Word* hn) {
        Word carry = Word(uint64_t(0));
        for (int w = 0; w < W; w++) {
            const Word masked = eq[w] & vp[w];
            const Word part = masked + carry;
            const Word sum = part + vp[w];
            if constexpr (W > 1) {  // a carry out of either addition
                const Word lost =
                    ((masked & carry) | ((masked | carry) & ~part)) | ((part & vp[w]) | ((part | vp[w]) & ~sum));
                carry = (lost >> 63) & Word(uint64_t(1));
            }
            d0[w] = (sum ^ vp[w]) | eq[w] | vn[w];
            hp[w] = vn[w] | ~(d0[w] | vp[w]);
            hn[w] = d0[w] & vp[w];
        }
        for (int w = 0; w < W; w++) {
            Word below = d0[w] >> 1;
            if constexpr (W > 1)
                if (w + 1 < W) below = below | (d0[w + 1] << 63);
            vp[w] = hn[w] | ~(below | hp[w]);
            vn[w] = below & hp[w];
        }
    }
};

// Bit b of W words, as 0 or 1.
template <class Word, int W> GPUALIGN_HD Word bit_of(const Word* words, int32_t b) {
    return (words[b / 64] >> (b % 64)) & Word(uint64_t(1));
}

// How far below the tracked value the final distance can end: the distance never falls along a diagonal, and by one at
// most from a diagonal to the next. A tracked value beyond k + slack ends the search early.
GPUALIGN_HD int32_t edit_slack(const EditBand& band, int32_t n, int32_t m) {
    const int32_t diagonals = band.above - (n - m);
    return diagonals < 0 ? -diagonals : diagonals;
}

// How the distance changes in column j: along the lowest diagonal until it meets the last row, then along that row.
template <class Word, int W>
GPUALIGN_HD Word distance_change(
    const Word* d0, const Word* hp, const Word* hn, const EditBand& band, int32_t n, int32_t j) {
    if (j + band.above <= n) return Word(uint64_t(1)) - bit_of<Word, W>(d0, band.below + band.above);
    const int32_t last_row = n - j + band.below;
    return bit_of<Word, W>(hp, last_row) - bit_of<Word, W>(hn, last_row);
}

}  // namespace nw
}  // namespace gpualign
