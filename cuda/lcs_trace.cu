// Longest common subsequences of a query and the subjects that won, a warp each.
#include "algo/align/lcs/trace.hpp"
#include "device/warp.cuh"

// Besides what LcsTraceTask says:
//   offsets   of the subjects' symbols in `bases`
//   blocks    of each subject's memory, in started 32 symbols
//   ends      of the subsequences in `text`: as many symbols are written as the lengths say
//   counts    lengths found
extern "C" __global__ void __launch_bounds__(32)
    lcs_trace(const gpualign::LcsFour* masks, const uint8_t* code, const uint8_t* query, const uint8_t* bases,
        const int64_t* offsets, const int64_t* blocks, const int64_t* ends, uint32_t* codes, gpualign::LcsFour* kept,
        uint32_t* carries, uint8_t* text, int32_t* counts, uint32_t query_length, uint32_t absent, uint32_t tiles) {
    using namespace gpualign;
    extern __shared__ LcsFour fast[];
    const uint32_t s = blockIdx.x;
    LcsTraceTask task;
    task.masks = masks;
    task.code = code;
    task.query = query;
    task.subject = bases + offsets[s];
    task.query_length = query_length;
    task.subject_length = uint32_t(offsets[s + 1] - offsets[s]);
    task.absent = absent;
    task.tiles = tiles;
    task.codes = codes + blocks[s] * 8;
    task.kept = kept + blocks[s] * tiles;
    task.carries = carries + blocks[s] * tiles;
    task.fast = fast;
    const Warp warp;
    const uint32_t count = LcsTracer<Warp>(warp, task).trace(text + ends[s], uint32_t(ends[s + 1] - ends[s]));
    if (threadIdx.x == 0) counts[s] = int32_t(count);
}
