// The traceback of RScan: a thread per alignment walks from the corner, computing again, with directions, the tiles of
// `row_step` rows and K columns that the path crosses, from the borders that the sweep kept.
#pragma once
#include "device/align/score/lazy_scan.cuh"

namespace gpualign {
namespace nw {

struct TraceSpan {
    int first, last;  // rows first + 1 ... last
};
template <int K> __device__ __forceinline__ TraceSpan trace_span(const TraceTask& task, int strip, int rows) {
    const int first = max(0, min(rows, strip * K - task.band_high)) / row_step * row_step;
    return {first, min(rows, min(first + task.height, max(first, strip * K + K - task.band_low)))};
}

// The borders of one alignment, one half of a lane's words.
template <class Word> struct Kept {
    const uint32_t* column_h;
    const uint32_t* column_e;
    const uint32_t* rows_h;
    const uint32_t* rows_f;
    int lane, half;

    __device__ __forceinline__ int32_t at(const uint32_t* words, int64_t index) const {
        return WordOf<Word>::lane(WordOf<Word>::from(words[index * warp_size + lane]), half);
    }
};

// Collects a path from its end to its start: runs of operations and their counts.
struct Path {
    TraceResult result;
    uint32_t* runs;
    uint32_t operation, length;

    __device__ __forceinline__ explicit Path(uint32_t* to) : result{}, runs(to), operation(3), length(0) {}

