// The edit filter: which pairs of encoded sequences are within their limits of edits (algo/align/edit/edit_band.hpp).
// The host side is gpualign/align/edit/device/filter.py.
#include "abi/pairwise.hpp"
#include "algo/align/edit/edit_band.hpp"
#include "device/warp.cuh"

namespace gpualign {
namespace nw {

namespace {

constexpr int filter_threads = 64;
constexpr int filter_margin = 256;  // rows of zeros before the query; a multiple of 64, so words do not straddle

// A query as bits: which rows match each symbol that matches itself, `words` of 64 rows a symbol; called by all lanes
// of a warp.
__device__ __forceinline__ void query_bits(
    const uint8_t* query, int n, const Matching& matching, int words, int lane, uint64_t* bits) {
    __syncwarp();
    for (int w = lane; w < matching.identical * words; w += 32) bits[w] = 0;
    __syncwarp();
    for (int i0 = 0; i0 < n; i0 += 64) {
        const int at = i0 + lane, low = at < n ? query[at] : 0, high = at + 32 < n ? query[at + 32] : 0;
        for (int symbol = 0; symbol < matching.identical; symbol++) {
            const uint32_t a = __ballot_sync(0xffffffffu, at < n && matching(low, symbol)),
                           b = __ballot_sync(0xffffffffu, at + 32 < n && matching(high, symbol));
            if (lane == 0) bits[symbol * words + (i0 + filter_margin) / 64] = a | uint64_t(b) << 32;
        }
    }
    __syncwarp();
}

// A warp per task: the edit distances of one query and up to 32 targets that lie within their limits, appended in any
// order as (pair, distance); without `pair_target` the targets follow each other. The query's bits are in shared
// memory.
template <int W>
__device__ __forceinline__ void edit_filter(const LazyTask* tasks, int count, unsigned* ticket,
    const DeviceSequences& queries, const DeviceSequences& targets, const int32_t* pair_target,
    const EditLimits& limits, const Matching& matching, int words, int2* found, unsigned* found_count) {
    extern __shared__ uint64_t bits[];
    constexpr int check_every = 64;
    const int lane = threadIdx.x % 32;
    uint64_t* mine = bits + (threadIdx.x / 32) * matching.identical * words;
    for (int at = next_task(ticket); at < count; at = next_task(ticket)) {
        const LazyTask task = tasks[at];
        const uint8_t* query = queries.codes + queries.offsets[task.query];
        const int n = int(queries.offsets[task.query + 1] - queries.offsets[task.query]);
        query_bits(query, n, matching, words, lane, mine);
        const int number = min(lane, task.count - 1), pair = task.first + number;
        const int t = pair_target ? pair_target[pair] : task.target + number;
        const uint8_t* target = targets.codes + targets.offsets[t];
        const int m = int(targets.offsets[t + 1] - targets.offsets[t]);
        const int limit = min(limits.of(n, m), n + m);
        const EditBand band = edit_band(n, m, limit);
        const int slack = edit_slack(band, n, m);
        bool open = band.fits && lane < task.count;
        int distance = band.above;
        BandColumn<uint64_t, W> column;
        column.start(band.below);
        for (int j0 = 0; __any_sync(0xffffffffu, open && j0 < m); j0 += check_every) {
            const int stop = open ? min(m, j0 + check_every) : 0;
            for (int j = j0 + 1; j <= stop; j++) {
                const int symbol = target[j - 1];
                uint64_t eq[W], d0[W], hp[W], hn[W];
                const int row = j - band.below - 1 + filter_margin;
#pragma unroll
                for (int w = 0; w < W; w++) eq[w] = 0;
                const auto add_rows = [&](int with) {
                    const uint64_t* word = mine + with * words + row / 64;
                    const int shift = row % 64;
#pragma unroll
                    for (int w = 0; w < W; w++) eq[w] |= word[w] >> shift | (shift ? word[w + 1] << (64 - shift) : 0);
                };
                if (symbol < matching.identical) add_rows(symbol);
                else if (matching.bases)  // rows of any base that the code stands for
                    for (int base = 0; base < matching.identical; base++)
                        if (matching(symbol, base)) add_rows(base);
                column.step(eq, d0, hp, hn);
                distance += int(int64_t(distance_change<uint64_t, W>(d0, hp, hn, band, n, j)));
            }
            if (open && stop + band.above <= n && distance > limit + slack) open = false;
        }
        if (open && distance <= limit) found[atomicAdd(found_count, 1u)] = make_int2(pair, distance);
    }
}

}  // namespace

#define FILTER(name, W) \
    extern "C" __global__ void __launch_bounds__(filter_threads) name(const LazyTask* tasks, int count, \
        unsigned* ticket, DeviceSequences queries, DeviceSequences targets, const int32_t* pair_target, \
        EditLimits limits, Matching matching, int words, int2* found, unsigned* found_count) { \
        edit_filter<W>( \
            tasks, count, ticket, queries, targets, pair_target, limits, matching, words, found, found_count); \
    }

FILTER(edit_filter_64, 1)
FILTER(edit_filter_128, 2)
FILTER(edit_filter_256, 4)

}  // namespace nw
}  // namespace gpualign
