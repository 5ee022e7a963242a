// Reads to alignments, in steps over the batch: the loci of every read (a warp a read), at which of them a template is
// reported, and the records. The last two steps are two kernels each: lanes take the easy templates or reads, and warps
// those that lanes leave. Templates that their seeds do not explain are left to map_slow_path.cu.
//
// WORDS: the longest read has 32 * WORDS bases. Warps take reads until there are none left, as reads in repeats take a
// hundred times as long as others. The kernels are small, as warps in different parts of a large one wait for their
// instructions.
#include "algo/map/choose_step.hpp"
#include "algo/map/find_step.hpp"
#include "algo/map/report_step.hpp"
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

namespace {

// Calls step(item, workspace, shared) for the items [0, count), of which each warp takes the next one.
template <class Step>
__device__ void for_each_turn(const Warp& group, const MapBatch& batch, uint32_t* turn, uint32_t count, Step&& step) {
    extern __shared__ uint4 memory[];
    MapShared<WORDS>& shared = reinterpret_cast<MapShared<WORDS>*>(memory)[threadIdx.x / Warp::kLanes];
    const uint64_t bytes = MapWorkspace::bytes(batch.workspace_hits, batch.workspace_loci, batch.workspace_band);
    MemoryCursor cursor(batch.workspace + warp_number() * bytes);
    const MapWorkspace workspace =
        MapWorkspace::at(cursor, batch.workspace_hits, batch.workspace_loci, batch.workspace_band);
    while (true) {
        const uint32_t item = group.take_together(turn, 1);
        if (item >= count) return;
        step(item, workspace, shared);
        group.sync();
    }
}

__device__ uint32_t thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

}  // namespace

#define KERNEL(name) \
    extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS) name(const __grid_constant__ MapBatch batch)

KERNEL(find_loci) {
    const Warp group;
    for_each_turn(
        group, batch, &batch.counters->found, batch.read_count, [&](uint32_t r, const auto& workspace, auto& shared) {
            FindStep<WORDS, Warp>(group, batch, workspace, shared).find(r);
        });
}

KERNEL(choose_loci) {
    if (thread_number() < batch.template_count) ChooseStep<WORDS, Lane>(Lane(), batch, thread_number()).choose();
}

KERNEL(rescue_mates) {
    const Warp group;
    const uint32_t* const templates = ReadStates<WORDS>::of(batch).templates;
    for_each_turn(group, batch, &batch.counters->rescued, batch.counters->templates,
        [&](uint32_t i, const auto& workspace, auto& shared) {
            ChooseStep<WORDS, Warp>(group, batch, templates[i]).rescue(workspace, shared);
        });
}

KERNEL(report_loci) {
    if (thread_number() < batch.read_count) ReportStep<WORDS, Lane>(Lane(), batch, thread_number()).report();
}

KERNEL(align_loci) {
    const Warp group;
    const uint32_t* const reads = ReadStates<WORDS>::of(batch).reads;
    for_each_turn(group, batch, &batch.counters->aligned, batch.counters->reads,
        [&](uint32_t i, const auto& workspace, auto& shared) {
            ReportStep<WORDS, Warp>(group, batch, reads[i]).align(workspace, shared);
        });
}
