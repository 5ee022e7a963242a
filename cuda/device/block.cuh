// The threads of a block as a group (algo/common/group.hpp), as far as blocks need one.
#pragma once
#include "device/warp.cuh"

namespace gpualign {

template <uint32_t Threads> struct Block {
    static constexpr uint32_t kLanes = Threads;

    __device__ __forceinline__ uint32_t lane() const { return threadIdx.x; }
    __device__ __forceinline__ void sync() const { __syncthreads(); }
    __device__ __forceinline__ bool sync_any(bool mine) const { return __syncthreads_or(mine); }
};

// Shared memory by which the warps of a block hand values to each other; in turn one of two, so that one barrier is
// enough.
template <uint32_t Lanes> struct BlockExchange {
    static constexpr uint32_t kBytes = 16;
    alignas(16) uint8_t values[2][Lanes / Warp::kLanes + 1][kBytes];
};

template <uint32_t Lanes> class ExchangingBlock : public Block<Lanes> {
public:
    using Block<Lanes>::kLanes, Block<Lanes>::lane;

    __device__ __forceinline__ explicit ExchangingBlock(BlockExchange<Lanes>& exchange) : exchange_(exchange) {}
    template <class T> __device__ __forceinline__ T from(T value, uint32_t source) const {
        if (lane() == source) slot<T>(0) = value;
        __syncthreads();
        const T found = slot<T>(0);
        turn_ ^= 1;
        return found;
    }
    __device__ __forceinline__ int32_t largest(int32_t value) const {
        value = Warp().largest(value);
        if (Warp().lane() == 0) slot<int32_t>(warp()) = value;
        __syncthreads();
        for (uint32_t w = 0; w < kLanes / Warp::kLanes; w++) value = max(value, slot<int32_t>(w));
        turn_ ^= 1;
        return value;
    }
    template <class T> __device__ __forceinline__ T record_before(const T& value, const T& first) const {
        const T other = Warp().record_before(value, first);
        if (Warp().lane() == Warp::kLanes - 1) slot<T>(warp() + 1) = value;
        __syncthreads();
        turn_ ^= 1;
        return lane() && Warp().lane() == 0 ? slot_before<T>(warp()) : other;
    }

private:
    __device__ __forceinline__ static uint32_t warp() { return threadIdx.x / Warp::kLanes; }
    template <class T> __device__ __forceinline__ T& slot(uint32_t i) const {
        static_assert(sizeof(T) <= BlockExchange<Lanes>::kBytes, "a value fits");
        return *reinterpret_cast<T*>(exchange_.values[turn_][i]);
    }
    template <class T> __device__ __forceinline__ T& slot_before(uint32_t i) const {
        return *reinterpret_cast<T*>(exchange_.values[turn_ ^ 1][i]);
    }

    BlockExchange<Lanes>& exchange_;
    mutable uint32_t turn_ = 0;
};

}  // namespace gpualign