    // What follows the last pair of symbols, but where it is left out.
    __device__ __forceinline__ Walk begin(const AlignmentEnd& end, int n, int m, uint32_t free_ends) {
        result.score = end.score;
        result.query_end = free_ends & query_end_bit ? end.i : n;
        result.target_end = free_ends & target_end_bit ? end.j : m;
        add(op_delete, uint32_t(result.target_end - end.j));
        add(op_insert, uint32_t(result.query_end - end.i));
        return {end.i, end.j, 0};
    }
    // What comes ahead of the first one.
    __device__ __forceinline__ void finish(const Walk& at, uint32_t free_ends) {
        result.target_start = free_ends & target_start_bit ? int32_t(at.j) : 0;
        result.query_start = free_ends & query_start_bit ? int32_t(at.i) : 0;
        add(op_delete, uint32_t(at.j - result.target_start));
        add(op_insert, uint32_t(at.i - result.query_start));
        close();
    }
    __device__ __forceinline__ void add(uint32_t next, uint32_t count) {
        if (count == 0) return;
        if (next != operation) {
            close();
            operation = next;
            result.openings += next != op_match;
        }
        length += count;
        if (next != op_match) result.gaps += int32_t(count);
    }
    __device__ __forceinline__ void pair(bool equal) {
        result.matches += equal;
        result.mismatches += !equal;
        add(op_match, 1);
    }
    __device__ __forceinline__ void close() {
        if (length) runs[result.runs++] = length << 4 | operation;
        length = 0;
    }
};

// One alignment. In one piece, as is trace_strip: a tile's rows, borders and directions are a dozen values that its
// computation and its walk share.
template <class Word, int K, bool Affine>
__device__ __forceinline__ TraceResult trace_pair(const TraceTask& task, const Kept<Word>& kept,
    const LazyScheme& scheme, const uint8_t* query, int n, const uint8_t* target, int m, int rows,
    const Matching& matching, uint32_t* runs) {
    Path path(runs);
    Walk walk = path.begin({0, n, m}, n, m, 0);
    const int32_t border = scheme.bias - scheme.opening, minus_open = -scheme.opening;
    uint32_t directions[row_step * (K / 8)];
    bool at_end = true;
    while (walk.i > 0 && walk.j > 0) {
        const int strip = int(walk.j - 1) / K, c0 = strip * K, block = int(walk.i - 1) / row_step,
                  i0 = block * row_step;
        const TraceSpan span = trace_span<K>(task, strip, rows);
        const TraceSpan before = trace_span<K>(task, strip - 1, rows);
        const int64_t columns = int64_t(strip - 1) * task.height - before.first;  // index of row 0 of the left border
        const int64_t row_words = (int64_t(strip) * (task.height / row_step) + (i0 - span.first) / row_step) * K;
        Strip<int32_t, K, Affine> state;
        int symbols[K];
#pragma unroll
        for (int k = 0; k < K; k++) {
            state.h[k] = kept.at(kept.rows_h, row_words + k);
            if (Affine) state.f[k] = kept.at(kept.rows_f, row_words + k);
            symbols[k] = c0 + k < m ? target[c0 + k] : 0;
        }
        // outside the band everything lies below every value inside
        const int32_t outside = border - 2 * scheme.opening - 1;
        int32_t diagonal = outside;
        if (c0 == 0) diagonal = i0 == 0 ? scheme.bias : border;
        else if (i0 == 0) diagonal = border;
        else if (i0 > before.first && i0 <= before.last) diagonal = kept.at(kept.column_h, columns + i0 - 1);
        const int height = int(walk.i) - i0;
        for (int r = 0; r < height; r++) {
            const int row = i0 + r;
            int32_t left = border, e = border + minus_open;
            if (c0 > 0) {
                const bool inside = row >= before.first && row < before.last;
                left = inside ? kept.at(kept.column_h, columns + row) : outside;
                e = !inside ? outside : Affine ? kept.at(kept.column_e, columns + row) : left;
            }
            const int32_t next_diagonal = left;
            const int32_t* scores = scheme.scores + query[row] * scheme.symbols;
            uint32_t packed[K / 8] = {};
            state.row_directions([&](int k) { return scores[symbols[k]] + 2 * scheme.shift; }, diagonal, left, e,
                minus_open,
                [&](int k, int32_t bits) {
                    packed[k / 8] = k % 8 ? packed[k / 8] << 4 | uint32_t(bits) : uint32_t(bits);
                });
#pragma unroll
            for (int w = 0; w < K / 8; w++) directions[r * (K / 8) + w] = packed[w];
            diagonal = next_diagonal;
        }
        if (at_end) {
#pragma unroll
            for (int k = 0; k < K; k++)
                if (c0 + k + 1 == m) path.result.score = state.h[k] - scheme.bias - scheme.shift * (n + m);
            at_end = false;
        }
        while (walk.i > i0 && walk.j > c0) {
            const int k = int(walk.j) - 1 - c0;
            const uint32_t bits = directions[(int(walk.i) - 1 - i0) * (K / 8) + k / 8] >> (4 * (7 - k % 8)) & 15;
            const int i = int(walk.i), j = int(walk.j);
            step(walk, bits, [&](uint32_t next) {
                if (next == op_match) path.pair(matching(query[i - 1], target[j - 1]));
                else path.add(next, 1);
            });
        }
    }
    path.finish(walk, 0);
    return path.result;
}

// The scores of a row of two alignments with queries of their own.
template <int K> struct TwoRows {
    uint4 low[K / 8], high[K / 8];
    __device__ __forceinline__ int16x2 operator()(int k) const {
        const uint4 &a = low[k / 8], &b = high[k / 8];
        const int w = (k % 8) / 2;
        const uint32_t x = w == 0 ? a.x : w == 1 ? a.y : w == 2 ? a.z : a.w;
        const uint32_t y = w == 0 ? b.x : w == 1 ? b.y : w == 2 ? b.z : b.w;
        // the first alignment's byte of x, the second's of y, each with its sign
        return int16x2(permute_bytes(x, y, k % 2 ? 0xF7A2u : 0xD580u));
    }
};

// The sweep of RScan: every strip's right column and every row_step-th row kept, only the rows of the band.
template <class Word, int K, bool Affine, class RowScores>
__device__ __forceinline__ void trace_strip(const TraceTask& task, int strip, int rows, const LazyScheme& scheme,
    const RowScores& row_scores, uint32_t* column_h, uint32_t* column_e, uint32_t* rows_h, uint32_t* rows_f, int lane) {
    using W = WordOf<Word>;
    const TraceSpan span = trace_span<K>(task, strip, rows), before = trace_span<K>(task, strip - 1, rows);
    const Word minus_open = W::both(-scheme.opening);
    const int32_t low = scheme.bias - scheme.opening, far = low - 2 * scheme.opening - 1;  // far: below all in the band
    const Word border = W::both(low), border_e = W::both(low - scheme.opening), outside = W::both(far);
    const bool top = span.first == 0, first = strip == 0;
    Strip<Word, K, Affine> state;
#pragma unroll
    for (int k = 0; k < K; k++) {
        state.h[k] = top ? border : outside;
        if (Affine) state.f[k] = top ? border_e : outside;
    }
    const uint32_t* left_h = column_h + (int64_t(strip - 1) * task.height - before.first) * warp_size + lane;
    const uint32_t* left_e = column_e + (int64_t(strip - 1) * task.height - before.first) * warp_size + lane;
    uint32_t* right_h = column_h + (int64_t(strip) * task.height - span.first) * warp_size + lane;
    uint32_t* right_e = column_e + (int64_t(strip) * task.height - span.first) * warp_size + lane;
    uint32_t* kept_h = rows_h + int64_t(strip) * (task.height / row_step) * K * warp_size + lane;
    uint32_t* kept_f = rows_f + int64_t(strip) * (task.height / row_step) * K * warp_size + lane;
    Word diagonal = outside;
    if (first) diagonal = top ? W::both(scheme.bias) : border;
    else if (top) diagonal = border;
    else if (span.first > before.first && span.first <= before.last)
        diagonal = W::from(left_h[(span.first - 1) * warp_size]);
    constexpr int ahead = 4;
    uint32_t next_h[ahead], next_e[ahead];
    const auto fetch = [&](int r, int row) {
        const bool inside = row >= before.first && row < before.last;
        next_h[r] = inside ? left_h[row * warp_size] : W::raw(outside);
        if (Affine) next_e[r] = inside ? left_e[row * warp_size] : W::raw(outside);
    };
#pragma unroll
    for (int r = 0; r < ahead; r++)
        if (!first) fetch(r, span.first + r);
    for (int i0 = span.first; i0 < span.last; i0 += ahead) {
        uint32_t now_h[ahead], now_e[ahead];
#pragma unroll
        for (int r = 0; r < ahead; r++) {
            now_h[r] = next_h[r];
            now_e[r] = next_e[r];
            if (!first) fetch(r, i0 + ahead + r);
        }
        if ((i0 - span.first) % row_step == 0) {
            const int at = (i0 - span.first) / row_step * K;
#pragma unroll
            for (int k = 0; k < K; k++) {
                kept_h[(at + k) * warp_size] = W::raw(state.h[k]);
                if (Affine) kept_f[(at + k) * warp_size] = W::raw(state.f[k]);
            }
        }
#pragma unroll
        for (int r = 0; r < ahead; r++) {
            const int row = i0 + r;
            if (row >= span.last) break;
            Word left = first ? border : W::from(now_h[r]);
            Word e = first ? border_e : Affine ? W::from(now_e[r]) : left;
            const Word next_diagonal = left;
            row_scores(row, [&](const auto& scores) { state.row(scores, diagonal, left, e, minus_open); });
            diagonal = next_diagonal;
            right_h[row * warp_size] = W::raw(left);
            if (Affine) right_e[row * warp_size] = W::raw(e);
        }
    }
}

}  // namespace nw
}  // namespace gpualign
