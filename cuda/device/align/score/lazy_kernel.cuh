// LazyRScan over a list of tasks: what its kernels for all modes share (cuda/pairwise.cu, cuda/pairwise_ends.cu,
// cuda/pairwise_few.cu).
#pragma once
#include "device/align/score/lazy_scan.cuh"

namespace gpualign {
namespace nw {
namespace {

constexpr int block_threads = 64;

__device__ __forceinline__ void load_table(int32_t* table, const LazyScheme& scheme) {
    for (int i = threadIdx.x; i < scheme.symbols * scheme.symbols; i += block_threads)
        table[i] = scheme.scores[i] + 2 * scheme.shift;
    __syncthreads();
}

enum Profiles { bytes, words, table };

// LazyRScan over all tasks; `column` has two columns of `rows` words a lane for every resident warp.
template <class Word, int K, bool Affine, template <class, int> class Ends, int Kind>
__device__ __forceinline__ void lazy(const LazyTask* tasks, int count, unsigned* ticket, const LazyScheme& scheme,
    const DeviceSequences& queries, const DeviceSequences& targets, const int32_t* pair_target, uint32_t* column,
    int rows, int32_t* scores) {
    extern __shared__ uint4 shared[];
    const int64_t warp = (int64_t(blockIdx.x) * block_threads + threadIdx.x) / warp_size;
    uint32_t* column_h = column + warp * 2 * rows * warp_size;
    uint32_t* column_e = column_h + int64_t(rows) * warp_size;
    if (Kind == table) load_table(reinterpret_cast<int32_t*>(shared), scheme);
    for (int at = next_task(ticket); at < count; at = next_task(ticket)) {
        const auto run = [&](auto& profile) {
            lazy_task<Word, K, Affine, Ends>(
                tasks[at], profile, scheme, queries, targets, pair_target, column_h, column_e, scores);
        };
        if constexpr (Kind == bytes) {
            SharedProfile<K> profile{shared};
            run(profile);
        } else if constexpr (Kind == words) {
            SharedWords<Word, K> profile{shared};
            run(profile);
        } else {
            TableProfile<K> profile{reinterpret_cast<const int32_t*>(shared), scheme.symbols, {}};
            run(profile);
        }
    }
}

}  // namespace
}  // namespace nw
}  // namespace gpualign

#define LAZY(name, Word, K, Affine, Ends, Kind) \
    extern "C" __global__ void __launch_bounds__(block_threads) \
        name(const LazyTask* tasks, int count, unsigned* ticket, LazyScheme scheme, DeviceSequences queries, \
            DeviceSequences targets, const int32_t* pair_target, uint32_t* column, int rows, int32_t* scores) { \
        lazy<Word, K, Affine, Ends, Kind>( \
            tasks, count, ticket, scheme, queries, targets, pair_target, column, rows, scores); \
    }

// The kernels of one way to begin and end: for symbols beyond the few of cuda/pairwise_few.cu, and for scores beyond 16
// bits. The columns of a strip are as many as registers and shared memory allow.
#define LAZY_KERNELS(name, gaps, Affine, Ends) \
    LAZY(name##_##gaps##_symbols, int16x2, 16, Affine, Ends, bytes) \
    LAZY(name##_##gaps##_wide, int32_t, Affine ? 16 : 12, Affine, Ends, table)
