// Reads to alignments: a warp takes a read, or a pair, from bases to records (algo/map/template.hpp).
//
// WORDS: the longest read has 32 * WORDS bases. Warps stay and fetch templates until there are none left, as repeats take a
// hundred times as long as other reads.
#include "algo/map/template.hpp"
#include "device/warp.cuh"

#ifndef WORDS
#define WORDS 5
#endif
#ifndef WARPS
#define WARPS 4
#endif
#ifndef BLOCKS
#define BLOCKS 8
#endif

using namespace gpualign;

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS) map_reads(const __grid_constant__ MapBatch batch) {
    extern __shared__ uint4 memory[];
    const uint32_t warp = threadIdx.x / 32;
    MapShared<WORDS>& shared = reinterpret_cast<MapShared<WORDS>*>(memory)[warp];
    const uint64_t bytes = MapWorkspace::bytes(batch.workspace_hits, batch.workspace_loci, batch.workspace_trace);
    const MapWorkspace workspace = MapWorkspace::at(batch.workspace + (blockIdx.x * uint64_t(WARPS) + warp) * bytes, batch.workspace_hits,
                                     batch.workspace_loci, batch.workspace_trace);
    const Warp group;
    MapTemplate<WORDS, Warp> mapper(group, batch, workspace, shared);
    while (true) {
        uint32_t next = 0;
        if (group.lane() == 0) next = atomicAdd(batch.next_template, 1u);
        next = __shfl_sync(~0u, next, 0);
        if (next >= batch.template_count) return;
        mapper.map(next);
        __syncwarp();
    }
}
