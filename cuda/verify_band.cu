// Levenshtein verification within a band (algo/align/edit/myers_band.hpp), for small limits: one thread a pair, infix
// mode, windows of A, C, G and T alone. gpualign: registers only (no spills, checked by the tests).
#include "abi/verify.hpp"
#include "algo/common/dna.hpp"
#include "algo/align/edit/myers_band.hpp"
#include "device/align/edit/text.cuh"
#include "device/align/edit/tracker.cuh"

#ifndef WORDS  // 1, 2 or 4
#define WORDS 2
#endif

namespace gpualign {

constexpr int kThreads = 128;
constexpr int kRows = 32 * WORDS;
constexpr uint32_t kRowShift = WORDS == 1 ? 9 : WORDS == 2 ? 10 : 11;  // bytes between the bases' rows
static_assert(kThreads * WORDS * 4 == 1 << kRowShift, "rows of the profile are interleaved by thread");
using Plan = BandPlan<kRows, kBlock>;

// Every second bit of x, from bit 0.
__device__ __forceinline__ uint32_t even_bits(uint64_t x) {
    x &= 0x5555555555555555u;
    x = (x | x >> 1) & 0x3333333333333333u;
    x = (x | x >> 2) & 0x0F0F0F0F0F0F0F0Fu;
    x = (x | x >> 4) & 0x00FF00FF00FF00FFu;
    x = (x | x >> 8) & 0x0000FFFF0000FFFFu;
    return uint32_t(x | x >> 16);
}

// Bits [at, at + 32) of a plane whose bit 0 is row -`before`.
__device__ __forceinline__ uint32_t bits_at(const uint32_t* plane, int at) {
    return __funnelshift_r(plane[at >> 5], plane[(at >> 5) + 1], uint32_t(at & 31));
}

// Word w of kRows bits from `at` on, striped.
__device__ __forceinline__ uint32_t striped_at(const uint32_t* plane, int at, int w) {
    if (WORDS == 1) return bits_at(plane, at);
    if (WORDS == 2) return even_bits((uint64_t(bits_at(plane, at + 32)) << 32 | bits_at(plane, at)) >> w);
    const uint64_t low = uint64_t(bits_at(plane, at + 32)) << 32 | bits_at(plane, at);
    const uint64_t high = uint64_t(bits_at(plane, at + 96)) << 32 | bits_at(plane, at + 64);
    const int odd = w & 1;
    return even_bits((uint64_t(even_bits(high >> odd)) << 32 | even_bits(low >> odd)) >> (w >> 1));
}

__device__ __forceinline__ void load_row(const char* row, uint32_t* eq) {
    if (WORDS == 1) {
        eq[0] = *reinterpret_cast<const uint32_t*>(row);
    } else if (WORDS == 2) {
        const uint2 v = *reinterpret_cast<const uint2*>(row);
        eq[0] = v.x;
        eq[1] = v.y;
    } else {
        const uint4 v = *reinterpret_cast<const uint4*>(row);
        eq[0] = v.x;
        eq[1] = v.y;
        eq[2] = v.z;
        eq[3] = v.w;
    }
}

// One base. `up`: 1 where the row above the window rises.
__device__ __forceinline__ void step(StripedColumn<uint32_t, WORDS>& column, const char* mine, uint32_t row,
    uint32_t up, uint32_t& ups, uint32_t& downs) {
    uint32_t eq[WORDS], last_up, last_down;
    load_row(mine + row, eq);
    column.step(eq, up, 0u, last_up, last_down);
    ups = __funnelshift_l(last_up, ups, 1);
    downs = __funnelshift_l(last_down, downs, 1);
}

__device__ __forceinline__ int32_t differences(const StripedColumn<uint32_t, WORDS>& column, uint32_t mask) {
    int32_t sum = 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++) sum += __popc(column.vp[w] & mask) - __popc(column.vn[w] & mask);
    return sum;
}

// `profile`: a block's rows for each base, WORDS words a base, block after block. In one piece, as the column stays in
// registers while the band slides.
__device__ __forceinline__ Tracker verify_pair(
    const VerifyArrays& batch, const VerifyTask& task, const uint32_t* profile, uint32_t* shared) {
    const int32_t length = batch.lengths[task.profile / 2];
    const Plan plan(length, task.limit);
    StripedColumn<uint32_t, WORDS> column;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
        column.vp[w] = striped_rows<uint32_t>(w, WORDS, -plan.top);
        column.vn[w] = 0;
    }
    Tracker tracker;
    tracker.score = length;  // of column 0; once the window has come to rest, of the column where it did
    tracker.bound = task.limit;
    tracker.best = -1;
    tracker.end = 0;
    const char* mine = reinterpret_cast<const char*>(shared + threadIdx.x * WORDS);
    int32_t above = 0;  // D of the row above the window
    uint32_t done = 0;
    for (int block = 0; done < task.columns; block++) {
        const uint32_t count = block == 0 ? plan.first_columns : min(uint32_t(kBlock), task.columns - done);
        if (block <= plan.slides) {
            const uint32_t* rows = profile + block * 4 * WORDS;
#pragma unroll
            for (int base = 0; base < 4; base++)
#pragma unroll
                for (int w = 0; w < WORDS; w++)
                    shared[(base * kThreads + threadIdx.x) * WORDS + w] = rows[base * WORDS + w];
        }
        uint32_t codes = bases16<false>(batch.text, task.begin, task.columns, done);
        const uint32_t up = plan.first_row(block) > 0;
        uint32_t ups = 0, downs = 0;
        if (count == kBlock) {
#pragma unroll
            for (int j = 0; j < kBlock; j++) {
                const int shift = int(kRowShift) - 2 * j;
                const uint32_t row = (shift >= 0 ? codes << (shift & 31) : codes >> (-shift & 31)) & (3u << kRowShift);
                step(column, mine, row, up, ups, downs);
            }
        } else {
            for (uint32_t j = 0; j < count; j++) {
                step(column, mine, (codes & 3) << kRowShift, up, ups, downs);
                codes >>= 2;
            }
        }
        const uint32_t first = done;
        done += count;
        if (block >= plan.slides) {
            const uint32_t align = kBlock - count;
            tracker.note<false>(ups << align & 0xFFFFu, downs << align & 0xFFFFu, first, count);
            if (tracker.score - int32_t(task.columns - done) > tracker.bound) break;
            continue;
        }
        above += up ? int32_t(count) : 0;
        constexpr uint32_t kLeaving = (1u << (kBlock / WORDS)) - 1;
        above += differences(column, kLeaving);
        slide_band<uint32_t, WORDS, kBlock>(column);
        if (block + 1 == plan.slides) tracker.score = above + differences(column, ~0u);
    }
    return tracker;
}

}  // namespace gpualign

