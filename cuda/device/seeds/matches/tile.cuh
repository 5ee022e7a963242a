// A warp and a tile of query starts: the canonical seeds of the tile, their hits, the matches
// (algo/seeds/matches/mem.hpp).
#pragma once
#include "algo/seeds/matches/mem.hpp"

#ifndef TILE  // query starts a warp takes at a time, a multiple of 32
#define TILE 256
#endif
#ifndef MAX_WINDOW  // largest w; registers follow from it
#define MAX_WINDOW 96
#endif

namespace gpualign {

constexpr unsigned kAllLanes = 0xFFFFFFFFu;
constexpr uint32_t kLaneBases = 512;      // a lane extends so far alone, then the warp extends for it
constexpr int kGroup = 32;                // seeds that are looked up together
constexpr int kChunks = (TILE + MAX_WINDOW - 1 + 31) / 32;  // of 32 text positions, one a lane
constexpr uint32_t kNoOffset = 0xFFFF;
static_assert(TILE % 32 == 0 && 32 * kChunks < int(kNoOffset), "");

struct Task {
    TextView text;
    uint64_t text_length;
    IndexView index;
    SegmentedReference reference;
    uint32_t own_begin, own_end;  // hits outside belong to another page
    int k, w;
    uint32_t min_length;
};

// A warp's share of shared memory. Offsets count from the tile's first start.
struct WarpSpace {
    uint64_t hash[TILE];
    uint16_t offset[TILE], first_start[TILE + 1];  // of the seeds in order; kNoOffset for starts that have none
    uint64_t before[kGroup];  // of the group's seeds: hits of the seeds before,
    uint32_t first[kGroup];   // first index entry
    uint8_t on_reverse[kGroup];
    uint32_t waiting_reference[64];  // hits on the right strand that wait to be tested: position and seed
    uint16_t waiting_seed[64];
};

__device__ __forceinline__ int lane_number() { return int(threadIdx.x & 31); }
__device__ __forceinline__ int rank_among(unsigned mask) { return __popc(mask & ((1u << lane_number()) - 1)); }

// A lane's every 32nd text position of the tile: the smallest key from there on, as far as the minimum has slid, and
// the leftmost offset that has it.
struct Minima {
    uint64_t key[kChunks];
    uint32_t offset[kChunks];
};

// All lanes: the keys of the tile's positions and of w - 1 after them.
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
        minima.offset[j] = uint32_t(32 * j + lane_number());
    }
}

// All lanes: takes each minimum together with the one 32 * kWhole + rest positions on.
template <int kWhole> __device__ __forceinline__ void warp_slide(Minima& minima, int rest) {
    const int source = (lane_number() + rest) & 31;
    const bool next_chunk = lane_number() < rest;  // what this lane gives away is wanted one chunk before
#pragma unroll
    for (int j = 0; j + kWhole < kChunks; j++) {
        const int here = j + kWhole, next = here + 1 < kChunks ? here + 1 : here;
        const uint64_t key = __shfl_sync(kAllLanes, next_chunk ? minima.key[next] : minima.key[here], source);
        const uint32_t offset = __shfl_sync(kAllLanes, next_chunk ? minima.offset[next] : minima.offset[here], source);
        if (key < minima.key[j]) {
            minima.key[j] = key;
            minima.offset[j] = offset;
        }
    }
}

template <int kWhole = 0> __device__ __forceinline__ void warp_slide_by(Minima& minima, int shift) {
    if constexpr (32 * (kWhole + 1) <= MAX_WINDOW / 2) {  // the largest shift
        if (shift >= 32 * (kWhole + 1)) return warp_slide_by<kWhole + 1>(minima, shift);
    }
    warp_slide<kWhole>(minima, shift - 32 * kWhole);
}

// All lanes: the tile's canonical seeds, in order, after each the starts from where on it is one; returns how many.
__device__ __forceinline__ int warp_pick_seeds(const Task& task, WarpSpace& space, uint64_t begin) {
    Minima minima;
    warp_fill_keys(task, minima, begin);
    int span = 1;
    for (; 2 * span <= task.w; span *= 2) warp_slide_by(minima, span);
    if (span < task.w) warp_slide_by(minima, task.w - span);
    int seeds = 0;
    uint32_t last = kNoOffset;
#pragma unroll
    for (int j = 0; j < TILE / 32; j++) {
        const uint32_t offset =
            minima.key[j] ? minima.offset[j] : kNoOffset;  // a window that holds a break has no seed
        const uint32_t before = __shfl_up_sync(kAllLanes, offset, 1);
        const bool changes = offset != (lane_number() ? before : last);
        const unsigned mask = __ballot_sync(kAllLanes, changes);
        if (changes) {
            const int at = seeds + rank_among(mask);
            space.hash[at] = minima.key[j] - 1;
            space.offset[at] = uint16_t(offset);
            space.first_start[at] = uint16_t(32 * j + lane_number());
        }
        seeds += __popc(mask);
        last = __shfl_sync(kAllLanes, offset, 31);
    }
    if (lane_number() == 0) space.first_start[seeds] = TILE;
    __syncwarp();
    return seeds;
}

