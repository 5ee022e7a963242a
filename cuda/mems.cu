// Maximal exact matches. A warp takes a tile of TILE query starts: it hashes the k-mers of their windows, slides the
// minimum over them, which gives the canonical seeds, looks these up and tests their hits, 32 at a time over seed
// borders and only those on the right strand, so that a frequent seed keeps all lanes busy. `mems_count` counts a
// tile's matches and, while there is space, writes them down; `mems_sum` and `mems_number` number them tile by tile,
// and `mems_scatter` moves them to where their numbers say, all without the host. Where space was short, `mems_fill`
// searches again and writes a part of the matches at their final index, so that memory is bounded however many there
// are. Matches of one start come in order of reference position, so `mems_order` only has to bring a tile's starts
// together. A tile of satellite repeats has a thousand times the hits of others: after the first kPartHits of them it
// leaves the rest, in parts of as many, to the warps of `mems_count_parts`. A tile's first part and these parts are the
// units of work that count and number matches.
#include <cstdint>

#include "abi/mems.hpp"
#include "algo/seeds/matches/strands.hpp"
#include "algo/seeds/matches/unique_mem.hpp"
#include "device/seeds/matches/tile.cuh"

#ifndef WARPS  // a block
#define WARPS 4
#endif

namespace gpualign {

constexpr uint32_t kPartHits = 8192;  // of a tile that one warp tests

// The units of work: tiles, as far as a tile's own warp goes, and after them slots for parts.
struct Units {
    uint32_t tiles;
    const TilePart* parts;
    const uint32_t* counts;  // matches of each
    const uint64_t* offsets;  // of a tile: of its first match; of a part: how far a tile's parts lie apart

    // The number of a unit's first match: a tile's own come before those of its parts.
    __device__ __forceinline__ uint64_t first_match(uint32_t unit) const {
        if (unit < tiles) return offsets[unit];
        const TilePart part = parts[unit - tiles];
        return offsets[part.tile] + counts[part.tile] + offsets[unit] - offsets[unit - (part.part - 1)];
    }
};

// All lanes: the matches of a tile's hits [first_hit, last_hit), counted on from `count`; with `capacity`, also written
// down.
__device__ __forceinline__ uint64_t warp_count(const Task& task, WarpSpace& space, uint64_t tile, uint64_t first_hit,
    uint64_t last_hit, uint32_t unit, uint32_t& count, uint64_t capacity, unsigned long long* used,
    FoundMem* found_mems) {
    return warp_match_tile(task, space, tile, first_hit, last_hit, capacity != 0, [&](bool found, const Mem& mem) {
        const unsigned mask = __ballot_sync(kAllLanes, found);
        if (capacity != 0 && mask != 0) {
            unsigned long long index = 0;
            if (lane_number() == 0) index = atomicAdd(used, static_cast<unsigned long long>(__popc(mask)));
            index = __shfl_sync(kAllLanes, index, 0) + rank_among(mask);
            if (found && index < capacity) found_mems[index] = {mem, unit, count + rank_among(mask)};
        }
        count += __popc(mask);
        return true;
    });
}

// All lanes: leaves the parts of a tile after the first to others; false where the list has no memory for all of them.
__device__ __forceinline__ bool warp_leave_parts(LeftOver& list, uint32_t tile, uint64_t hits) {
    const uint64_t more = (hits - 1) / kPartHits;
    if (more > kMaxParts) return false;
    uint32_t index = 0;
    if (lane_number() == 0) index = atomicAdd(&list.part_count, uint32_t(more));
    index = __shfl_sync(kAllLanes, index, 0);
    if (index > kMaxParts - more) return false;
    for (uint32_t i = uint32_t(lane_number()); i < more; i += 32) list.parts[index + i] = {tile, i + 1};
    return true;
}

// Columns of matches, one after the other.
struct MemColumns {
    uint32_t *starts, *references, *lengths;

