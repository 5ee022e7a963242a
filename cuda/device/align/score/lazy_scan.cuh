// LazyRScan and RScan: a thread per alignment (two in 16 bits each), a warp per query and its 32 or 64 targets.
//
// The warp goes down the query row by row with K columns of each target in registers, then takes the next K columns.
// All lanes look at the same query symbol, so the scores of a row against the strip are one row of a profile in shared
// memory. Between strips the rightmost column is kept in global memory, one word a row and lane, whose bandwidth limits
// narrow strips. RScan keeps every such column, and every `row_step`-th row of a strip as well: from these borders the
// traceback computes the tiles on the path again.
#pragma once
#include "abi/pairwise.hpp"
#include "device/int16x2.cuh"
#include "device/warp.cuh"

namespace gpualign {

__device__ __forceinline__ int16x2 operator+(int16x2 a, int16x2 b) { return int16x2(__vadd2(a.bits, b.bits)); }
__device__ __forceinline__ int16x2 add_max(int16x2 a, int16x2 b, int16x2 c) {
    return int16x2(__viaddmax_s16x2(a.bits, b.bits, c.bits));
}
// And not below zero.
__device__ __forceinline__ int16x2 add_max_floor(int16x2 a, int16x2 b, int16x2 c) {
    return int16x2(__viaddmax_s16x2_relu(a.bits, b.bits, c.bits));
}

__device__ __forceinline__ uint16x2 add_max(uint16x2 a, uint16x2 b, uint16x2 c) {
    return uint16x2(__viaddmax_u16x2(a.bits, b.bits, c.bits));
}
__device__ __forceinline__ uint16x2 operator+(uint16x2 a, uint16x2 b) { return uint16x2(__vadd2(a.bits, b.bits)); }
// One addition for both halves: see uint16x2.
__device__ __forceinline__ uint16x2 plus_score(uint16x2 a, uint16x2 score) { return uint16x2(a.bits + score.bits); }
__device__ __forceinline__ uint16x2 max(uint16x2 a, uint16x2 b, uint16x2 c) {
    return uint16x2(__vimax3_u16x2(a.bits, b.bits, c.bits));
}

namespace nw {

constexpr int warp_size = 32;
constexpr int row_step = 16;  // rows between kept rows
constexpr int no_symbol = 255;  // past the end of a target

template <bool Value> struct Flag {
    static constexpr bool value = Value;
};

template <class Word> struct WordOf;
template <class Word> struct TwoHalves {
    static constexpr int lanes = 2;
    static __device__ __forceinline__ Word both(int32_t x) { return Word::both(x); }
    static __device__ __forceinline__ int32_t lane(Word w, int i) { return w.lane(i); }
    static __device__ __forceinline__ uint32_t raw(Word w) { return w.bits; }
    static __device__ __forceinline__ Word from(uint32_t raw) { return Word(raw); }
};
template <> struct WordOf<int16x2> : TwoHalves<int16x2> {};
template <> struct WordOf<uint16x2> : TwoHalves<uint16x2> {};
template <> struct WordOf<int32_t> {
    static constexpr int lanes = 1;
    static __device__ __forceinline__ int32_t both(int32_t x) { return x; }
    static __device__ __forceinline__ int32_t lane(int32_t w, int) { return w; }
    static __device__ __forceinline__ uint32_t raw(int32_t w) { return uint32_t(w); }
    static __device__ __forceinline__ int32_t from(uint32_t raw) { return int32_t(raw); }
};

// The strip's columns of one lane's targets as symbols, `no_symbol` past their ends.
template <class Word, int K> struct Targets {
    const uint8_t* begin[WordOf<Word>::lanes];
    int32_t length[WordOf<Word>::lanes];

    __device__ __forceinline__ int symbol(int half, int j) const {
        return j < length[half] ? begin[half][j] : no_symbol;
    }
};

// Any alphabet, two targets a thread: signed bytes in shared memory, sixteen (eight columns) a load.
template <int K> struct SharedProfile {
    uint4* rows;  // [symbol][K / 8][threads]

    __device__ __forceinline__ void build(const Targets<int16x2, K>& targets, int c0, const LazyScheme& scheme) {
#pragma unroll 1
        for (int q = 0; q < K / 8; q++) {
            int symbols[2][8];
#pragma unroll
            for (int k = 0; k < 8; k++)
                for (int half = 0; half < 2; half++) symbols[half][k] = targets.symbol(half, c0 + q * 8 + k);
#pragma unroll 1
            for (int s = 0; s < scheme.symbols; s++) {
                const int32_t* scores = scheme.scores + s * scheme.symbols;
                uint32_t words[4] = {0, 0, 0, 0};
#pragma unroll
                for (int k = 0; k < 8; k++) {
#pragma unroll
                    for (int half = 0; half < 2; half++) {
                        const int symbol = symbols[half][k];
                        const int32_t score = symbol == no_symbol ? 0 : scores[symbol] + 2 * scheme.shift;
                        words[k / 2] |= (uint32_t(score) & 0xffu) << (8 * (k % 2 * 2 + half));
                    }
                }
                rows[(s * (K / 8) + q) * blockDim.x + threadIdx.x] = make_uint4(words[0], words[1], words[2], words[3]);
            }
        }
    }

    struct Row {
        uint4 packed[K / 8];
        __device__ __forceinline__ int16x2 operator()(int k) const {
            const uint4& q = packed[k / 8];
            const uint32_t word = (k % 8) / 2 == 0 ? q.x : (k % 8) / 2 == 1 ? q.y : (k % 8) / 2 == 2 ? q.z : q.w;
            // bytes 0 and 1, or 2 and 3, each with its sign spread over the upper half of a 16-bit lane
            return int16x2(permute_bytes(word, 0, k % 2 ? 0xB3A2u : 0x9180u));
        }
    };

    template <class Use> __device__ __forceinline__ void with(int symbol, const Use& use) const {
        Row row;
#pragma unroll
        for (int q = 0; q < K / 8; q++) row.packed[q] = rows[(symbol * (K / 8) + q) * blockDim.x + threadIdx.x];
        use(row);
    }
};

// Few symbols, two targets a thread: words in shared memory, which are not to be unpacked, four columns a load.
template <class Word, int K> struct SharedWords {
    uint4* rows;  // [symbol][K / 4][threads]

    __device__ __forceinline__ void build(const Targets<Word, K>& targets, int c0, const LazyScheme& scheme) {
#pragma unroll 1
        for (int q = 0; q < K / 4; q++) {
            int symbols[2][4];
#pragma unroll
            for (int k = 0; k < 4; k++)
                for (int half = 0; half < 2; half++) symbols[half][k] = targets.symbol(half, c0 + q * 4 + k);
#pragma unroll 1
            for (int s = 0; s < scheme.symbols; s++) {
                const int32_t* scores = scheme.scores + s * scheme.symbols;
                // 0 past the ends: beyond both, values may leave a half, and nothing may be carried into the other one
                const auto score = [&](int symbol) {
                    return symbol == no_symbol ? 0 : scores[symbol] + 2 * scheme.shift;
                };
                const auto both = [&](int k) { return Word::of(score(symbols[0][k]), score(symbols[1][k])).bits; };
                rows[(s * (K / 4) + q) * blockDim.x + threadIdx.x] = make_uint4(both(0), both(1), both(2), both(3));
            }
        }
    }

    struct Row {
        uint4 words[K / 4];
        __device__ __forceinline__ Word operator()(int k) const {
            const uint4& q = words[k / 4];
            return Word(k % 4 == 0 ? q.x : k % 4 == 1 ? q.y : k % 4 == 2 ? q.z : q.w);
        }
    };

    template <class Use> __device__ __forceinline__ void with(int symbol, const Use& use) const {
        Row row;
#pragma unroll
        for (int q = 0; q < K / 4; q++) row.words[q] = rows[(symbol * (K / 4) + q) * blockDim.x + threadIdx.x];
        use(row);
    }
};

// Any alphabet in 32 bits: the score table itself in shared memory.
template <int K> struct TableProfile {
    const int32_t* table;
    int symbols;
    int32_t columns[K];

    __device__ __forceinline__ void build(const Targets<int32_t, K>& targets, int c0, const LazyScheme& scheme) {
        symbols = scheme.symbols;
#pragma unroll
        for (int k = 0; k < K; k++) {
            const int symbol = targets.symbol(0, c0 + k);
            columns[k] = symbol == no_symbol ? 0 : symbol;
        }
    }
    struct Row {
        const int32_t* row;
        const int32_t* columns;
        __device__ __forceinline__ int32_t operator()(int k) const { return row[columns[k]]; }
    };
    template <class Use> __device__ __forceinline__ void with(int symbol, const Use& use) const {
        use(Row{table + symbol * symbols, columns});
    }
};

// Calls visit(half, k, last) for the cells k of a strip, which begins after column c0: the last column of half's target
// is number `last` of the strip, from one on.
template <class Word, int K, class Visit>
__device__ __forceinline__ void each_cell(const Targets<Word, K>& targets, int c0, Visit&& visit) {
#pragma unroll
    for (int half = 0; half < WordOf<Word>::lanes; half++) {
        const int last = targets.length[half] - c0;
#pragma unroll
        for (int k = 0; k < K; k++) visit(half, k, last);
    }
}

// Where alignments begin and end, and the best of each lane: here in the corners.
template <class Word, int K> struct Corners {
    static constexpr bool local = false;
    using W = WordOf<Word>;
    Word border;
    int32_t best[W::lanes] = {};

    __device__ __forceinline__ Corners(const LazyScheme& scheme, const Targets<Word, K>&, int)
        : border(W::both(scheme.bias - scheme.opening)) {}
    __device__ __forceinline__ Word top(int) const { return border; }  // H' at (0, j)
    __device__ __forceinline__ Word left(int) const { return border; }  // H' at (i, 0)
    __device__ __forceinline__ void begin_strip(const Targets<Word, K>&, int) {}
    __device__ __forceinline__ void after_row(const Word*, const LazyScheme&, const Targets<Word, K>&, int, int) {}
    __device__ __forceinline__ void after_strip(
        const Word* h, const LazyScheme& scheme, const Targets<Word, K>& targets, int c0, int n) {
        each_cell(targets, c0, [&](int half, int k, int last) {
            if (k + 1 == last)
                best[half] = W::lane(h[k], half) - scheme.bias - scheme.shift * (n + targets.length[half]);
        });
    }
};

template <class Word, int K, bool Affine, class Scores>
__device__ __forceinline__ void score_row(
    Strip<Word, K, Affine>& strip, const Scores& scores, Word diagonal, Word& left, Word& e, Word minus_open) {
    strip.row(scores, diagonal, left, e, minus_open);
}
// In words without signs the sum with a score is no work for the unit of the maxima, which takes three at once. What
// binds then is the reading of registers, as in query_lanes.cuh.
template <int K, bool Affine, class Scores>
__device__ __forceinline__ void score_row(Strip<uint16x2, K, Affine>& strip, const Scores& scores, uint16x2 diagonal,
    uint16x2& left, uint16x2& e, uint16x2 minus_open) {
#pragma unroll
    for (int k = 0; k < K; k++) {
        const uint16x2 up = strip.h[k], through = plus_score(diagonal, scores(k));
        strip.h[k] = left = Affine ? max(through, e, strip.f[k]) : max(through, left, up);
        if (Affine) {
            e = add_max(left, minus_open, e);
            strip.f[k] = add_max(left, minus_open, strip.f[k]);
        }
        diagonal = up;
    }
}

// One strip. The column is read a few rows ahead of where it is overwritten, at [row * 32 + lane].
// In one piece, as its state stays in registers.
template <class Word, int K, bool Affine, class Profile, class Ends>
__device__ __forceinline__ void lazy_strip(Strip<Word, K, Affine>& state, const Profile& profile, Ends& ends,
    const Targets<Word, K>& targets, const uint8_t* query, int n, int c0, const LazyScheme& scheme, uint32_t* column_h,
    uint32_t* column_e, int lane) {
    using W = WordOf<Word>;
    constexpr int ahead = 4;  // rows whose left border is on its way
    const Word minus_open = W::both(-scheme.opening), minus_extend = W::both(-scheme.extend);
#pragma unroll
    for (int k = 0; k < K; k++) {
        state.h[k] = ends.top(c0 + k + 1);
        if (Affine) state.f[k] = state.h[k] + minus_open;
    }
    ends.begin_strip(targets, c0);
    const bool first = c0 == 0;
    Word diagonal = first ? W::both(scheme.bias) : ends.top(c0);
    uint32_t next_h[ahead], next_e[ahead];
#pragma unroll
    for (int r = 0; r < ahead; r++) {
        next_h[r] = first || r >= n ? 0 : column_h[r * warp_size + lane];
        next_e[r] = !Affine || first || r >= n ? 0 : column_e[r * warp_size + lane];
    }
    for (int i0 = 0; i0 < n; i0 += warp_size) {
        const int symbols = i0 + lane < n ? query[i0 + lane] : 0;
        const int rows = min(warp_size, n - i0);
        for (int r0 = 0; r0 < rows; r0 += ahead) {
            uint32_t now_h[ahead], now_e[ahead];
#pragma unroll
            for (int r = 0; r < ahead; r++) {
                now_h[r] = next_h[r];
                now_e[r] = next_e[r];
                const int row = i0 + r0 + ahead + r;
                if (!first && row < n) {
                    next_h[r] = column_h[row * warp_size + lane];
                    if (Affine) next_e[r] = column_e[row * warp_size + lane];
                }
            }
            const auto one_row = [&](int r, uint32_t border_h, uint32_t border_e) {
                const int row = i0 + r0 + r;
                Word left = first ? ends.left(row + 1) : W::from(border_h);
                Word e = first ? left + minus_open : W::from(border_e);
                const Word next_diagonal = left;
                const int symbol = __shfl_sync(0xffffffffu, symbols, r0 + r);
                profile.with(symbol, [&](const auto& scores) {
                    if constexpr (Ends::local) state.row_local(scores, diagonal, left, e, minus_open, minus_extend);
                    else score_row(state, scores, diagonal, left, e, minus_open);
                });
                ends.after_row(state.h, scheme, targets, c0, row + 1);
                diagonal = next_diagonal;
                column_h[row * warp_size + lane] = W::raw(left);
                if (Affine) column_e[row * warp_size + lane] = W::raw(e);
            };
            if (r0 + ahead <= rows) {  // no exit between rows, at which each value must be in a fixed register
#pragma unroll
                for (int r = 0; r < ahead; r++) one_row(r, now_h[r], now_e[r]);
            } else {
#pragma unroll 1
                for (int r = 0; r0 + r < rows; r++) {
                    one_row(r, now_h[0], now_e[0]);
#pragma unroll
                    for (int later = 1; later < ahead; later++) {
                        now_h[later - 1] = now_h[later];
                        now_e[later - 1] = now_e[later];
                    }
                }
            }
        }
    }
}

// A task: scores[first + lane (+ 32)] get the untransformed score of each pair.
template <class Word, int K, bool Affine, template <class, int> class EndsOf, class Profile>
__device__ __forceinline__ void lazy_task(const LazyTask& task, Profile& profile, const LazyScheme& scheme,
    const DeviceSequences& queries, const DeviceSequences& targets, const int32_t* pair_target, uint32_t* column_h,
    uint32_t* column_e, int32_t* scores) {
    using W = WordOf<Word>;
    const int lane = threadIdx.x % warp_size;
    const uint8_t* query = queries.codes + queries.offsets[task.query];
    const int n = int(queries.offsets[task.query + 1] - queries.offsets[task.query]);
    Targets<Word, K> mine;
    int longest = 0;
#pragma unroll
    for (int half = 0; half < W::lanes; half++) {
        const int at = lane + half * warp_size;
        const int target = pair_target[task.first + min(at, task.count - 1)];
        mine.begin[half] = targets.codes + targets.offsets[target];
        mine.length[half] = int(targets.offsets[target + 1] - targets.offsets[target]);
        longest = max(longest, mine.length[half]);
    }
    longest = warp_max(longest);
    Strip<Word, K, Affine> state;
    EndsOf<Word, K> ends(scheme, mine, n);
    for (int c0 = 0; c0 < longest; c0 += K) {
        profile.build(mine, c0, scheme);
        lazy_strip<Word, K, Affine>(state, profile, ends, mine, query, n, c0, scheme, column_h, column_e, lane);
        ends.after_strip(state.h, scheme, mine, c0, n);
    }
#pragma unroll
    for (int half = 0; half < W::lanes; half++)
        if (lane + half * warp_size < task.count) scores[task.first + lane + half * warp_size] = ends.best[half];
}

}  // namespace nw
}  // namespace gpualign
