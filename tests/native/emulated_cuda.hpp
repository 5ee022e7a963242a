// Enough of CUDA for g++ to compile a kernel and run it, a block at a time: each thread is a context of its own, and
// the lanes of a warp wait for each other wherever they exchange something. Lanes that meet in different places end the
// process.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "fibers.hpp"

#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

namespace emulated {

struct Index {
    uint32_t x;
};

struct Meeting {  // of the lanes of a warp, or of the threads of a block
    uint32_t members, arrived = 0, turn = 0;
    int line = 0;
    std::vector<uint64_t> values[2];
};

inline Index thread, block, threads, blocks;
inline ucontext_t outside;
inline std::vector<Fiber> all;
inline std::vector<Meeting> warps;
inline Meeting of_block;

// Goes on with the next thread that has not ended, until it is this one's turn again.
inline void wait_a_turn() {
    const uint32_t me = thread.x;
    uint32_t next = (me + 1) % threads.x;
    while (all[next].done) next = (next + 1) % threads.x;
    if (next == me) {
        std::fprintf(stderr, "a thread waits for others, which have ended\n");
        std::abort();
    }
    thread.x = next;
    all[me].turn_to(all[next]);
    thread.x = me;
}

// The values that all members give; the same place in all of them.
inline const uint64_t* exchanged(Meeting& meeting, uint32_t locus, uint64_t value, int line) {
    const uint32_t turn = meeting.turn;
    if (meeting.arrived && meeting.line != line) {
        std::fprintf(stderr, "a thread is at line %d, others at line %d\n", line, meeting.line);
        std::abort();
    }
    meeting.line = line;
    meeting.values[turn % 2][locus] = value;
    if (++meeting.arrived == meeting.members) {
        meeting.arrived = 0;
        meeting.turn++;
    }
    while (meeting.turn == turn) wait_a_turn();
    return meeting.values[turn % 2].data();
}

inline Meeting& warp() { return warps[thread.x / 32]; }

template <class T> T shuffled(T value, uint32_t source, int line) {
    uint64_t bits = 0;
    static_assert(sizeof(T) <= sizeof bits, "a value fits");
    std::memcpy(&bits, &value, sizeof value);
    const uint64_t* given = exchanged(warp(), thread.x % 32, bits, line);
    std::memcpy(&value, &given[source], sizeof value);
    return value;
}

inline uint32_t ballot(bool predicate, int line) {
    const uint64_t* given = exchanged(warp(), thread.x % 32, predicate, line);
    uint32_t bits = 0;
    for (uint32_t i = 0; i < 32; i++) bits |= uint32_t(given[i]) << i;
    return bits;
}

inline int any_of_block(int predicate, int line) {
    const uint64_t* given = exchanged(of_block, thread.x, predicate != 0, line);
    int found = 0;
    for (uint32_t i = 0; i < threads.x; i++) found |= int(given[i]);
    return found;
}

inline uint32_t source_within(int source, int width) {
    return thread.x % 32 / uint32_t(width) * uint32_t(width) + uint32_t(source) % uint32_t(width);
}
inline uint32_t source_before(uint32_t lanes, uint32_t width = 32) {
    return thread.x % width < lanes ? thread.x % 32 : thread.x % 32 - lanes;
}

template <class Kernel> void run(Kernel* kernel, uint32_t grid, uint32_t of_each) {
    static Kernel* running;
    running = kernel;
    threads.x = of_each;
    blocks.x = grid;
    for (block.x = 0; block.x < grid; block.x++) {
        if (all.size() < of_each) all.resize(of_each);
        warps.assign(of_each / 32, {});
        for (Meeting& meeting : warps) meeting.members = 32;
        of_block = {};
        of_block.members = of_each;
        for (Meeting& meeting : warps)
            for (auto& values : meeting.values) values.resize(32);
        for (auto& values : of_block.values) values.resize(of_each);
        const auto entry = +[] {
            (*running)();
            all[thread.x].done = true;
            uint32_t next = 0;
            while (next < threads.x && all[next].done) next++;
            if (next == threads.x) return;
            thread.x = next;
            all[next].go_on();
        };
        for (uint32_t i = 0; i < of_each; i++) all[i].prepare(entry, outside);
        thread.x = 0;
        all[0].run(outside);
    }
}

// One of several kernels that take a struct of launch parameters, which comes as bytes; not 0 where there is none of
// the name.
template <class Launch>
int run_by_name(const std::map<std::string, void (*)(Launch)>& kernels, const char* name, const void* bytes,
    size_t size, uint32_t grid, uint32_t of_each) {
    Launch launch;
    if (size != sizeof launch) return 1;
    std::memcpy(&launch, bytes, size);
    const auto kernel = kernels.find(name);
    if (kernel == kernels.end()) return 2;
    const auto call = [&] { kernel->second(launch); };
    run(&call, grid, of_each);
    return 0;
}

}  // namespace emulated

#define threadIdx emulated::thread
#define blockIdx emulated::block
#define blockDim emulated::threads
#define gridDim emulated::blocks
#define __syncwarp() ((void)emulated::exchanged(emulated::warp(), threadIdx.x % 32, 0, __LINE__))
#define __syncthreads() ((void)emulated::exchanged(emulated::of_block, threadIdx.x, 0, __LINE__))
#define __syncthreads_or(predicate) emulated::any_of_block(predicate, __LINE__)
#define __ballot_sync(mask, predicate) emulated::ballot(predicate, __LINE__)
#define __any_sync(mask, predicate) (emulated::ballot(predicate, __LINE__) != 0)
#define EMULATED_PICK(a, b, c, d, name, ...) name
#define EMULATED_SHFL3(mask, value, source) emulated::shuffled(value, uint32_t(source), __LINE__)
#define EMULATED_SHFL4(mask, value, source, width) \
    emulated::shuffled(value, emulated::source_within(source, width), __LINE__)
#define __shfl_sync(...) EMULATED_PICK(__VA_ARGS__, EMULATED_SHFL4, EMULATED_SHFL3, )(__VA_ARGS__)
#define __shfl_xor_sync(mask, value, bits) emulated::shuffled(value, threadIdx.x % 32 ^ uint32_t(bits), __LINE__)
#define __shfl_up_sync(mask, value, ...) emulated::shuffled(value, emulated::source_before(__VA_ARGS__), __LINE__)

inline uint32_t __popc(uint32_t bits) { return uint32_t(__builtin_popcount(bits)); }
inline uint32_t atomicAdd(uint32_t* counter, uint32_t n) {
    const uint32_t before = *counter;
    *counter += n;
    return before;
}
inline uint32_t atomicOr(uint32_t* word, uint32_t bits) {
    const uint32_t before = *word;
    *word |= bits;
    return before;
}
inline uint32_t atomicMax(uint32_t* largest, uint32_t value) {
    const uint32_t before = *largest;
    if (value > before) *largest = value;
    return before;
}
