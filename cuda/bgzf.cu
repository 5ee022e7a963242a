// Text to BGZF blocks, but for the deflating, which nvCOMP does between set_tasks and the other two
// (algo/text/bgzf.hpp).
#include "algo/text/bgzf.hpp"
#include "device/block_scan.cuh"

using namespace gpualign;

constexpr uint32_t kThreads = 256;

extern "C" __global__ void __launch_bounds__(kThreads) set_tasks(const __grid_constant__ BgzfBatch batch) {
    const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
    if (i < batch.count) set_bgzf_task(batch, i);
}

// Where each block goes; one block of threads.
extern "C" __global__ void __launch_bounds__(1024) place_blocks(const __grid_constant__ BgzfBatch batch) {
    uint64_t index = *batch.out_bytes;
    for (uint32_t first = 0; first < batch.count; first += blockDim.x) {
        const uint32_t i = first + threadIdx.x;
        uint64_t total;
        const uint64_t before = sum_before_in_block(i < batch.count ? bgzf_bytes(batch, i) : 0, total);
        if (i < batch.count) batch.block_offsets[i] = index + before;
        index += total;
    }
    __syncthreads();
    if (threadIdx.x == 0) *batch.out_bytes = index;
}

// The checksum of a text, of which each thread of a block has some; on all of them.
__device__ uint32_t checksum(const uint8_t* text, uint32_t bytes) {
    __shared__ uint32_t table[256], sum;
    const uint32_t thread = threadIdx.x, share = (bytes + kThreads - 1) / kThreads;
    table[thread] = crc32_entry(thread);
    if (thread == 0) sum = 0;
    __syncthreads();
    const uint32_t begin = min(thread * share, bytes), end = min(begin + share, bytes);
    if (begin < end) atomicXor(&sum, crc32_before(crc32(table, text + begin, end - begin), bytes - end));
    __syncthreads();
    return sum;
}

// A block of threads a block.
extern "C" __global__ void __launch_bounds__(kThreads) write_blocks(const __grid_constant__ BgzfBatch batch) {
    const uint32_t i = blockIdx.x, content = bgzf_content(batch, batch.first + i);
    if (content == 0) return;
    const uint32_t crc = checksum(reinterpret_cast<const uint8_t*>(batch.given[i]), content);
    write_bgzf(batch, i, crc, threadIdx.x, kThreads);
}

// Checks blocks that have been inflated.
extern "C" __global__ void __launch_bounds__(kThreads) check_texts(const __grid_constant__ InflateBatch batch) {
    const uint32_t i = blockIdx.x;
    const uint32_t crc = checksum(batch.texts[i], uint32_t(batch.text_bytes[i]));
    if (threadIdx.x == 0 && !was_inflated(batch, i, crc)) *batch.damaged = 1;
}
