// Bit-parallel Levenshtein distance with striped rows: no shift and no addition per word.
//
// Vertical differences of a column are the bit vectors VP (+1) and VN (-1), horizontal ones HP and HN, and D0 says "the
// diagonal difference is 0" (Myers 1999, J. ACM 46:395, in Hyyrö's 2003 notation). In the usual layout row i is bit i
// of a long number, so every word pays for shifting HP and HN by one row and for its part of the addition that carries
// HN down the column. Here row r of a tile of W words is bit r / W of word r % W: one row down is the next word, and
// only the step from the last word back to the first is a shift. The carry goes down in two passes over the words:
//
//   HN[r] = (eq[r] | HN[r-1]) & VP[r]           (from D0 = eq | VN | HN[r-1] and HN = D0 & VP, as VP and VN exclude
//                                                each other)
//   pass 1: each bit position is a stripe of W consecutive rows. Does the stripe send HN out by itself (generate), and
//           would it hand on one that comes in (propagate: VP all along)?
//           Then the HN that enters each stripe is the carry of one addition, as in a carry-lookahead adder.
//   pass 2: the recurrence with the right HN on entry, and the new VP and VN.
//
// That is 6.5 three-input logic operations a word and column, where the usual layout takes 10 with shifts and
// additions.
//
// Worked example, W = 2 words of 2 bits, rows 0 1 2 3 (word 0 holds rows 0 and 2, word 1 rows 1 and 3), pattern ACGT,
// first column, symbol C: VP = {11, 11}, eq = {00, 01} (row 1 is bit 0 of word 1).
//   generate = (01 | (00 & 11)) & 11 = 01, propagate = 11; carry into the stripes = (11 + 01) ^ 11 ^ 01 = 10
//   (modulo 4: 00 ^ 11 ^ 01), so HN enters stripe 1 (rows 2 and 3): D falls by one from row 1 down, as it should.
//
// A pattern that does not fill its tiles stands at their END: its last row is the highest bit of the last word, and the
// rows before its first are padding. Padding keeps vertical difference 0:
//   - infix mode (row 0 is all 0): padding matches every symbol;
//   - prefix and global mode (row 0 is 0, 1, 2, ...): padding matches none, and +1 comes in from above.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

// Bits of word w, of W, that belong to rows >= pad of a tile.
template <class Scalar, class Row> GPUALIGN_HD Scalar striped_rows(int w, int words, Row pad) {
    const Row below = pad > w ? (pad - w + words - 1) / words : 0;  // rows of this word before `pad`
    return below >= Row(sizeof(Scalar) * 8) ? Scalar(0) : Scalar(~Scalar(0) << below);
}

// The pattern as bit planes: two bits of each row's base code, and whether it is a base at all.
template <class Scalar> struct StripedPlanes {
    Scalar low, high, known;
};

// Planes of word w of a tile whose local row r holds pattern row r - pad; code(i) gives row i's code, kNoBase (4) for
// none.
template <class Scalar, class Code>
GPUALIGN_HD StripedPlanes<Scalar> striped_planes(int w, int words, int64_t pad, int64_t length, Code&& code) {
    StripedPlanes<Scalar> planes{0, 0, 0};
    int64_t row = w - pad;
    for (int bit = 0; bit < int(sizeof(Scalar) * 8); bit++, row += words) {
        if (row < 0 || row >= length) continue;
        const Scalar c = Scalar(code(row));
        planes.low |= Scalar(c & 1) << bit;
        planes.high |= Scalar(c >> 1 & 1) << bit;
        planes.known |= Scalar(c < 4) << bit;
    }
    return planes;
}

// One column of one tile. Word is an unsigned integer or a Vec of one.
template <class Word, int W> struct StripedColumn {
    Word vp[W], vn[W];

    // Column 0: D grows by one a row on `rows[w]`, is level elsewhere.
    GPUALIGN_HD void start(const Word* rows) {
        for (int w = 0; w < W; w++) {
            vp[w] = rows[w];
            vn[w] = Word(0);
        }
    }

    // Advances by one text symbol. eq[w]: rows that match it. `up` and `down`: the horizontal difference above the
    // first row, +1 and -1, in bit 0. On return the highest bits of `last_up` and `last_down` are that of the last row.
    GPUALIGN_HD void step(const Word* eq, Word up, Word down, Word& last_up, Word& last_down) {
        Word generate = eq[0] & vp[0];
        Word propagate = vp[0];
        for (int w = 1; w < W; w++) {
            generate = (eq[w] | generate) & vp[w];
            propagate = propagate & vp[w];
        }
        propagate = propagate | generate;
        const Word entering = (propagate + generate + down) ^ propagate ^ generate;

        const Word first_d0 = eq[0] | vn[0] | entering;
        Word hn = first_d0 & vp[0];
        Word hp = or_nor(vn[0], first_d0, vp[0]);
        for (int w = 1; w < W; w++) {
            const Word d0 = eq[w] | vn[w] | hn;
            const Word next_hn = d0 & vp[w];
            const Word next_hp = or_nor(vn[w], d0, vp[w]);
            vp[w] = or_nor(hn, d0, hp);
            vn[w] = hp & d0;
            hn = next_hn;
            hp = next_hp;
        }
        last_up = hp;
        last_down = hn;
        const Word above = (hp << 1) | up;
        vp[0] = or_nor(entering, first_d0, above);
        vn[0] = above & first_d0;
    }
};

}  // namespace gpualign
