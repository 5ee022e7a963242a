// Templates that map_reads leaves: a block takes each from bases to records (algo/map/thorough/mapper.hpp).
//
// LONG_GAPS: 1 where gaps have a second price.
#include "algo/map/thorough/mapper.hpp"
#include "device/warp.cuh"

#ifndef LONG_GAPS
#define LONG_GAPS 0
#endif
#ifndef WARPS
#define WARPS 16
#endif
#ifndef BLOCKS
#define BLOCKS 2
#endif

using namespace gpualign;

namespace {

// The warps of a block.
struct BlockTeam {
    using Group = Warp;
    static constexpr uint32_t kGroups = WARPS;

    __device__ Warp group() const { return {}; }
    __device__ uint32_t number() const { return threadIdx.x / Warp::kLanes; }
    __device__ void sync() const { __syncthreads(); }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS) map_thoroughly(const __grid_constant__ ThoroughLaunch launch) {
    __shared__ TemplateState state;
    __shared__ uint32_t next;
    const BlockTeam team;
    uint8_t* end;
    const ThoroughMemory memory = thorough_memory(launch.workspace + blockIdx.x * launch.workspace_bytes, launch.longest, launch.max_hits,
                                                  launch.max_loci, launch.band_bytes, WARPS, Warp::kLanes, end);
    ThoroughMapper<LONG_GAPS != 0, BlockTeam> mapper(team, launch, memory, state);
    while (true) {
        if (threadIdx.x == 0) next = atomicAdd(launch.next, 1u);
        __syncthreads();
        const uint32_t number = next;
        if (number >= *launch.batch.doubtful_count) return;
        mapper.map(launch.batch.doubtful[number]);
    }
}
