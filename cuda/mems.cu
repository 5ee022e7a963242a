// Maximal exact matches. A warp takes a tile of TILE query starts: it hashes the k-mers of their windows, slides the minimum
// over them, which gives the canonical seeds, looks these up and tests their hits, 32 at a time over seed borders and only
// those on the right strand, so that a frequent seed keeps all lanes busy. `mems_count` counts a tile's matches and, while
// there is room, writes them down; `mems_place` moves those to their tile's offset. Where room was short, `mems_fill`
// searches again and writes a part of the matches at their offsets, so that memory is bounded however many there are.
// Matches of one start come in order of reference position, so `mems_order` only has to bring a tile's starts together.
#include <cstdint>

#include "algo/mem.hpp"

#ifndef TILE  // query starts a warp takes at a time, a multiple of 32
#define TILE 256
#endif
#ifndef WARPS  // a block
#define WARPS 4
#endif
#ifndef MOST_WINDOW  // largest w; registers follow from it
#define MOST_WINDOW 96
#endif

namespace gpualign {

constexpr unsigned kAllLanes = 0xFFFFFFFFu;
constexpr uint32_t kLaneBases = 512;      // a lane extends so far alone, then the warp extends for it
constexpr int kGroup = 32;                // seeds that are looked up together
constexpr int kChunks = (TILE + MOST_WINDOW - 1 + 31) / 32;  // of 32 text positions, one a lane
constexpr uint32_t kNoPlace = 0xFFFF;
static_assert(TILE % 32 == 0 && 32 * kChunks < int(kNoPlace), "");

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

// A warp's share of shared memory. Places are distances from the tile's first start.
struct WarpSpace {
    uint64_t hash[TILE];
    uint16_t place[TILE], first_start[TILE + 1];  // of the seeds in order; kNoPlace for starts that have none
    uint32_t first[kGroup], before[kGroup];       // of the group's seeds: first index entry, hits of the seeds before
    uint8_t on_reverse[kGroup];
    uint32_t waiting_reference[64];  // hits on the right strand that wait to be tested: position and seed
    uint16_t waiting_seed[64];
};

__device__ __forceinline__ int lane_number() { return int(threadIdx.x & 31); }
__device__ __forceinline__ int rank_among(unsigned mask) { return __popc(mask & ((1u << lane_number()) - 1)); }

// A lane's every 32nd text position of the tile: the smallest key from there on, as far as the minimum has slid, and the
// leftmost place that has it.
struct Minima {
    uint64_t key[kChunks];
    uint32_t place[kChunks];
};

// All lanes: the keys of the tile's positions and of w - 1 behind them.
__device__ __forceinline__ void warp_fill_keys(const Task& task, Minima& minima, uint64_t begin) {
#pragma unroll
    for (int j = 0; j < kChunks; j++) {
        const uint64_t p = begin + uint64_t(32 * j + lane_number());
        uint64_t key = 0;
        if (32 * j < TILE + task.w - 1 && p < task.text_length &&
            (break_window(task.text.breaks, p) & ((uint64_t(1) << task.k) - 1)) == 0) {
            key = seed_key(packed_window(task.text.words, p), task.k);
        }
        minima.key[j] = key;
        minima.place[j] = uint32_t(32 * j + lane_number());
    }
}

// All lanes: takes each minimum together with the one 32 * kWhole + rest positions on.
template <int kWhole>
__device__ __forceinline__ void warp_slide(Minima& minima, int rest) {
    const int source = (lane_number() + rest) & 31;
    const bool next_chunk = lane_number() < rest;  // what this lane gives away is wanted one chunk before
#pragma unroll
    for (int j = 0; j + kWhole < kChunks; j++) {
        const int here = j + kWhole, next = here + 1 < kChunks ? here + 1 : here;
        const uint64_t key = __shfl_sync(kAllLanes, next_chunk ? minima.key[next] : minima.key[here], source);
        const uint32_t place = __shfl_sync(kAllLanes, next_chunk ? minima.place[next] : minima.place[here], source);
        if (key < minima.key[j]) {
            minima.key[j] = key;
            minima.place[j] = place;
        }
    }
}

template <int kWhole = 0>
__device__ __forceinline__ void warp_slide_by(Minima& minima, int shift) {
    if constexpr (32 * (kWhole + 1) <= MOST_WINDOW / 2) {  // the largest shift
        if (shift >= 32 * (kWhole + 1)) return warp_slide_by<kWhole + 1>(minima, shift);
    }
    warp_slide<kWhole>(minima, shift - 32 * kWhole);
}

// All lanes: the tile's canonical seeds, in order, behind each the starts from where on it is one; returns how many.
__device__ __forceinline__ int warp_pick_seeds(const Task& task, WarpSpace& space, uint64_t begin) {
    Minima minima;
    warp_fill_keys(task, minima, begin);
    int span = 1;
    for (; 2 * span <= task.w; span *= 2) warp_slide_by(minima, span);
    if (span < task.w) warp_slide_by(minima, task.w - span);
    int seeds = 0;
    uint32_t last = kNoPlace;
#pragma unroll
    for (int j = 0; j < TILE / 32; j++) {
        const uint32_t place = minima.key[j] ? minima.place[j] : kNoPlace;  // a window that holds a break has no seed
        const uint32_t before = __shfl_up_sync(kAllLanes, place, 1);
        const bool changes = place != (lane_number() ? before : last);
        const unsigned mask = __ballot_sync(kAllLanes, changes);
        if (changes) {
            const int at = seeds + rank_among(mask);
            space.hash[at] = minima.key[j] - 1;
            space.place[at] = uint16_t(place);
            space.first_start[at] = uint16_t(32 * j + lane_number());
        }
        seeds += __popc(mask);
        last = __shfl_sync(kAllLanes, place, 31);
    }
    if (lane_number() == 0) space.first_start[seeds] = TILE;
    __syncwarp();
    return seeds;
}

// All lanes: looks up at most kGroup seeds from `from` on; returns the sum of their hits.
__device__ uint32_t warp_look_up(const Task& task, WarpSpace& space, uint64_t begin, int from, int count) {
    const int lane = lane_number();
    uint32_t first = 0, last = 0;
    bool on_reverse = false;
    if (lane < count && space.place[from + lane] != kNoPlace) {
        on_reverse = seed_on_reverse(packed_window(task.text.words, begin + space.place[from + lane]), task.k);
        task.index.find(space.hash[from + lane], first, last);
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

// All lanes: 32 hits of the group from `hit` on, of `hits`; those on the right strand join the `waiting`. Returns how many wait.
__device__ __forceinline__ int warp_gather_hits(const Task& task, WarpSpace& space, int from, uint32_t hit, uint32_t hits,
                                                int waiting) {
    const uint32_t mine = hit + uint32_t(lane_number());
    bool kept = false;
    int seed = 0;
    uint32_t r = 0;
    if (mine < hits) {
        for (int step = kGroup / 2; step; step /= 2)
            if (space.before[seed + step] <= mine) seed += step;
        const uint64_t entry = task.index.entries[space.first[seed] + (mine - space.before[seed])];
        r = entry_position(entry);
        kept = entry_reverse(entry) == bool(space.on_reverse[seed]) && r >= task.own_begin && r < task.own_end;
    }
    const unsigned mask = __ballot_sync(kAllLanes, kept);
    if (kept) {
        const int at = waiting + rank_among(mask);
        space.waiting_reference[at] = r;
        space.waiting_seed[at] = uint16_t(from + seed);
    }
    __syncwarp();
    return waiting + __popc(mask);
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

// All lanes: tests the first 32 waiting hits, or all of them; the lane's match where there is one that is long enough. With
// `whole` false a match is followed no further than the least length.
__device__ bool warp_test_hits(const Task& task, const WarpSpace& space, uint64_t begin, int waiting, bool whole, Mem& mem) {
    bool found = false, open = false;
    if (lane_number() < waiting) {
        const int at = space.waiting_seed[lane_number()];
        const uint32_t r = space.waiting_reference[lane_number()], place = space.place[at];
        const MemSeed seed{uint32_t(begin) + place, uint16_t(place - (space.first_start[at + 1] - 1)),
                           uint16_t(place - space.first_start[at])};
        uint32_t extent;
        if (canonical_hit(task.text, task.reference, seed, r, task.k, extent)) {
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

// All lanes: the tested hits make room for those behind them; returns how many wait on.
__device__ __forceinline__ int warp_drop_tested(WarpSpace& space, int waiting) {
    __syncwarp();
    const int lane = lane_number();
    if (lane < waiting - 32) {
        space.waiting_reference[lane] = space.waiting_reference[lane + 32];
        space.waiting_seed[lane] = space.waiting_seed[lane + 32];
    }
    __syncwarp();
    return waiting > 32 ? waiting - 32 : 0;
}

// All lanes: hands the tile's matches, 32 hits at a time, to emit(found, mem); those of one start by reference position.
template <class Emit>
__device__ void warp_match_tile(const Task& task, WarpSpace& space, uint64_t tile, bool whole, Emit&& emit) {
    const uint64_t begin = tile * TILE;
    const int seeds = warp_pick_seeds(task, space, begin);
    int waiting = 0;
    const auto test = [&] {
        Mem mem{0, 0, 0};
        const bool found = warp_test_hits(task, space, begin, waiting, whole, mem);
        emit(found, mem);
        waiting = warp_drop_tested(space, waiting);
    };
    for (int from = 0; from < seeds; from += kGroup) {
        const uint32_t hits = warp_look_up(task, space, begin, from, min(kGroup, seeds - from));
        for (uint32_t hit = 0; hit < hits; hit += 32) {
            waiting = warp_gather_hits(task, space, from, hit, hits, waiting);
            if (waiting >= 32) test();
        }
        __syncwarp();
    }
    if (waiting) test();
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
