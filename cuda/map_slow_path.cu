// Templates that map.cu leaves: the steps of algo/map/slow_path/mapper.hpp, a kernel each, in which a warp takes a
// template or a mate. Between chaining and ranking the kernels of map_chains.cu align the chains.
//
// LONG_GAPS: 1 where gaps have a second cost.
#include "algo/map/slow_path/mapper.hpp"
#include "device/warp.cuh"

#ifndef LONG_GAPS
#define LONG_GAPS 0
#endif
#ifndef WARPS
#define WARPS 4
#endif
#ifndef BLOCKS
#define BLOCKS 8
#endif

using namespace gpualign;

namespace {

using Mapper = SlowPathMapper<LONG_GAPS != 0, Warp>;

constexpr uint32_t kManyWriters = 16;  // warps that share the records of a template if there are secondary ones

// Calls step(mapper, part) for so many parts of each template, one after the other. `pieces`: SlowPathMemory::pieces.
template <class Step>
__device__ void for_each_part(const SlowPathLaunch& launch, uint32_t parts, Step&& step, uint32_t* pieces = nullptr) {
    const Warp group;
    uint8_t* end;
    SlowPathMemory memory = slow_path_memory(launch.workspace + warp_number() * launch.workspace_bytes, launch.longest,
        launch.max_seeds, launch.max_hits, launch.max_loci, launch.band_bytes, Warp::kLanes, end);
    memory.pieces = pieces;
    const uint32_t turns = templates_of(launch) * parts;
    while (true) {
        const uint32_t turn = group.take_together(launch.next, 1);
        if (turn >= turns) return;
        Mapper mapper(group, launch, memory, turn / parts);
        step(mapper, turn % parts);
        group.sync();
    }
}

}  // namespace

#define KERNEL(name) \
    extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS) name(const __grid_constant__ SlowPathLaunch launch)

KERNEL(find_slow) {
    if (blockIdx.x == 0 && threadIdx.x == 0) launch.wanted->templates = *launch.batch.slow_count;
    for_each_part(launch, launch.mates, [](Mapper& mapper, uint32_t mate) { mapper.find(int(mate)); });
}

KERNEL(adapters_slow) {
    for_each_part(launch, 1, [](Mapper& mapper, uint32_t) { mapper.clip_adapters(); });
}

KERNEL(seed_slow) {
    for_each_part(launch, launch.mates, [](Mapper& mapper, uint32_t mate) { mapper.seed(int(mate)); });
}

KERNEL(chain_slow) {
    for_each_part(launch, launch.mates, [](Mapper& mapper, uint32_t mate) { mapper.chain(int(mate)); });
}

KERNEL(select_slow) {
    for_each_part(launch, launch.mates, [](Mapper& mapper, uint32_t mate) { mapper.select(int(mate)); });
}

KERNEL(rank_slow) {
    for_each_part(launch, launch.mates, [](Mapper& mapper, uint32_t mate) { mapper.rank(int(mate)); });
    if (blockIdx.x || threadIdx.x) return;
    launch.done[0] = *launch.chains[0].chains.used;
    for (int round = 0; round < 2; round++) launch.done[1 + round] = *launch.chains[0].tasks[round].used;
}

KERNEL(rescue_slow) {
    __shared__ uint32_t pieces[WARPS][kPieceWords];
    for_each_part(launch, 1, [](Mapper& mapper, uint32_t) { mapper.rescue(); }, pieces[threadIdx.x / Warp::kLanes]);
}

KERNEL(clip_slow) {
    for_each_part(launch, 1, [](Mapper& mapper, uint32_t) { mapper.rescue_clipped(); });
}

KERNEL(choose_slow) {
    for_each_part(launch, 1, [](Mapper& mapper, uint32_t) { mapper.choose(); });
}

KERNEL(write_slow) {
    const uint32_t writers = launch.batch.rules.max_secondary ? kManyWriters : launch.mates;
    for_each_part(launch, writers, [=](Mapper& mapper, uint32_t writer) { mapper.write(writer, writers); });
}

KERNEL(end_slow) {
    for_each_part(launch, 1, [](Mapper& mapper, uint32_t) { mapper.end(); });
}
