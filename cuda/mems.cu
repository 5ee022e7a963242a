// Maximal exact matches. A warp takes a tile of TILE query starts: it hashes the k-mers of their windows, slides the minimum
// over them, which gives the canonical seeds, looks these up and tests their hits, 32 at a time over seed borders and only
// those on the right strand, so that a frequent seed keeps all lanes busy. `mems_count` counts a tile's matches and, while
// there is room, writes them down; `mems_place` moves those to their tile's offset. Where room was short, `mems_fill`
// searches again and writes a part of the matches at their offsets, so that memory is bounded however many there are.
// Matches of one start come in order of reference position, so `mems_order` only has to bring a tile's starts together.
// A tile of satellite repeats has a thousand times the hits of others: behind the first kPartHits of them it leaves the
// rest, in parts of as many, to the warps of `mems_count_parts`. A tile's first part and these parts are the units of work
// that count and number matches.
#include <cstdint>

#include "device/mem_tile.cuh"

#ifndef WARPS  // a block
#define WARPS 4
#endif

namespace gpualign {

constexpr uint32_t kPartHits = 8192;  // of a tile that one warp tests

// A match that was written down before its place was known; 20 bytes, as gpualign/gpu/kernels/mems.py reserves them.
struct FoundMem {
    Mem mem;
    uint32_t unit, number;
};
static_assert(sizeof(FoundMem) == 20, "");

// Hits [part * kPartHits, (part + 1) * kPartHits) of a tile; part 0 marks an entry that is not in use.
struct TilePart {
    uint32_t tile, part;
};

// What mems_count leaves over: `most` entries at most; `count` may be larger, then there was no room for some.
struct PartList {
    uint32_t* count;
    TilePart* parts;
    uint32_t most;

    __device__ __forceinline__ uint32_t used() const { return *count < most ? *count : most; }
};

// All lanes: the matches of a tile's hits [first_hit, last_hit), counted on from `count`; with `capacity`, also written down.
__device__ __forceinline__ uint64_t warp_count(const Task& task, WarpSpace& space, uint64_t tile, uint64_t first_hit,
                                               uint64_t last_hit, uint32_t unit, uint32_t& count, uint64_t capacity,
                                               unsigned long long* used, FoundMem* found_mems) {
    return warp_match_tile(task, space, tile, first_hit, last_hit, capacity != 0, [&](bool found, const Mem& mem) {
        const unsigned mask = __ballot_sync(kAllLanes, found);
        if (capacity != 0 && mask != 0) {
            unsigned long long place = 0;
            if (lane_number() == 0) place = atomicAdd(used, static_cast<unsigned long long>(__popc(mask)));
            place = __shfl_sync(kAllLanes, place, 0) + rank_among(mask);
            if (found && place < capacity) found_mems[place] = {mem, unit, count + rank_among(mask)};
        }
        count += __popc(mask);
        return true;
    });
}

// All lanes: leaves the parts of a tile behind the first to others; false where the list has no room for all of them.
__device__ __forceinline__ bool warp_leave_parts(const PartList& list, uint32_t tile, uint64_t hits) {
    const uint64_t more = (hits - 1) / kPartHits;
    if (more > list.most) return false;
    uint32_t place = 0;
    if (lane_number() == 0) place = atomicAdd(list.count, uint32_t(more));
    place = __shfl_sync(kAllLanes, place, 0);
    if (place > list.most - more) return false;
    for (uint32_t i = uint32_t(lane_number()); i < more; i += 32) list.parts[place + i] = {tile, i + 1};
    return true;
}

// Where matches numbered [from, to) go.
struct Filled {
    uint64_t from, to;
    uint32_t page_begin;
    uint32_t *starts, *references, *lengths;
};

// All lanes: writes the matches of the tile's hits from first_hit on, numbered from `number` to `end`.
__device__ __forceinline__ void warp_fill(const Task& task, WarpSpace& space, uint64_t tile, uint64_t first_hit,
                                          uint64_t number, uint64_t end, const Filled& filled) {
    if (number == end || end <= filled.from || number >= filled.to) return;
    warp_match_tile(task, space, tile, first_hit, ~uint64_t(0), true, [&](bool found, const Mem& mem) {
        const unsigned mask = __ballot_sync(kAllLanes, found);
        const uint64_t mine = number + uint64_t(rank_among(mask));
        if (found && mine < end && mine >= filled.from && mine < filled.to) {
            filled.starts[mine - filled.from] = mem.start;
            filled.references[mine - filled.from] = filled.page_begin + mem.reference;
            filled.lengths[mine - filled.from] = mem.length;
        }
        number += uint64_t(__popc(mask));
        return number < end && number < filled.to;
    });
}

}  // namespace gpualign

using namespace gpualign;

#define TASK_PARAMETERS                                                                                               \
    const uint64_t *__restrict__ text_words, const uint64_t *__restrict__ text_breaks, uint64_t text_length,          \
        const uint32_t *__restrict__ offsets, const uint64_t *__restrict__ entries, int bucket_bits,                  \
        const uint64_t *__restrict__ words, const uint64_t *__restrict__ near_break,                                  \
        const uint32_t *__restrict__ segment_starts, const uint32_t *__restrict__ segment_ends, uint32_t segments,    \
        uint32_t bases, uint32_t own_begin, uint32_t own_end, int k, int w, uint32_t least_length
#define TASK                                                                                                          \
    Task {                                                                                                            \
        {text_words, text_breaks}, text_length, {offsets, entries, {k, bucket_bits}},                                 \
            {words, near_break, segment_starts, segment_ends, segments, bases}, own_begin, own_end, k, w,             \
            least_length                                                                                              \
    }

