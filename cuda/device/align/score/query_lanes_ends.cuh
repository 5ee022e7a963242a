// Begins and ends of the alignments of device/align/score/query_lanes.cuh: anywhere (local), or on the borders.
#pragma once
#include "device/align/score/query_lanes.cuh"

namespace gpualign {
namespace nw {

// The last row of a tile above the next one, by column: H and F of the row below it, as two halves (local) or 32 bits.
struct TileRow {
    uint32_t h, f;
};
struct WideTileRow {
    int32_t h[2], f[2];
};

template <int G> __device__ __forceinline__ uint32_t group_max(uint32_t best) {
#pragma unroll
    for (int step = G / 2; step; step /= 2) best = __vmaxs2(best, __shfl_xor_sync(0xffffffffu, best, step));
    return best;
}

// Local: scores of two targets a group, -1 where they may be more than a half holds.
template <int G, int K, int Open, int Extend, bool Tiled>
__device__ __forceinline__ void local_lanes(const uint4* profile, const TwoTargets& two, int tile, bool last,
    int highest, int symbols, TileRow* row, int32_t* scores) {
    const int lane = threadIdx.x % G;
    LaneRows<G, K, true, Open, Extend> rows;
#pragma unroll
    for (int k = 0; k < K; k++) rows.h[k] = rows.e[k] = 0;
    rows.best = 0;
    TileRow coming{0, 0};
    lane_columns(
        rows, profile, two, symbols, 0,
        [&](int j0, uint32_t&, uint32_t&) {
            if (Tiled && tile && j0 + lane < two.longest) coming = row[j0 + lane];
            return 0u;
        },
        [&](int r, uint32_t& h, uint32_t& f) {
            if (Tiled && tile) {  // the same for all of a block
                const uint32_t top_h = __shfl_sync(0xffffffffu, coming.h, r, G),
                               top_f = __shfl_sync(0xffffffffu, coming.f, r, G);
                if (lane == 0) h = top_h, f = top_f;
            } else if (lane == 0) {
                h = f = 0;
            }
        },
        [&](int column, uint32_t f) {
            if (Tiled && !last && lane == G - 1 && column >= 0 && column < two.longest)
                row[column] = {rows.h[K - 1], f};
        });
    const uint32_t best = group_max<G>(rows.best);
    if (lane != 0) return;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int32_t before = Tiled && tile ? scores[two.pair[half]] : 0, now = half_of(best, half);
        scores[two.pair[half]] = before < 0 || now > half_limit - highest ? -1 : max(before, now);
    }
}

// Global and semi-global: H' - base in halves, from a base for each lane and half that follows its first row.
template <int G, int K, int Open, bool Corners, bool Tiled> struct BorderLanes {
    using Rows = LaneRows<G, K, false, Open, 0>;
    static constexpr int rebased_columns = 32;
    const LazyScheme& scheme;
    const TwoTargets& two;
    int n, first;  // rows of the query, and the tile's first one
    int lane;
    WideTileRow* row;
    bool last;
    int32_t base[2] = {}, best[2] = {};
    static constexpr uint32_t minimum = 0xc000c000u;  // below all that counts, and the sums with it still within a half

    // The best of each target's alignments in this tile, number `tile` of the query, and those above it.
    __device__ __forceinline__ void score(const uint4* profile, int tile, int32_t* scores) {
        const EndGaps& ends = scheme.ends;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            best[half] = INT32_MIN;  // one of the alignments of no two symbols, where they may be
            if (Corners) continue;
            const int m = two.length[half];
            if (scheme.cheap_ends & target_end_bit) best[half] = -ends.query_start.cost(n) - ends.target_end.cost(m);
            if (scheme.cheap_ends & query_end_bit)
                best[half] = max(best[half], -ends.target_start.cost(m) - ends.query_end.cost(n));
        }
        run(profile, both_halves(ends.query_end.extend - scheme.shift));
#pragma unroll
        for (int half = 0; half < 2; half++) {
#pragma unroll
            for (int step = G / 2; step; step /= 2)
                best[half] = max(best[half], __shfl_xor_sync(0xffffffffu, best[half], step));
            if (lane == 0)
                scores[two.pair[half]] = Tiled && tile ? max(best[half], scores[two.pair[half]]) : best[half];
        }
    }

private:
    // What a lane's first row is set to: the others, and what comes from above, are not so much lower.
    __device__ __forceinline__ int32_t margin() const { return scheme.bias; }
    // H'(i + 1, 0); of a row before the first one what its gap from above leaves.
    __device__ __forceinline__ int32_t left(int i) const {
        return i < 0 ? -Open : scheme.ends.query_start.border(i + 1, scheme.shift);
    }
    __device__ __forceinline__ void offer(int half, int32_t h, int symbols, int32_t rest) {
        best[half] = max(best[half], base[half] + h - scheme.shift * symbols - rest);
    }

