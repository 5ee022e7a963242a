// Scores of `pairwise` with a query's rows over the lanes of a group: see device/align/score/query_lanes.cuh. A block
// takes a query with some of its targets, the host side is gpualign/align/score/device/query_lanes.py.
#include "device/align/score/query_lanes_ends.cuh"

#ifndef LANES  // of a group
#define LANES 8
#endif
#ifndef ROWS  // of a lane
#define ROWS 32
#endif
#ifndef OPEN  // what the first and each further symbol of a gap cost
#define OPEN 12
#endif
#ifndef EXTEND
#define EXTEND 1
#endif
#ifndef ENDS  // where alignments begin and end: 0 anywhere, 1 in the corners, 2 on the borders
#define ENDS 0
#endif

namespace gpualign {
namespace nw {
namespace {

constexpr int rows_of_tile = LANES * ROWS;

// Calls tile(profile, first row, last tile?) for each tile of each task's query, top down, all threads of the block at
// once.
template <class Tile>
__device__ __forceinline__ void each_tile(const LazyTask* tasks, int count, unsigned* ticket, const LazyScheme& scheme,
    const DeviceSequences& queries, int lowest, int more_at_first, const Tile& tile) {
    extern __shared__ uint4 shared[];
    __shared__ int taken;
    for (;;) {
        if (threadIdx.x == 0) taken = int(atomicAdd(ticket, 1u));
        __syncthreads();
        const int at = taken;
        __syncthreads();  // all have read it: a query without symbols has no tile
        if (at >= count) return;
        const LazyTask task = tasks[at];
        const uint8_t* query = queries.codes + queries.offsets[task.query];
        const int n = int(queries.offsets[task.query + 1] - queries.offsets[task.query]);
        const int tiles = (n + rows_of_tile - 1) / rows_of_tile;
        for (int t = 0; t < tiles; t++) {
            const int first = n - (tiles - t) * rows_of_tile;
            QueryProfile<LANES, ROWS>{shared}.build(query, first, scheme, lowest, more_at_first);
            __syncthreads();
            tile(task, shared, n, first, t);
            __syncthreads();
        }
    }
}

// Calls pairs(set) for the sets of two targets a group that are this warp's.
template <class Pairs> __device__ __forceinline__ void each_set(const LazyTask& task, const Pairs& pairs) {
    constexpr int of_set = 2 * (warp_size / LANES);
    for (int set = threadIdx.x / warp_size; set * of_set < task.count; set += lane_threads / warp_size) pairs(set);
}

// Where a group keeps its columns of a tile's last row; a task's last target is its longest.
template <class Row>
__device__ __forceinline__ Row* row_of(Row* rows, int64_t columns, const LazyTask& task, int set,
    const DeviceSequences& targets, const int32_t* pair_target) {
    const int longest = pair_target[task.first + task.count - 1];
    const int64_t m = targets.offsets[longest + 1] - targets.offsets[longest];
    const int group = set * (warp_size / LANES) + threadIdx.x % warp_size / LANES;
    return rows + blockIdx.x * columns + group * m;
}

}  // namespace

#if ENDS == 0
// `rows` has `columns` for each block. A query's scores begin `stride` after those of the one before, where they are
// not in one list of pairs (0). `limit` is the highest score of two symbols.
#define KERNEL(name, Tiled) \
    extern "C" __global__ void __launch_bounds__(lane_threads, 2) name(const LazyTask* tasks, int count, \
        unsigned* ticket, LazyScheme scheme, DeviceSequences queries, DeviceSequences targets, \
        const int32_t* pair_target, TileRow* rows, int64_t columns, int limit, int stride, int32_t* scores) { \
        each_tile(tasks, count, ticket, scheme, queries, -half_limit, 0, \
            [&](const LazyTask& task, const uint4* profile, int n, int first, int t) { \
                each_set(task, [&](int set) { \
                    const TwoTargets two = two_targets<LANES>(task, set, targets, pair_target); \
                    local_lanes<LANES, ROWS, OPEN, EXTEND, Tiled>(profile, two, t, first + rows_of_tile == n, limit, \
                        scheme.symbols, Tiled ? row_of(rows, columns, task, set, targets, pair_target) : nullptr, \
                        scores + int64_t(task.query) * stride); \
                }); \
            }); \
    }
#else
// `limit` is the score of two symbols that never stand in one column.
#define KERNEL(name, Tiled) \
    extern "C" __global__ void __launch_bounds__(lane_threads, 2) name(const LazyTask* tasks, int count, \
        unsigned* ticket, LazyScheme scheme, DeviceSequences queries, DeviceSequences targets, \
        const int32_t* pair_target, WideTileRow* rows, int64_t columns, int limit, int stride, int32_t* scores) { \
        each_tile(tasks, count, ticket, scheme, queries, limit, OPEN - EXTEND, \
            [&](const LazyTask& task, const uint4* profile, int n, int first, int t) { \
                each_set(task, [&](int set) { \
                    const TwoTargets two = two_targets<LANES>(task, set, targets, pair_target); \
                    BorderLanes<LANES, ROWS, OPEN - EXTEND, ENDS == 1, Tiled>{scheme, two, n, first, \
                        int(threadIdx.x % LANES), \
                        Tiled ? row_of(rows, columns, task, set, targets, pair_target) : nullptr, \
                        first + rows_of_tile == n} \
                        .score(profile, t, scores + int64_t(task.query) * stride); \
                }); \
            }); \
    }
#endif

KERNEL(lanes, false)
KERNEL(lanes_tiled, true)

}  // namespace nw
}  // namespace gpualign
