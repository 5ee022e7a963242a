// All pairs of two sets as tasks for the kernels of scores (cuda/pairwise.cu, cuda/pairwise_ends.cu), made on the device.
#include "abi/pairwise.hpp"

namespace gpualign {
namespace nw {

// Rows `rows` of a matrix of `columns` targets: tasks of `width` pairs of one query, and each pair's target. Rows are query
// numbers from `first` on, columns places in target_order.
extern "C" __global__ void enumerate_pairs(const int32_t* target_order, LazyTask* tasks, int32_t* pair_target, int32_t rows,
                                           int32_t columns, int32_t first, int32_t width) {
    const int32_t row = int32_t(blockIdx.y), each = (columns + width - 1) / width;
    if (row >= rows) return;
    for (int32_t c = int32_t(blockIdx.x * blockDim.x + threadIdx.x); c < columns; c += int32_t(gridDim.x * blockDim.x)) {
        pair_target[row * columns + c] = target_order[c];
        if (c % width) continue;
        const int32_t left = columns - c;
        tasks[row * each + c / width] = LazyTask{first + row, row * columns + c, left < width ? left : width};
    }
}

// Scores in the order of targets by their numbers.
extern "C" __global__ void place_scores(const int32_t* scores, const int32_t* target_order, int32_t* matrix, int32_t rows,
                                        int32_t columns) {
    const int32_t row = int32_t(blockIdx.y);
    if (row >= rows) return;
    for (int32_t c = int32_t(blockIdx.x * blockDim.x + threadIdx.x); c < columns; c += int32_t(gridDim.x * blockDim.x))
        matrix[int64_t(row) * columns + target_order[c]] = scores[int64_t(row) * columns + c];
}

}  // namespace nw
}  // namespace gpualign
