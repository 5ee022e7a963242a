// How a warp fills the layers of bounded-gap alignment and walks back through them.
//
// A pair belongs to `lanes` neighbouring lanes (1: thread per pair, 32: warp per pair). A lane keeps a strip of `width`
// columns in registers and goes down the rows; lane r works one row behind lane r-1 and takes the strip's left edge
// from it by a shuffle, so no lane waits for a scan along the row. What leaves the last lane's strip goes through the
// `edges` buffer to the next pass over the text.
#pragma once
#include <cstdint>

#include "device/align/gaps/pairs.cuh"
#include "device/warp.cuh"

namespace gpualign {
namespace gapsmis {

// One warp's memory. Null where a kernel does not need it.
struct Workspace {
    uint32_t* edges;  // (rows, 2K+1, 32 / lanes): G_0..G_K and D_1..D_K right of the last strip of a pass
    uint32_t* checkpoints;  // (bands - 1, passes, width * (2K+1), 32): the columns' state below each band but the last
    uint32_t* directions;  // (passes, band, 32, words): of the band at hand
    int32_t band;  // rows whose directions are kept at once
};

__device__ __forceinline__ uint32_t raw(int32_t word) { return uint32_t(word); }
__device__ __forceinline__ uint32_t raw(int16x2 word) { return word.bits; }
__device__ __forceinline__ void from_raw(int32_t& word, uint32_t bits) { word = int32_t(bits); }
__device__ __forceinline__ void from_raw(int16x2& word, uint32_t bits) { word.bits = bits; }

// Stores `count` words at an address that is a multiple of them.
template <int count> __device__ __forceinline__ void store_words(uint32_t* to, const uint32_t* words) {
    if (count % 4 == 0) {
        GPUALIGN_UNROLL
        for (int w = 0; w < count; w += 4)
            reinterpret_cast<uint4*>(to)[w / 4] = make_uint4(words[w], words[w + 1], words[w + 2], words[w + 3]);
    } else if (count % 2 == 0) {
        GPUALIGN_UNROLL
        for (int w = 0; w < count; w += 2) reinterpret_cast<uint2*>(to)[w / 2] = make_uint2(words[w], words[w + 1]);
    } else {
        GPUALIGN_UNROLL
        for (int w = 0; w < count; w++) to[w] = words[w];
    }
}

// How the directions of a strip's row lie in words.
template <int width, bool Strict> struct DirectionLayout {
    static constexpr int layer_bits = direction_bits<Strict>;
    static constexpr int layers_per_word = 32 / layer_bits;
    static constexpr int used = GAPS * layer_bits;
    static constexpr int cell_bits = used <= 4 ? 4 : used <= 8 ? 8 : used <= 16 ? 16 : 32 * ((used + 31) / 32);
    static constexpr int cell_words = (cell_bits + 31) / 32;
    static constexpr int words = width * cell_bits / 32;

    template <class Word> static __device__ __forceinline__ void pack(uint32_t* strip, const Word* cell, int c) {
        static_assert(width * cell_bits % 32 == 0, "a strip's directions fill whole words");
        if (cell_bits < 32) {
            strip[c * cell_bits / 32] |= raw(cell[0]) << (c * cell_bits % 32);
        } else {
            GPUALIGN_UNROLL
            for (int w = 0; w < cell_words; w++) strip[c * cell_words + w] = raw(cell[w]);
        }
    }
    static __device__ __forceinline__ int32_t unpack(const uint32_t* strip, int c, int q) {
        const int bit = c * cell_bits + (q - 1) * layer_bits;
        return int32_t(strip[bit / 32] >> (bit % 32));
    }
};

// The work of one warp on the pairs that its lanes hold. All lanes call every member together.
template <class Pairs, int width, int lanes, bool Strict> struct WarpTask {
    using Word = typename Pairs::Word;
    using Layout = DirectionLayout<width, Strict>;
    static constexpr int K = GAPS;
    static constexpr int state = 2 * K + 1;
    static constexpr int groups = 32 / lanes;

    Pairs pairs;
    const Model model;
    const Workspace work;
    int32_t rows, passes;  // of the longest pair in the warp
    const int lane, group, rank;

    __device__ WarpTask(
        const Batch& batch, const Model& model, const Workspace& work, const Pairs& scoring, int64_t task)
        : pairs(scoring), model(model), work(work), lane(threadIdx.x % 32), group(lane / lanes), rank(lane % lanes) {
        pairs.load(batch, model, task * groups + group);
        rows = warp_max(pairs.rows());
        passes = (warp_max(pairs.columns()) + width * lanes - 1) / (width * lanes);
        pairs.finish_top(model);
    }

    // Rows first+1..last over the whole text, from the top or from the checkpoint of row `first`. Trace keeps the
    // directions; `answer` offers the rows where patterns end, Save writes a checkpoint below each band.
    template <bool Trace, bool Save> __device__ void sweep(int32_t first, int32_t last, bool answer) {
        for (int32_t pass = 0; pass < passes; pass++) {
            const int32_t before = (pass * lanes + rank) * width;  // columns left of this strip
            Word g[width][K + 1], inserts[width][K + 1], right_d[K + 1], above_left[K + 1], ahead[state];
            pairs.load_columns(before);
            begin_strip(g, inserts, above_left, first, pass, before);
            GPUALIGN_UNROLL
            for (int q = 0; q <= K; q++) right_d[q] = Pairs::both(0);
            load_edge(ahead, first + 1, pass);
            for (int32_t step = 0; step < last - first + lanes - 1; step++) {
                const int32_t i = first + 1 + step - rank;
                Word left_g[K + 1], left_d[K + 1];
                take_edge(left_g, left_d, g[width - 1], right_d, ahead);
                if (i < last) load_edge(ahead, i + 1, pass);
                if (lanes > 1 && (i <= first || i > last)) continue;
                pairs.start_row(i);
                uint32_t bits[Layout::words > 0 ? Layout::words : 1] = {};
                row<Trace>(g, inserts, left_g, left_d, above_left, bits);
                GPUALIGN_UNROLL
                for (int q = 0; q < K; q++) right_d[q] = left_d[q];
                if (Trace) store_words<Layout::words>(directions(pass, i - first - 1, lane), bits);
                if (rank == lanes - 1 && pass + 1 < passes) store_edge(g[width - 1], right_d, i);
                if (answer && pairs.ends_at(i)) pairs.finish(model, i, before, g);
                if (Save && i % work.band == 0 && i < rows) save_strip(g, inserts, i, pass);
            }
            __syncwarp();
        }
    }

    // All rows, then the traceback: the last band's directions are at hand, earlier bands are computed again.
    __device__ void align_and_trace(Gap* gaps, int32_t* start) {
        const bool whole = rows <= work.band;
        int32_t first = whole ? 0 : (rows - 1) / work.band * work.band, last = rows;
        if (!whole) align<true>();
        Walker<Strict> walker(0, 0, 0);
        bool walks = false;
        Gap* list = gaps + int64_t(max(pairs.pair.index, 0)) * K;
        for (;;) {
            sweep<true, false>(first, last, whole);
            if (last == rows) {
                if (whole) gather();
                const OnePair& pair = pairs.pair;
                walks = rank == 0 && pair.index >= 0 && pair.best.gaps >= 0 && model.possible(pair.m, pair.n);
                if (walks) walker = Walker<Strict>(pair.m, pair.best.end, pair.best.gaps);
            }
            if (!WALK) return;  // a benchmark copies the directions to the host instead
            __syncwarp();
            if (walks) walk(walker, first, list);
            __syncwarp();
            if (first == 0) break;
            last = first;
            first -= work.band;
        }
        if (walks) {
            walker.finish(model, list);
            start[pairs.pair.index] = walker.j;
        }
        if (rank == 0 && pairs.pair.index >= 0)
            for (int q = walks ? pairs.pair.best.gaps : 0; q < K; q++) list[q] = Gap{0, 0, 0};
    }

    // All rows: the answer, and with Save the checkpoints of a later traceback.
    template <bool Save> __device__ void align() {
        sweep<false, Save>(0, rows, true);
        gather();
    }

private:
    // Each lane has seen the ends in its own strips.
    __device__ __forceinline__ void gather() {
        if constexpr (lanes > 1) {
            Best& best = pairs.pair.best;
            for (int step = lanes / 2; step; step >>= 1) {
                const int32_t score = __shfl_xor_sync(~0u, best.score, step);
                const int32_t count = __shfl_xor_sync(~0u, best.gaps, step);
                best.offer(score, count, __shfl_xor_sync(~0u, best.end, step));
            }
        }
    }

    template <bool Trace>
    __device__ __forceinline__ void row(Word (&g)[width][K + 1], Word (&inserts)[width][K + 1],
        const Word (&left_g)[K + 1], Word (&left_d)[K + 1], Word (&above_left)[K + 1], uint32_t* bits) {
        Word corner[K + 1];
        GPUALIGN_UNROLL
        for (int q = 0; q <= K; q++) {
            corner[q] = above_left[q];
            above_left[q] = left_g[q];
        }
        GPUALIGN_UNROLL
        for (int c = 0; c < width; c++) {
            Word of_cell[Layout::cell_words > 0 ? Layout::cell_words : 1];
            cell<Word, Strict, Trace, Layout::layers_per_word>(
                K, pairs.score(c), g[c], inserts[c], left_d, corner, of_cell);
            if constexpr (Trace && K > 0) Layout::pack(bits, of_cell, c);
        }
    }

    // The strip's columns and the column left of them at row `first`.
    __device__ __forceinline__ void begin_strip(Word (&g)[width][K + 1], Word (&inserts)[width][K + 1],
        Word (&above_left)[K + 1], int32_t first, int32_t pass, int32_t before) {
        if (first == 0) {
            GPUALIGN_UNROLL
            for (int c = 0; c < width; c++) {
                GPUALIGN_UNROLL
                for (int q = 0; q <= K; q++) g[c][q] = inserts[c][q] = Pairs::both(model.top(q, before + c + 1));
            }
            GPUALIGN_UNROLL
            for (int q = 0; q <= K; q++) above_left[q] = Pairs::both(model.top(q, before));
            return;
        }
        const uint32_t* saved = strip_state(first, pass);
        GPUALIGN_UNROLL
        for (int c = 0; c < width; c++) {
            GPUALIGN_UNROLL
            for (int q = 0; q <= K; q++) {
                from_raw(g[c][q], saved[(c * state + q) * 32 + lane]);
                if (q < K) from_raw(inserts[c][q], saved[(c * state + K + 1 + q) * 32 + lane]);
            }
        }
        // the neighbour's last column: the lane to the left, or the group's last lane one pass earlier
        const uint32_t* neighbor_state =
            rank > 0 ? saved + lane - 1 : strip_state(first, max(pass - 1, 0)) + lane + lanes - 1;
        GPUALIGN_UNROLL
        for (int q = 0; q <= K; q++) {
            above_left[q] = Pairs::both(model.border(q, first));
            if (before > 0) from_raw(above_left[q], neighbor_state[((width - 1) * state + q) * 32]);
        }
    }

    __device__ __forceinline__ void save_strip(
        const Word (&g)[width][K + 1], const Word (&inserts)[width][K + 1], int32_t i, int32_t pass) {
        uint32_t* saved = strip_state(i, pass);
        GPUALIGN_UNROLL
        for (int c = 0; c < width; c++) {
            GPUALIGN_UNROLL
            for (int q = 0; q <= K; q++) {
                saved[(c * state + q) * 32 + lane] = raw(g[c][q]);
                if (q < K) saved[(c * state + K + 1 + q) * 32 + lane] = raw(inserts[c][q]);
            }
        }
    }

    // What enters a strip from the left in row i: from the lane to the left, or what load_edge fetched ahead.
    __device__ __forceinline__ void take_edge(Word (&left_g)[K + 1], Word (&left_d)[K + 1],
        const Word (&right_g)[K + 1], const Word (&right_d)[K + 1], const Word (&ahead)[state]) {
        GPUALIGN_UNROLL
        for (int q = 0; q <= K; q++) {
            left_g[q] = ahead[q];
            if (q < K) left_d[q] = ahead[K + 1 + q];
            if (lanes > 1) {
                const uint32_t neighbor_g = __shfl_up_sync(~0u, raw(right_g[q]), 1);
                const uint32_t neighbor_d = q < K ? __shfl_up_sync(~0u, raw(right_d[q]), 1) : 0;
                if (rank > 0) {
                    from_raw(left_g[q], neighbor_g);
                    if (q < K) from_raw(left_d[q], neighbor_d);
                }
            }
        }
    }

    __device__ __forceinline__ void load_edge(Word (&ahead)[state], int32_t i, int32_t pass) {
        if (pass == 0) {
            GPUALIGN_UNROLL
            for (int q = 0; q <= K; q++) {
                ahead[q] = Pairs::both(model.border(q, i));
                if (q < K) ahead[K + 1 + q] = ahead[q];
            }
        } else if (rank == 0) {
            GPUALIGN_UNROLL
            for (int w = 0; w < state; w++)
                from_raw(ahead[w], work.edges[(int64_t(i - 1) * state + w) * groups + group]);
        }
    }

    __device__ __forceinline__ void store_edge(const Word (&right_g)[K + 1], const Word (&right_d)[K + 1], int32_t i) {
        uint32_t* edge = work.edges + int64_t(i - 1) * state * groups + group;
        GPUALIGN_UNROLL
        for (int q = 0; q <= K; q++) {
            edge[q * groups] = raw(right_g[q]);
            if (q < K) edge[(K + 1 + q) * groups] = raw(right_d[q]);
        }
    }

    __device__ __forceinline__ uint32_t* strip_state(int32_t row, int32_t pass) const {
        return work.checkpoints + (int64_t(row / work.band - 1) * passes + pass) * (width * state * 32);
    }
    __device__ __forceinline__ uint32_t* directions(int32_t pass, int32_t row_of_band, int of_lane) const {
        return work.directions + ((int64_t(pass) * work.band + row_of_band) * 32 + of_lane) * Layout::words;
    }

    __device__ __forceinline__ void walk(Walker<Strict>& walker, int32_t first, Gap* list) const {
        const auto bits = [&](int32_t i, int32_t j, int32_t q) {
            const int32_t strip = (j - 1) / width;
            const uint32_t* words = directions(strip / lanes, i - first - 1, group * lanes + strip % lanes);
            return Layout::unpack(words, (j - 1) % width, q);
        };
        walker.advance(bits, first, list);
    }
};

}  // namespace gapsmis
}  // namespace gpualign
