// The threads of a block as a group (algo/common/group.hpp), as far as blocks need one.
#pragma once
#include <cstdint>

namespace gpualign {

template <uint32_t Threads>
struct Block {
    static constexpr uint32_t kLanes = Threads;

    __device__ __forceinline__ uint32_t lane() const { return threadIdx.x; }
    __device__ __forceinline__ void sync() const { __syncthreads(); }
    __device__ __forceinline__ bool sync_any(bool mine) const { return __syncthreads_or(mine); }
};

}  // namespace gpualign
