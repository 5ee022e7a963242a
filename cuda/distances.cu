// All pairs of two sets: edit distances, or lengths of longest common subsequences, one query a block, one target a
// thread. No spills but for some bytes on compute capability 7.5.
//
// The block keeps the query's profile in shared memory, each thread the column of its target in WORDS registers (two of
// them for edit distances). A query of more than 32 * WORDS symbols takes several strips; what leaves the last row of
// one, two bits a column, waits in global memory for the next.
//
// Macros: WORDS; MODE: 0 infix, 1 prefix, 2 global, 3 indel (as the host numbers them).
#include "abi/verify.hpp"
#include "algo/align/edit/myers_striped.hpp"
#include "algo/align/lcs/lcs.hpp"
#include "device/align/matrix/columns.cuh"

#ifndef WORDS
#define WORDS 4
#endif
#ifndef MODE
#define MODE 2
#endif

namespace gpualign {
namespace distances {

constexpr int kThreads = 128;
constexpr bool kIndel = MODE == 3;
constexpr bool kFollowed = MODE < 2;  // the best of the last row counts
constexpr uint32_t kAbove = MODE == 0 || kIndel ? 0 : 1;  // the row above the first rises
constexpr int kQuads = (WORDS + 3) / 4;
constexpr int kQuartersAtOnce = WORDS > 8 ? 1 : 4;  // of a chunk: long columns fill the instruction cache

// The query's rows [first, first + 32 * WORDS) as a profile: word w of code c at (w / 4 * codes + c) * 4 + w % 4.
__device__ __forceinline__ void build_profile(
    uint32_t* profile, const uint8_t* query, const uint8_t* table, int32_t length, int32_t first, int codes) {
    __syncthreads();
    for (int i = threadIdx.x; i < kQuads * codes * 4; i += kThreads) {
        const int w = i / (codes * 4) * 4 + i % 4;
        profile[i] = MODE == 0 && w < WORDS ? ~striped_rows<uint32_t>(w, WORDS, -first) : 0u;
    }
    __syncthreads();
    for (int r = threadIdx.x; r < 32 * WORDS; r += kThreads) {
        const int32_t i = first + r;
        if (i < 0 || i >= length) continue;
        const int w = kIndel ? r / 32 : r % WORDS, bit = kIndel ? r % 32 : r / WORDS;
        atomicOr(&profile[(w / 4 * codes + table[query[i]]) * 4 + w % 4], 1u << bit);
    }
    __syncthreads();
}

__device__ __forceinline__ void load_masks(const uint4* row, int codes, uint32_t* eq) {
#pragma unroll
    for (int q = 0; q < kQuads; q++) {
        const uint4 v = row[q * codes];
        eq[4 * q] = v.x;
        if (4 * q + 1 < WORDS) eq[4 * q + 1] = v.y;
        if (4 * q + 2 < WORDS) eq[4 * q + 2] = v.z;
        if (4 * q + 3 < WORDS) eq[4 * q + 3] = v.w;
    }
}

// What a thread keeps of its pair.
struct Pair {
    int32_t value;  // distance or length; of the last row, where it is followed
    int32_t best;
};

#if MODE == 3
struct Strip {
    uint32_t row[WORDS];

    __device__ __forceinline__ void start(int32_t) {
#pragma unroll
        for (int w = 0; w < WORDS; w++) row[w] = lcs_first_row<uint32_t>();
    }
    // One column; bits shifted out of `in` enter, those that leave are shifted into `out`.
    __device__ __forceinline__ void step(const uint4* masks, int codes, uint32_t& in, uint32_t& out) {
        uint32_t eq[4 * kQuads];
        load_masks(masks, codes, eq);
        lcs_column(row, [&](int w) { return eq[w]; }, in, out);
    }
    __device__ __forceinline__ void finish(Pair& pair) const {
#pragma unroll
        for (int w = 0; w < WORDS; w++) pair.value += __popc(lcs_grows(row[w]));
    }
};
#else
struct Strip {
    StripedColumn<uint32_t, WORDS> column;

