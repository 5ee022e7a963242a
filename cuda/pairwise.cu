// Kernels of `pairwise`: scores (LazyRScan), and alignments (RScan and its traceback).
// The launch numbers are in gpualign/align/score/tuning.py; the host side is gpualign/align/score/device/kernel.py.
#include "device/align/score/lazy_kernel.cuh"
#include "device/align/score/trace_scan.cuh"

#ifndef AFFINE  // the kernels of affine gaps, else those of linear gaps: a run needs either, and all take long to
                // compile
#define AFFINE 1
#endif

namespace gpualign {
namespace nw {

namespace {

// The sweep of RScan. Lanes hold pairs of any queries and targets.
template <class Word, int K, bool Affine>
__device__ __forceinline__ void sweep(const TraceTask* tasks, int count, unsigned* ticket, const LazyScheme& scheme,
    const DeviceSequences& queries, const DeviceSequences& targets, const PairList& pairs, uint32_t* column_h,
    uint32_t* column_e, uint32_t* rows_h, uint32_t* rows_f) {
    extern __shared__ uint4 shared[];
    using W = WordOf<Word>;
    const int lane = threadIdx.x % warp_size;
    if (W::lanes == 1) load_table(reinterpret_cast<int32_t*>(shared), scheme);
    for (int at = next_task(ticket); at < count; at = next_task(ticket)) {
        const TraceTask task = tasks[at];
        Targets<Word, K> mine;
        const uint8_t* query[W::lanes];
        int length[W::lanes], longest = 0;
#pragma unroll
        for (int half = 0; half < W::lanes; half++) {
            const int pair = task.first + min(lane + half * warp_size, task.count - 1);
            const int q = pairs.query[pair], t = pairs.target[pair];
            query[half] = queries.codes + queries.offsets[q];
            length[half] = int(queries.offsets[q + 1] - queries.offsets[q]);
            mine.begin[half] = targets.codes + targets.offsets[t];
            mine.length[half] = int(targets.offsets[t + 1] - targets.offsets[t]);
            longest = max(longest, length[half]);
        }
        const int rows = warp_max(longest);
        for (int strip = 0; strip < task.strips; strip++) {
            const auto go = [&](const auto& row_scores) {
                trace_strip<Word, K, Affine>(task, strip, rows, scheme, row_scores, column_h + task.column_at,
                    column_e + task.column_at, rows_h + task.kept_at, rows_f + task.kept_at, lane);
            };
            const auto symbol_at = [&](int half, int row) { return row < length[half] ? query[half][row] : 0; };
            if constexpr (W::lanes == 2) {
                SharedProfile<K> profile{shared};
                profile.build(mine, strip * K, scheme);
                go([&](int row, const auto& use) {
                    TwoRows<K> scores;
#pragma unroll
                    for (int q = 0; q < K / 8; q++) {
                        scores.low[q] = shared[(symbol_at(0, row) * (K / 8) + q) * block_threads + threadIdx.x];
                        scores.high[q] = shared[(symbol_at(1, row) * (K / 8) + q) * block_threads + threadIdx.x];
                    }
                    use(scores);
                });
            } else {
                TableProfile<K> profile{reinterpret_cast<const int32_t*>(shared), scheme.symbols, {}};
                profile.build(mine, strip * K, scheme);
                go([&](int row, const auto& use) { profile.with(symbol_at(0, row), use); });
            }
        }
    }
}

template <class Word, int K, bool Affine>
__device__ __forceinline__ void trace(const TraceTask* tasks, int count, const LazyScheme& scheme,
    const DeviceSequences& queries, const DeviceSequences& targets, const PairList& pairs, const uint32_t* column_h,
    const uint32_t* column_e, const uint32_t* rows_h, const uint32_t* rows_f, const Matching& matching,
    TraceResult* results, uint32_t* runs, const int64_t* runs_at) {
    using W = WordOf<Word>;
    const int warp = int((blockIdx.x * int64_t(block_threads) + threadIdx.x) / warp_size),
              lane = threadIdx.x % warp_size;
    if (warp >= count * W::lanes) return;
    const TraceTask task = tasks[warp / W::lanes];
    const int half = warp % W::lanes, at = lane + half * warp_size;
    if (at >= task.count) return;
    const int pair = task.first + at, q = pairs.query[pair], t = pairs.target[pair];
    int rows = 0;  // of the sweep: the longest query of the task
    for (int other = 0; other < task.count; other++) {
        const int o = pairs.query[task.first + other];
        rows = max(rows, int(queries.offsets[o + 1] - queries.offsets[o]));
    }
    const Kept<Word> kept{
        column_h + task.column_at, column_e + task.column_at, rows_h + task.kept_at, rows_f + task.kept_at, lane, half};
    results[pair] = trace_pair<Word, K, Affine>(task, kept, scheme, queries.codes + queries.offsets[q],
        int(queries.offsets[q + 1] - queries.offsets[q]), targets.codes + targets.offsets[t],
        int(targets.offsets[t + 1] - targets.offsets[t]), rows, matching, runs + runs_at[pair]);
}

}  // namespace

#if AFFINE
LAZY_KERNELS(lazy, affine, true, Corners)
#else
LAZY_KERNELS(lazy, linear, false, Corners)
#endif

#define RSCAN(name, Word, Affine) \
    extern "C" __global__ void __launch_bounds__(block_threads) sweep_##name(const TraceTask* tasks, int count, \
        unsigned* ticket, LazyScheme scheme, DeviceSequences queries, DeviceSequences targets, PairList pairs, \
        uint32_t* column_h, uint32_t* column_e, uint32_t* rows_h, uint32_t* rows_f) { \
        sweep<Word, 16, Affine>( \
            tasks, count, ticket, scheme, queries, targets, pairs, column_h, column_e, rows_h, rows_f); \
    } \
    extern "C" __global__ void __launch_bounds__(block_threads) trace_##name(const TraceTask* tasks, \
        LazyScheme scheme, DeviceSequences queries, DeviceSequences targets, PairList pairs, const uint32_t* column_h, \
        const uint32_t* column_e, const uint32_t* rows_h, const uint32_t* rows_f, TraceResult* results, \
        uint32_t* runs, const int64_t* runs_at, int count, Matching matching) { \
        trace<Word, 16, Affine>(tasks, count, scheme, queries, targets, pairs, column_h, column_e, rows_h, rows_f, \
            matching, results, runs, runs_at); \
    }