    // In one piece: rows and ends stay in registers over all columns.
    __device__ __forceinline__ void run(const uint4* profile, uint32_t minus_shift) {
        Rows rows;
        const int mine = first + lane * K;
        base[0] = base[1] = left(mine) - margin();
#pragma unroll
        for (int k = 0; k < K; k++) {
            rows.h[k] = both_halves(left(mine + k) - base[0]);
            rows.e[k] = __vsub2(rows.h[k], both_halves(Open));
        }
        // the first row's score has the opening that what is above it lacks
        const uint32_t above = both_halves((mine <= 0 ? -Open : left(mine - 1)) - base[0]);
        const EndGap& start = scheme.ends.target_start;
        const uint32_t border_step = both_halves(scheme.shift - start.extend);
        const bool along_row = !Corners && scheme.cheap_ends & target_end_bit && !(Tiled && !last);
        // the best end in the last row since the last new base, as H' of the lane's column would have to be to be as
        // good
        uint32_t in_row = minimum;
        const uint32_t row_step = both_halves(scheme.shift - scheme.ends.target_end.extend);
        uint32_t coming_h = 0, coming_f = 0, border = 0, convert = 0;
        lane_columns(
            rows, profile, two, scheme.symbols, above,
            [&](int j0, uint32_t& upper, uint32_t& f) {
                if (j0 % rebased_columns == 0) {
                    if (along_row && lane == G - 1) offer_in_row(in_row, j0 - G);
                    in_row = minimum;
                    const uint32_t change = __vsub2(rows.h[0], both_halves(margin()));
#pragma unroll
                    for (int k = 0; k < K; k++) {
                        rows.h[k] = __vsub2(rows.h[k], change);
                        rows.e[k] = __vsub2(rows.e[k], change);
                    }
                    upper = __vsub2(upper, change);
                    f = __vsub2(f, change);
                    base[0] += half_of(change, 0);
                    base[1] += half_of(change, 1);
                    const int32_t from[2] = {
                        __shfl_up_sync(0xffffffffu, base[0], 1, G), __shfl_up_sync(0xffffffffu, base[1], 1, G)};
                    convert = two_halves(from[0] - base[0], from[1] - base[1]);
                }
                if (Tiled && first > 0) {  // the same for all of a block
                    const int32_t to[2] = {
                        __shfl_sync(0xffffffffu, base[0], 0, G), __shfl_sync(0xffffffffu, base[1], 0, G)};
                    if (j0 + lane < two.longest) {
                        const WideTileRow top = row[j0 + lane];
                        coming_h = two_halves(top.h[0] - to[0], top.h[1] - to[1]);
                        coming_f = two_halves(top.f[0] - to[0], top.f[1] - to[1]);
                    }
                } else {
                    const int32_t top = start.border(j0 + 1, scheme.shift) - Open;
                    border = two_halves(top - base[0], top - base[1]);
                }
                return convert;
            },
            [&](int r, uint32_t& h, uint32_t& f) {
                if (Tiled && first > 0) {
                    const uint32_t top_h = __shfl_sync(0xffffffffu, coming_h, r, G),
                                   top_f = __shfl_sync(0xffffffffu, coming_f, r, G);
                    if (lane == 0) h = top_h, f = top_f;
                } else {
                    if (lane == 0) h = f = border;
                    border = __vadd2(border, border_step);
                }
            },
            [&](int column, uint32_t f) {
                if (Tiled && !last && lane == G - 1 && column >= 0 && column < two.longest)
                    leave(rows.h[K - 1], f, column);
                if (column == two.length[0] - 1 || column == two.length[1] - 1) {
                    if (along_row && lane == G - 1) offer_in_row(in_row, column - 1);
                    end_targets(rows, column, mine, minus_shift);
                }
                if (!Corners && column >= 0) in_row = __viaddmax_s16x2(in_row, row_step, rows.h[K - 1]);
            });
    }

    // A column of the tile's last row, for the next tile.
    __device__ __forceinline__ void leave(uint32_t h, uint32_t f, int column) {
        row[column] = {
            {base[0] + half_of(h, 0), base[1] + half_of(h, 1)}, {base[0] + half_of(f, 0), base[1] + half_of(f, 1)}};
    }

    // Ends of the query with something of the target left; `column` is the last one that in_row knows.
    __device__ __forceinline__ void offer_in_row(uint32_t in_row, int column) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int rest = two.length[half] - column - 1, h = half_of(in_row, half);
            if (rest > 0 && h >= 0) offer(half, h, n + column + 1, scheme.ends.target_end.cost(rest));
        }
    }

    // After the last column of one of the targets.
    __device__ __forceinline__ void end_targets(const Rows& rows, int column, int mine, uint32_t minus_shift) {
        if (!(Tiled && !last) && lane == G - 1) {
#pragma unroll
            for (int half = 0; half < 2; half++)
                if (column == two.length[half] - 1) offer(half, half_of(rows.h[K - 1], half), n + column + 1, 0);
        }
        if (!Corners && scheme.cheap_ends & query_end_bit) last_column(rows, column, mine, minus_shift);
    }

    // Ends of the target with something of the query left. `minus_shift`: what H' loses from a row to the next one
    // there.
    __device__ __forceinline__ void last_column(const Rows& rows, int column, int mine, uint32_t minus_shift) {
        if (mine + K <= 0) return;
        uint32_t maximum = minimum;
#pragma unroll
        for (int k = K - 1; k >= 0; k--)
            maximum = __viaddmax_s16x2(maximum, minus_shift, mine + k >= 0 ? rows.h[k] : minimum);
        // the rest of the query beyond row mine + 1, were that a row of it
        const int32_t rest = scheme.ends.query_end.open + (n - mine - 2) * scheme.ends.query_end.extend;
#pragma unroll
        for (int half = 0; half < 2; half++)
            if (column == two.length[half] - 1) offer(half, half_of(maximum, half), mine + 1 + column + 1, rest);
    }
};

}  // namespace nw
}  // namespace gpualign
