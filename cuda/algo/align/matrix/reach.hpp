// The distance of one long pair by O(ND) (Ukkonen 1985, Information and Control 64:100; Myers 1986, Algorithmica
// 1:251), from both ends at once: half as many steps as there are errors, whatever the length, and without a known
// limit. Without substitutions it is the distance of insertions and deletions alone.
//
// Diagonal k = j - i of row i and column j; reached[k] is the last row i with D(i, i + k) <= e. From e - 1 to e errors
// a path takes over the row of diagonal k - 1 (a symbol of the target more), or one row more than k or k + 1 had; then
// it follows equal symbols. Rows end with either sequence: D falls or rises by one a step at most, so a path that would
// leave the matrix may stay where it is. From the end it is the same with both texts reversed, where diagonal k is (m -
// n) - k.
//
// D does not fall along a diagonal. So the distance is at most e + f exactly if on some diagonal the rows reached with
// e errors from the start and those reached with f from the end are n together (Myers 1986, section 4b).
//
// The diagonals are cut into tiles, and the errors into phases (Shape). A tile of a phase reads what the phase before
// left of its diagonals and of as many more on either side as a phase has errors, whose rows it computes again as far
// as they are needed. So tiles of a phase do not depend on each other, and wait for their neighbours once a phase. A
// phase p of S errors from the start meets the rows that phase p - 1 from the end has left, and one from the end those
// that phase p - 2 from the start has left, so that together they try every sum: 2pS + 1 to (2p + 1) S, and (2p - 1) S
// + 1 to 2pS. Before phase 0 row 0 of diagonal 0 is reached. Rows are kept for three phases, as long as somebody may
// read them.
//
// Worked example, query GATT, target GCTT: 0 errors reach row 1 on diagonal 0 (G). With 1 error diagonal 0 goes on from
// row 2 and follows TT to row 4, the last, whose diagonal is m - n = 0: the distance is 1.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {
namespace reach {

// Diagonals that a tile computes, and errors of a phase.
template <int32_t Width, int32_t Steps> struct Shape {
    static constexpr int32_t kWidth = Width, kSteps = Steps;
    static constexpr int32_t kOwned = Width - 2 * Steps;  // diagonals that a tile keeps
};
constexpr int32_t kUnreached = INT32_MIN / 2;
constexpr int32_t kNone = -1;  // no distance yet, or beyond the limit

// Trailing zeros; 32 for 0.
GPUALIGN_HD int32_t zeros_below(uint32_t x) {
#if defined(__CUDA_ARCH__)
    return __clz(int(__brev(x)));
#else
    return x ? __builtin_ctz(x) : 32;
#endif
}

// 32 bits of two words from bit i % 32 on.
GPUALIGN_HD uint32_t joined(uint32_t low, uint32_t high, uint32_t i) {
#if defined(__CUDA_ARCH__)
    return __funnelshift_r(low, high, i);  // by so many bits modulo 32
#else
    return uint32_t((uint64_t(high) << 32 | low) >> (i % 32));
#endif
}

// Texts of Bits a symbol, packed from the lowest bits of each word; reads go up to kSpareWords beyond the last symbol.
constexpr int32_t kSpareWords = 3;
template <int Bits> struct Packed {
    static constexpr uint32_t kPerWord = 32 / Bits;
    const uint32_t* words;

    // The words of two times kPerWord symbols from number i on.
    struct Three {
        uint32_t low, middle, high;
    };
    GPUALIGN_HD Three load(uint32_t i) const {
        const uint32_t* at = words + i / kPerWord;
        return {at[0], at[1], at[2]};
    }
};

// The word where sequence `number` of a set begins, whose symbols begin at `offset`.
template <int Bits> GPUALIGN_HD int64_t first_word(int64_t offset, int64_t number) {
    return offset / int64_t(Packed<Bits>::kPerWord) + kSpareWords * number;
}

template <int Bits> struct Pair {
    Packed<Bits> query, target;
    int32_t n, m;
    bool substitutions;
};

// A diagonal of the matrix.
struct Diagonal {
    int32_t k, first_row, last_row;
    int32_t errors;  // with which it is reached: as many as it is away from the main one; never, where there is none