    __device__ MemColumns(uint32_t* memory, uint64_t matches)
        : starts(memory), references(memory + matches), lengths(memory + 2 * matches) {}
};

// Where matches numbered [from, to) go.
struct Filled {
    uint64_t from, to;
    uint32_t page_begin;
    MemColumns columns;
};

constexpr uint32_t kScanThreads = 256, kThreadValues = 8;  // a block of the scan

// All threads of a block of the scan: the sum of the values of the threads before, and of all of them.
__device__ __forceinline__ uint64_t block_sum_before(uint64_t value, uint64_t& total) {
    __shared__ uint64_t of_warp[kScanThreads / 32];
    uint64_t sum = value;
    for (int step = 1; step < 32; step *= 2) {
        const uint64_t other = __shfl_up_sync(kAllLanes, sum, step);
        if (lane_number() >= step) sum += other;
    }
    __syncthreads();  // an earlier call has been read
    if (lane_number() == 31) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    uint64_t before = sum - value;
    total = 0;
    for (uint32_t warp = 0; warp < kScanThreads / 32; warp++) {
        if (warp < threadIdx.x / 32) before += of_warp[warp];
        total += of_warp[warp];
    }
    return before;
}

// All lanes: writes the matches of the tile's hits from first_hit on, numbered from `number` to `end`.
__device__ __forceinline__ void warp_fill(const Task& task, WarpSpace& space, uint64_t tile, uint64_t first_hit,
    uint64_t number, uint64_t end, const Filled& filled) {
    if (number == end || end <= filled.from || number >= filled.to) return;
    warp_match_tile(task, space, tile, first_hit, ~uint64_t(0), true, [&](bool found, const Mem& mem) {
        const unsigned mask = __ballot_sync(kAllLanes, found);
        const uint64_t mine = number + uint64_t(rank_among(mask));
        if (found && mine < end && mine >= filled.from && mine < filled.to) {
            filled.columns.starts[mine - filled.from] = mem.start;
            filled.columns.references[mine - filled.from] = filled.page_begin + mem.reference;
            filled.columns.lengths[mine - filled.from] = mem.length;
        }
        number += uint64_t(__popc(mask));
        return number < end && number < filled.to;
    });
}

}  // namespace gpualign

using namespace gpualign;

#define TASK_PARAMETERS \
    const uint64_t *__restrict__ text_words, const uint64_t *__restrict__ text_breaks, uint64_t text_length, \
        const uint32_t *__restrict__ offsets, const uint64_t *__restrict__ entries, int bucket_bits, \
        const uint64_t *__restrict__ words, const uint64_t *__restrict__ near_break, \
        const uint32_t *__restrict__ segment_starts, const uint32_t *__restrict__ segment_ends, uint32_t segments, \
        uint32_t bases, uint32_t own_begin, uint32_t own_end, int k, int w, uint32_t min_length
#define TASK \
    Task { \
        {text_words, text_breaks}, text_length, {offsets, entries, {k, bucket_bits}}, \
            {words, near_break, segment_starts, segment_ends, segments, bases}, own_begin, own_end, k, w, min_length \
    }

// The text of strands (bit 0: forward, bit 1: reverse) from packed forward strands, a thread kStrandBlock positions.
extern "C" __global__ void mems_strands(const uint64_t* __restrict__ forward_words,
    const uint64_t* __restrict__ forward_breaks, const uint32_t* __restrict__ begins, uint32_t records, int strands,
    uint64_t blocks, uint64_t* __restrict__ words, uint64_t* __restrict__ breaks) {
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= blocks) return;
    const StrandLayout layout{begins, records, (strands & 1) != 0, (strands & 2) != 0};
    uint32_t block = records ? layout.block_at(i * kStrandBlock) : 0;
    const StrandWords made = strand_words({forward_words, forward_breaks}, layout, i, block);
    words[2 * i] = made.codes[0];
    words[2 * i + 1] = made.codes[1];
    breaks[i] = made.breaks;
}

// Counts of the tiles from `first_tile` on, each as far as its warp goes. With `capacity`, also the matches themselves
// with their unit and their number in it, in any order. `totals` begin as the counts.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    mems_count(TASK_PARAMETERS, uint32_t first_tile, uint32_t tiles, uint32_t* __restrict__ counts,
        uint32_t* __restrict__ totals, uint64_t capacity, FoundMem* __restrict__ found_mems, LeftOver* left_over) {
    __shared__ WarpSpace spaces[WARPS];
    const uint32_t unit = blockIdx.x * WARPS + threadIdx.x / 32;
    if (unit >= tiles) return;
    WarpSpace& space = spaces[threadIdx.x / 32];
    uint32_t count = 0;
    for (uint64_t first_hit = 0, last_hit = kPartHits;;) {
        const uint64_t hits = warp_count(
            TASK, space, first_tile + unit, first_hit, last_hit, unit, count, capacity, &left_over->found, found_mems);
        if (hits <= last_hit || warp_leave_parts(*left_over, unit, hits)) break;
        first_hit = last_hit;
        last_hit = hits;
    }
    if (lane_number() == 0) counts[unit] = totals[unit] = count;
}