#if AFFINE
RSCAN(affine, int16x2, true)
RSCAN(affine_wide, int32_t, true)
#else
RSCAN(linear, int16x2, false)
RSCAN(linear_wide, int32_t, false)
#endif

// The pairs of LazyRScan's tasks whose scores reach the least, in no order as (pair, score).
extern "C" __global__ void keep_scores(const LazyTask* tasks, DeviceSequences queries, DeviceSequences targets,
    const int32_t* pair_target, const int32_t* scores, ScoreLines lines, int2* found, unsigned* found_count,
    int count) {
    const int at = int((blockIdx.x * int64_t(blockDim.x) + threadIdx.x) / warp_size), lane = threadIdx.x % warp_size;
    if (at >= count) return;
    const LazyTask task = tasks[at];
    const double n = double(queries.offsets[task.query + 1] - queries.offsets[task.query]);
    for (int first = 0; first < task.count; first += warp_size) {
        const int pair = task.first + first + lane;
        bool near = false;
        if (first + lane < task.count) {
            const int t = pair_target[pair];
            const double m = double(targets.offsets[t + 1] - targets.offsets[t]), longer = fmax(n, m), both = n + m;
            // as the host: rounding must not drop a pair that just reaches it
            const double minimum = fmin(lines.p * longer + lines.q * both, lines.r * longer + lines.s * both) - 1e-6;
            near = double(scores[pair]) >= floor(minimum);
        }
        const unsigned kept = __ballot_sync(0xffffffffu, near);
        unsigned index = 0;
        if (lane == 0 && kept) index = atomicAdd(found_count, unsigned(__popc(kept)));
        index = __shfl_sync(0xffffffffu, index, 0) + __popc(kept & ((1u << lane) - 1));
        if (near) found[index] = make_int2(pair, scores[pair]);
    }
}

// Moves each pair's path to its offset in the joined output, from start to end.
extern "C" __global__ void gather_runs(
    const uint32_t* runs, const int64_t* runs_at, const int64_t* joined_at, int count, uint32_t* joined) {
    const int pair = int((blockIdx.x * int64_t(blockDim.x) + threadIdx.x) / warp_size);
    if (pair >= count) return;
    const int64_t begin = joined_at[pair], length = joined_at[pair + 1] - begin;
    for (int64_t r = threadIdx.x % warp_size; r < length; r += warp_size)
        joined[begin + length - 1 - r] = runs[runs_at[pair] + r];
}

}  // namespace nw
}  // namespace gpualign