// All lanes: looks up at most kGroup seeds from `from` on; returns the sum of their hits.
__device__ uint64_t warp_look_up(const Task& task, WarpSpace& space, uint64_t begin, int from, int count) {
    const int lane = lane_number();
    uint32_t first = 0, last = 0;
    bool on_reverse = false;
    if (lane < count && space.offset[from + lane] != kNoOffset) {
        on_reverse = seed_on_reverse(packed_window(task.text.words, begin + space.offset[from + lane]), task.k);
        task.index.find(space.hash[from + lane], first, last);
    }
    uint64_t sum = last - first;
    for (int step = 1; step < 32; step *= 2) {
        const uint64_t other = __shfl_up_sync(kAllLanes, sum, step);
        if (lane >= step) sum += other;
    }
    space.first[lane] = first;
    space.before[lane] = sum - (last - first);
    space.on_reverse[lane] = on_reverse;
    __syncwarp();
    return __shfl_sync(kAllLanes, sum, 31);
}

// All lanes: 32 hits of the group from `hit` on, of `hits`; those on the right strand join the `waiting`. Returns how
// many wait.
__device__ __forceinline__ int warp_gather_hits(
    const Task& task, WarpSpace& space, int from, uint64_t hit, uint64_t hits, int waiting) {
    const uint64_t mine = hit + uint64_t(lane_number());
    bool kept = false;
    int seed = 0;
    uint32_t r = 0;
    if (mine < hits) {
        for (int step = kGroup / 2; step; step /= 2)
            if (space.before[seed + step] <= mine) seed += step;
        const uint64_t entry = task.index.entries[space.first[seed] + uint32_t(mine - space.before[seed])];
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
        const uint32_t available = task.reference.bases - uint32_t(r);
        uint32_t n = 0;
        while (n < available) {
            const uint32_t at = n + uint32_t(lane_number()) * kBasesPerWord;
            const uint32_t limit =
                at < available ? (available - at < kBasesPerWord ? available - at : kBasesPerWord) : 0;
            // text and reference end alike in breaks, so positions after them are never read for lanes after the first
            const uint32_t same = limit && q + at < task.text_length
                                      ? extend_right(task.text, q + at, task.reference.words, r + at, limit)
                                      : 0;
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

// All lanes: tests the first 32 waiting hits, or all of them; the lane's match where there is one that is long enough.
// With `whole` false a match is followed no further than the least length.
__device__ bool warp_test_hits(
    const Task& task, const WarpSpace& space, uint64_t begin, int waiting, bool whole, Mem& mem) {
    bool found = false, open = false;
    if (lane_number() < waiting) {
        const int at = space.waiting_seed[lane_number()];
        const uint32_t r = space.waiting_reference[lane_number()], offset = space.offset[at];
        const MemSeed seed{uint32_t(begin) + offset, uint16_t(offset - (space.first_start[at + 1] - 1)),
            uint16_t(offset - space.first_start[at])};
        uint32_t extent;
        if (canonical_hit(task.text, task.reference, seed, r, task.k, extent)) {
            const uint32_t have = extent + uint32_t(task.k);
            const uint32_t missing = task.min_length > have ? task.min_length - have : 0;
            const uint32_t limit = whole ? (missing > kLaneBases ? missing : kLaneBases) : missing;
            mem = extend_hit(task.text, task.reference, seed, r, task.k, extent, limit);
            found = mem.length >= task.min_length;
            open = whole && found && mem.length == have + limit;
        }
    }
    if (whole) warp_extend_open(task, mem, open);
    return found;
}

// All lanes: the tested hits make space for those after them; returns how many wait on.
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

// All lanes: hands the matches of the tile's hits [first_hit, last_hit), 32 hits at a time, to emit(found, mem), those
// of one start by reference position, until that says false. Returns how many hits the tile has, if it went so far.
template <class Emit>
__device__ uint64_t warp_match_tile(
    const Task& task, WarpSpace& space, uint64_t tile, uint64_t first_hit, uint64_t last_hit, bool whole, Emit&& emit) {
    const uint64_t begin = tile * TILE;
    const int seeds = warp_pick_seeds(task, space, begin);
    int waiting = 0;
    bool more = true;
    const auto test = [&] {
        Mem mem{0, 0, 0};
        const bool found = warp_test_hits(task, space, begin, waiting, whole, mem);
        more = emit(found, mem);
        waiting = warp_drop_tested(space, waiting);
    };
    uint64_t before = 0;  // hits of the groups before
    for (int from = 0; from < seeds && more; from += kGroup) {
        const uint64_t hits = warp_look_up(task, space, begin, from, min(kGroup, seeds - from));
        const uint64_t available = last_hit > before ? last_hit - before : 0,
                       stop = hits < available ? hits : available;
        for (uint64_t hit = first_hit > before ? first_hit - before : 0; hit < stop && more; hit += 32) {
            waiting = warp_gather_hits(task, space, from, hit, stop, waiting);
            if (waiting >= 32) test();
        }
        before += hits;
        __syncwarp();
    }
    if (waiting && more) test();
    return before;
}

}  // namespace gpualign
