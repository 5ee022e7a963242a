// DScan and TiledDScan over a list of strips: what their kernels for all modes share.
#pragma once
#include "device/pairwise/diagonal_scan.cuh"
#include "device/pairwise/lazy_kernel.cuh"

namespace gpualign {
namespace nw {
namespace {

// DScan (Keep) and TiledDScan. `ring` borders of `rows` rows are reused in turn, each after its reader has gone. After
// the progress of all strips come the best scores so far, of each pair.
template <class Ends, bool Affine, bool Keep, class Columns, class Found>
__device__ __forceinline__ void diagonals(const StripTask* tasks, int count, unsigned* ticket, const LazyScheme& scheme,
    const DeviceSequences& queries, const DeviceSequences& targets, int2* borders, int ring, int rows, int* progress,
    uint32_t* directions, Found* found) {
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
}  // namespace nw
}  // namespace gpualign
