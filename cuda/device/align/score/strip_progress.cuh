// Progress of a pair's strips, for the warps with the next strips.
#pragma once
#include "device/align/score/lazy_scan.cuh"

namespace gpualign {
namespace nw {

constexpr int done = 0x7fffffff;

// Waits until strip `at` has written `rows` rows; called by the whole warp.
__device__ __forceinline__ void wait_for(const int* progress, int at, int rows) {
    if (threadIdx.x % warp_size == 0)
        while (*reinterpret_cast<const volatile int*>(progress + at) < rows) __nanosleep(200);
    __syncwarp();
    __threadfence();
}

// Publishes that strip `at` has written `rows` rows; called by the whole warp.
__device__ __forceinline__ void publish(int* progress, int at, int rows) {
    __threadfence();
    __syncwarp();
    if (threadIdx.x % warp_size == 0) *reinterpret_cast<volatile int*>(progress + at) = rows;
}

}  // namespace nw
}  // namespace gpualign
