// A strip of nucleotides for scores alone, in 16-bit halves: the two halves of a lane's words are two of its strip's 64
// groups of K columns, the second one a row behind the first, as the next lane's first is behind it. So one long pair
// has the rate of two alignments a thread (device/align/score/lazy_scan.cuh).
//
// Halves hold H', E' and F' less a base of each group, which follows its first column every 32 rows: cells so near each
// other differ by less than fits (halves_hold in gpualign/align/score/device/tasks.py).
#pragma once
#include "algo/align/score/nw.hpp"
#include "device/align/score/strip_ends.cuh"
#include "device/align/score/strip_progress.cuh"

namespace gpualign {
namespace nw {

__device__ __forceinline__ uint32_t halves_of(int32_t low, int32_t high) {
    return (uint32_t(low) & 0xffffu) | uint32_t(high) << 16;
}
__device__ __forceinline__ int32_t half_at(uint32_t word, int half) {
    return half ? int32_t(word) >> 16 : int32_t(int16_t(word));
}
__device__ __forceinline__ uint32_t blend(uint32_t mask, uint32_t a, uint32_t b) { return (a & mask) | (b & ~mask); }

// A lane's columns, K in each half: of each the scores of four symbols.
template <int K> struct HalfColumns {
    static constexpr bool in_halves = true;
    static constexpr int columns_of_lane = 2 * K, columns_of_half = K;
    static constexpr uint32_t others = 0x01000100;  // in a row's code: a symbol that matches none
    uint32_t columns[2][K];
    uint32_t never;

    __device__ __forceinline__ void build(
        const uint8_t* target, int c0, int m, const LazyScheme& scheme, const int32_t*) {
        const int32_t match = scheme.scores[0] + 2 * scheme.shift, mismatch = scheme.scores[1] + 2 * scheme.shift;
        never = halves_of(mismatch, mismatch);
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int k = 0; k < K; k++) {
                const int column = c0 + half * K + k, symbol = column < m ? target[column] : 4;
                uint32_t bytes = 0;
#pragma unroll
                for (int s = 0; s < 4; s++) bytes |= (uint32_t(s == symbol ? match : mismatch) & 0xffu) << (8 * s);
                columns[half][k] = bytes;
            }
    }
    // A row's symbol as a byte's nibbles of a selector: the byte to pick, and its sign.
    static __device__ __forceinline__ uint32_t code(int symbol) {
        return symbol < 4 ? uint32_t(symbol) * 0x11u + 0x80u : 0x180u;
    }
    static __device__ __forceinline__ uint32_t selector(uint32_t codes) {
        return permute_bytes(codes, 0, 0x4420) | 0x4400u;
    }
    __device__ __forceinline__ uint32_t scores(int k, uint32_t selector) const {
        return permute_bytes(columns[0][k], columns[1][k], selector);
    }
};

template <int K, bool Affine, bool Local> struct HalfRows {
    uint32_t h[K], f[Affine ? K : 1];
    uint32_t diagonal, h_out = 0, e_out = 0;  // H' above the left border; the last column's H' and E'
    uint32_t floor = 0;  // zero (local)
    int32_t base[2];

    __device__ __forceinline__ int32_t value(uint32_t word, int half) const { return base[half] + half_at(word, half); }
    __device__ __forceinline__ void all(int half, int32_t (&of)[K]) const {
#pragma unroll
        for (int k = 0; k < K; k++) of[k] = value(h[k], half);
    }

    __device__ __forceinline__ void rebase() {
        const uint32_t by = h[0];
#pragma unroll
        for (int half = 0; half < 2; half++) base[half] += half_at(by, half);
#pragma unroll
        for (int k = 0; k < K; k++) {
            h[k] = __vsub2(h[k], by);
            if (Affine) f[k] = __vsub2(f[k], by);
        }
        diagonal = __vsub2(diagonal, by);
        h_out = __vsub2(h_out, by);
        e_out = __vsub2(e_out, by);
        set_floor();
    }
    __device__ __forceinline__ void set_floor() {
        if (Local) floor = halves_of(max(-base[0], -32000), max(-base[1], -32000));
    }

    // A row, of Masked ones only the halves of `active`, those of `others` without a match; returns the highest H
    // (local).
    template <bool Masked, class Columns>
    __device__ __forceinline__ uint32_t row(const Columns& columns, uint32_t codes, uint32_t left_h, uint32_t e,
        uint32_t minus_open, uint32_t minus_extend, uint32_t active, uint32_t others) {
        const uint32_t selector = Columns::selector(codes);
        uint32_t above = diagonal, left = left_h, highest = 0;
#pragma unroll
        for (int k = 0; k < K; k++) {
            const uint32_t up = h[k];
            uint32_t score = columns.scores(k, selector), value;
            if (Masked) score = blend(others, columns.never, score);
            if constexpr (Local) {
                value = __vimax3_s16x2(__viaddmax_s16x2(above, score, f[k]), e, floor);
                const uint32_t opened = __vadd2(value, minus_open),
                               longer = __viaddmax_s16x2(f[k], minus_extend, opened);
                e = __viaddmax_s16x2(e, minus_extend, opened);
                f[k] = Masked ? blend(active, longer, f[k]) : longer;
            } else if constexpr (Affine) {  // as Strip::row
                const uint32_t not_e = __viaddmax_s16x2(above, score, f[k]);
                value = __vmaxs2(not_e, e);
                e = __viaddmax_s16x2(not_e, minus_open, e);
                const uint32_t opened = __viaddmax_s16x2(value, minus_open, f[k]);
                f[k] = Masked ? blend(active, opened, f[k]) : opened;
            } else {
                value = left = __vmaxs2(__viaddmax_s16x2(above, score, up), left);
            }
            h[k] = Masked ? blend(active, value, up) : value;
            above = up;
            if (Local && k == 0) highest = h[0];
            if (Local && k % 2 == 0 && k) highest = __vimax3_s16x2(highest, h[k - 1], h[k]);
        }
        if (Local) highest = __vmaxs2(highest, h[K - 1]);
        diagonal = Masked ? blend(active, left_h, diagonal) : left_h;
        h_out = h[K - 1];
        e_out = e;
        return highest;
    }
};

// The best cells of a lane's two groups of columns (local). Along an alignment every row has a better one, and all
// strips wait for the one that it crosses: so a row is only copied, and its column is looked for in the end.
template <int K> class HalfBest {
public:
    // Rows whose highest value is `highest` in a half, where it is `bound` or more.
    template <class Rows>
    __device__ __forceinline__ void offer(const Rows& rows, uint32_t highest, int32_t bound, int row, uint32_t active) {
        uint32_t better = 0;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int32_t value = rows.value(highest, half);
            const uint32_t mask = half ? 0xffff0000u : 0xffffu;
            if (!(active & mask) || value < bound || value < score_[half]) continue;
            if (value == score_[half] && column(rows.h, highest, half) >= column(h_, highest_, half)) continue;
            score_[half] = value;
            row_[half] = row + 1 - half;
            better |= mask;
        }
#pragma unroll
        for (int k = 0; k < K; k++) h_[k] = blend(better, rows.h[k], h_[k]);
        highest_ = blend(better, highest, highest_);
    }
    __device__ __forceinline__ int32_t score() const { return max(score_[0], score_[1]); }
    // After all rows; c0: symbols ahead of the lane's first column.
    template <class Ends> __device__ __forceinline__ void leave(Ends& ends, int c0) const {
#pragma unroll
        for (int half = 0; half < 2; half++)
            if (score_[half] > 0)
                ends.offer({score_[half], row_[half], c0 + half * K + column(h_, highest_, half) + 1});
    }

private:
    static __device__ __forceinline__ int column(const uint32_t (&h)[K], uint32_t highest, int half) {
        int first = K;
#pragma unroll
        for (int k = K - 1; k >= 0; k--)
            if (half_at(h[k], half) == half_at(highest, half)) first = k;
        return first;
    }

