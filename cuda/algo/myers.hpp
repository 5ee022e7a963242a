// Bit-parallel Levenshtein distance of a pattern against a text, a text column at a time.
//
// Myers 1999 (J. ACM 46:395), in Hyyrö's 2003 notation: vertical differences of a column as the bit vectors VP (+1) and
// VN (-1), horizontal ones as HP and HN, and D0 for "the diagonal difference is 0". Bit i is row i + 1. One step costs a
// constant number of word operations for every word of the pattern.
//
// The pattern stands at the TOP of its W words: its last row is the highest bit of the last word, so the score moves by
// that bit whatever the pattern's length. The free rows below it ("padding") have vertical difference 0, which is stable
//   - in infix mode, where row 0 is all 0, when padding matches every letter (the diagonal carries the 0 on),
//   - in global and prefix mode, where row 0 is 0, 1, 2, ..., when padding matches none (the horizontal +1 does).
// Worked example, W * bits = 4, pattern AC, infix: rows are [pad, pad, A, C]; VP = 1100, eq('A') = 0111, eq('G') = 0011.
#pragma once
#include "algo/hd.hpp"

namespace gpualign {

// One column of the matrix for the W words of one pattern. Word is an unsigned integer or a Vec of one.
template <class Word, int W>
struct MyersColumn {
    static constexpr int kBits = sizeof(typename word_traits<Word>::scalar) * 8;

    Word vp[W], vn[W];

    // Column 0: D[i][0] = i on the pattern's rows, padding stays level. `rows[w]` has a bit set for each pattern row.
    GPUALIGN_HD void start(const Word* rows) {
        for (int w = 0; w < W; w++) {
            vp[w] = rows[w];
            vn[w] = Word(0);
        }
    }

    // Advances by one text letter. eq(w) gives the rows of word w that match it. `up` and `down`, 0 or 1, are the horizontal
    // difference: on entry of the row above the first (infix 0 and 0; global and prefix 1 and 0; a tile: what the tile
    // above gave for this column), on return of the last row.
    template <class Eq>
    GPUALIGN_HD void step(Eq&& eq, Word& up, Word& down) {
        for (int w = 0; w < W; w++) {
            // a falling row above makes the first row's diagonal difference 0, as a match does; with that no carry of
            // the addition need cross from word to word
            const Word match = eq(w) | down;
            const Word d0 = (((match & vp[w]) + vp[w]) ^ vp[w]) | match | vn[w];
            const Word hp = vn[w] | ~(d0 | vp[w]);
            const Word hn = d0 & vp[w];
            const Word hp_shifted = hp << 1 | up;
            const Word hn_shifted = hn << 1 | down;
            up = hp >> (kBits - 1);
            down = hn >> (kBits - 1);
            vp[w] = hn_shifted | ~(d0 | hp_shifted);
            vn[w] = hp_shifted & d0;
        }
    }
};

// The pattern as bit planes: bit i of plane b is bit b of the code of the base in row i, so that the rows that match a
// letter come from two XORs with the letter's bits spread over the word. A table of four words a block (the usual
// profile) needs a gather when every lane reads another letter; planes do not.
template <class Word, int W>
struct PatternPlanes {
    Word low[W], high[W];  // bits 0 and 1 of the codes
    Word known[W];         // rows that hold A, C, G or T
    Word padding[W];       // rows that match every letter (infix mode), zero in the other modes

    // `letter_low`, `letter_high`: all bits set where the text letter's code has the bit. `letter_known`: all bits set
    // where the text letter is a base at all.
    GPUALIGN_HD Word matches(int w, Word letter_low, Word letter_high) const {
        const Word differ = (low[w] ^ letter_low) | (high[w] ^ letter_high);
        return (known[w] & ~differ) | padding[w];
    }
    GPUALIGN_HD Word matches(int w, Word letter_low, Word letter_high, Word letter_known) const {
        const Word differ = (low[w] ^ letter_low) | (high[w] ^ letter_high);
        return (known[w] & letter_known & ~differ) | padding[w];
    }
};

}  // namespace gpualign