    __device__ __forceinline__ void start(int32_t pad) {
        uint32_t rows[WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; w++) rows[w] = striped_rows<uint32_t>(w, WORDS, pad);
        column.start(rows);
    }
    __device__ __forceinline__ void finish(Pair& pair) const {
        if (kFollowed) return;
#pragma unroll
        for (int w = 0; w < WORDS; w++) pair.value += __popc(column.vp[w]) - __popc(column.vn[w]);
    }
};
#endif

// One strip of a thread's pair. `boundary`: what enters each chunk's columns, and then what leaves them; null for a
// query of one strip. +1 in the high half and -1 in the low one (LCS: the carries in the high one), the first column
// highest. In one piece, as the pair's column stays in registers.
template <bool Several>
__device__ __forceinline__ void run_strip(Pair& pair, const uint4* text, int32_t length, const uint4* profile,
    int codes, int32_t pad, uint32_t* boundary, bool first, bool last) {
    Strip strip;
    strip.start(pad);
    const int32_t chunks = (length + kChunk - 1) / kChunk;
    uint4 next = chunks ? text[0] : uint4{};
    for (int32_t c = 0; c < chunks; c++) {
        const uint4 chunk = next;
        if (c + 1 < chunks) next = text[(c + 1) * kWarp];
        const int32_t count = length - c * kChunk;
        uint32_t in = 0, out = 0;
        if (Several) in = first ? (kAbove ? 0xFFFF0000u : 0u) : boundary[c * kWarp];
        uint32_t in_down = in << 16, downs = 0;
        const auto column = [&](uint32_t symbol) {
            const uint4* row = profile + symbol;
#if MODE == 3
            strip.step(row, codes, in, out);
#else
            uint32_t eq[4 * kQuads], up, down;
            load_masks(row, codes, eq);
            if (Several) {
                strip.column.step(eq, in >> 31, in_down >> 31, up, down);
                in <<= 1;
                in_down <<= 1;
                out = __funnelshift_l(up, out, 1);
                downs = __funnelshift_l(down, downs, 1);
            } else {
                strip.column.step(eq, kAbove, 0u, up, down);
            }
            if (kFollowed && (!Several || last)) {
                pair.value += int32_t(up >> 31) - int32_t(down >> 31);
                pair.best = min(pair.best, pair.value);
            }
#endif
        };
        if (count >= kChunk) {
            uint4 rest = chunk;
#pragma unroll kQuartersAtOnce
            for (int quarter = 0; quarter < 4; quarter++) {
#pragma unroll
                for (int i = 0; i < 4; i++) column(symbol_of(rest, i));
                rest = uint4{rest.y, rest.z, rest.w, 0};
            }
        } else {
#pragma unroll 1
            for (int i = 0; i < count; i++) {
                const uint32_t four = i < 4 ? chunk.x : i < 8 ? chunk.y : i < 12 ? chunk.z : chunk.w;
                column(four >> (8 * (i & 3)) & 0xFFu);
            }
        }
        if (Several && !last) {
            const int shift = count >= kChunk ? 0 : kChunk - count;
            boundary[c * kWarp] = out << (16 + shift) | (kIndel ? 0u : (downs << shift & 0xFFFFu));
        }
    }
    strip.finish(pair);
}

// Symbols that occur: used[s] = 1.
extern "C" __global__ void mark_symbols(const uint8_t* symbols, int64_t count, uint32_t* used) {
    __shared__ uint32_t seen[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) seen[i] = 0;
    __syncthreads();
    for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x)
        seen[symbols[i]] = 1;
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (seen[i]) used[i] = 1;
}

// Interleaves the targets of one warp each; symbols become their codes, `absent` after the end.
extern "C" __global__ void interleave(const uint8_t* symbols, const int64_t* offsets, const int32_t* order,
    const uint8_t* table, const uint32_t* start, int32_t count, uint32_t absent, uint4* text) {
    const uint32_t warp = blockIdx.x, total = start[warp + 1] - start[warp];
    for (uint32_t i = threadIdx.x; i < total; i += blockDim.x) {
        const uint32_t target = warp * kWarp + i % kWarp;
        const int64_t begin = target < uint32_t(count) ? offsets[order[target]] + int64_t(i / kWarp) * kChunk : 0;
        const int64_t end = target < uint32_t(count) ? offsets[order[target] + 1] : 0;
        uint32_t packed[4];
        for (int q = 0; q < 4; q++) {
            packed[q] = 0;
            for (int j = 0; j < 4; j++) {
                const int64_t at = begin + 4 * q + j;
                packed[q] |= (at < end ? table[symbols[at]] : absent) << (8 * j);
            }
        }
        text[start[warp] + i] = uint4{packed[0], packed[1], packed[2], packed[3]};
    }
}

// Queries query_order[first + blockIdx.x] against all targets, in blocks of targets by blockIdx.y. The value of pair
// (q, t) goes to out[blockIdx.x * columns + t]. limits: by length, or null; a value beyond is -1.
extern "C" __global__ void __launch_bounds__(128) distances(const uint8_t* queries, const int64_t* query_offsets,
    const int32_t* query_order, const uint8_t* table, const uint4* text, const uint32_t* start,
    const int32_t* target_order, const int64_t* target_offsets, const int32_t* limits, uint32_t* boundary, int32_t* out,
    int64_t columns, int32_t targets, int32_t first, int32_t codes, int32_t boundary_chunks) {
    extern __shared__ uint4 shared[];
    uint32_t* profile = reinterpret_cast<uint32_t*>(shared);
    const Texts texts{text, start, target_order, target_offsets, targets};
    const int32_t index = first + int32_t(blockIdx.x), query = query_order[index];
    const uint8_t* symbols = queries + query_offsets[query];
    const int32_t n = int32_t(query_offsets[query + 1] - query_offsets[query]);
    const int32_t strips = max(1, (n + 32 * WORDS - 1) / (32 * WORDS));
    const int32_t pad = kIndel ? 0 : strips * 32 * WORDS - n;
    const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    uint32_t* mine = boundary +
                     (int64_t(blockIdx.y) * gridDim.x + blockIdx.x) * (kThreads / kWarp) * boundary_chunks * kWarp +
                     warp * boundary_chunks * kWarp + lane;
    if (strips == 1) build_profile(profile, symbols, table, n, -pad, codes);
    const int32_t batches = (targets + kThreads - 1) / kThreads;
    for (int32_t batch = int32_t(blockIdx.y); batch < batches; batch += gridDim.y) {
        const int32_t at = batch * kThreads + int32_t(threadIdx.x);
        const int32_t target = at < targets ? texts.order[at] : 0;
        const int32_t m = at < targets ? texts.length(target) : 0;
        const uint4* here = text + (at < targets ? start[at / kWarp] + lane : 0);
        Pair pair{kFollowed ? n : kIndel ? 0 : m, n};
        if (strips == 1) {
            run_strip<false>(pair, here, m, shared, codes, pad, nullptr, true, true);
        } else {
            for (int32_t strip = 0; strip < strips; strip++) {
                build_profile(profile, symbols, table, n, strip * 32 * WORDS - pad, codes);
                run_strip<true>(
                    pair, here, m, shared, codes, pad - strip * 32 * WORDS, mine, strip == 0, strip == strips - 1);
            }
        }
        if (at >= targets) continue;
        int32_t value = kIndel ? n + m - 2 * pair.value : kFollowed ? pair.best : pair.value;
        if (limits && value > limits[kFollowed ? n : max(n, m)]) value = -1;
        out[int64_t(blockIdx.x) * columns + target] = value;
    }
}

}  // namespace distances
}  // namespace gpualign