    GPUALIGN_HD Diagonal(int32_t k_, int32_t n, int32_t m)
        : k(k_), first_row(k_ < 0 ? -k_ : 0), last_row(min(n, m - k_)), errors(k_ < -n || k_ > m ? INT32_MAX
                                                                               : k_ < 0          ? -k_
                                                                                                 : k_) {}

    // The row that a run of equal symbols leads to.
    template <int Bits> GPUALIGN_HD int32_t follow(const Pair<Bits>& pair, int32_t row) const {
        using Text = Packed<Bits>;
        for (;;) {
            const typename Text::Three q = pair.query.load(uint32_t(row)),
                                       t = pair.target.load(uint32_t(row + k));  // all at once
            const uint32_t from = uint32_t(row) * Bits, to = uint32_t(row + k) * Bits;
            const uint32_t first = joined(q.low, q.middle, from) ^ joined(t.low, t.middle, to);
            const uint32_t second = joined(q.middle, q.high, from) ^ joined(t.middle, t.high, to);
            const int32_t equal = (first ? zeros_below(first) : 32 + zeros_below(second)) / Bits;
            row += equal;
            if (equal < 2 * int32_t(Text::kPerWord) || row >= last_row) return min(row, last_row);
        }
    }
};

// The tiles of a phase: those with diagonals that its errors reach.
template <class Shape> struct Tiles {
    static constexpr int32_t kOwned = Shape::kOwned, kSteps = Shape::kSteps;
    int32_t n, m;

    static GPUALIGN_HD int32_t of(int32_t diagonal) {  // rounded down
        const int32_t x = diagonal + kOwned / 2;
        return x >= 0 ? x / kOwned : -((kOwned - 1 - x) / kOwned);
    }
    GPUALIGN_HD int32_t first(int32_t phase) const { return of(-min(n, farthest(phase))); }
    GPUALIGN_HD int32_t last(int32_t phase) const { return of(min(m, farthest(phase))); }
    // The tiles, in the other direction, of the diagonals that a tile keeps.
    GPUALIGN_HD int32_t first_opposite(int32_t tile) const {
        return of(m - n - (tile * kOwned - kOwned / 2 + kOwned - 1));
    }
    GPUALIGN_HD int32_t last_opposite(int32_t tile) const { return of(m - n - (tile * kOwned - kOwned / 2)); }
    GPUALIGN_HD bool has(int32_t phase, int32_t tile) const {
        return phase >= 0 && tile >= first(phase) && tile <= last(phase);
    }
    // Places for all tiles of all phases; that of tile 0 is `before_zero`.
    GPUALIGN_HD int32_t before_zero() const { return -of(-n); }
    GPUALIGN_HD int32_t count() const { return of(m) - of(-n) + 1; }

private:
    GPUALIGN_HD int32_t farthest(int32_t phase) const {
        return phase >= (n > m ? n : m) / kSteps ? (n > m ? n : m) : (phase + 1) * kSteps;
    }
};

// From the start of both texts, or from their end; the sums of errors that a phase tries.
struct Direction {
    bool from_end;

