// DScan and TiledDScan: a warp per strip of 32 * K columns of a pair, the strips of one pair handed from warp to warp.
//
// The warp's lanes own K columns each and stand one row apart, so that the whole warp moves along an anti-diagonal: in
// a step every lane computes one row of its columns and hands its right border to the next lane by a shuffle. The right
// border of the last lane goes to global memory, where the warp with the pair's next strip waits for it, some rows
// later. Warps take strips in order (pair by pair, from left to right) and each waits only for the one before, which
// has already begun, so there is always one that can go on. One long pair keeps the whole device busy, and so does a
// list of shorter ones. DScan keeps four bits a cell, 256 bytes a step and warp, for the traceback; TiledDScan scores
// only and keeps nothing but the borders in use: linear memory. Its alignments are in device/align/score/dp_tile.cuh.
#pragma once
#include "algo/align/score/nw.hpp"
#include "device/align/score/half_strip.cuh"
#include "device/align/score/strip_ends.cuh"
#include "device/align/score/strip_progress.cuh"

namespace gpualign {
namespace nw {

// Columns of a lane: more spread a step's overhead over more cells, fewer leave less of a last strip unused.
constexpr int scored_columns = 32, half_columns = 16, kept_columns = 16;

// The score of a row's symbol against a lane's columns, transformed: nucleotides as a byte for each symbol.
template <int K> struct ByteColumns {
    static constexpr bool in_halves = false;
    static constexpr int columns_of_lane = K;
    uint32_t columns[K];
    uint32_t never;  // the score of any other symbol, four times

    __device__ __forceinline__ void build(
        const uint8_t* target, int c0, int m, const LazyScheme& scheme, const int32_t*) {
        const uint32_t match = uint32_t(scheme.scores[0] + 2 * scheme.shift) & 0xffu;
        const uint32_t mismatch = uint32_t(scheme.scores[1] + 2 * scheme.shift) & 0xffu;
        never = mismatch * 0x01010101u;
#pragma unroll
        for (int k = 0; k < K; k++) {
            const int symbol = c0 + k < m ? target[c0 + k] : no_symbol;
            columns[k] = symbol < 4 ? (never & ~(0xffu << (8 * symbol))) | match << (8 * symbol) : never;
        }
    }
    // A row's symbol in the form that travels along the lanes: the byte to pick, its sign spread over the rest.
    static __device__ __forceinline__ uint32_t code(int symbol) { return uint32_t(min(symbol, 4)) * 0x1111u + 0x8880u; }
    struct Row {
        const ByteColumns& all;
        uint32_t code;
        __device__ __forceinline__ int32_t operator()(int k) const {
            return int32_t(permute_bytes(all.columns[k], all.never, code));
        }
    };
    __device__ __forceinline__ Row row(uint32_t code) const { return Row{*this, code}; }
};

// Any alphabet: the score table in shared memory.
template <int K> struct TableColumns {
    static constexpr bool in_halves = false;
    static constexpr int columns_of_lane = K;
    const int32_t* table;
    int symbols;
    int columns[K];

    __device__ __forceinline__ void build(
        const uint8_t* target, int c0, int m, const LazyScheme& scheme, const int32_t* shared_table) {
        table = shared_table;
        symbols = scheme.symbols;
#pragma unroll
        for (int k = 0; k < K; k++) columns[k] = c0 + k < m ? target[c0 + k] : 0;
    }
    static __device__ __forceinline__ uint32_t code(int symbol) { return uint32_t(symbol); }
    struct Row {
        const int32_t* row;
        const int* columns;
        __device__ __forceinline__ int32_t operator()(int k) const { return row[columns[k]]; }
    };
    __device__ __forceinline__ Row row(uint32_t code) const { return Row{table + code * symbols, columns}; }
};

// What is around the strips: the borders of a whole pair, which need no memory.
struct WholePair {
    static constexpr bool inside = false;
};

// One strip. `left` and `right` hold H' and E' of a border by row (right: what this strip writes). Inside a table (see
// BorderedTile) the rows begin below `around.top`, the first strip has a `left`, and around.keep_row(...) sees each
// lane's rows. In one piece: a step's values go from lane to lane in registers, and any part of it would take nearly
// all of them.
template <class Ends, bool Affine, bool Keep, class Around, class Columns>
__device__ __forceinline__ void diagonal_strip(const StripTask& task, int ticket, const Around& around,
    const Columns& columns, const uint8_t* query, int n, int m, const LazyScheme& scheme, const int2* left, int2* right,
    int* progress, uint32_t* directions, AlignmentEnd* found) {
    constexpr int K = Columns::columns_of_lane;
    // a part's directions are for a traceback that has begun
    constexpr bool track = Ends::chosen && !(Around::inside && Keep);
    const int lane = threadIdx.x % warp_size, c0 = (task.strip * warp_size + lane) * K;
    const bool first = task.strip == 0;
    const int32_t minus_open = -scheme.opening, minus_extend = -scheme.extend;
    Ends ends(scheme, n, m);
    Strip<int32_t, K, Affine> state;
    int32_t diagonal;
    int next_kept = 0;
    if constexpr (Around::inside) {
#pragma unroll
        for (int k = 0; k < K; k++) {
            const int2 above = around.top[min(c0 + k + 1, m)];
            state.h[k] = above.x;
            if (Affine) state.f[k] = above.y;
        }
        diagonal = around.top[min(c0, m)].x;
        next_kept = around.row_spacing;
    } else {
#pragma unroll
        for (int k = 0; k < K; k++) {
            state.h[k] = ends.top(c0 + k + 1);
            if (Affine) state.f[k] = state.h[k] + minus_open;
        }
        diagonal = ends.top(c0);
    }
    int32_t last_h = 0, last_e = 0;
    uint32_t last_code = 0;
    int2 chunk = make_int2(0, 0);
    uint32_t code_chunk = 0;
    const int steps = n + warp_size - 1;
    for (int step = 0; step < steps; step++) {
        if (step % warp_size == 0 && step < n) {  // the next 32 rows: their symbols and the left border
            const int row = step + lane;
            code_chunk = row < n ? Columns::code(query[row]) : 0;
            if (!Around::inside && first) {
                chunk.x = ends.left(row + 1);
                chunk.y = chunk.x + minus_open;
            } else {
                if (!first) wait_for(progress, ticket - 1, min(n, step + warp_size));
                if (row < n) chunk = __ldcg(left + row);
            }
        }
        int32_t left_h = __shfl_up_sync(0xffffffffu, last_h, 1);
        int32_t left_e = Affine ? __shfl_up_sync(0xffffffffu, last_e, 1) : 0;
        uint32_t code = __shfl_up_sync(0xffffffffu, last_code, 1);
        const int32_t chunk_h = __shfl_sync(0xffffffffu, chunk.x, step % warp_size);
        const int32_t chunk_e = Affine ? __shfl_sync(0xffffffffu, chunk.y, step % warp_size) : 0;
        const uint32_t chunk_code = __shfl_sync(0xffffffffu, code_chunk, step % warp_size);
        if (lane == 0) {
            left_h = chunk_h;
            left_e = chunk_e;
            code = chunk_code;
        }
        const int row = step - lane;
        if (row >= 0 && row < n) {
            int32_t h = left_h, e = left_e;
            const auto scores_of_row = columns.row(code);
            if constexpr (Keep) {
                uint32_t packed[K / 8] = {};
                const auto put = [&](int k, int32_t bits) { packed[k / 8] = packed[k / 8] << 4 | uint32_t(bits); };
                if constexpr (Ends::local)
                    state.template row_local<true>(scores_of_row, diagonal, h, e, minus_open, minus_extend, put);
                else state.template row_directions<true>(scores_of_row, diagonal, h, e, minus_open, put);
                *reinterpret_cast<uint2*>(directions + (int64_t(step) * warp_size + lane) * 2) =
                    make_uint2(packed[0], packed[1]);
            } else if constexpr (Ends::local) {
                state.template row_local<true>(scores_of_row, diagonal, h, e, minus_open, minus_extend);
            } else {
                state.row(scores_of_row, diagonal, h, e, minus_open);
            }
            if constexpr (track) ends.after_row(state.h, c0, row + 1);
            if constexpr (Around::inside && !Keep) {
                if (row + 1 == next_kept) {
                    around.template keep_row<K>(row / around.row_spacing, c0, left_h,
                        [&](int k) { return make_int2(state.h[k], state.f[Affine ? k : 0]); });
                    next_kept += around.row_spacing;
                }
            }
            diagonal = left_h;
            last_h = h;
            last_e = e;
            if (lane == warp_size - 1) __stcg(right + row, make_int2(h, e));
        }
        last_code = code;
        if (step % warp_size == warp_size - 1) publish(progress, ticket, step - (warp_size - 2));
    }
    if constexpr (track) {
        ends.after_strip(state.h, c0);
        if (!first) wait_for(progress, ticket - 1, done);
        ends.leave(first ? nullptr : found + task.pair, found + task.pair);
    } else if constexpr (!Ends::chosen) {
        const int at = m - 1 - c0;
        if (at >= 0 && at < K) {
            int32_t value = 0;
#pragma unroll
            for (int k = 0; k < K; k++)
                if (k == at) value = state.h[k];
            found[task.pair] = {value - scheme.bias - scheme.shift * (n + m), n, m};
        }
    }
    publish(progress, ticket, done);
}

// One strip in the words of its columns.
template <class Ends, bool Affine, bool Keep, class Around, class Columns>
__device__ __forceinline__ void strip_of_pair(const StripTask& task, int ticket, const Around& around,
    const Columns& columns, const uint8_t* query, int n, int m, const LazyScheme& scheme, const int2* left, int2* right,
    int* progress, int* shared_best, uint32_t* directions, AlignmentEnd* found) {
    if constexpr (Columns::in_halves)
        half_strip<Ends, Affine>(
            task, ticket, around, columns, query, n, m, scheme, left, right, progress, shared_best, found);
    else
        diagonal_strip<Ends, Affine, Keep>(
            task, ticket, around, columns, query, n, m, scheme, left, right, progress, directions, found);
}

}  // namespace nw
}  // namespace gpualign
