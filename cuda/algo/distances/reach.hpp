// The distance of one long pair by the rows that its diagonals reach with 0, 1, 2, ... errors (Ukkonen 1985, Information and
// Control 64:100; Myers 1986, Algorithmica 1:251): as many steps as there are errors, whatever the length, and no limit to be
// known before. Without substitutions it is the distance of insertions and deletions alone.
//
// Diagonal k = j - i of row i and column j; reached[k] is the last row i with D(i, i + k) <= e. From e - 1 to e errors a path
// takes over the row of diagonal k - 1 (a symbol of the target more), or one row more than k or k + 1 had; then it follows
// equal symbols. Rows end with either sequence: D falls or rises by one a step at most, so a path that would leave the matrix
// may stay where it is.
//
// The diagonals are cut into tiles of kOwned, and the errors into phases of kSteps. A tile of a phase reads what the phase
// before left of its diagonals and of kSteps more on either side, whose rows it computes again as far as they are needed. So
// tiles of a phase do not depend on each other, and wait for their neighbours once in kSteps errors.
//
// Worked example, query GATT, target GCTT: 0 errors reach row 1 on diagonal 0 (G). With 1 error diagonal 0 goes on from row 2
// and follows TT to row 4, the last, whose diagonal is m - n = 0: the distance is 1.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {
namespace reach {

constexpr int32_t kWidth = 512;                     // diagonals that a tile computes
constexpr int32_t kSteps = 64;                      // errors of a phase
constexpr int32_t kOwned = kWidth - 2 * kSteps;     // diagonals that it keeps
constexpr int32_t kUnreached = INT32_MIN / 2;
constexpr int32_t kNone = -1;                       // no distance yet, or one beyond the limit

// Texts of Bits a symbol, packed from the lowest bits of each word; reads go up to two words beyond the last symbol.
template <int Bits>
struct Packed {
    static constexpr int32_t kPerWord = 32 / Bits;
    const uint32_t* words;

    // kPerWord symbols from number i on.
    GPUALIGN_HD uint32_t from(int32_t i) const {
        const uint32_t* at = words + i / kPerWord;
        const uint32_t shift = uint32_t(i % kPerWord * Bits);
#if defined(__CUDA_ARCH__)
        return __funnelshift_r(at[0], at[1], shift);
#else
        return uint32_t((uint64_t(at[1]) << 32 | at[0]) >> shift);
#endif
    }
};

// The word where sequence `number` of a set begins, whose symbols begin at `offset`: each has two words to spare.
template <int Bits>
GPUALIGN_HD int64_t first_word(int64_t offset, int64_t number) { return offset / Packed<Bits>::kPerWord + 2 * number; }

template <int Bits>
struct Pair {
    Packed<Bits> query, target;
    int32_t n, m;
    bool substitutions;

    // Equal symbols from (i, j) on.
    GPUALIGN_HD int32_t run(int32_t i, int32_t j) const {
        const int32_t most = min(n - i, m - j);
        int32_t equal = 0;
        while (equal < most) {
            const uint32_t differ = query.from(i + equal) ^ target.from(j + equal);
            if (differ) {
                equal += trailing_zeros(differ) / Bits;
                break;
            }
            equal += Packed<Bits>::kPerWord;
        }
        return min(equal, most);
    }
};

// Which tiles a phase has: those with diagonals that its errors reach.
struct Tiles {
    int32_t n, m;