    uint32_t h_[K] = {}, highest_ = 0;
    int32_t score_[2] = {}, row_[2] = {};
};

// Counterpart of diagonal_strip (device/align/score/diagonal_scan.cuh) without directions. `shared_best` (local): the
// best score that any strip of the pair has found; alignments do not end in cells below it.
template <class Ends, bool Affine, class Around, class Columns>
__device__ __forceinline__ void half_strip(const StripTask& task, int ticket, const Around& around,
    const Columns& columns, const uint8_t* query, int n, int m, const LazyScheme& scheme, const int2* left, int2* right,
    int* progress, int* shared_best, AlignmentEnd* found) {
    constexpr int K = Columns::columns_of_half;
    const int lane = threadIdx.x % warp_size, c0 = (task.strip * warp_size + lane) * 2 * K;
    const bool first = task.strip == 0;
    const uint32_t minus_open = halves_of(-scheme.opening, -scheme.opening),
                   minus_extend = halves_of(-scheme.extend, -scheme.extend);
    Ends ends(scheme, n, m);
    HalfRows<K, Affine, Ends::local> rows;
    const auto top = [&](int column) {
        if constexpr (Around::inside) return around.top[min(column, m)];
        else return make_int2(ends.top(column), ends.top(column) - scheme.opening);
    };
    rows.base[0] = top(c0).x;
    rows.base[1] = top(c0 + K).x;
    rows.diagonal = 0;
    rows.set_floor();
#pragma unroll
    for (int k = 0; k < K; k++) {
        const int2 low = top(c0 + k + 1), high = top(c0 + K + k + 1);
        rows.h[k] = halves_of(low.x - rows.base[0], high.x - rows.base[1]);
        if (Affine) rows.f[k] = halves_of(low.y - rows.base[0], high.y - rows.base[1]);
    }
    int next_kept = 0;
    if constexpr (Around::inside) next_kept = around.row_spacing;
    uint32_t codes = 0, chunk = 0, code_chunk = 0, convert = 0, below = 0;
    HalfBest<Ends::local ? K : 1> best;
    int32_t bound = 1;
    const bool whole = c0 + 2 * K <= m;
    const auto set_below = [&] {
        const auto in_half = [&](int half) { return max(min(bound - 1 - rows.base[half], 32767), -32768); };
        below = halves_of(in_half(0), in_half(1));
    };
    // A row of every group; Plain: all are inside the table, and there is nothing to be kept or masked.
    const auto take_step = [&](int step, auto plain) {
        constexpr bool Plain = decltype(plain)::value;
        // from the group on the left, a row ahead: the last lane's second half, or the lane's own first one
        constexpr uint32_t shifted = 0x5432;
        const uint32_t from_h = __shfl_up_sync(0xffffffffu, rows.h_out, 1),
                       from_codes = __shfl_up_sync(0xffffffffu, codes, 1);
        const uint32_t from_e = Affine ? __shfl_up_sync(0xffffffffu, rows.e_out, 1) : 0;
        const uint32_t fed = __shfl_sync(0xffffffffu, chunk, step % warp_size),
                       code = __shfl_sync(0xffffffffu, code_chunk, step % warp_size);
        uint32_t left_h = __vadd2(permute_bytes(from_h, rows.h_out, shifted), convert);
        uint32_t left_e = __vadd2(permute_bytes(from_e, rows.e_out, shifted), convert);
        codes = permute_bytes(from_codes, codes, shifted);
        if (lane == 0) {
            left_h = permute_bytes(left_h, fed, 0x3254);
            left_e = permute_bytes(left_e, fed, 0x3276);
            codes = permute_bytes(codes, code, 0x3254);
        }
        const int row = step - 2 * lane;  // of the first half
        if (Plain || (row >= 0 && row <= n)) {
            uint32_t highest, active = 0xffffffffu;
            if constexpr (Plain) {
                highest = rows.template row<false>(columns, codes, left_h, left_e, minus_open, minus_extend, active, 0);
            } else {
                active = row == 0 ? 0xffffu : row == n ? 0xffff0000u : 0xffffffffu;
                const uint32_t others = (codes >> 8 & 1) * 0xffffu | (codes >> 24 & 1) * 0xffff0000u;
                highest =
                    rows.template row<true>(columns, codes, left_h, left_e, minus_open, minus_extend, active, others);
            }
            if constexpr (Ends::local) {
                if (__vmaxs2(highest, below) != below) {
                    if (whole) {
                        best.offer(rows, highest, bound, row, active);
                    } else {
#pragma unroll
                        for (int half = 0; half < 2; half++) {
                            if (!(active >> (16 * half) & 1)) continue;
                            int32_t all[K];
                            rows.all(half, all);
                            ends.after_row(all, c0 + half * K, row + 1 - half);
                        }
                    }
                    bound = max(bound, max(best.score(), ends.best_score()));
                    set_below();
                }
            } else if constexpr (Ends::chosen) {
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    if (!ends.follows_column(c0 + half * K, K) || !(active >> (16 * half) & 1)) continue;
                    int32_t all[K];
                    rows.all(half, all);
                    ends.after_row(all, c0 + half * K, row + 1 - half);
                }
            }
            if constexpr (Around::inside) {
                if constexpr (!Plain) {
#pragma unroll
                    for (int half = 0; half < 2; half++) {
                        if (row + 1 - half != next_kept || !(active >> (16 * half) & 1)) continue;
                        around.template keep_row<K>(
                            next_kept / around.row_spacing - 1, c0 + half * K, rows.value(left_h, half), [&](int k) {
                                return make_int2(rows.value(rows.h[k], half),
                                    rows.value(Affine ? rows.f[Affine ? k : 0] : rows.h[k], half));
                            });
                    }
                    if (row == next_kept) next_kept += around.row_spacing;
                }
            }
            if (lane == warp_size - 1 && (Plain || row > 0))
                __stcg(right + row - 1, make_int2(rows.value(rows.h_out, 1), rows.value(rows.e_out, 1)));
        }
    };
    constexpr int behind = 2 * warp_size - 1;  // rows, of the last group
    const int steps = n + behind;
    unsigned with_others = 0;  // a bit for each 32 rows before, whether they have a symbol that matches none
    for (int begin = 0; begin < steps; begin += warp_size) {
        rows.rebase();
        const int32_t before = __shfl_up_sync(0xffffffffu, rows.base[1], 1),
                      base = __shfl_sync(0xffffffffu, rows.base[0], 0);
        convert = halves_of(before - rows.base[0], rows.base[0] - rows.base[1]);
        if constexpr (Ends::local) {
            const int32_t of_others = *reinterpret_cast<volatile int*>(shared_best);
            if (bound > max(of_others, 1)) atomicMax(shared_best, bound);
            bound = max(bound, of_others);
            set_below();
        }
        bool others = false;
        if (begin < n) {  // the next 32 rows: their symbols and the left border
            const int row = begin + lane;
            code_chunk = row < n ? Columns::code(query[row]) : 0;
            others = code_chunk & Columns::others;
            int2 border = make_int2(base, base);
            if (!Around::inside && first) border = make_int2(ends.left(row + 1), ends.left(row + 1) - scheme.opening);
            if (Around::inside || !first) {
                if (!first) wait_for(progress, ticket - 1, min(n, begin + warp_size));
                if (row < n) border = __ldcg(left + row);
            }
            chunk = halves_of(border.x - base, border.y - base);
        }
        with_others = with_others << 1 | unsigned(__any_sync(0xffffffffu, others));
        bool plain = begin > behind && begin + warp_size <= n && !(with_others & 7);
        if constexpr (Around::inside)
            plain &= (begin + warp_size) / around.row_spacing == (begin - behind) / around.row_spacing;
        if (plain) {
#pragma unroll(Ends::local ? 1 : 2)
            for (int step = begin; step < begin + warp_size; step++) take_step(step, Flag<true>());
        } else {
            for (int step = begin; step < min(begin + warp_size, steps); step++) take_step(step, Flag<false>());
        }
        publish(progress, ticket, begin + warp_size - behind);
    }
    if constexpr (Ends::local) best.leave(ends, c0);
    if constexpr (Ends::chosen) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int32_t all[K];
            rows.all(half, all);
            ends.after_strip(all, c0 + half * K);
        }
        if (!first) wait_for(progress, ticket - 1, done);
        ends.leave(first ? nullptr : found + task.pair, found + task.pair);
    } else {
        const int at = m - 1 - c0;
        int32_t value = 0;
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int k = 0; k < K; k++)
                if (half * K + k == at) value = rows.value(rows.h[k], half);
        if (at >= 0 && at < 2 * K) found[task.pair] = {value - scheme.bias - scheme.shift * (n + m), n, m};
    }
    publish(progress, ticket, done);
}

}  // namespace nw
}  // namespace gpualign