    GPUALIGN_HD int32_t other_errors(int32_t phase, int32_t steps) const {
        const int32_t phases = from_end ? phase - 1 : phase;
        return phases > 0 ? phases * steps : 0;
    }
    GPUALIGN_HD int32_t least_sum(int32_t phase, int32_t steps) const {
        return phase ? phase * steps + 1 + other_errors(phase, steps) : 0;
    }
    // The phase of the other direction whose rows are met; -1: none.
    GPUALIGN_HD int32_t met(int32_t phase) const { return from_end ? (phase ? phase - 2 : -1) : phase - 1; }
};

// Tickets in turn are the tiles of phase 0 from the start, of phase 0 from the end, of phase 1 from the start, ...
template <class Shape> struct Turn {
    Tiles<Shape> tiles;
    int32_t phase = 0;
    int64_t before = 0;  // tickets of earlier phases

    struct Taken {
        int32_t tile;
        Direction direction;
    };

    GPUALIGN_HD explicit Turn(const Tiles<Shape>& of) : tiles(of) {}
    // The tile of a ticket that is later than those before; its phase is `phase` then.
    GPUALIGN_HD Taken take(int64_t ticket) {
        for (int64_t both; ticket - before >= (both = 2 * count()); phase++) before += both;
        const int32_t i = int32_t(ticket - before);
        return {tiles.first(phase) + i % count(), {i >= count()}};
    }

private:
    GPUALIGN_HD int32_t count() const { return tiles.last(phase) - tiles.first(phase) + 1; }
};

// Rows of a tile's diagonals with some number of errors and with one more, in turn; one beyond either end.
template <class Shape> struct Shared {
    int32_t rows[2][Shape::kWidth + 2];
};

constexpr int32_t kKept = 3;  // phases whose rows are kept

// Computes a tile of a phase. rows.get(k) are the rows of the previous phase, rows.put(k, row) stores those of this
// one, and rows.met(k) are those of the other direction. Returns the lowest sum of errors that suffices, if the tile
// has one, else kNone; the same in all lanes.
template <int Bits, class Shape, class Group, class Rows>
GPUALIGN_HD int32_t run_tile(const Group& group, const Pair<Bits>& pair, Direction direction, int32_t phase,
    int32_t tile, int32_t limit, const Rows& rows, Shared<Shape>& shared) {
    constexpr int32_t kWidth = Shape::kWidth, kSteps = Shape::kSteps, kOwned = Shape::kOwned;
    constexpr int32_t lanes = int32_t(Group::kLanes), each = kWidth / lanes;
    static_assert(kOwned > 0 && kWidth % lanes == 0, "lanes share a tile evenly");
    const int32_t errors = phase * kSteps, others = direction.other_errors(phase, kSteps),
                  last = min(limit - others, errors + kSteps);
    const int32_t first = tile * kOwned - kOwned / 2 - kSteps;  // diagonal of the first lane
    const int32_t lane = int32_t(group.lane()), substitution = pair.substitutions, end = pair.m - pair.n;
    const auto diagonal = [&](int32_t i) { return Diagonal(first + i * lanes + lane, pair.n, pair.m); };
    const auto owned = [&](int32_t i) { return i * lanes + lane >= kSteps && i * lanes + lane < kSteps + kOwned; };
    int32_t *now = shared.rows[0] + 1 + lane, *next = shared.rows[1] + 1 + lane;
    int32_t meets[each];  // the row from which on the other direction's is met
    GPUALIGN_UNROLL
    for (int32_t i = 0; i < each; i++) {
        const Diagonal mine = diagonal(i);
        now[i * lanes] = phase && mine.errors <= errors ? rows.get(mine.k) : kUnreached;
        next[i * lanes] = kUnreached;
        meets[i] = INT32_MAX;
        const Diagonal other(end - mine.k, pair.n, pair.m);
        if (owned(i) && other.errors <= others)
            meets[i] = direction.met(phase) < 0 ? pair.n : pair.n - rows.met(other.k);
    }
    if (lane < 2) shared.rows[lane][0] = shared.rows[lane][kWidth + 1] = kUnreached;
    if (lanes == 1) shared.rows[1][0] = shared.rows[1][kWidth + 1] = kUnreached;
    group.sync();
    for (int32_t e = phase ? errors + 1 : 0; e <= last; e++) {
        bool found = false;
        GPUALIGN_UNROLL
        for (int32_t i = 0; i < each; i++) {
            const Diagonal mine = diagonal(i);
            if (e < mine.errors) continue;
            const int32_t* at = now + i * lanes;
            int32_t row = e ? max(max(at[-1], at[1] + 1), at[0] + substitution) : 0;
            row = min(row, mine.last_row);
            if (row >= mine.first_row) row = mine.follow(pair, row);  // on the margins rows are told too low
            next[i * lanes] = row;
            found = found || row >= meets[i];
        }
        if (group.sync_any(found)) return e + others;
        int32_t* const other = now;
        now = next;
        next = other;
    }
    GPUALIGN_UNROLL
    for (int32_t i = 0; i < each; i++) {
        const Diagonal mine = diagonal(i);
        if (owned(i) && mine.errors <= last) rows.put(mine.k, now[i * lanes]);
    }
    group.sync();
    return kNone;
}

}  // namespace reach
}  // namespace gpualign