    static GPUALIGN_HD int32_t of(int32_t diagonal) {  // rounded down
        const int32_t x = diagonal + kOwned / 2;
        return x >= 0 ? x / kOwned : -((kOwned - 1 - x) / kOwned);
    }
    GPUALIGN_HD int32_t first(int32_t phase) const { return of(-min(n, farthest(phase))); }
    GPUALIGN_HD int32_t last(int32_t phase) const { return of(min(m, farthest(phase))); }
    GPUALIGN_HD bool has(int32_t phase, int32_t tile) const { return phase >= 0 && tile >= first(phase) && tile <= last(phase); }
    // Places for all tiles of all phases; that of tile 0 is `before_zero`.
    GPUALIGN_HD int32_t before_zero() const { return -of(-n); }
    GPUALIGN_HD int32_t count() const { return of(m) - of(-n) + 1; }

private:
    GPUALIGN_HD int32_t farthest(int32_t phase) const {
        return phase >= (n > m ? n : m) / kSteps ? (n > m ? n : m) : (phase + 1) * kSteps;
    }
};

// Tickets in turn are the tiles of phase 0, of phase 1, ...
struct Turn {
    Tiles tiles;
    int32_t phase = 0;
    int64_t before = 0;  // tickets of earlier phases

    GPUALIGN_HD explicit Turn(const Tiles& of) : tiles(of) {}
    // The tile of a ticket that is later than those before; its phase is `phase` then.
    GPUALIGN_HD int32_t take(int64_t ticket) {
        for (int32_t count; ticket - before >= (count = tiles.last(phase) - tiles.first(phase) + 1); phase++) before += count;
        return tiles.first(phase) + int32_t(ticket - before);
    }
};

// What the lanes of a tile share.
struct Shared {
    int32_t cells[2][kWidth + 2];  // one beyond either end
    int32_t found;
};

// One tile of a phase. `rows.get(k)` are the rows that the phase before left, `rows.put(k, row)` takes those of this one.
// Returns the distance where it is found, else kNone; the same in all lanes.
template <int Bits, class Group, class Rows>
GPUALIGN_HD int32_t run_tile(const Group& group, const Pair<Bits>& pair, int32_t phase, int32_t tile, int32_t limit, const Rows& rows,
                             Shared& shared) {
    const int32_t errors = phase * kSteps, first = tile * kOwned - kOwned / 2 - kSteps;  // diagonal of cell 0
    const int32_t lowest = -pair.n, highest = pair.m, end = pair.m - pair.n;
    int32_t *now = shared.cells[0], *next = shared.cells[1];
    for (int32_t c = int32_t(group.lane()); c < kWidth + 2; c += int32_t(Group::kLanes)) {
        const int32_t k = first + c - 1;
        const bool known = phase && k >= -errors && k <= errors && k >= lowest && k <= highest && c > 0 && c <= kWidth;
        now[c] = known ? rows.get(k) : kUnreached;
        next[c] = kUnreached;
    }
    if (group.lane() == 0) shared.found = kNone;
    group.sync();
    const int32_t last = min(limit, errors + kSteps);
    for (int32_t e = phase ? errors + 1 : 0; e <= last; e++) {
        for (int32_t c = int32_t(group.lane()) + 1; c <= kWidth; c += int32_t(Group::kLanes)) {
            const int32_t k = first + c - 1;
            if (k < -e || k > e || k < lowest || k > highest) continue;
            int32_t row = 0;
            if (e) {
                row = max(now[c - 1], now[c + 1] + 1);
                row = max(row, now[c] + pair.substitutions);
                row = min(row, min(pair.n, pair.m - k));
            }
            if (row >= 0 && row + k >= 0) row += pair.run(row, row + k);  // not on the margins, which are told less
            next[c] = row;
            if (k == end && row == pair.n && c > kSteps && c <= kSteps + kOwned) shared.found = e;
        }
        group.sync();
        if (shared.found != kNone) return shared.found;
        int32_t* const other = now;
        now = next;
        next = other;
    }
    for (int32_t c = int32_t(group.lane()) + 1; c <= kWidth; c += int32_t(Group::kLanes)) {
        const int32_t k = first + c - 1;
        if (c > kSteps && c <= kSteps + kOwned && k >= lowest && k <= highest && k >= -last && k <= last) rows.put(k, now[c]);
    }
    group.sync();
    return kNone;
}

}  // namespace reach
}  // namespace gpualign
