// A group of some lanes of a warp; all groups of a warp call each function together.
#pragma once
#include "device/warp.cuh"

namespace gpualign {

template <uint32_t Lanes> struct PartOfWarp {
    static constexpr uint32_t kLanes = Lanes;

    __device__ __forceinline__ uint32_t lane() const { return threadIdx.x % kLanes; }
    __device__ __forceinline__ void sync() const { __syncwarp(); }
    template <class T> __device__ __forceinline__ T from(T value, uint32_t source) const {
        return __shfl_sync(~0u, value, int(source), int(kLanes));
    }
    template <class T> __device__ __forceinline__ T largest(T value) const {
#pragma unroll
        for (uint32_t step = kLanes / 2; step; step /= 2) {
            const T other = __shfl_xor_sync(~0u, value, int(step));
            value = other > value ? other : value;
        }
        return value;
    }
    // Differs between lanes: the record of the lane before this one, `first` in the first.
    template <class T> __device__ __forceinline__ T record_before(const T& value, const T& first) const {
        const T other = shuffled(value, [](int32_t word) { return __shfl_up_sync(~0u, word, 1); });
        return lane() == 0 ? first : other;
    }
    // The record of the previous lane; the first lane gets that of the last.
    template <class T> __device__ __forceinline__ T record_before_around(const T& value) const {
        return shuffled(value, [&](int32_t word) { return from(word, (lane() + kLanes - 1) % kLanes); });
    }
};

}  // namespace gpualign
