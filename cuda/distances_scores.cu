// All pairs of two sets as tasks for the kernels of scores (cuda/pairwise_few.cu, cuda/pairwise.cu,
// cuda/pairwise_ends.cu), made on the device.
#include "abi/pairwise.hpp"

namespace gpualign {
namespace nw {

// Symbols of a set as codes of the scoring.
extern "C" __global__ void recode(const uint8_t* symbols, const uint8_t* table, uint8_t* codes, int64_t count) {
    for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x)
        codes[i] = table[symbols[i]];
}

// Rows of a matrix of `columns` targets: tasks of `width` pairs of one query, and each pair's target. Row r is query
// number query_order[first + r], columns are places in target_order.
extern "C" __global__ void enumerate_pairs(const int32_t* query_order, const int32_t* target_order, LazyTask* tasks,
    int32_t* pair_target, int32_t rows, int32_t columns, int32_t first, int32_t width) {
    const int32_t row = int32_t(blockIdx.y), each = (columns + width - 1) / width;
    if (row >= rows) return;
    for (int32_t c = int32_t(blockIdx.x * blockDim.x + threadIdx.x); c < columns;
        c += int32_t(gridDim.x * blockDim.x)) {
        pair_target[row * columns + c] = target_order[c];
        if (c % width) continue;
        const int32_t left = columns - c;
        tasks[row * each + c / width] =
            LazyTask{query_order[first + row], row * columns + c, left < width ? left : width, 0};
    }
}

// Scores in the order of targets by their numbers. An empty target has of_query, an empty query of_target, what all
// symbols of the other in one gap cost; by number.
extern "C" __global__ void scatter_scores(const int32_t* scores, const int32_t* query_order,
    const int64_t* query_offsets, const int32_t* target_order, const int64_t* target_offsets, const int32_t* of_query,
    const int32_t* of_target, int32_t* matrix, int32_t rows, int32_t columns, int32_t first) {
    const int32_t row = int32_t(blockIdx.y);
    if (row >= rows) return;
    const int32_t query = query_order[first + row];
    const bool empty = query_offsets[query] == query_offsets[query + 1];
    for (int32_t c = int32_t(blockIdx.x * blockDim.x + threadIdx.x); c < columns;
        c += int32_t(gridDim.x * blockDim.x)) {
        const int32_t target = target_order[c];
        const bool nothing = target_offsets[target] == target_offsets[target + 1];
        matrix[int64_t(row) * columns + target] = nothing ? of_query[query]
                                                  : empty ? of_target[target]
                                                          : scores[int64_t(row) * columns + c];
    }
}

}  // namespace nw
}  // namespace gpualign