// Counts of the tiles from `first_tile` on, each as far as its warp goes. With `capacity`, also the matches themselves with
// their unit and their number in it, in any order; `used` counts them, those that found no room included.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    mems_count(TASK_PARAMETERS, uint32_t first_tile, uint32_t last_tile, uint32_t* __restrict__ counts, uint64_t capacity,
               unsigned long long* __restrict__ used, FoundMem* __restrict__ found_mems, uint32_t* __restrict__ part_count,
               TilePart* __restrict__ parts, uint32_t most_parts) {
    __shared__ WarpSpace spaces[WARPS];
    const uint32_t tile = first_tile + blockIdx.x * WARPS + threadIdx.x / 32;
    if (tile >= last_tile) return;
    WarpSpace& space = spaces[threadIdx.x / 32];
    const uint32_t unit = tile - first_tile;
    uint32_t count = 0;
    for (uint64_t first_hit = 0, last_hit = kPartHits;;) {
        const uint64_t hits =
            warp_count(TASK, space, tile, first_hit, last_hit, unit, count, capacity, used, found_mems);
        if (hits <= last_hit || warp_leave_parts({part_count, parts, most_parts}, unit, hits)) break;
        first_hit = last_hit;
        last_hit = hits;
    }
    if (lane_number() == 0) counts[unit] = count;
}

// The same of the parts that mems_count has left over; their units are numbered behind the `tiles`.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    mems_count_parts(TASK_PARAMETERS, uint32_t first_tile, uint32_t tiles, uint32_t* __restrict__ counts, uint64_t capacity,
                     unsigned long long* __restrict__ used, FoundMem* __restrict__ found_mems,
                     uint32_t* __restrict__ part_count, TilePart* __restrict__ parts, uint32_t most_parts) {
    __shared__ WarpSpace spaces[WARPS];
    const PartList list{part_count, parts, most_parts};
    const uint32_t n = list.used();
    for (uint32_t i = blockIdx.x * WARPS + threadIdx.x / 32; i < n; i += gridDim.x * WARPS) {
        const TilePart part = parts[i];
        if (part.part == 0) continue;
        const uint64_t first_hit = uint64_t(part.part) * kPartHits;
        uint32_t count = 0;
        warp_count(TASK, spaces[threadIdx.x / 32], first_tile + part.tile, first_hit, first_hit + kPartHits, tiles + i, count,
                   capacity, used, found_mems);
        if (lane_number() == 0) counts[i] = count;
    }
}

// Moves the matches that were written down, all of them, to their unit's offset.
extern "C" __global__ void mems_place(const FoundMem* __restrict__ found_mems, uint64_t count,
                                      const uint64_t* __restrict__ unit_offsets, uint32_t page_begin,
                                      uint32_t* __restrict__ starts, uint32_t* __restrict__ references,
                                      uint32_t* __restrict__ lengths) {
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const FoundMem found = found_mems[i];
    const uint64_t number = unit_offsets[found.unit] + found.number;
    starts[number] = found.mem.start;
    references[number] = page_begin + found.mem.reference;
    lengths[number] = found.mem.length;
}

// Writes the matches numbered [from, to) of the units [begin, end). Unit i has those from unit_offsets[i] on,
// unit_counts[i] of them; it is text tile first_tile + i, or behind the `tiles` a part.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    mems_fill(TASK_PARAMETERS, uint32_t first_tile, uint32_t tiles, const TilePart* __restrict__ parts, uint32_t begin,
              uint32_t end, const uint64_t* __restrict__ unit_offsets, const uint32_t* __restrict__ unit_counts, uint64_t from,
              uint64_t to, uint32_t page_begin, uint32_t* __restrict__ starts, uint32_t* __restrict__ references,
              uint32_t* __restrict__ lengths) {
    __shared__ WarpSpace spaces[WARPS];
    const uint32_t unit = begin + blockIdx.x * WARPS + threadIdx.x / 32;
    if (unit >= end) return;
    const TilePart part = unit < tiles ? TilePart{unit, 0} : parts[unit - tiles];
    const uint64_t number = unit_offsets[unit];
    warp_fill(TASK, spaces[threadIdx.x / 32], first_tile + part.tile, uint64_t(part.part) * kPartHits, number,
              number + unit_counts[unit], {from, to, page_begin, starts, references, lengths});
}

// Puts each tile's matches, a warp a tile, in order of start; those of one start keep theirs, which is by reference
// position. A tile that is not whole within [from, to) is put in order as far as it is.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    mems_order(uint32_t first_tile, uint32_t begin, uint32_t end, const uint64_t* __restrict__ tile_offsets, uint64_t from,
               uint64_t to, const uint32_t* __restrict__ starts, const uint32_t* __restrict__ references,
               const uint32_t* __restrict__ lengths, uint32_t* __restrict__ ordered_starts,
               uint32_t* __restrict__ ordered_references, uint32_t* __restrict__ ordered_lengths) {
    __shared__ uint32_t next_of_start[WARPS][TILE];
    const uint32_t tile = begin + blockIdx.x * WARPS + threadIdx.x / 32;
    if (tile >= end) return;
    const uint64_t first = max(from, tile_offsets[tile]), last = min(to, tile_offsets[tile + 1]);
    if (first >= last) return;
    uint32_t* next = next_of_start[threadIdx.x / 32];
    const uint32_t origin = (first_tile + tile) * TILE, n = uint32_t(last - first);
    starts += first - from;
    references += first - from;
    lengths += first - from;
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
            const uint64_t place = first - from + base + uint32_t(rank_among(peers));
            ordered_starts[place] = start;
            ordered_references[place] = references[i];
            ordered_lengths[place] = lengths[i];
        }
    }
}