// Counts the parts that mems_count has left over, whose units are numbered after the `tiles`; they also count for their
// tiles' totals.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    mems_count_parts(TASK_PARAMETERS, uint32_t first_tile, uint32_t tiles, uint32_t* __restrict__ counts,
        uint32_t* __restrict__ totals, uint64_t capacity, FoundMem* __restrict__ found_mems, LeftOver* left_over) {
    __shared__ WarpSpace spaces[WARPS];
    for (uint32_t i = blockIdx.x * WARPS + threadIdx.x / 32; i < kMaxParts; i += gridDim.x * WARPS) {
        const TilePart part = left_over->parts[i];
        uint32_t count = 0;
        if (part.part != 0) {
            const uint64_t first_hit = uint64_t(part.part) * kPartHits;
            warp_count(TASK, spaces[threadIdx.x / 32], first_tile + part.tile, first_hit, first_hit + kPartHits,
                tiles + i, count, capacity, &left_over->found, found_mems);
        }
        if (lane_number() == 0) {
            counts[tiles + i] = totals[tiles + i] = count;
            if (count != 0) atomicAdd(&totals[part.tile], count);
        }
    }
}

// Counts of the matches of the tiles from `first_tile` on that are unique in the reference, and the matches themselves,
// of which a start has one at most; there is space for as many. The unit after the tiles gets none. A tile's come in
// order.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    mems_count_unique(const uint64_t* __restrict__ text_words, const uint64_t* __restrict__ text_breaks,
        uint64_t text_length, const uint32_t* __restrict__ offsets, const uint32_t* __restrict__ positions, int k,
        const uint64_t* __restrict__ words, const uint64_t* __restrict__ near_break,
        const uint32_t* __restrict__ segment_starts, const uint32_t* __restrict__ segment_ends, uint32_t segments,
        uint32_t bases, uint32_t min_length, uint32_t first_tile, uint32_t tiles, uint32_t* __restrict__ counts,
        uint32_t* __restrict__ totals, FoundMem* __restrict__ found_mems, LeftOver* left_over) {
    const uint32_t unit = blockIdx.x * WARPS + threadIdx.x / 32;
    if (unit > tiles) return;
    const UniqueMemTask task{{text_words, text_breaks},
        {words, near_break, segment_starts, segment_ends, segments, bases}, {offsets, positions, k}, min_length};
    uint32_t count = 0;
    for (uint32_t i = uint32_t(lane_number()); i - uint32_t(lane_number()) < TILE && unit < tiles; i += 32) {
        const uint64_t start = uint64_t(first_tile + unit) * TILE + i;
        Mem mem{};
        const bool found = start < text_length && unique_mem_at(task, start, mem);
        const unsigned mask = __ballot_sync(kAllLanes, found);
        unsigned long long index = 0;
        if (lane_number() == 0 && mask != 0)
            index = atomicAdd(&left_over->found, static_cast<unsigned long long>(__popc(mask)));
        index = __shfl_sync(kAllLanes, index, 0) + rank_among(mask);
        if (found) found_mems[index] = {mem, unit, count + rank_among(mask)};
        count += __popc(mask);
    }
    if (lane_number() == 0) counts[unit] = totals[unit] = count;
}

// Sums of the values that the blocks of mems_number take.
extern "C" __global__ void __launch_bounds__(kScanThreads)
    mems_sum(const uint32_t* __restrict__ values, uint32_t count, uint64_t* __restrict__ sums) {
    uint64_t sum = 0, total;
    for (uint32_t j = 0; j < kThreadValues; j++) {
        const uint32_t i = (blockIdx.x * kThreadValues + j) * kScanThreads + threadIdx.x;
        if (i < count) sum += values[i];
    }
    block_sum_before(sum, total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// The sum of all values before each; what comes before the first after the `tiles` is the total.
extern "C" __global__ void __launch_bounds__(kScanThreads)
    mems_number(const uint32_t* __restrict__ values, uint32_t count, const uint64_t* __restrict__ sums, uint32_t tiles,
        uint64_t* __restrict__ offsets, LeftOver* left_over) {
    uint64_t sum = 0, of_blocks_before, total;
    for (uint32_t block = threadIdx.x; block < blockIdx.x; block += kScanThreads) sum += sums[block];
    block_sum_before(sum, of_blocks_before);
    const uint32_t begin = (blockIdx.x * kScanThreads + threadIdx.x) * kThreadValues;
    const uint32_t end = min(begin + kThreadValues, count);
    sum = 0;
    for (uint32_t i = begin; i < end; i++) sum += values[i];
    uint64_t before = of_blocks_before + block_sum_before(sum, total);
    for (uint32_t i = begin; i < end; i++) {
        offsets[i] = before;
        if (i == tiles) left_over->total = before;
        before += values[i];
    }
}

// Moves the matches that were written down, if all of them were, to where their unit's begin.
extern "C" __global__ void mems_scatter(const FoundMem* __restrict__ found_mems, const LeftOver* __restrict__ left_over,
    uint32_t tiles, const uint32_t* __restrict__ unit_counts, const uint64_t* __restrict__ unit_offsets,
    uint64_t capacity, uint32_t page_begin, uint32_t* __restrict__ filled) {
    const uint64_t total = left_over->total;
    if (total > capacity) return;
    const Units units{tiles, left_over->parts, unit_counts, unit_offsets};
    const MemColumns columns(filled, total);
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
        i += uint64_t(gridDim.x) * blockDim.x) {
        const FoundMem found = found_mems[i];
        const uint64_t number = units.first_match(found.unit) + found.number;
        columns.starts[number] = found.mem.start;
        columns.references[number] = page_begin + found.mem.reference;
        columns.lengths[number] = found.mem.length;
    }
}

// Writes the matches numbered [from, to) of the units [begin, end), each a text tile first_tile + unit, or after the
// `tiles` a part.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    mems_fill(TASK_PARAMETERS, uint32_t first_tile, uint32_t tiles, const LeftOver* __restrict__ left_over,
        const uint32_t* __restrict__ unit_counts, const uint64_t* __restrict__ unit_offsets, uint32_t begin,
        uint32_t end, uint64_t from, uint64_t to, uint32_t page_begin, uint32_t* __restrict__ filled) {
    __shared__ WarpSpace spaces[WARPS];
    const uint32_t unit = begin + blockIdx.x * WARPS + threadIdx.x / 32;
    if (unit >= end || unit_counts[unit] == 0) return;
    const TilePart part = unit < tiles ? TilePart{unit, 0} : left_over->parts[unit - tiles];
    const uint64_t number = Units{tiles, left_over->parts, unit_counts, unit_offsets}.first_match(unit);
    warp_fill(TASK, spaces[threadIdx.x / 32], first_tile + part.tile, uint64_t(part.part) * kPartHits, number,
        number + unit_counts[unit], {from, to, page_begin, MemColumns(filled, to - from)});
}

