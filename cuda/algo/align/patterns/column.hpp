// Approximate occurrences of a pattern in a text, a column at a time (Myers 1999, J. ACM 46:395, figure 7).
//
// Pv and Mv are the vertical differences +1 and -1 of a column, Ph and Mh the horizontal ones. The pattern's last row
// is the highest bit, so that its difference is a sign. Row 0 is all 0, as an occurrence may begin anywhere. Bits below
// the first row are rows that match nothing: each adds exactly 1 to every value below it, which the score leaves out.
//
// Worked example, words of 4 bits, pattern ACG (bits 1 to 3), text C, Pv = 1111, Mv = 0, score 3, Eq = 0100:
//   Xv = 0100, Xh = (((0100 & 1111) + 1111) ^ 1111) | 0100 = (0011 ^ 1111) | 0100 = 1100
//   Ph = 0 | ~(1100 | 1111) = 0000, Mh = 1111 & 1100 = 1100: the last row falls to 2 (A is inserted, G a mismatch or
//   so)
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

template <class Word> struct SearchColumn {
    Word pv, mv;

    GPUALIGN_HD void start() {
        pv = ~Word(0);
        mv = Word(0);
    }

    // Advances by one symbol, which the rows `eq` match. The highest bits of `up` and `down` tell whether the last
    // row's value has risen or fallen. `in_up`, `in_down`: the same of the row above the first, in bit 0.
    GPUALIGN_HD void step(Word eq, Word in_up, Word in_down, Word& up, Word& down) {
        const Word xv = eq | mv;
        const Word carried = eq | in_down;
        const Word xh = (((carried & pv) + pv) ^ pv) | carried;
        Word ph = or_nor(mv, xh, pv);
        Word mh = pv & xh;
        up = ph;
        down = mh;
        ph = (ph << 1) | in_up;
        mh = (mh << 1) | in_down;
        pv = or_nor(mh, xv, ph);
        mv = ph & xv;
    }
    GPUALIGN_HD void step(Word eq, Word& up, Word& down) { step(eq, Word(0), Word(0), up, down); }
};

}  // namespace gpualign
