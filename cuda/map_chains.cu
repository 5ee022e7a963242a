// Reads to alignments by chaining: the steps of algo/map/chain/steps.hpp, a kernel each. A warp chains a read and aligns a
// stretch; a lane cuts and finishes a chain, and reports a read.
//
// LONG_GAPS: 1 where gaps have a second price.
#include "algo/map/chain/band.hpp"
#include "algo/map/chain/steps.hpp"
#include "device/warp.cuh"

#ifndef LONG_GAPS
#define LONG_GAPS 1
#endif

using namespace gpualign;

namespace {

// The next `n` of what warps take by turns.
__device__ uint32_t take_next(const Warp& group, uint32_t* next, uint32_t n) {
    return group.from(group.lane() == 0 ? atomicAdd(next, n) : 0u, 0);
}

__device__ uint32_t warp_number() { return (blockIdx.x * blockDim.x + threadIdx.x) / Warp::kLanes; }

// Calls step(i) for i below `count`, each in a warp of its own, as no two of them take the same way: side by side in one warp
// they would wait for each other.
template <class Step>
__device__ void one_lane_each(uint32_t count, Step&& step) {
    if (Warp().lane() != 0) return;
    for (uint32_t i = warp_number(); i < count; i += gridDim.x * blockDim.x / Warp::kLanes) step(i);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128) chain_reads(const __grid_constant__ ChainLaunch launch) {
    const Warp group;
    while (true) {
        const uint32_t r = take_next(group, launch.next, 1);
        if (r >= launch.batch.reads) return;
        chain_read(group, launch.batch, launch.target.index, TargetText{launch.target}, r);
        group.sync();
    }
}

extern "C" __global__ void __launch_bounds__(128) align_stretches(const __grid_constant__ ChainLaunch launch) {
    if (lacks_room(launch.batch)) return;
    const Warp group;
    const Arena<BandTask>& tasks = launch.batch.tasks[launch.round];
    const uint32_t count = *tasks.used, warp = warp_number();
    const TargetText text{launch.target};
    uint8_t* const memory = launch.workspace + warp * launch.workspace_bytes;
    while (true) {
        const uint32_t first = take_next(group, launch.next, Warp::kLanes);
        if (first >= count) return;
        const uint32_t mine = first + group.lane();
        const uint64_t bytes = mine < count ? BandWorkspace::bytes(uint64_t(tasks.items[mine].rows), uint64_t(tasks.items[mine].band)) : 0;
        uint32_t fit = group.ballot(bytes > launch.least_bytes && bytes <= launch.workspace_bytes);
        for (; fit; fit &= fit - 1) {
            BandTask& task = tasks.items[first + first_lane(fit)];
            const BandWorkspace workspace = BandWorkspace::at(memory, uint64_t(task.rows), uint64_t(task.band));
            BandAligner<LONG_GAPS != 0, Warp, TargetText>(group, launch.batch, text, task, workspace).run();
        }
    }
}

extern "C" __global__ void cut_chains(const __grid_constant__ ChainLaunch launch) {
    if (lacks_room(launch.batch)) return;
    one_lane_each(*launch.batch.chains.used, [&](uint32_t c) { cut_chain(launch.batch, c); });
}

extern "C" __global__ void finish_chains(const __grid_constant__ ChainLaunch launch) {
    if (lacks_room(launch.batch)) return;
    const TargetText text{launch.target};
    one_lane_each(*launch.batch.chains.used, [&](uint32_t c) { finish_chain(launch.batch, text, c); });
}

extern "C" __global__ void report_reads(const __grid_constant__ ChainLaunch launch) {
    if (lacks_room(launch.batch)) return;
    const TargetText text{launch.target};
    one_lane_each(launch.batch.reads, [&](uint32_t r) {
        report_read(launch.batch, r);
        write_outputs(launch.batch, text, r);
    });
}
