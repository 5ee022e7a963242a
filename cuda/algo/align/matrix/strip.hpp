// Which columns of a strip of rows a global alignment with at most `limit` errors can touch, when the strips are
// computed one after the other from the top, by what the strip above found (Ukkonen 1985; edlib prunes blocks alike;
// A*PA2, Groot Koerkamp 2024, calls the bound on what is left the gap cost).
//
// D(i,j) is the distance of i query and j target symbols, and |(m - j) - (n - i)| the least that the rest costs. Along
// a row j - D(i,j) does not fall, since D rises by one a column at most: so how far to the right a path may go is told
// by the last column through which one comes in.
//
// Worked example, n = m = 100, limit 10, strip of rows 0 to 64. In row 0, D(0,j) + |j| = 2 j <= 10: columns 0 to 5 (of
// 0 to 100) let a path in. From column 5, where D is 5, five errors are left; each column to the right of the diagonal
// costs one on the way there and one on the way back: the strip ends at column (10 + 0 + 5 - 5) / 2 + 64 = 69.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

struct PairSize {
    int64_t n, m;  // symbols of query and target

    // Lower bound on the cost of the path from (i, j) to the end.
    GPUALIGN_HD int64_t rest(int64_t i, int64_t j) const {
        const int64_t apart = (m - j) - (n - i);
        return apart < 0 ? -apart : apart;
    }
};

// Columns [first, last] of a row through which a path may enter, and the distance in the last one.
struct Entries {
    int64_t first, last, last_distance;
};

// Last column of a strip down to row `bottom`, if paths enter its row `top` through `above`.
GPUALIGN_HD int64_t last_column(
    const PairSize& size, int64_t limit, const Entries& above, int64_t top, int64_t bottom) {
    const int64_t diagonal = above.last - top;
    const int64_t farthest =
        (limit + (size.m - size.n) + diagonal - above.last_distance) / 2;  // from the main diagonal
    const int64_t reached = bottom + (farthest > diagonal ? farthest : diagonal);
    const int64_t column = reached > above.last ? reached : above.last;
    return column < size.m ? column : size.m;
}

}  // namespace gpualign
