// What the kernels of `pairwise` by strips need of CUDA besides emulated_cuda.hpp, and a call with a list of arguments.
#pragma once
#include <algorithm>
#include <utility>

#include "emulated_cuda.hpp"

#undef __shared__
#define __shared__ thread_local  // all lanes are one thread; `extern` may stand before it
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __nanosleep(time) emulated::wait_a_turn()
#define __threadfence() ((void)0)
#define __ffs(bits) __builtin_ffs(bits)
#define __all_sync(mask, predicate) (__ballot_sync(mask, !(predicate)) == 0)

struct int2 {
    int32_t x, y;
};
struct uint2 {
    uint32_t x, y;
};
struct uint4 {
    uint32_t x, y, z, w;
};
inline int2 make_int2(int32_t x, int32_t y) { return {x, y}; }
inline uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
template <class T> T __ldcg(const T* from) { return *from; }
template <class T> void __stcg(T* to, T value) { *to = value; }

inline void atomicMax(int32_t* at, int32_t value) { *at = std::max(*at, value); }

// Two halves of a word.
template <class Of> uint32_t of_halves(const Of& of) { return (uint32_t(of(0)) & 0xffffu) | uint32_t(of(16)) << 16; }
inline int16_t half(uint32_t word, int at) { return int16_t(word >> at); }
inline uint32_t __vadd2(uint32_t a, uint32_t b) {
    return of_halves([&](int at) { return half(a, at) + half(b, at); });
}
inline uint32_t __vsub2(uint32_t a, uint32_t b) {
    return of_halves([&](int at) { return half(a, at) - half(b, at); });
}
inline uint32_t __vmaxs2(uint32_t a, uint32_t b) {
    return of_halves([&](int at) { return std::max(half(a, at), half(b, at)); });
}
inline uint32_t __vimax3_s16x2(uint32_t a, uint32_t b, uint32_t c) { return __vmaxs2(__vmaxs2(a, b), c); }
inline uint32_t __viaddmax_s16x2(uint32_t a, uint32_t b, uint32_t c) { return __vmaxs2(__vadd2(a, b), c); }
inline uint32_t __viaddmax_s16x2_relu(uint32_t a, uint32_t b, uint32_t c) {
    return __vmaxs2(__viaddmax_s16x2(a, b, c), 0);
}
inline uint16_t unsigned_half(uint32_t word, int at) { return uint16_t(word >> at); }
inline uint32_t __vmaxu2(uint32_t a, uint32_t b) {
    return of_halves([&](int at) { return std::max(unsigned_half(a, at), unsigned_half(b, at)); });
}
inline uint32_t __vimax3_u16x2(uint32_t a, uint32_t b, uint32_t c) { return __vmaxu2(__vmaxu2(a, b), c); }
inline uint32_t __viaddmax_u16x2(uint32_t a, uint32_t b, uint32_t c) { return __vmaxu2(__vadd2(a, b), c); }

namespace gpualign {
namespace nw {
thread_local uint4 shared[1 << 12];  // what `extern` finds in and outside the nameless namespace
namespace {
[[maybe_unused]] thread_local uint4 shared[1 << 12];
}
}  // namespace nw
}  // namespace gpualign

namespace emulated {

template <class... Arguments, size_t... I>
void call(
    void (*kernel)(Arguments...), void* const* arguments, uint32_t grid, uint32_t of_each, std::index_sequence<I...>) {
    const auto go = [&] { kernel(*static_cast<Arguments*>(arguments[I])...); };
    run(&go, grid, of_each);
}
template <class... Arguments>
bool call(void (*kernel)(Arguments...), void* const* arguments, int count, uint32_t grid, uint32_t of_each) {
    if (count != int(sizeof...(Arguments))) return false;
    call(kernel, arguments, grid, of_each, std::index_sequence_for<Arguments...>());
    return true;
}

}  // namespace emulated

// In run_named(name, ...): one kernel.
#define EMULATED(kernel) \
    if (std::strcmp(name, #kernel) == 0) \
    return emulated::call(gpualign::nw::kernel, arguments, count, grid, threads) ? 0 : 2
