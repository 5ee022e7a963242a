// Distances of long pairs without a limit known before (algo/distances/reach.hpp): the tiles of a pair's diagonals are handed out
// to blocks by tickets, so that whoever waits for a tile waits for a block that runs already.
//
// Macros: BITS of a symbol, 2 or 8; WIDTH and STEPS of a tile, THREADS that share it.
#include "algo/distances/reach.hpp"
#include "device/block.cuh"

#ifndef BITS
#define BITS 2
#endif
#ifndef WIDTH
#define WIDTH 512
#define STEPS 64
#define THREADS 512
#endif

namespace gpualign {
namespace reach {

template <uint32_t Threads>
struct Group {
    using Type = Block<Threads>;
};
template <>
struct Group<Warp::kLanes> {
    using Type = Warp;
};
using Tile = Shape<WIDTH, STEPS>;

// Rows that blocks of other processors have written, or will read.
struct Rows {
    const int32_t* before;
    int32_t* after;
    __device__ __forceinline__ int32_t get(int32_t k) const { return __ldcg(before + k); }
    __device__ __forceinline__ void put(int32_t k, int32_t row) const { __stcg(after + k, row); }
};

// Symbols of a set as codes of BITS each; one sequence a blockIdx.x, its words shared out over blockIdx.y.
extern "C" __global__ void pack(const uint8_t* symbols, const int64_t* offsets, const uint8_t* table, uint32_t* words) {
    constexpr int32_t each = int32_t(Packed<BITS>::kPerWord);
    const int64_t begin = offsets[blockIdx.x], length = offsets[blockIdx.x + 1] - begin;
    uint32_t* const out = words + first_word<BITS>(begin, blockIdx.x);
    const int64_t count = (length + each - 1) / each;
    for (int64_t w = blockIdx.y * int64_t(blockDim.x) + threadIdx.x; w < count; w += int64_t(gridDim.y) * blockDim.x) {
        uint32_t word = 0;
        for (int32_t i = 0; i < each && w * each + i < length; i++) word |= uint32_t(table[symbols[begin + w * each + i]]) << (i * BITS);
        out[w] = word;
    }
}

// Waits until the tiles of the phase before that a tile reads are there; false once the distance is known.
__device__ __forceinline__ bool neighbours_done(const Tiles<Tile>& tiles, int32_t phase, int32_t tile, const int32_t* progress,
                                                const int32_t* result) {
    for (int32_t other = tile - 1; other <= tile + 1; other++) {
        if (!tiles.has(phase - 1, other)) continue;
        while (*reinterpret_cast<const volatile int32_t*>(progress + other) < phase)
            if (*reinterpret_cast<const volatile int32_t*>(result) != kNone) return false;
    }
    return *reinterpret_cast<const volatile int32_t*>(result) == kNone;
}

// Pairs [first_pair, ...) of rows of queries query_order[first + row] and all targets, `blocks_each` blocks a pair; matrix[pair]
// holds kNone before. reached: twice `diagonals` a pair, progress: `tiles_each` a pair, zeros, and a ticket a pair, zeros.
extern "C" __global__ void __launch_bounds__(THREADS)
    long_pairs(const uint32_t* queries, const int64_t* query_offsets, const int32_t* query_order, const uint32_t* targets,
               const int64_t* target_offsets, const int32_t* limits, int32_t* reached, int32_t* progress, uint32_t* tickets,
               int32_t* matrix, int64_t diagonals, int64_t first_pair, int32_t tiles_each, int32_t first, int32_t columns,
               int32_t blocks_each, int32_t substitutions) {
    __shared__ Shared<Tile> shared;
    __shared__ int64_t ticket;
    __shared__ bool go_on;
    const int64_t local = blockIdx.x / uint32_t(blocks_each), at = first_pair + local;
    const int32_t query = query_order[first + at / columns], target = int32_t(at % columns);
    const int64_t q = query_offsets[query], t = target_offsets[target];
    const int32_t n = int32_t(query_offsets[query + 1] - q), m = int32_t(target_offsets[target + 1] - t);
    const reach::Pair<BITS> pair{{queries + first_word<BITS>(q, query)}, {targets + first_word<BITS>(t, target)}, n, m, substitutions != 0};
    const int32_t limit = limits ? limits[n > m ? n : m] : INT32_MAX;
    int32_t *const rows = reached + local * 2 * diagonals + n, *result = matrix + at;
    Turn<Tile> turn(Tiles<Tile>{n, m});
    int32_t* const done = progress + local * tiles_each + turn.tiles.before_zero();
    for (;;) {
        if (threadIdx.x == 0) ticket = atomicAdd(tickets + local, 1u);
        __syncthreads();
        const int32_t tile = turn.take(ticket), phase = turn.phase;
        if (phase > limit / Tile::kSteps) return;
        if (threadIdx.x == 0) {
            go_on = neighbours_done(turn.tiles, phase, tile, done, result);
            __threadfence();
        }
        __syncthreads();
        if (!go_on) return;
        const Rows both{rows + phase % 2 * diagonals, rows + (1 - phase % 2) * diagonals};
        const int32_t found = run_tile(Group<THREADS>::Type(), pair, phase, tile, limit, both, shared);
        if (threadIdx.x == 0 && found != kNone) *reinterpret_cast<volatile int32_t*>(result) = found;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) *reinterpret_cast<volatile int32_t*>(done + tile) = phase + 1;
    }
}

}  // namespace reach
}  // namespace gpualign
