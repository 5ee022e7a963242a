// Pairs of two sets within limits, as a list (algo/align/edit/edit_band.hpp): one query a block, one target a thread,
// in bands of up to 32 diagonals (64 with WIDE), and the best of each row of a matrix. gpualign: registers only (no
// spills, checked by the tests).
//
// The block keeps the words of the band in shared memory: bit b of word x of a code tells whether the query's symbol
// x - top + b is that one, top being a word's highest bit. So a thread whose lowest diagonal is `above` reads word j +
// above in column j, and that diagonal is always the highest bit: the steps that cost nothing are shifted into a word
// and counted.
#include "algo/align/edit/edit_band.hpp"
#include "device/align/matrix/columns.cuh"

#ifndef WIDE
#define WIDE 0
#endif

namespace gpualign {
namespace distances {

#if WIDE
using Bits = uint64_t;
__device__ __forceinline__ int count_bits(Bits x) { return __popcll(x); }
#else
using Bits = uint32_t;
__device__ __forceinline__ int count_bits(Bits x) { return __popc(x); }
#endif
constexpr int kTop = int(sizeof(Bits)) * 8 - 1;
constexpr int kBandThreads = 256;

// Words x in [0, columns) for each code: rows[x * codes + c].
__device__ __forceinline__ void build_rows(
    Bits* rows, const uint8_t* query, const uint8_t* table, int32_t n, int codes, int32_t columns) {
    for (int32_t i = threadIdx.x; i < columns * codes; i += kBandThreads) rows[i] = 0;
    __syncthreads();
    // each word gathers its own symbols: bit b of word x is symbol x - top + b
    for (int32_t x = threadIdx.x; x < columns; x += kBandThreads)
        for (int b = 0; b <= kTop; b++) {
            const int32_t i = x - kTop + b;
            if (i >= 0 && i < n) rows[x * codes + table[query[i]]] |= Bits(1) << b;
        }
    __syncthreads();
}

// The distance where it is within the limit, else -1.
__device__ __forceinline__ int32_t distance_within(
    const Bits* rows, int codes, const uint4* text, int32_t n, int32_t m, int32_t limit, bool wanted) {
    const nw::EditBand band = nw::edit_band(n, m, limit);
    wanted = wanted && band.fits;
    if (!__any_sync(0xffffffffu, wanted)) return -1;
    const int32_t above = wanted ? band.above : 0;
    nw::BandColumn<Bits, 1> column;
    column.start(kTop - above);
    const Bits* row = rows + above * codes;
    const int32_t maximum = limit + nw::edit_slack(band, n, m);
    int32_t value = above;
    const int32_t length = wanted ? m : 0;
    uint4 next = length ? text[0] : uint4{};
    for (int32_t j = 0; j < length;) {
        const uint4 chunk = next;
        if (j + kChunk < length) next = text[(j / kChunk + 1) * kWarp];
        Bits free_steps = 0;
        const int32_t count = min(kChunk, length - j);
        const auto step = [&](int i) {
            const Bits eq = row[symbol_of(chunk, i)];
            Bits d0, hp, hn;
            column.step(&eq, &d0, &hp, &hn);
#if WIDE
            free_steps = free_steps << 1 | d0 >> kTop;
#else
            free_steps = __funnelshift_l(d0, free_steps, 1);
#endif
            row += codes;
        };
        if (count == kChunk) {
#pragma unroll
            for (int i = 0; i < kChunk; i++) step(i);
        } else {
#pragma unroll
            for (int i = 0; i < kChunk; i++)
                if (i < count) step(i);
        }
        value += count - count_bits(free_steps);
        j += count;
        if (__all_sync(__activemask(), value > maximum)) return -1;  // threads that leave alone save nothing
    }
    if (!wanted) return -1;
    // from the lowest diagonal, in row m + above, up to row n; bit b stands for row m + 1 + above - top + b
    const int32_t lowest = n - m + kTop - above;
    const Bits after = lowest >= kTop ? 0 : ((Bits(1) << kTop) - 1) & ~((Bits(1) << lowest) - 1);
    value += count_bits(column.vn[0] & after) - count_bits(column.vp[0] & after);
    return value <= limit ? value : -1;
}

// Queries query_order[first + blockIdx.x] against the targets numbered [from[blockIdx.x], to[blockIdx.x]), which may be
// within the limit by their lengths. found: (smaller << 32 | larger) with `half`, else (query << 32 | target);
// found_count goes on beyond `maximum`.
extern "C" __global__ void __launch_bounds__(256) distances_within(const uint8_t* queries, const int64_t* query_offsets,
    const int32_t* query_order, const uint8_t* table, const uint4* text, const uint32_t* start,
    const int32_t* target_order, const int64_t* target_offsets, const int32_t* limits, const int32_t* from,
    const int32_t* to, uint64_t* found, int32_t* values, unsigned long long* found_count, uint64_t maximum,
    int32_t first, int32_t codes, int32_t columns, int32_t with_itself) {
    extern __shared__ uint4 shared[];
    Bits* rows = reinterpret_cast<Bits*>(shared);
    const int32_t index = first + int32_t(blockIdx.x), query = query_order[index];
    const int32_t begin = from[blockIdx.x] / kBandThreads * kBandThreads, end = to[blockIdx.x];
    const int32_t n = int32_t(query_offsets[query + 1] - query_offsets[query]);
    if (begin + int32_t(blockIdx.y) * kBandThreads >= end) return;
    build_rows(rows, queries + query_offsets[query], table, n, codes, columns);
    for (int32_t base = begin + int32_t(blockIdx.y) * kBandThreads; base < end; base += gridDim.y * kBandThreads) {
        const int32_t at = base + int32_t(threadIdx.x);
        const bool there = at < end && at >= from[blockIdx.x];
        const int32_t target = there ? target_order[at] : 0;
        const int32_t m = there ? int32_t(target_offsets[target + 1] - target_offsets[target]) : 0;
        const int32_t value = distance_within(
            rows, codes, text + (there ? start[at / kWarp] + at % kWarp : 0), n, m, limits[max(n, m)], there);
        const bool kept = value >= 0;
        const uint32_t mask = __ballot_sync(0xffffffffu, kept);
        if (!mask) continue;
        unsigned long long slot = 0;
        if (threadIdx.x % kWarp == 0) slot = atomicAdd(found_count, (unsigned long long)__popc(mask));
        slot = __shfl_sync(0xffffffffu, slot, 0) + __popc(mask & ((1u << threadIdx.x % kWarp) - 1));
        if (!kept || slot >= maximum) continue;
        const bool swap = with_itself && target < query;
        found[slot] = uint64_t(uint32_t(swap ? target : query)) << 32 | uint32_t(swap ? query : target);
        values[slot] = value;
    }
}

// Values of a matrix (rows, columns) that are at least `minimum`, as a list like that of distances_within; row r is
// query number query_order[first + r]. With `half` only those beyond the diagonal, by number.
extern "C" __global__ void collect_values(const int32_t* matrix, const int32_t* query_order, uint64_t* found,
    int32_t* values, unsigned long long* found_count, uint64_t maximum, int64_t columns, int32_t first,
    int32_t with_itself, int32_t half, int32_t minimum) {
    const int32_t query = query_order[first + int32_t(blockIdx.x)];
    const int32_t* row = matrix + int64_t(blockIdx.x) * columns;
    for (int64_t base = int64_t(blockIdx.y) * blockDim.x; base < columns; base += int64_t(gridDim.y) * blockDim.x) {
        const int64_t target = base + threadIdx.x;
        const bool there = target < columns && !(with_itself && target == query) && !(half && target < query);
        const int32_t value = there ? row[target] : 0;
        const bool kept = there && value >= minimum;
        const uint32_t mask = __ballot_sync(0xffffffffu, kept);
        if (!mask) continue;
        unsigned long long slot = 0;
        if (threadIdx.x % kWarp == 0) slot = atomicAdd(found_count, (unsigned long long)__popc(mask));
        slot = __shfl_sync(0xffffffffu, slot, 0) + __popc(mask & ((1u << threadIdx.x % kWarp) - 1));
        if (!kept || slot >= maximum) continue;
        found[slot] = uint64_t(uint32_t(query)) << 32 | uint32_t(target);
        values[slot] = value;
    }
}

// The best `maximum` of each row, by value (`largest`: the largest first) and then by number; -1 where there are fewer.
// Values below `minimum` do not count. One block a row; each round finds the next best.
extern "C" __global__ void nearest(const int32_t* matrix, const int32_t* query_order, int32_t* best_targets,
    int32_t* best_values, int64_t columns, int32_t first, int32_t maximum, int32_t with_itself, int32_t minimum,
    int32_t largest) {
    __shared__ uint64_t warps[32];
    const int32_t query = query_order[first + int32_t(blockIdx.x)];
    const int32_t* row = matrix + int64_t(blockIdx.x) * columns;
    uint64_t last = 0;  // keys are larger
    for (int32_t i = 0; i < maximum; i++) {
        uint64_t best = ~uint64_t(0);
        for (int64_t t = threadIdx.x; t < columns; t += blockDim.x) {
            const int32_t value = row[t];
            if (value < minimum || (with_itself && t == query)) continue;
            const uint32_t rank = uint32_t(largest ? -value : value) ^ 0x80000000u;
            const uint64_t key = (uint64_t(rank) << 32 | uint32_t(t)) + 1;
            if (key > last && key < best) best = key;
        }
        for (int away = 16; away; away /= 2) {
            const uint64_t other = __shfl_xor_sync(0xffffffffu, best, away);
            best = other < best ? other : best;
        }
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = best;
        __syncthreads();
        for (int w = 0; w < int(blockDim.x) / 32; w++) best = warps[w] < best ? warps[w] : best;
        __syncthreads();
        if (threadIdx.x == 0) {
            const bool there = best != ~uint64_t(0);
            const int32_t rank = int32_t(uint32_t((best - 1) >> 32) ^ 0x80000000u);
            best_targets[int64_t(blockIdx.x) * maximum + i] = there ? int32_t(uint32_t(best - 1)) : -1;
            best_values[int64_t(blockIdx.x) * maximum + i] = there ? (largest ? -rank : rank) : -1;
        }
        last = best;
    }
}

}  // namespace distances
}  // namespace gpualign
