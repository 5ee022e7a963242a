// Maximal exact matches. A warp takes a tile of TILE text positions: it hashes the k-mers, picks the canonical seeds among
// them, looks these up and tests their hits, 32 at a time over seed borders, so that a frequent seed keeps all lanes
// busy. `mems_count` counts a tile's matches and, while there is room, writes them down in the order in which they are found;
// `mems_place` moves those to their tile's offset. Where room was short, `mems_fill` searches again and writes a part of the
// matches at their offsets, so that memory is bounded however many there are. `mems_order` sorts each tile's.
#include <cstdint>

#include "algo/mem.hpp"

#ifndef TILE  // text positions a warp takes at a time, a multiple of 32
#define TILE 256
#endif
#ifndef WARPS  // a block
#define WARPS 4
#endif
#ifndef MOST_WINDOW  // largest w; shared memory follows from it
#define MOST_WINDOW 96
#endif

namespace gpualign {

constexpr unsigned kAllLanes = 0xFFFFFFFFu;
constexpr uint32_t kLaneBases = 512;      // a lane extends so far alone, then the warp extends for it
constexpr uint32_t kMostOrdered = 2048;   // larger tiles are sorted on the host

struct Task {
    TextView text;
    uint64_t text_length;
    IndexView index;
    SegmentedReference reference;
    uint32_t own_begin, own_end;  // hits outside belong to another page
    int k, w;
    uint32_t least_length;
};

// A match that was written down before its place was known; 20 bytes, as gpualign/gpu/kernels/mems.py reserves them.
struct FoundMem {
    Mem mem;
    uint32_t tile, number;
};
static_assert(sizeof(FoundMem) == 20, "");

// A warp's share of shared memory.
struct WarpSpace {
    uint64_t keys[TILE + 2 * (MOST_WINDOW - 1)];
    uint16_t position[TILE], least[TILE], most[TILE];
    uint32_t first[32], before[32];  // of the seeds being tested: first index entry, hits of the seeds before
    uint8_t on_reverse[32];
};

__device__ __forceinline__ int lane_number() { return int(threadIdx.x & 31); }
__device__ __forceinline__ int rank_among(unsigned mask) { return __popc(mask & ((1u << lane_number()) - 1)); }

// All lanes: the keys of the tile's positions and of w - 1 on either side.
__device__ void warp_fill_keys(const Task& task, WarpSpace& space, int64_t begin) {
    const int reach = task.w - 1;
    for (int i = lane_number(); i < TILE + 2 * reach; i += 32) {
        const int64_t p = begin - reach + i;
        uint64_t key = 0;
        if (p >= 0 && p < int64_t(task.text_length) &&
            (break_window(task.text.breaks, uint64_t(p)) & ((uint64_t(1) << task.k) - 1)) == 0) {
            key = seed_key(packed_window(task.text.words, uint64_t(p)), task.k);
        }
        space.keys[i] = key;
    }
    __syncwarp();
}

// All lanes: the tile's canonical seeds, in order; returns how many.
__device__ int warp_pick_seeds(const Task& task, WarpSpace& space) {
    int seeds = 0;
    for (int i = lane_number(); i < TILE; i += 32) {
        int least = 0, most = 0;
        const bool chosen = canonical_range(space.keys + task.w - 1, i, task.w, least, most);
        const unsigned mask = __ballot_sync(kAllLanes, chosen);
        if (chosen) {
            const int at = seeds + rank_among(mask);
            space.position[at] = uint16_t(i);
            space.least[at] = uint16_t(least);
            space.most[at] = uint16_t(most);
        }
        seeds += __popc(mask);
    }
    __syncwarp();
    return seeds;
}

// All lanes: looks up at most 32 seeds from `from` on; returns the sum of their hits.
__device__ uint32_t warp_look_up(const Task& task, WarpSpace& space, int64_t begin, int from, int count) {
    const int lane = lane_number();
    uint32_t first = 0, last = 0;
    bool on_reverse = false;
    if (lane < count) {
        const int position = space.position[from + lane];
        on_reverse = seed_on_reverse(packed_window(task.text.words, uint64_t(begin + position)), task.k);
        task.index.find(space.keys[position + task.w - 1] - 1, first, last);
    }
    uint32_t sum = last - first;
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(kAllLanes, sum, step);
        if (lane >= step) sum += other;
    }
    space.first[lane] = first;
    space.before[lane] = sum - (last - first);
    space.on_reverse[lane] = on_reverse;
    __syncwarp();
    return __shfl_sync(kAllLanes, sum, 31);
}

