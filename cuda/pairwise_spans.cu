// Kernels of `pairwise` for alignments that do not begin and end in the corners: on the borders (semi-global, or where
// gaps at ends cost less), and anywhere (local). DScan and TiledDScan with other borders, and the traceback.
#include "device/pairwise/diagonal_tasks.cuh"
#include "device/pairwise/window_walk.cuh"

#ifndef AFFINE  // as in cuda/pairwise.cu
#define AFFINE 1
#endif

namespace gpualign {
namespace nw {

#define SPANS(name, Ends, Affine, Keep, Columns) \
    extern "C" __global__ void __launch_bounds__(block_threads) name(const StripTask* tasks, int count, \
        unsigned* ticket, LazyScheme scheme, DeviceSequences queries, DeviceSequences targets, int2* borders, \
        int ring, int rows, int* progress, uint32_t* directions, AlignmentEnd* ends) { \
        diagonals<Ends, Affine, Keep, Columns>( \
            tasks, count, ticket, scheme, queries, targets, borders, ring, rows, progress, directions, ends); \
    }
// With directions, and for scores alone.
#define BOTH_SPANS(ends, Ends, gaps, Affine) \
    SPANS(spans_##ends##_##gaps##_nucleotides, Ends, Affine, true, ByteColumns<kept_columns>) \
    SPANS(spans_##ends##_##gaps##_symbols, Ends, Affine, true, TableColumns<kept_columns>) \
    SPANS(spans_##ends##scores_##gaps##_nucleotides, Ends, Affine, false, HalfColumns<half_columns>) \
    SPANS(spans_##ends##scores_##gaps##_symbols, Ends, Affine, false, TableColumns<scored_columns>)

#if AFFINE
BOTH_SPANS(borders, BorderStrips, affine, true)
BOTH_SPANS(anywhere, LocalStrips, affine, true)
#else
BOTH_SPANS(borders, BorderStrips, linear, false)
#endif

// The traceback, a warp a pair, as dscan_walk; free_ends: EndBit, where symbols are left out.
extern "C" __global__ void __launch_bounds__(block_threads) spans_walk(DeviceSequences queries, DeviceSequences targets,
    PairList pairs, const AlignmentEnd* ends, const uint32_t* directions, const int64_t* directions_at,
    TraceResult* results, uint32_t* runs, const int64_t* runs_at, int count, Matching matching, uint32_t free_ends) {
    __shared__ __align__(16) Window windows[block_threads / warp_size];
    const int pair = int((blockIdx.x * int64_t(block_threads) + threadIdx.x) / warp_size);
    if (pair >= count) return;
    const int q = pairs.query[pair], t = pairs.target[pair];
    const uint8_t *query = queries.codes + queries.offsets[q], *target = targets.codes + targets.offsets[t];
    const int n = int(queries.offsets[q + 1] - queries.offsets[q]),
              m = int(targets.offsets[t + 1] - targets.offsets[t]);
    Path path(runs + runs_at[pair]);
    Walk walk = path.begin(ends[pair].found(), n, m, free_ends);
    WindowWalk(query, n, target, directions + directions_at[pair], windows[threadIdx.x / warp_size], matching)
        .run(walk, path);
    path.finish(walk, free_ends);
    if (threadIdx.x % warp_size == 0) results[pair] = path.result;
}

}  // namespace nw
}  // namespace gpualign
