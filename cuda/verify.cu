// Levenshtein verification of (query, window) pairs. gpualign: registers only (no spills, checked by the tests).
//
// One module per shape and pass, since they take up to a second each to compile. LANES threads work on a pair, each
// holding WORDS words of the column in registers. A pattern of more rows is done in strips of LANES * WORDS * 32 rows.
// The base's row of the pattern's profile comes from shared memory; what leaves the last row of a lane, two bits a
// column, goes to the next lane 16 columns at a time.
#include "abi/verify.hpp"
#include "algo/common/dna.hpp"
#include "algo/align/edit/myers_striped.hpp"
#include "device/align/edit/text.cuh"
#include "device/align/edit/tracker.cuh"

#ifndef LANES
#define LANES 1
#endif
#ifndef WORDS
#define WORDS 4
#endif
#ifndef BLOCKS  // that must fit on a multiprocessor, which bounds the registers
#define BLOCKS 1
#endif
#ifndef INFIX  // row 0 is free; else alignments begin at the window's first column
#define INFIX 1
#endif
#ifndef BACKWARD  // from the ends that the pass before this one found
#define BACKWARD 0
#endif
#ifndef RUNS  // windows touch bases other than A, C, G and T
#define RUNS 0
#endif

namespace gpualign {

constexpr int kThreads = 128;
// words of a profile row that one shared-memory load brings
constexpr int kLoad = WORDS == 1 ? 1 : WORDS == 2 ? 2 : 4;
constexpr int kLoads = (WORDS + kLoad - 1) / kLoad;
// bytes from one base's row to the next: a power of two, so that a shift and an AND make the address
constexpr uint32_t kRowShift = kLoad == 1 ? 9 : kLoad == 2 ? 10 : 11;
static_assert((kThreads * kLoad * 4) == (1 << kRowShift), "rows of the profile are interleaved by thread");

// The profile of this lane's WORDS words: for each base (and 4 for none) the rows that match it.
__device__ __forceinline__ void load_profile(
    uint32_t* shared, const uint32_t* planes, const uint32_t* rows, bool infix, bool runs) {
    const int codes = runs ? 5 : 4;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
        const uint32_t low = planes[w], high = planes[WORDS + w], known = planes[2 * WORDS + w];
        const uint32_t padding = infix ? ~rows[w] : 0u;
        uint32_t* at = shared + (w / kLoad * codes * kThreads + threadIdx.x) * kLoad + w % kLoad;
        at[0 * kThreads * kLoad] = (known & ~low & ~high) | padding;
        at[1 * kThreads * kLoad] = (known & low & ~high) | padding;
        at[2 * kThreads * kLoad] = (known & ~low & high) | padding;
        at[3 * kThreads * kLoad] = (known & low & high) | padding;
        if (runs) at[4 * kThreads * kLoad] = padding;
    }
}

__device__ __forceinline__ void load_row(const char* row, int codes, uint32_t* eq) {
#pragma unroll
    for (int q = 0; q < kLoads; q++) {
        const char* at = row + (q * codes << kRowShift);
        if (kLoad == 1) {
            eq[q] = *reinterpret_cast<const uint32_t*>(at);
        } else if (kLoad == 2) {
            const uint2 v = *reinterpret_cast<const uint2*>(at);
            eq[2 * q] = v.x;
            eq[2 * q + 1] = v.y;
        } else {
            const uint4 v = *reinterpret_cast<const uint4*>(at);
            eq[4 * q] = v.x;
            if (4 * q + 1 < WORDS) eq[4 * q + 1] = v.y;
            if (4 * q + 2 < WORDS) eq[4 * q + 2] = v.z;
            if (4 * q + 3 < WORDS) eq[4 * q + 3] = v.w;
        }
    }
}

// What enters a column from above: nothing (the row above is level), +1 always, or what another lane or strip gave.
enum Above { kLevel = 0, kRising = 1, kGiven = 2 };

