// The pairs that a thread holds in bounded-gap alignment: one in 32 bits or two in 16, their scores and their answers.
// GAPS is K, a macro of the compilation.
#pragma once
#include <cstdint>

#include "abi/bounded_gaps.hpp"
#include "device/int16x2.cuh"

namespace gpualign {

// The sum wraps around as 16-bit integers do.
__device__ __forceinline__ int16x2 operator+(int16x2 a, int16x2 b) {
    return int16x2(__viaddmax_s16x2(a.bits, b.bits, 0x80008000u));
}
// Same value as int16x2::lane; it compiles differently, and the kernels' register allocation depends on that.
__device__ __forceinline__ int32_t lane_of(const int16x2& word, int i) { return int16_t(word.bits >> (16 * i)); }

namespace gapsmis {

// A pair as its lanes see it; `index` < 0: none.
struct OnePair {
    const uint8_t* pattern;
    const uint8_t* text;
    int32_t m = 0, n = 0, index = -1;
    Best best{no_score, -1, -1};

    __device__ void load(const Batch& batch, const Model& model, int64_t rank) {
        if (rank >= batch.pairs) return;
        index = batch.order[rank];
        const int32_t p = batch.pattern_ids[index], t = batch.text_ids[index];
        pattern = batch.patterns + batch.pattern_offsets[p];
        text = batch.texts + batch.text_offsets[t];
        m = int32_t(batch.pattern_offsets[p + 1] - batch.pattern_offsets[p]);
        n = int32_t(batch.text_offsets[t + 1] - batch.text_offsets[t]);
        best = best_without_text(model, m, n);
    }

    // An empty pattern: its last row is the matrix's top.
    __device__ void finish_top(const Model& model) {
        if (index < 0 || m > 0) return;
        for (int32_t q = 0; q <= GAPS; q++)
            for (int32_t j = 1; j <= n; j++) offer(model, model.top(q, j), q, j);
    }

    // A candidate at the pattern's last row.
    __device__ __forceinline__ void offer(const Model& model, int32_t value, int32_t q, int32_t j) {
        if (model.ends == no_end_free ? j == n : j <= n) best.offer(model.score(value, q, m, j), q, j);
    }

    __device__ void write(const Batch& batch, const Model& model, bool traced) const {
        if (index < 0) return;
        const bool possible = model.possible(m, n);
        batch.score[index] = possible ? best.score : no_score;
        batch.gaps[index] = possible ? best.gaps : -1;
        batch.end[index] = possible ? best.end : -1;
        if (!possible || !traced) batch.start[index] = possible && model.ends != both_ends_free ? 0 : -1;
    }
};

// One pair in 32-bit arithmetic; scores from a table in shared memory.
template <int width> struct Single {
    using Word = int32_t;
    static constexpr int pairs = 1;
    OnePair pair;
    const int32_t* table;  // symbols x symbols, row = pattern, with 2*extend added
    int32_t symbols;
    int32_t column_code[width];
    const int32_t* row;

    static __device__ __forceinline__ Word both(int32_t value) { return value; }
    __device__ void load(const Batch& batch, const Model& model, int64_t rank) { pair.load(batch, model, rank); }
    __device__ void finish_top(const Model& model) { pair.finish_top(model); }
    __device__ int32_t rows() const { return pair.m; }
    __device__ int32_t columns() const { return pair.n; }
    __device__ __forceinline__ void load_columns(int32_t before) {
        GPUALIGN_UNROLL
        for (int c = 0; c < width; c++) column_code[c] = before + c < pair.n ? pair.text[before + c] : 0;
    }
    __device__ __forceinline__ void start_row(int32_t i) {
        row = table + (i <= pair.m ? pair.pattern[i - 1] * symbols : 0);
    }
    __device__ __forceinline__ Word score(int c) const { return row[column_code[c]]; }
    __device__ __forceinline__ bool ends_at(int32_t i) const { return i == pair.m; }
    template <class Columns>
    __device__ __forceinline__ void finish(const Model& model, int32_t, int32_t before, const Columns& g) {
        GPUALIGN_UNROLL
        for (int c = 0; c < width; c++) {
            GPUALIGN_UNROLL
            for (int q = 0; q <= GAPS; q++) pair.offer(model, g[c][q], q, before + c + 1);
        }
    }
    __device__ void write(const Batch& batch, const Model& model, bool traced) const {
        pair.write(batch, model, traced);
    }
};

// Two pairs in 16 bits each; the scores of pattern symbols 0..3 against a column's symbol are four bytes, and one
// byte permutation picks both pairs' scores, signs extended. Other: pattern symbols >= 4 score `other` everywhere.
template <int width, bool Other> struct Packed {
    using Word = int16x2;
    static constexpr int pairs = 2;
    OnePair pair[2];
    const uint32_t* table;  // a symbol's four bytes
    uint32_t other;         // the score, twice
    uint32_t profile[2][width];
    uint32_t selector, known, unknown;

    static __device__ __forceinline__ Word both(int32_t value) { return int16x2::of(value, value); }
    __device__ void load(const Batch& batch, const Model& model, int64_t rank) {
        pair[0].load(batch, model, 2 * rank);
        pair[1].load(batch, model, 2 * rank + 1);
    }
    __device__ void finish_top(const Model& model) {
        pair[0].finish_top(model);
        pair[1].finish_top(model);
    }
    __device__ int32_t rows() const { return max(pair[0].m, pair[1].m); }
    __device__ int32_t columns() const { return max(pair[0].n, pair[1].n); }
    __device__ __forceinline__ void load_columns(int32_t before) {
        GPUALIGN_UNROLL
        for (int half = 0; half < 2; half++) {
            GPUALIGN_UNROLL
            for (int c = 0; c < width; c++)
                profile[half][c] = table[before + c < pair[half].n ? pair[half].text[before + c] : 0];
        }
    }
    __device__ __forceinline__ void start_row(int32_t i) {
        const uint32_t a = i <= pair[0].m ? pair[0].pattern[i - 1] : 0;
        const uint32_t b = i <= pair[1].m ? pair[1].pattern[i - 1] : 0;
        // bytes a, sign of a, 4 + b, sign of b
        selector = (a & 3) * 0x11u + (b & 3) * 0x1100u + 0xc480u;
        if (Other) {
            known = (a < 4 ? 0xffffu : 0u) | (b < 4 ? 0xffff0000u : 0u);
            unknown = other & ~known;
        }
    }
    __device__ __forceinline__ Word score(int c) const {
        const uint32_t scores = permute_bytes(profile[0][c], profile[1][c], selector);
        return int16x2(Other ? (scores & known) | unknown : scores);
    }
    __device__ __forceinline__ bool ends_at(int32_t i) const { return i == pair[0].m || i == pair[1].m; }
    template <class Columns>
    __device__ __forceinline__ void finish(const Model& model, int32_t i, int32_t before, const Columns& g) {
        if (i == pair[0].m) finish_half<0>(model, before, g);
        if (i == pair[1].m) finish_half<1>(model, before, g);
    }
    template <int half, class Columns>
    __device__ __forceinline__ void finish_half(const Model& model, int32_t before, const Columns& g) {
        GPUALIGN_UNROLL
        for (int c = 0; c < width; c++) {
            GPUALIGN_UNROLL
            for (int q = 0; q <= GAPS; q++) pair[half].offer(model, lane_of(g[c][q], half), q, before + c + 1);
        }
    }
    __device__ void write(const Batch& batch, const Model& model, bool traced) const {
        pair[0].write(batch, model, traced);
        pair[1].write(batch, model, traced);
    }
};

}  // namespace gapsmis
}  // namespace gpualign
