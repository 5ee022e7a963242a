// Where patterns may lie in a packed text: words of the text that the table of seeds has, and patterns without seeds, a
// lane each. The host settles what is found (gpualign/native/align/patterns/hits.hpp).
#include "abi/search.hpp"
#include "algo/align/patterns/column.hpp"
#include "algo/align/patterns/seeds.hpp"

namespace {

using namespace gpualign;

constexpr uint32_t kThreads = 256;
constexpr uint32_t kPositions = 64;  // of a thread in a tile
constexpr uint32_t kTile = kThreads * kPositions;
constexpr uint32_t kQueue = 2048;

__device__ __forceinline__ void report(const SearchArrays& arrays, uint32_t segment, int64_t begin) {
    const uint32_t at = atomicAdd(arrays.count, 1);
    if (at < arrays.capacity) arrays.events[at] = {segment, int32_t(begin)};
}

__device__ __forceinline__ void check(const SearchArrays& arrays, uint64_t word, int64_t end) {
    seeds_of(arrays.table, word, [&](const SearchSeed& seed) {
        const SearchSegment& segment = arrays.table.segments[seed.segment];
        if (segment_is_near(segment, arrays.text, arrays.bases, end, seed.rows))
            report(arrays, seed.segment, end - seed.rows - segment.above);
    });
}

}  // namespace

// Looks up the words that begin at each base, or each few, and before the first one. Few of them are marked: a block
// gathers these, so that all its threads have some to check.
extern "C" __global__ void __launch_bounds__(kThreads) search_words(SearchArrays arrays) {
    __shared__ uint32_t queue[kQueue];
    __shared__ uint32_t queued;
    const uint32_t bases = arrays.table.bases;
    const uint32_t stride = arrays.table.stride;
    const uint64_t mask = search_word_mask(int(bases));
    if (arrays.bases == 0) return;
    if (blockIdx.x == 0 && threadIdx.x > 0 && threadIdx.x < bases && threadIdx.x <= arrays.bases) {
        const uint64_t word = packed_window(arrays.text, 0) << (2 * (bases - threadIdx.x)) & mask;
        if (is_marked(arrays.table, word)) check(arrays, word, threadIdx.x);
    }
    for (uint64_t tile = uint64_t(blockIdx.x) * kTile; tile + bases <= arrays.bases;
        tile += uint64_t(gridDim.x) * kTile) {
        if (threadIdx.x == 0) queued = 0;
        __syncthreads();
        for (uint32_t part = 0; part < kPositions / 16; part++) {
            const uint64_t at = tile + (part * kThreads + threadIdx.x) * 16;
            if (at + bases > arrays.bases) break;
            const uint64_t window = packed_window(arrays.text, at);
            uint32_t marked = 0;
            GPUALIGN_UNROLL
            for (uint32_t i = 0; i < 16; i++)
                if (i % stride == 0) marked |= uint32_t(is_marked(arrays.table, window >> (2 * i) & mask)) << i;
            for (; marked; marked &= marked - 1) {
                const uint32_t i = uint32_t(trailing_zeros(marked));
                if (at + i + bases > arrays.bases) break;
                const uint32_t place = atomicAdd(&queued, 1);
                if (place < kQueue) queue[place] = uint32_t(at - tile) + i;
                else check(arrays, window >> (2 * i) & mask, int64_t(at + i + bases));
            }
        }
        __syncthreads();
        const uint32_t count = queued < kQueue ? queued : kQueue;
        for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
            const uint64_t at = tile + queue[i];
            check(arrays, packed_window(arrays.text, at) & mask, int64_t(at + bases));
        }
        __syncthreads();
    }
}

namespace {

// A pattern a lane. All lanes of a warp read the same bases: those that it takes, and before them as many as an
// alignment can have.
template <class Word> __device__ void compare(const SearchArrays& arrays) {
    constexpr int kBits = 8 * int(sizeof(Word));
    const uint32_t lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const uint32_t groups = (arrays.patterns + 31) / 32, pattern = warp % groups * 32 + lane;
    const uint64_t begin = uint64_t(warp / groups) * arrays.columns;
    if (begin >= arrays.bases) return;
    const uint64_t end = begin + arrays.columns < arrays.bases ? begin + arrays.columns : arrays.bases;
    Word eq[4] = {};
    int rows = 1, limit = -1, strand = 0;
    if (pattern < arrays.patterns) {
        const SearchSegment& segment = arrays.dense[pattern];
        rows = segment.rows, limit = segment.limit, strand = segment.strand;
        for (int base = 0; base < 4; base++) eq[base] = Word(segment.eq[base] >> (64 - kBits));
    }
    const uint64_t reach = 2 * uint64_t(kBits);  // rows and errors
    SearchColumn<Word> column;
    column.start();
    int score = rows;
    // an event covers the ends, on the minus strand the starts, within the limit of where it is
    const int covered = strand & 1 ? 0 : limit;
    int64_t told = -1;
    for (uint64_t at = begin > reach ? (begin - reach) & ~uint64_t(31) : 0; at < end; at += 32) {
        uint64_t word = arrays.text[at / 32];
        const int n = int(end - at < 32 ? end - at : 32);
        for (int i = 0; i < n; i++, word >>= 2) {
            const uint32_t base = uint32_t(word) & 3;
            const Word low = base & 1 ? eq[1] : eq[0], high = base & 1 ? eq[3] : eq[2];
            Word up, down;
            column.step(base & 2 ? high : low, up, down);
            score += int(up >> (kBits - 1)) - int(down >> (kBits - 1));
            const int64_t last = int64_t(at) + i + 1;
            if (score <= limit && last > int64_t(begin) && last > told) {
                report(arrays, kSearchStrand | uint32_t(strand), last - rows);
                told = last + covered;
            }
        }
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128) search_narrow(SearchArrays arrays) { compare<uint32_t>(arrays); }

extern "C" __global__ void __launch_bounds__(128) search_wide(SearchArrays arrays) { compare<uint64_t>(arrays); }
