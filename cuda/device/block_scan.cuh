// Sums over the threads of a block.
#pragma once
#include <cstdint>

namespace gpualign {

// The sum of the values of the threads before this one; `total` is that of all. Called by all of up to 1,024 threads,
// full warps.
__device__ __forceinline__ uint64_t sum_before_in_block(uint64_t value, uint64_t& total) {
    __shared__ uint64_t sums[32];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const auto up_to = [lane](uint64_t x) {
        for (int step = 1; step < 32; step *= 2) {
            const uint64_t other = __shfl_up_sync(~0u, x, step);
            if (lane >= step) x += other;
        }
        return x;
    };
    const uint64_t mine = up_to(value);
    __syncthreads();  // the sums of the call before have been read
    if (lane == 31) sums[warp] = mine;
    __syncthreads();
    if (warp == 0) {
        const uint64_t of_warps = up_to(lane < warps ? sums[lane] : 0);
        sums[lane] = of_warps;
    }
    __syncthreads();
    total = sums[warps - 1];
    return mine - value + (warp ? sums[warp - 1] : 0);
}

// Values to the sums of those before each, in place; called by one block of threads. Returns the sum of all.
__device__ __forceinline__ uint64_t sums_before(uint64_t* values, uint32_t count) {
    uint64_t all = 0;
    for (uint32_t first = 0; first < count; first += blockDim.x) {
        const uint32_t i = first + threadIdx.x;
        uint64_t total;
        const uint64_t before = sum_before_in_block(i < count ? values[i] : 0, total);
        if (i < count) values[i] = all + before;
        all += total;
        __syncthreads();
    }
    return all;
}

}  // namespace gpualign
