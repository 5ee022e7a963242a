// Kernels of `pairwise` by strips, DScan and TiledDScan: alignments that begin and end in the corners (global), on the
// borders (semi-global, or where gaps at ends cost less), and anywhere (local); and the traceback.
#include "device/align/score/diagonal_scan.cuh"
#include "device/align/score/lazy_kernel.cuh"
#include "device/align/score/window_walk.cuh"

#ifndef AFFINE  // as in cuda/pairwise.cu
#define AFFINE 1
#endif

namespace gpualign {
namespace nw {

namespace {

// DScan (Keep) and TiledDScan. `ring` borders of `rows` rows are reused in turn, each after its reader has gone. After
// the progress of all strips come the best scores so far, of each pair.
template <class Ends, bool Affine, bool Keep, class Columns>
__device__ __forceinline__ void diagonals(const StripTask* tasks, int count, unsigned* ticket, const LazyScheme& scheme,
    const DeviceSequences& queries, const DeviceSequences& targets, int2* borders, int ring, int rows, int* progress,
    uint32_t* directions, AlignmentEnd* found) {
    extern __shared__ uint4 shared[];
    int32_t* table_of_scores = reinterpret_cast<int32_t*>(shared);
    load_table(table_of_scores, scheme);
    const int lane = threadIdx.x % warp_size;
    for (int at = next_task(ticket); at < count; at = next_task(ticket)) {
        const StripTask task = tasks[at];
        const uint8_t* query = queries.codes + queries.offsets[task.query];
        const uint8_t* target = targets.codes + targets.offsets[task.target];
        const int n = int(queries.offsets[task.query + 1] - queries.offsets[task.query]);
        const int m = int(targets.offsets[task.target + 1] - targets.offsets[task.target]);
        Columns columns;
        columns.build(target, (task.strip * warp_size + lane) * Columns::columns_of_lane, m, scheme, table_of_scores);
        if (at >= ring) {  // who wrote this border before, and who read it
            wait_for(progress, at - ring, done);
            wait_for(progress, at - ring + 1, done);
        }
        strip_of_pair<Ends, Affine, Keep>(task, at, WholePair{}, columns, query, n, m, scheme,
            borders + int64_t((at + ring - 1) % ring) * rows, borders + int64_t(at % ring) * rows, progress,
            progress + count + task.pair, directions + task.directions_at, found);
    }
}

}  // namespace

#define STRIPS(name, Ends, Affine, Keep, Columns) \
    extern "C" __global__ void __launch_bounds__(block_threads) name(const StripTask* tasks, int count, \
        unsigned* ticket, LazyScheme scheme, DeviceSequences queries, DeviceSequences targets, int2* borders, \
        int ring, int rows, int* progress, uint32_t* directions, AlignmentEnd* ends) { \
        diagonals<Ends, Affine, Keep, Columns>( \
            tasks, count, ticket, scheme, queries, targets, borders, ring, rows, progress, directions, ends); \
    }
// With directions, and for scores alone.
#define BOTH_STRIPS(ends, Ends, gaps, Affine) \
    STRIPS(strips_##ends##_##gaps##_nucleotides, Ends, Affine, true, ByteColumns<kept_columns>) \
    STRIPS(strips_##ends##_##gaps##_symbols, Ends, Affine, true, TableColumns<kept_columns>) \
    STRIPS(strips_##ends##scores_##gaps##_nucleotides, Ends, Affine, false, HalfColumns<half_columns>) \
    STRIPS(strips_##ends##scores_##gaps##_symbols, Ends, Affine, false, TableColumns<scored_columns>)

#if AFFINE
BOTH_STRIPS(corners, CornerStrips, affine, true)
BOTH_STRIPS(borders, BorderStrips, affine, true)
BOTH_STRIPS(anywhere, LocalStrips, affine, true)
#else
BOTH_STRIPS(corners, CornerStrips, linear, false)
BOTH_STRIPS(borders, BorderStrips, linear, false)
#endif

// The traceback through DScan's directions, a warp a pair; directions_at is where each pair's first strip begins.
// free_ends: EndBit, where symbols are left out.
extern "C" __global__ void __launch_bounds__(block_threads)
    strips_walk(DeviceSequences queries, DeviceSequences targets, PairList pairs, const AlignmentEnd* ends,
        const uint32_t* directions, const int64_t* directions_at, TraceResult* results, uint32_t* runs,
        const int64_t* runs_at, int count, Matching matching, uint32_t free_ends) {
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