// Up to 16 columns. `in`: differences that enter from above, +1 in the high half and -1 in the low half, first column
// highest; returns the same of the last row.
template <bool Runs, Above Enters>
__device__ __forceinline__ uint32_t run_block(StripedColumn<uint32_t, WORDS>& column, const char* mine, uint32_t codes,
    uint32_t known, uint32_t in, uint32_t count) {
    uint32_t ups = 0, downs = 0, done = 0;
    uint32_t in_up = in, in_down = in << 16;
#pragma unroll
    for (int quarter = 0; quarter < 4; quarter++) {
        if (quarter * 4 >= count) break;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int j = quarter * 4 + i;
            const int shift = int(kRowShift) - 2 * j;
            uint32_t row = (shift >= 0 ? codes << (shift & 31) : codes >> (-shift & 31)) & (3u << kRowShift);
            if (Runs) row = known >> j & 1 ? row : 4u << kRowShift;
            uint32_t eq[4 * kLoads], up, down;
            load_row(mine + row, Runs ? 5 : 4, eq);
            if (Enters == kGiven) column.step(eq, in_up >> 31, in_down >> 31, up, down);
            else column.step(eq, Enters == kRising ? 1u : 0u, 0u, up, down);
            ups = __funnelshift_l(up, ups, 1);
            downs = __funnelshift_l(down, downs, 1);
            in_up <<= 1;
            in_down <<= 1;
        }
        done = quarter * 4 + 4;
    }
    return ups << (32 - done) | downs << (16 - done);
}

// Columns of a strip that can lie on an alignment with at most `limit` errors (see the CPU's columns_of).
struct Range {
    uint32_t first, last;  // blocks
};
__device__ __forceinline__ Range strip_range(
    const VerifyTask& task, int32_t length, int32_t pad, int strip, int strips, VerifyMode mode) {
    constexpr int32_t kRows = 32 * LANES * WORDS;
    const int32_t limit = min(task.limit, length);
    const int32_t top = max(0, strip * kRows - pad), bottom = (strip + 1) * kRows - pad;
    const int32_t right = mode == VerifyMode::infix ? max(0, int32_t(task.columns) - length) + limit : limit;
    uint32_t first = uint32_t(max(0, top - limit - 1));
    uint32_t last = uint32_t(min(int64_t(task.columns), int64_t(bottom) + right + 1));
    if (strip == strips - 1 && mode == VerifyMode::global) last = task.columns;
    first = min(first, last);
    return {first / kBlock, (last + kBlock - 1) / kBlock};
}

// One pair on LANES threads. All threads of a group call; the result is in the tracker of its last lane. In one piece,
// as the column, the tracker and what lanes hand on stay in registers from block to block.
template <bool Backward, bool Runs, bool Infix>
__device__ __forceinline__ Tracker verify_pair(
    const VerifyArrays& batch, const VerifyTask& task, VerifyMode mode, uint32_t* shared, uint32_t* boundary) {
    constexpr int32_t kRows = 32 * LANES * WORDS;
    const int lane = LANES == 1 ? 0 : int(threadIdx.x % LANES);
    const uint32_t group_mask = LANES == 32 ? ~0u : ((1u << LANES) - 1) << (threadIdx.x % 32 / LANES * LANES);
    const int32_t length = batch.lengths[task.profile / 2];
    const int strips = LANES == 1 ? 1 : (length + kRows - 1) / kRows;
    const int32_t pad = strips * kRows - length;
    const uint32_t* planes =
        batch.planes + batch.plane_offsets[task.profile / 2] + size_t(task.profile & 1) * strips * LANES * WORDS * 3;
    constexpr Above kEnters = LANES > 1 ? kGiven : Infix ? kLevel : kRising;
    const char* mine = reinterpret_cast<const char*>(shared + threadIdx.x * kLoad);

    Tracker tracker;
    tracker.score = length;
    tracker.bound = Backward ? task.limit : min(task.limit, length - 1);
    tracker.best = length <= task.limit ? length : -1;
    tracker.end = 0;
    Range above{0, (task.columns + kBlock - 1) / kBlock};
    int32_t bottom = 0;
    for (int strip = 0; strip < strips; strip++) {
        const int tile = strip * LANES + lane;
        StripedColumn<uint32_t, WORDS> column;
        uint32_t rows[WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; w++) rows[w] = striped_rows<uint32_t>(w, WORDS, pad - tile * (32 * WORDS));
        column.start(rows);
        load_profile(shared, planes + size_t(tile) * WORDS * 3, rows, Infix, Runs);
        Range range{0, above.last};
        if (LANES > 1 && strips > 1) {
            range = strip_range(task, length, pad, strip, strips, mode);
            // what the strip above gave where it looked, +1 where it did not
            int32_t change = 0;
            if (strip > 0) {
                for (uint32_t b = above.last + lane; b < range.last; b += LANES) boundary[b] = 0xFFFF0000u;
                __syncwarp(group_mask);
                for (uint32_t b = above.first + lane; b < range.first; b += LANES)
                    change += __popc(boundary[b] >> 16) - __popc(boundary[b] & 0xFFFFu);
#pragma unroll
                for (int offset = LANES / 2; offset > 0; offset /= 2)
                    change += __shfl_xor_sync(group_mask, change, offset);
            }
            bottom += change + min(kRows, (strip + 1) * kRows - pad);
            tracker.score = bottom;
            above = range;
        }
        uint32_t out = 0;
        for (uint32_t step = range.first; step < range.last + LANES - 1; step++) {
            uint32_t in = LANES == 1 ? 0 : __shfl_up_sync(group_mask, out, 1, LANES);
            const uint32_t b = step - lane;
            if (LANES > 1 && (step < range.first + lane || b >= range.last)) continue;
            if (lane == 0) in = strip > 0 ? boundary[b] : Infix ? 0u : 0xFFFF0000u;
            const uint32_t at = b * kBlock, count = min(uint32_t(kBlock), task.columns - at);
            const uint32_t codes = bases16<Backward>(batch.text, task.begin, task.columns, at);
            const uint32_t known = Runs ? known16<Backward>(batch.known, task.begin, task.columns, at) : 0;
            out = run_block<Runs, kEnters>(column, mine, codes, known, in, count);
            if (lane != LANES - 1) continue;
            if (strip < strips - 1) {
                boundary[b] = out;
            } else if (mode == VerifyMode::global) {
                const uint32_t valid = count < kBlock ? 0xFFFFu << (kBlock - count) & 0xFFFFu : 0xFFFFu;
                tracker.score += __popc(out >> 16 & valid) - __popc(out & valid);
            } else {
                tracker.note<Backward>(out >> 16, out & 0xFFFFu, at, count);
                // the score falls by at most one a column: nothing more to find. A warp leaves together, since threads
                // that leave alone save nothing
                const bool hopeless = tracker.score - int32_t(task.columns - at - count) > tracker.bound;
                if (LANES == 1 && __all_sync(__activemask(), hopeless)) break;
            }
        }
        if (LANES > 1) __syncwarp(group_mask);
    }
    if (mode == VerifyMode::global) {
        tracker.best = tracker.score <= task.limit ? tracker.score : -1;
        tracker.end = task.columns;
    }
    return tracker;
}

