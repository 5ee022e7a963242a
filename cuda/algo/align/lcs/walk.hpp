// From the rows of lcs.hpp back to one longest common subsequence: the leftmost.
//
// Let m and n be the lengths and L = LCS(m, n). An alignment is a path of points (i, j): i query and j subject symbols
// are after it. A point is optimal if an optimal path meets it; let c_j be the smallest column i of an optimal (i, j).
// One path meets all (c_j, j), and walking back finds it: c_n is the last increment of row n, and from (c_j, j), where
// k = LCS(c_j, j),
//     query[c_j - 1] == subject[j - 1]:  the two are matched, and c_{j-1} is the last increment of row j - 1 below
//                                        column c_j, which is the smallest column where that row has k - 1
//     otherwise:                         c_{j-1} = c_j
// Proof. LCS(c_j - 1, j) = k - 1, or (c_j - 1, j) were optimal too. Now let (o, j - 1) be optimal; its path goes along
// row j - 1 to some (x, j - 1) and down to row j, to (x, j) or, by a match, to (x + 1, j); there it is at c_j or
// further right, where LCS is at least k, and it matches nothing on its way from o to x: LCS(o, j - 1) = LCS(x, j - 1).
//   - The symbols are equal: a match adds at most one, so LCS(o, j - 1) >= k - 1, and the walk's column is the smallest
//     with k - 1. It is optimal because the match makes k of it.
//   - They are not: LCS(c_j, j) is the larger of LCS(c_j - 1, j) = k - 1 and LCS(c_j, j - 1), so the latter is k, and
//     (c_j, j - 1) is optimal. x >= c_j, since x + 1 = c_j were a match of the two unequal symbols. So
//     LCS(o, j - 1) >= k > LCS(c_j - 1, j - 1), and o >= c_j.
// So whoever halves the problem at the smallest best column of a row (Hirschberg 1975) halves this very path, and it
// does not matter which rows are kept, computed again or halved.
#pragma once
#include "algo/common/group.hpp"
#include "algo/align/lcs/lcs.hpp"

namespace gpualign {

// The bits of a word in the other order.
GPUALIGN_HD uint32_t reversed(uint32_t x) {
#if defined(__CUDA_ARCH__)
    return __brev(x);
#else
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
#endif
}
GPUALIGN_HD uint64_t reversed(uint64_t x) {
    return uint64_t(reversed(uint32_t(x))) << 32 | reversed(uint32_t(x >> 32));
}

// The word with nothing but its lowest set bit, 0 for 0; and the number of such a word's bit.
template <class Word> GPUALIGN_HD Word lowest(Word x) { return x & (Word(0) - x); }
GPUALIGN_HD int bit_number(uint32_t x) {
#if defined(__CUDA_ARCH__)
    return __ffs(int(x)) - 1;
#else
    return __builtin_ctz(x);
#endif
}
GPUALIGN_HD int bit_number(uint64_t x) {
    return uint32_t(x) ? bit_number(uint32_t(x)) : 32 + bit_number(uint32_t(x >> 32));
}

// Walks from a point (i, j) of the path, or right of it in its row, back until row 0 or until nothing is left of it at
// or after word `low`; in row 0 it stands on the path or right of it, else in front of word `low`.
//   i, j                updated
//   grows(j, w)         word w of row j's increments, j >= 1
//   equal(j, w)         word w of the mask of subject symbol j - 1
//   found(match, i, j)  called by all lanes: where `match` holds, query symbol i and subject symbol j are matched, the
//                       later ones in lower lanes and earlier calls
template <class Word, class Group, class Index, class Grows, class Equal, class Found>
GPUALIGN_HD void lcs_walk_back(
    const Group& group, Index& i, Index& j, Index low, Grows&& grows, Equal&& equal, Found&& found) {
    constexpr Index bits = 8 * sizeof(Word), lanes = Group::kLanes, together = lanes < 8 ? lanes : 8;
    const auto lane = Index(group.lane());
    while (i > low * bits && j > 0) {
        // words are reversed: the next column is a lowest bit, which takes two operations
        Index w = (i - 1) / bits;
        Word left = reversed(grows(j, w)) & (~Word(0) << (bits - 1 - (i - 1) % bits));
        while (left == 0 && w > low) left = reversed(grows(j, --w));
        if (left == 0) {
            i = low * bits;
            return;
        }
        // word w of the rows up from here, one in each lane: the walk stays in it for a while
        const Index rows = j < lanes ? j : lanes;
        const Word equals = lane < rows ? reversed(equal(j - lane, w)) : 0;
        const Word before = lane + 1 < j ? reversed(grows(j - lane - 1, w)) : 0;
        Word here = lowest(left), matched = 0;  // the path's column; 0 when it has left the word
        for (Index t = 0; here != 0 && t < rows; t += together) {
            Word same[together], above[together];
            GPUALIGN_LCS_UNROLL
            for (Index u = 0; u < together; u++) {
                same[u] = group.from(equals, uint32_t(t + u));
                above[u] = group.from(before, uint32_t(t + u));
            }
            GPUALIGN_LCS_UNROLL
            for (Index u = 0; u < together; u++) {
                const Word hit = same[u] & here;
                const Word next = lowest(above[u] & (Word(0) - (here << 1)));
                if (lane == t + u) matched = hit;
                here = hit ? next : here;
            }
        }
        const uint32_t lanes_with = group.ballot(matched != 0);
        const auto column = [&](Word bit) { return w * bits + (bits - 1 - Index(bit_number(bit))); };
        found(matched != 0, matched ? column(matched) : 0, j - lane - 1);
        if (here != 0) {
            i = column(here) + 1;
            j -= rows;
        } else {
            const uint32_t last = last_lane(lanes_with);
            i = column(group.from(matched, last));
            j -= Index(last) + 1;
        }
    }
}

}  // namespace gpualign