// Puts the matches numbered [from, to) of the tiles [begin, end), a warp a tile, in order of start; those of one start
// keep theirs, which is by reference position. A tile that is not whole within [from, to) is put in order as far as it
// is. Does nothing where there are more than `maximum` matches in all.
extern "C" __global__ void __launch_bounds__(32 * WARPS) mems_order(uint32_t first_tile, uint32_t begin, uint32_t end,
    const uint64_t* __restrict__ unit_offsets, const LeftOver* __restrict__ left_over, uint64_t maximum, uint64_t from,
    uint64_t to, const uint32_t* __restrict__ filled, uint32_t* __restrict__ ordered) {
    __shared__ uint32_t next_of_start[WARPS][TILE];
    const uint32_t tile = begin + blockIdx.x * WARPS + threadIdx.x / 32;
    const uint64_t total = left_over->total;
    if (tile >= end || total > maximum) return;
    to = min(to, total);
    const uint64_t first = max(from, unit_offsets[tile]), last = min(to, unit_offsets[tile + 1]);
    if (first >= last) return;
    const uint64_t matches = to - from;
    const uint32_t *starts = filled + (first - from), *references = starts + matches, *lengths = references + matches;
    const MemColumns result(ordered, matches);
    uint32_t* next = next_of_start[threadIdx.x / 32];
    const uint32_t origin = (first_tile + tile) * TILE, n = uint32_t(last - first);
    for (int i = lane_number(); i < TILE; i += 32) next[i] = 0;
    __syncwarp();
    for (uint32_t i = uint32_t(lane_number()); i < n; i += 32) atomicAdd(&next[starts[i] - origin], 1u);
    __syncwarp();
    uint32_t before = 0;
    for (int i = lane_number(); i < TILE; i += 32) {
        const uint32_t count = next[i];
        uint32_t sum = count;
        for (int step = 1; step < 32; step *= 2) {
            const uint32_t other = __shfl_up_sync(kAllLanes, sum, step);
            if (lane_number() >= step) sum += other;
        }
        next[i] = before + sum - count;
        before += __shfl_sync(kAllLanes, sum, 31);
    }
    __syncwarp();
    for (uint32_t i = uint32_t(lane_number()); i - uint32_t(lane_number()) < n; i += 32) {
        const uint32_t start = i < n ? starts[i] : 0, in_tile = i < n ? start - origin : TILE;
        const unsigned peers = __match_any_sync(kAllLanes, in_tile);
        const uint32_t base = i < n ? next[in_tile] : 0;
        __syncwarp();
        if (i < n && rank_among(peers) == 0) next[in_tile] = base + uint32_t(__popc(peers));
        __syncwarp();
        if (i < n) {
            const uint64_t index = first - from + base + uint32_t(rank_among(peers));
            result.starts[index] = start;
            result.references[index] = references[i];
            result.lengths[index] = lengths[i];
        }
    }
}