// All lanes: extends on for the lanes whose match is still open, 1024 bases a step.
__device__ void warp_extend_open(const Task& task, Mem& mem, bool open) {
    for (unsigned mask = __ballot_sync(kAllLanes, open); mask; mask &= mask - 1) {
        const int owner = __ffs(int(mask)) - 1;
        const uint64_t q = __shfl_sync(kAllLanes, mem.start + mem.length, owner);
        const uint64_t r = __shfl_sync(kAllLanes, mem.reference + mem.length, owner);
        const uint32_t room = task.reference.bases - uint32_t(r);
        uint32_t n = 0;
        while (n < room) {
            const uint32_t at = n + uint32_t(lane_number()) * kBasesPerWord;
            const uint32_t limit = at < room ? (room - at < kBasesPerWord ? room - at : kBasesPerWord) : 0;
            // text and reference end alike in breaks, so positions behind them are never read for lanes behind the first
            const uint32_t same =
                limit && q + at < task.text_length ? extend_right(task.text, q + at, task.reference.words, r + at, limit) : 0;
            const unsigned stopped = __ballot_sync(kAllLanes, same < uint32_t(kBasesPerWord));
            if (stopped) {
                const int where = __ffs(int(stopped)) - 1;
                n += uint32_t(where) * kBasesPerWord + __shfl_sync(kAllLanes, same, where);
                break;
            }
            n += 32 * kBasesPerWord;
        }
        if (lane_number() == owner) {
            mem.length += clip_right(task.reference, uint32_t(r), n);
        }
    }
}

// All lanes: tests hit number `hit` of the looked-up seeds; the match where there is one that is long enough. With
// `whole` false a match is followed no further than the least length.
__device__ bool warp_test_hit(const Task& task, const WarpSpace& space, int64_t begin, int from, uint32_t hit, bool valid,
                              bool whole, Mem& mem) {
    bool found = false, open = false;
    if (valid) {
        int seed_index = 0;
        for (int step = 16; step; step /= 2)
            if (space.before[seed_index + step] <= hit) seed_index += step;
        const uint64_t entry = task.index.entries[space.first[seed_index] + (hit - space.before[seed_index])];
        const uint32_t r = entry_position(entry);
        const int at = from + seed_index;
        const MemSeed seed{uint32_t(begin + space.position[at]), space.least[at], space.most[at]};
        uint32_t extent;
        if (entry_reverse(entry) == bool(space.on_reverse[seed_index]) && r >= task.own_begin && r < task.own_end &&
            canonical_hit(task.text, task.reference, seed, r, task.k, extent)) {
            const uint32_t have = extent + uint32_t(task.k);
            const uint32_t missing = task.least_length > have ? task.least_length - have : 0;
            const uint32_t limit = whole ? (missing > kLaneBases ? missing : kLaneBases) : missing;
            mem = extend_hit(task.text, task.reference, seed, r, task.k, extent, limit);
            found = mem.length >= task.least_length;
            open = whole && found && mem.length == have + limit;
        }
    }
    if (whole) warp_extend_open(task, mem, open);
    return found;
}

// All lanes: hands the tile's matches, 32 hits at a time, to emit(found, mem).
template <class Emit>
__device__ void warp_match_tile(const Task& task, WarpSpace& space, uint64_t tile, bool whole, Emit&& emit) {
    const int64_t begin = int64_t(tile) * TILE;
    warp_fill_keys(task, space, begin);
    const int seeds = warp_pick_seeds(task, space);
    for (int from = 0; from < seeds; from += 32) {
        const uint32_t hits = warp_look_up(task, space, begin, from, min(32, seeds - from));
        for (uint32_t hit = 0; hit < hits; hit += 32) {
            const uint32_t mine = hit + uint32_t(lane_number());
            Mem mem{0, 0, 0};
            const bool found = warp_test_hit(task, space, begin, from, mine, mine < hits, whole, mem);
            emit(found, mem);
        }
        __syncwarp();
    }
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

// Counts of the tiles from `first_tile` on. With `capacity`, also the matches themselves with their tile and their number in
// it, in any order; `used` counts them, those that found no room included.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    mems_count(TASK_PARAMETERS, uint32_t first_tile, uint32_t last_tile, uint32_t* __restrict__ counts, uint64_t capacity,
               unsigned long long* __restrict__ used, FoundMem* __restrict__ found_mems) {
    __shared__ WarpSpace spaces[WARPS];
    const uint32_t tile = first_tile + blockIdx.x * WARPS + threadIdx.x / 32;
    if (tile >= last_tile) return;
    uint32_t count = 0;
    warp_match_tile(TASK, spaces[threadIdx.x / 32], tile, capacity != 0, [&](bool found, const Mem& mem) {
        const unsigned mask = __ballot_sync(kAllLanes, found);
        if (capacity != 0 && mask != 0) {
            unsigned long long place = 0;
            if (lane_number() == 0) place = atomicAdd(used, static_cast<unsigned long long>(__popc(mask)));
            place = __shfl_sync(kAllLanes, place, 0) + rank_among(mask);
            if (found && place < capacity) found_mems[place] = {mem, tile - first_tile, count + rank_among(mask)};
        }
        count += __popc(mask);
    });
    if (lane_number() == 0) counts[tile - first_tile] = count;
}

