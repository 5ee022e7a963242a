// Where extensions end, a warp each (host side: gpualign/align/genomes/device.py). The scores of the last Width columns
// of an anti-diagonal are in shared memory; what needs more is left to the host.
#include "abi/extend.hpp"
#include "device/warp.cuh"

namespace {

using namespace gpualign;

constexpr uint32_t kWarps = 4;

template <int32_t Width> __device__ __forceinline__ void extend_all(const ExtendLaunch& launch) {
    __shared__ int32_t memory[kWarps][kExtendRows * Width];
    const uint8_t* const columns[2] = {launch.forward, launch.reverse};
    for (int i = next_task(launch.ticket); uint32_t(i) < launch.count; i = next_task(launch.ticket)) {
        const Extension found = extend_task(Warp(), LastColumns<Width>(), launch.tasks[i], launch.rows, columns,
            launch.scores, memory[threadIdx.x / 32]);
        if (threadIdx.x % 32 == 0) launch.found[i] = found;
        __syncwarp();
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kWarps * 32) extend_narrow(ExtendLaunch launch) {
    extend_all<256>(launch);
}
extern "C" __global__ void __launch_bounds__(kWarps * 32) extend_wide(ExtendLaunch launch) { extend_all<512>(launch); }
