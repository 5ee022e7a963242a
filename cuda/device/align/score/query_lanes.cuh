// Scores with a query's rows spread over the lanes of a group: lane l has rows l K ... l K + K - 1 in registers and is
// one column behind the lane above, and the two halves of a register are two targets. What a target's symbol scores
// against the rows is one shared profile of the query, for all warps of a block; a longer query is taken tile by tile,
// with a tile's last row kept in memory.
//
// Halves are small whole numbers (0 ... 2047) that two units of a multiprocessor understand alike: as 16-bit integers
// for DPX, and as subnormal half-precision numbers, whose bits are the same and whose sums are exact. A profile's score
// is added to one half of a register by a multiplication with (1, 0) or (0, 1), so the profiles of two targets' symbols
// need no packing. Values that may leave that range are counted from a base (global alignment), or the pair is found to
// and is computed again in wider words (local).
#pragma once
#include "device/align/score/lazy_scan.cuh"

namespace gpualign {
namespace nw {

constexpr int lane_threads = 256;
constexpr int half_limit = 2047;  // whole numbers up to here have the same bits in both views

#if defined(__CUDACC__)
__device__ __forceinline__ uint32_t fma_halves(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
__device__ __forceinline__ uint32_t add_halves(uint32_t a, uint32_t b) {
    uint32_t r;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ uint32_t same_halves(uint32_t word, bool high) {
    uint32_t r;
    if (high) asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, h}; }" : "=r"(r) : "r"(word));
    else asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {l, l}; }" : "=r"(r) : "r"(word));
    return r;
}
#endif
__device__ __forceinline__ uint32_t both_halves(int32_t x) { return (uint32_t(x) & 0xffffu) * 0x10001u; }
__device__ __forceinline__ uint32_t two_halves(int32_t low, int32_t high) {
    return (uint32_t(low) & 0xffffu) | uint32_t(high) << 16;
}
__device__ __forceinline__ int32_t half_of(uint32_t word, int half) {
    return half ? int32_t(word) >> 16 : int32_t(int16_t(word));
}

// The profile of a tile of a query: [symbol][k / 8][lane], eight rows of a lane each; the symbol after the last one is
// no symbol, and rows before the first one are none.
template <int G, int K> struct QueryProfile {
    uint4* words;

    // `first`: the row of the query that the tile begins with, negative in the first one.
    __device__ __forceinline__ void build(
        const uint8_t* query, int first, const LazyScheme& scheme, int lowest, int more_at_first) {
        uint16_t* halves = reinterpret_cast<uint16_t*>(words);
        for (int at = threadIdx.x; at < (scheme.symbols + 1) * G * K; at += lane_threads) {
            const int symbol = at / (G * K), row = at % (G * K), i = first + row, k = row % K;
            int score = lowest;
            if (i >= 0 && symbol < scheme.symbols)
                score = scheme.scores[query[i] * scheme.symbols + symbol] + 2 * scheme.shift;
            if (i == 0) score += more_at_first;
            halves[((symbol * (K / 8) + k / 8) * G + row / K) * 8 + k % 8] =
                uint16_t(score < 0 ? 0x8000 | -score : score);
        }
    }
};

// K rows of a group's lane: H of the column on the left, and E of this one. The unit of DPX has three operations a
// cell, and half a one for the best: what else there is goes to the unit for halves. A local E or F is floored at 0,
// and a negative half is less than that as an integer, too.
//
// What binds on Hopper is the reading of registers, of which there are two banks: a row of two cells reads 14 of them,
// 7 clocks at best, and 11.0 (local) or 10.0 (global) as compiled, where an instruction's operands share a bank; the
// units (DPX 7, halves 6) and the scheduler (7.6) would be done before. That is 6.1 and 6.7 TCUPS, before what lanes
// lose at a target's ends (31 columns) and queries' lengths in whole tiles. One tile of 1,024 rows: 5.4 TCUPS
// (local); 6.1 if a score were one addition instead of two multiplications, 5.8 without the best, 5.5 without loads
// from shared memory or with all sums first (which loses as much elsewhere), 4.5 with half as many warps. Two queries
// with packed scores in one profile compile to 10.0 and 9.1 clocks, aligned pairs of registers for H and E to 10.3, but
// with moves at the end of the loop.
template <int G, int K, bool Local, int Open, int Extend> struct LaneRows {
    uint32_t h[K], e[K];
    uint32_t best;

    // One column; `above` is H at its upper left, `f` F of its first row, then of the row below the last one.
    __device__ __forceinline__ void column(const uint4* low, const uint4* high, uint32_t above, uint32_t& f) {
        constexpr int chunk = 4;
        constexpr uint32_t minus_open = (uint32_t(-Open) & 0xffffu) * 0x10001u;
        constexpr uint32_t to_low = 0x00003c00u, to_high = 0x3c000000u;
#pragma unroll
        for (int q = 0; q < K / 8; q++) {
            const uint4 a = low[q * G], b = high[q * G];
            const uint32_t first[4] = {a.x, a.y, a.z, a.w}, second[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
            for (int c0 = 0; c0 < 8; c0 += chunk) {
                const uint32_t next_above = h[q * 8 + c0 + chunk - 1];
#pragma unroll
                for (int c = c0 + chunk - 1; c >= c0; c--) {
                    const int k = q * 8 + c;
                    const uint32_t through =
                        fma_halves(same_halves(second[c / 2], c % 2), to_high, c > c0 ? h[k - 1] : above);
                    h[k] = fma_halves(same_halves(first[c / 2], c % 2), to_low, through);
                }
                above = next_above;
#pragma unroll
                for (int c = c0; c < c0 + chunk; c++) {
                    const int k = q * 8 + c;
                    h[k] = __vimax3_s16x2(h[k], e[k], f);
                    if (Local) {
                        constexpr uint32_t minus_extend = (uint32_t(-Extend) & 0xffffu) * 0x10001u;
                        const uint32_t opened = add_halves(h[k], 0x80008000u | Open * 0x10001u);
                        e[k] = __viaddmax_s16x2_relu(e[k], minus_extend, opened);
                        f = __viaddmax_s16x2_relu(f, minus_extend, opened);
                        if (k % 2) best = __vimax3_s16x2(best, h[k - 1], h[k]);
                    } else {
                        e[k] = __viaddmax_s16x2(h[k], minus_open, e[k]);
                        f = __viaddmax_s16x2(h[k], minus_open, f);
                    }
                }
            }
        }
    }
};

// Two targets of a group.
struct TwoTargets {
    const uint8_t* begin[2];
    int32_t length[2], pair[2];
    int32_t longest;  // of the warp

    // The next symbols of both, `none` past their ends, each in half a word.
    __device__ __forceinline__ uint32_t symbols(int j, int none) const {
        return (j < length[0] ? begin[0][j] : none) | (j < length[1] ? begin[1][j] : none) << 16;
    }
};

template <int G>
__device__ __forceinline__ TwoTargets two_targets(
    const LazyTask& task, int set, const DeviceSequences& targets, const int32_t* pair_target) {
    TwoTargets two;
    const int group = threadIdx.x % warp_size / G;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        two.pair[half] = task.first + min((set * (warp_size / G) + group) * 2 + half, task.count - 1);
        const int target = pair_target[two.pair[half]];
        two.begin[half] = targets.codes + targets.offsets[target];
        two.length[half] = int(targets.offsets[target + 1] - targets.offsets[target]);
    }
    two.longest = warp_max(max(two.length[0], two.length[1]));
    return two;
}

// What all modes do with a tile: goes over the columns, and calls enter(j0) before each G of them, top(r, h, f) for
// what comes from above in the first lane, and leave(column, f) after each column. Lanes that have not begun compute no
// symbols where that changes nothing (local).
template <int G, int K, bool Local, int Open, int Extend, class Enter, class Top, class Leave>
__device__ __forceinline__ void lane_columns(LaneRows<G, K, Local, Open, Extend>& rows, const uint4* profile,
    const TwoTargets& two, int symbols, uint32_t above, const Enter& enter, const Top& top, const Leave& leave) {
    const int lane = threadIdx.x % G;
    uint32_t f = 0, bases = uint32_t(symbols) * 0x10001u;
    const auto some_columns = [&](int j0, auto all_begun) {
        const uint32_t convert = enter(j0, above, f);
        const uint32_t coming = two.symbols(j0 + lane, symbols);
        const int steps = min(G, (two.longest + G - j0) & ~1);  // one more column changes nothing
        const auto step = [&](int r) {
            const uint32_t fed = __shfl_sync(0xffffffffu, coming, r, G);
            bases = __shfl_up_sync(0xffffffffu, bases, 1, G);
            uint32_t from_h = __shfl_up_sync(0xffffffffu, rows.h[K - 1], 1, G);
            uint32_t from_f = __shfl_up_sync(0xffffffffu, f, 1, G);
            if (!Local) {
                from_h = __vadd2(from_h, convert);
                from_f = __vadd2(from_f, convert);
            }
            const int column = j0 + r - lane;
            top(r, from_h, from_f);
            if (lane == 0) bases = fed;
            if (decltype(all_begun)::value || column >= 0) {
                f = from_f;
                const uint4 *low = profile + (bases & 0xffffu) * (G * K / 8) + lane,
                            *high = profile + (bases >> 16) * (G * K / 8) + lane;
                rows.column(low, high, above, f);
                above = from_h;
            }
            leave(column, f);
        };
#pragma unroll 1
        for (int r = 0; r < steps; r += 2) {
            step(r);
            step(r + 1);
        }
    };
    some_columns(0, Flag<Local>());
#pragma unroll 1
    for (int j0 = G; j0 < two.longest + G - 1; j0 += G) some_columns(j0, Flag<true>());
}

}  // namespace nw
}  // namespace gpualign