using gpualign::Plan;

extern "C" {

// Tasks [first, first + count); the band fits all of them and every base of the windows is A, C, G or T.
__global__ void __launch_bounds__(128) verify_band(gpualign::VerifyArrays batch, uint32_t first, uint32_t count) {
    extern __shared__ uint4 shared[];
    const uint32_t at = first + blockIdx.x * gpualign::kThreads + threadIdx.x;
    if (at >= first + count) return;
    const uint4 packed = batch.tasks[at];
    const gpualign::VerifyTask task{packed.x, packed.y, packed.z, int32_t(packed.w)};
    const uint32_t query = task.profile / 2;
    const int32_t blocks = Plan(batch.lengths[query], task.limit).slides + 1;
    const uint32_t* profile = batch.band_profiles + batch.band_offsets[query] + (task.profile & 1) * blocks * 4 * WORDS;
    const gpualign::Tracker tracker = gpualign::verify_pair(batch, task, profile, reinterpret_cast<uint32_t*>(shared));
    batch.distances[at] = tracker.best;
    batch.ends[at] = int32_t(tracker.end);
    batch.starts[at] = 0;
    if (tracker.best >= 0 && tracker.end > 0) batch.hits[first + atomicAdd(batch.hit_count, 1u)] = at;
}

// Every block's profile of each wanted query (its limit is below its length) on both strands: a warp per query.
__global__ void __launch_bounds__(32) build_band(const uint8_t* bases, const int64_t* offsets, const int32_t* limits,
    const uint32_t* band_offsets, const uint8_t* wanted, uint32_t* profiles) {
    // planes of a piece of the pattern: rows from the window's first on, in words of 32
    __shared__ uint32_t planes[3][gpualign::kRows / 32 + 18];
    const uint32_t query = blockIdx.x;
    if (!wanted[query]) return;
    const uint8_t* sequence = bases + offsets[query];
    const int length = int(offsets[query + 1] - offsets[query]);
    const Plan plan(length, limits[query]);
    constexpr int kPiece = 32;  // blocks at a time: 512 rows and the window's height
    for (int strand = 0; strand < 2; strand++) {
        for (int block = 0; block <= plan.slides; block += kPiece) {
            const int first_row = plan.first_row(block);
            for (int word = 0; word < gpualign::kRows / 32 + 17; word++) {
                const int row = first_row + word * 32 + int(threadIdx.x);
                uint8_t code = 4;
                if (row >= 0 && row < length)
                    code = strand ? gpualign::complement_code(gpualign::base_code(sequence[length - 1 - row]))
                                  : gpualign::base_code(sequence[row]);
                const uint32_t low = __ballot_sync(~0u, code & 1), high = __ballot_sync(~0u, code & 2);
                const uint32_t known = __ballot_sync(~0u, code < 4);
                if (threadIdx.x == 0) {
                    planes[0][word] = low;
                    planes[1][word] = high;
                    planes[2][word] = known;
                }
            }
            __syncwarp();
            const int blocks = min(kPiece, plan.slides + 1 - block);
            uint32_t* out = profiles + band_offsets[query] + size_t(strand * (plan.slides + 1) + block) * 4 * WORDS;
            for (int i = threadIdx.x; i < blocks * WORDS; i += 32) {
                const int at = i / WORDS * gpualign::kBlock, w = i % WORDS;
                const uint32_t low = gpualign::striped_at(planes[0], at, w),
                               high = gpualign::striped_at(planes[1], at, w);
                const uint32_t known = gpualign::striped_at(planes[2], at, w);
                const uint32_t free = ~gpualign::striped_rows<uint32_t>(w, WORDS, -(first_row + at));
                uint32_t* rows = out + i / WORDS * 4 * WORDS + w;
                rows[0 * WORDS] = (known & ~low & ~high) | free;
                rows[1 * WORDS] = (known & low & ~high) | free;
                rows[2 * WORDS] = (known & ~low & high) | free;
                rows[3 * WORDS] = (known & low & high) | free;
            }
            __syncwarp();
        }
    }
}

}  // extern "C"
