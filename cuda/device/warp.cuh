// The 32 lanes of a warp as a group (algo/common/group.hpp).
#pragma once
#include "algo/common/group.hpp"

namespace gpualign {

// Maximum over a warp, in all lanes; called by all of them.
__device__ __forceinline__ int32_t warp_max(int32_t value) {
    for (int step = 16; step; step /= 2) value = max(value, __shfl_xor_sync(~0u, value, step));
    return value;
}

// Number of this thread's warp within the grid.
__device__ __forceinline__ uint32_t warp_number() { return (blockIdx.x * blockDim.x + threadIdx.x) / 32; }

// Hands out tasks to warps until there are none.
__device__ __forceinline__ int next_task(unsigned* ticket) {
    int at = 0;
    if (threadIdx.x % 32 == 0) at = int(atomicAdd(ticket, 1u));
    return __shfl_sync(0xffffffffu, at, 0);
}

// A record of T::kWords words, each as `shuffle` hands it from lane to lane.
template <class T, class Shuffle> __device__ __forceinline__ T shuffled(const T& value, Shuffle&& shuffle) {
    T other{};
    const int32_t* in = reinterpret_cast<const int32_t*>(&value);
    int32_t* out = reinterpret_cast<int32_t*>(&other);
#pragma unroll
    for (uint32_t i = 0; i < T::kWords; i++) out[i] = shuffle(in[i]);
    return other;
}

struct Warp {
    static constexpr uint32_t kLanes = 32;
    static constexpr uint32_t kAll = ~0u;

    __device__ __forceinline__ uint32_t lane() const { return threadIdx.x % kLanes; }
    __device__ __forceinline__ void sync() const { __syncwarp(); }
    __device__ __forceinline__ bool sync_any(bool mine) const {
        __syncwarp();  // a vote alone does not order memory
        return __any_sync(kAll, mine);
    }
    __device__ __forceinline__ uint32_t ballot(bool predicate) const { return __ballot_sync(kAll, predicate); }
    __device__ __forceinline__ uint32_t before(uint32_t mask) const { return __popc(mask & ((1u << lane()) - 1)); }
    __device__ __forceinline__ uint32_t sum_before(uint32_t value, uint32_t& total) const {
        uint32_t up_to = value;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const uint32_t other = __shfl_up_sync(kAll, up_to, step);
            if (lane() >= step) up_to += other;
        }
        total = __shfl_sync(kAll, up_to, 31);
        return up_to - value;
    }
    // The sum over all lanes.
    __device__ __forceinline__ uint32_t sum(uint32_t value) const {
#if __CUDA_ARCH__ >= 800
        return __reduce_add_sync(kAll, value);
#else
        uint32_t total;
        sum_before(value, total);
        return total;
#endif
    }
    template <class T> __device__ __forceinline__ T largest(T value) const {
#if __CUDA_ARCH__ >= 800
        if constexpr (sizeof(T) == 4) return __reduce_max_sync(kAll, value);
        else return largest_by_halves(value);
#else
        return largest_by_halves(value);
#endif
    }
    __device__ __forceinline__ int32_t largest_up_to(int32_t value) const {
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const int32_t other = __shfl_up_sync(kAll, value, step);
            if (lane() >= step) value = other > value ? other : value;
        }
        return value;
    }
    template <class T> __device__ __forceinline__ T from(T value, uint32_t source) const {
        return __shfl_sync(kAll, value, source);
    }
    template <class T> __device__ __forceinline__ T across(T value, uint32_t bits) const {
        return __shfl_xor_sync(kAll, value, bits);
    }
    template <class T> __device__ __forceinline__ T from_before(T value, T first) const {
        const T other = __shfl_up_sync(kAll, value, 1);
        return lane() == 0 ? first : other;
    }
    template <class T> __device__ __forceinline__ T record_before(const T& value, const T& first) const {
        const T other = shuffled(value, [](int32_t word) { return __shfl_up_sync(kAll, word, 1); });
        return lane() == 0 ? first : other;
    }
    __device__ __forceinline__ uint32_t take(uint32_t* counter) const { return atomicAdd(counter, 1u); }
    __device__ __forceinline__ void set_bit(uint32_t* words, uint32_t bit) const {
        atomicOr(words + bit / 32, 1u << bit % 32);
    }
    __device__ __forceinline__ uint32_t take_together(uint32_t* counter, uint32_t n) const {
        uint32_t before = 0;
        if (lane() == 0) before = atomicAdd(counter, n);
        return from(before, 0);
    }

private:
    template <class T> __device__ __forceinline__ T largest_by_halves(T value) const {
#pragma unroll
        for (int step = 16; step > 0; step /= 2) {
            const T other = __shfl_xor_sync(kAll, value, step);
            value = other > value ? other : value;
        }
        return value;
    }
};

// A lane by itself.
struct Lane : OneLane {
    __device__ __forceinline__ uint32_t take(uint32_t* counter) const { return atomicAdd(counter, 1u); }
    __device__ __forceinline__ uint32_t take_together(uint32_t* counter, uint32_t n) const {
        return atomicAdd(counter, n);
    }
};

}  // namespace gpualign