// Moves the matches that mems_count wrote down, all of them, to their tile's offset.
extern "C" __global__ void mems_place(const FoundMem* __restrict__ found_mems, uint64_t count,
                                      const uint64_t* __restrict__ tile_offsets, uint32_t page_begin,
                                      uint32_t* __restrict__ starts, uint32_t* __restrict__ references,
                                      uint32_t* __restrict__ lengths) {
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const FoundMem found = found_mems[i];
    const uint64_t number = tile_offsets[found.tile] + found.number;
    starts[number] = found.mem.start;
    references[number] = page_begin + found.mem.reference;
    lengths[number] = found.mem.length;
}

// Writes the matches numbered [from, to). `tile_offsets` are the numbers of the tiles' first matches, counted from
// text tile `first_tile`; the grid covers the tiles [begin, end) of them.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    mems_fill(TASK_PARAMETERS, uint32_t first_tile, uint32_t begin, uint32_t end,
              const uint64_t* __restrict__ tile_offsets, uint64_t from, uint64_t to, uint32_t page_begin,
              uint32_t* __restrict__ starts, uint32_t* __restrict__ references, uint32_t* __restrict__ lengths) {
    __shared__ WarpSpace spaces[WARPS];
    const uint32_t tile = begin + blockIdx.x * WARPS + threadIdx.x / 32;
    if (tile >= end || tile_offsets[tile] == tile_offsets[tile + 1]) return;
    uint64_t next = tile_offsets[tile];
    warp_match_tile(TASK, spaces[threadIdx.x / 32], first_tile + tile, true, [&](bool found, const Mem& mem) {
        const unsigned mask = __ballot_sync(kAllLanes, found);
        const uint64_t number = next + uint64_t(rank_among(mask));
        if (found && number >= from && number < to) {
            starts[number - from] = mem.start;
            references[number - from] = page_begin + mem.reference;
            lengths[number - from] = mem.length;
        }
        next += uint64_t(__popc(mask));
    });
}

// Sorts each tile's matches by (start, reference position), a warp a tile, by counting the smaller ones. Tiles that
// are larger than kMostOrdered, or not whole within [from, to), are copied.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    mems_order(uint32_t begin_tile, uint32_t end_tile, const uint64_t* __restrict__ tile_offsets, uint64_t from, uint64_t to,
               const uint32_t* __restrict__ starts, const uint32_t* __restrict__ references,
               const uint32_t* __restrict__ lengths, uint32_t* __restrict__ ordered_starts,
               uint32_t* __restrict__ ordered_references, uint32_t* __restrict__ ordered_lengths) {
    const uint32_t tile = begin_tile + blockIdx.x * WARPS + threadIdx.x / 32;
    if (tile >= end_tile) return;
    const uint64_t begin = max(from, tile_offsets[tile]), end = min(to, tile_offsets[tile + 1]);
    if (begin >= end) return;
    const bool sorting = begin == tile_offsets[tile] && end == tile_offsets[tile + 1] && end - begin <= kMostOrdered;
    const uint64_t base = begin - from;
    const uint32_t n = uint32_t(end - begin);
    for (uint64_t i = uint64_t(lane_number()); i < end - begin; i += 32) {
        const uint64_t key = uint64_t(starts[base + i]) << 32 | references[base + i];
        uint64_t rank = i;
        if (sorting) {
            rank = 0;
            for (uint32_t j = 0; j < n; j++) rank += (uint64_t(starts[base + j]) << 32 | references[base + j]) < key;
        }
        ordered_starts[base + rank] = starts[base + i];
        ordered_references[base + rank] = references[base + i];
        ordered_lengths[base + rank] = lengths[base + i];
    }
}