template <bool Backward, bool Runs, bool Infix>
__device__ __forceinline__ void verify_batch(
    const VerifyArrays& batch, VerifyMode mode, uint32_t first, uint32_t count) {
    extern __shared__ uint4 profile[];
    uint32_t* shared = reinterpret_cast<uint32_t*>(profile);
    if (Backward) count = *batch.hit_count;
    const uint32_t group = (blockIdx.x * kThreads + threadIdx.x) / LANES, groups = gridDim.x * kThreads / LANES;
    uint32_t* boundary = batch.boundary + size_t(group) * batch.boundary_stride;
    for (uint32_t i = group; i < count; i += groups) {
        const uint32_t at = Backward ? batch.hits[first + i] : first + i;
        const uint4 packed = batch.tasks[at];
        VerifyTask task{packed.x, packed.y, packed.z, int32_t(packed.w)};
        if (Backward) {  // from the known end back, as the other strand, with a known distance
            task.limit = batch.distances[at];
            const uint32_t end = uint32_t(batch.ends[at]);
            task.columns = min(end, uint32_t(batch.lengths[task.profile / 2] + task.limit));
            task.begin += end - task.columns;
            task.profile ^= 1;
        }
        const Tracker tracker =
            verify_pair<Backward, Runs, Infix>(batch, task, Backward ? VerifyMode::prefix : mode, shared, boundary);
        if (LANES > 1 && threadIdx.x % LANES != LANES - 1) continue;
        if (Backward) {
            batch.starts[at] = batch.ends[at] - int32_t(tracker.end);
        } else {
            const bool hit = tracker.best >= 0;
            batch.distances[at] = tracker.best;
            batch.ends[at] = hit ? int32_t(tracker.end) : 0;
            batch.starts[at] = 0;
            if (Infix && hit && tracker.end > 0) batch.hits[first + atomicAdd(batch.hit_count, 1u)] = at;
        }
    }
}

}  // namespace gpualign

// Tasks [first, first + count), all of this module's shape. Backward: the starts of
// the hits that the pass before left under the same `first`.
extern "C" __global__ void __launch_bounds__(128, BLOCKS)
    verify(gpualign::VerifyArrays batch, gpualign::VerifyMode mode, uint32_t first, uint32_t count) {
    gpualign::verify_batch<BACKWARD, RUNS, INFIX>(batch, mode, first, count);
}
