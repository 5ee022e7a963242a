// Distances of long pairs without a limit known before (algo/align/matrix/reach.hpp): the tiles of a pair's diagonals
// are handed out to blocks by tickets, so that whoever waits for a tile waits for a block that runs already.
//
// Macros: BITS of a symbol, 2 or 8; WIDTH and STEPS of a tile, THREADS that share it.
#include "algo/align/matrix/reach.hpp"
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

template <uint32_t Threads> struct Group {
    using Type = Block<Threads>;
};
template <> struct Group<Warp::kLanes> {
    using Type = Warp;
};
using Tile = Shape<WIDTH, STEPS>;

// Rows that blocks of other processors have written, or will read.
struct Rows {
    const int32_t *before, *opposite;
    int32_t* after;
    __device__ __forceinline__ int32_t get(int32_t k) const { return __ldcg(before + k); }
    __device__ __forceinline__ int32_t met(int32_t k) const { return __ldcg(opposite + k); }
    __device__ __forceinline__ void put(int32_t k, int32_t row) const { __stcg(after + k, row); }
};

// Symbols of a set as codes of BITS each, and reversed `back` words later; one sequence a blockIdx.x, its words shared
// out over blockIdx.y.
extern "C" __global__ void pack(
    const uint8_t* symbols, const int64_t* offsets, const uint8_t* table, uint32_t* words, int64_t back) {
    constexpr int32_t each = int32_t(Packed<BITS>::kPerWord);
    const int64_t begin = offsets[blockIdx.x], length = offsets[blockIdx.x + 1] - begin;
    uint32_t* const out = words + first_word<BITS>(begin, blockIdx.x);
    const int64_t count = (length + each - 1) / each;
    for (int64_t w = blockIdx.y * int64_t(blockDim.x) + threadIdx.x; w < count; w += int64_t(gridDim.y) * blockDim.x) {
        uint32_t word = 0, reversed = 0;
        for (int32_t i = 0; i < each && w * each + i < length; i++) {
            word |= uint32_t(table[symbols[begin + w * each + i]]) << (i * BITS);
            reversed |= uint32_t(table[symbols[begin + length - 1 - (w * each + i)]]) << (i * BITS);
        }
        out[w] = word;
        out[w + back] = reversed;
    }
}

// One pair: what its blocks share.
struct Progress {
    Tiles<Tile> tiles;
    const int32_t* done[2];  // phases of each tile, from the start and from the end
    uint32_t* result;

    // Whether sums of that many errors and more need not be tried.
    __device__ __forceinline__ bool settled(int32_t sum) const {
        return *reinterpret_cast<volatile uint32_t*>(result) <= uint32_t(sum);
    }
    __device__ __forceinline__ bool wait_for(
        bool from_end, int32_t first, int32_t last, int32_t phase, int32_t sum) const {
        for (int32_t tile = first; tile <= last; tile++) {
            if (!tiles.has(phase - 1, tile)) continue;
            while (*reinterpret_cast<const volatile int32_t*>(done[from_end] + tile) < phase)
                if (settled(sum)) return false;
        }
        return true;
    }
    // Waits until what a tile reads of the phase before is there, and nobody reads any more what it overwrites; false
    // where it is not needed.
    __device__ __forceinline__ bool ready(Direction direction, int32_t phase, int32_t tile) const {
        const int32_t sum = direction.least_sum(phase, Tile::kSteps);
        return wait_for(direction.from_end, tile - 1, tile + 1, phase, sum) &&
               wait_for(!direction.from_end, tiles.first_opposite(tile), tiles.last_opposite(tile), phase, sum) &&
               !settled(sum);
    }
};

// Pairs [first_pair, ...) of rows of queries query_order[first + row] and all targets, `blocks_each` blocks a pair;
// matrix[pair] holds kNone before. Reversed texts are query_back and target_back words later. reached: 2 kKept times
// `diagonals` a pair, progress: twice `tiles_each` a pair, zeros, and a ticket a pair, zeros.
extern "C" __global__ void __launch_bounds__(THREADS) long_pairs(const uint32_t* queries, const int64_t* query_offsets,
    const int32_t* query_order, const uint32_t* targets, const int64_t* target_offsets, const int32_t* limits,
    int32_t* reached, int32_t* progress, uint32_t* tickets, int32_t* matrix, int64_t query_back, int64_t target_back,
    int64_t diagonals, int64_t first_pair, int32_t tiles_each, int32_t first, int32_t columns, int32_t blocks_each,
    int32_t substitutions) {
    __shared__ Shared<Tile> shared;
    __shared__ int64_t ticket;
    __shared__ bool go_on;
    const int64_t local = blockIdx.x / uint32_t(blocks_each), at = first_pair + local;
    const int32_t query = query_order[first + at / columns], target = int32_t(at % columns);
    const int64_t q = query_offsets[query], t = target_offsets[target];
    const int32_t n = int32_t(query_offsets[query + 1] - q), m = int32_t(target_offsets[target + 1] - t);
    const uint32_t *query_words = queries + first_word<BITS>(q, query),
                   *target_words = targets + first_word<BITS>(t, target);
    const int32_t limit = limits ? limits[n > m ? n : m] : INT32_MAX;
    int32_t* const rows = reached + local * 2 * kKept * diagonals + n;
    Turn<Tile> turn(Tiles<Tile>{n, m});
    int32_t* const done = progress + local * 2 * tiles_each + turn.tiles.before_zero();
    const Progress all{turn.tiles, {done, done + tiles_each}, reinterpret_cast<uint32_t*>(matrix + at)};
    for (;;) {
        if (threadIdx.x == 0) ticket = atomicAdd(tickets + local, 1u);
        __syncthreads();
        const auto [tile, direction] = turn.take(ticket);
        const int32_t phase = turn.phase;
        const bool within = direction.least_sum(phase, Tile::kSteps) <= limit;
        if (threadIdx.x == 0) {
            go_on = within && all.ready(direction, phase, tile);
            __threadfence();
        }
        __syncthreads();
        if (!go_on && direction.from_end) return;  // those that follow try larger sums
        if (!go_on) continue;
        const bool from_end = direction.from_end;
        const auto kept = [&](bool of_end, int32_t of_phase) {
            return rows + (of_end * kKept + (of_phase + kKept) % kKept) * diagonals;
        };
        const Rows mine{kept(from_end, phase - 1), kept(!from_end, direction.met(phase)), kept(from_end, phase)};
        const reach::Pair<BITS> pair{{query_words + (from_end ? query_back : 0)},
            {target_words + (from_end ? target_back : 0)}, n, m, substitutions != 0};
        const int32_t found = run_tile(Group<THREADS>::Type(), pair, direction, phase, tile, limit, mine, shared);
        if (threadIdx.x == 0 && found != kNone) atomicMin(all.result, uint32_t(found));
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0 && found == kNone)
            *reinterpret_cast<volatile int32_t*>(done + (from_end ? tiles_each : 0) + tile) = phase + 1;
    }
}

}  // namespace reach
}  // namespace gpualign
