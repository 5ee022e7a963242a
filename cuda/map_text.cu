// The records of reads as SAM lines or BAM's bytes: a warp a read measures them, a scan computes where each goes, and a
// warp a read writes them (algo/text/record_writer.hpp).
//
// FORM: SamForm or BamForm.
#include "algo/text/bam_form.hpp"
#include "algo/text/group_text.hpp"
#include "algo/text/sam_form.hpp"
#include "device/block_scan.cuh"
#include "device/warp.cuh"

#ifndef FORM
#define FORM SamForm
#endif

using namespace gpualign;

constexpr uint32_t kWarps = 4;

extern "C" __global__ void __launch_bounds__(32 * kWarps) measure_records(const __grid_constant__ TextBatch batch) {
    const uint32_t read = blockIdx.x * kWarps + threadIdx.x / 32;
    if (read >= batch.count) return;
    const Warp group;
    uint32_t records = 0;
    const uint64_t bytes = write_read<FORM, false>(group, batch, read, nullptr, records);
    if (group.lane() != 0) return;
    batch.sizes[read] = bytes;
    atomicAdd(reinterpret_cast<unsigned long long*>(batch.totals + 1), static_cast<unsigned long long>(records));
}

// From the sizes, where each read's records begin within its block of reads, and the blocks' sums.
extern "C" __global__ void __launch_bounds__(TextBatch::kScanned) scan_reads(const __grid_constant__ TextBatch batch) {
    const uint32_t read = blockIdx.x * TextBatch::kScanned + threadIdx.x;
    uint64_t total;
    const uint64_t before = sum_before_in_block(read < batch.count ? batch.sizes[read] : 0, total);
    if (read < batch.count) batch.sizes[read] = before;
    if (threadIdx.x == 0) batch.block_sums[blockIdx.x] = total;
}

// From the blocks' sums, where each block begins, and the bytes of all; one block of threads.
extern "C" __global__ void __launch_bounds__(TextBatch::kScanned) scan_blocks(const __grid_constant__ TextBatch batch) {
    const uint64_t all = sums_before(batch.block_sums, (batch.count + TextBatch::kScanned - 1) / TextBatch::kScanned);
    if (threadIdx.x == 0) batch.totals[0] = all;
}

extern "C" __global__ void __launch_bounds__(32 * kWarps) write_records(const __grid_constant__ TextBatch batch) {
    const uint32_t read = blockIdx.x * kWarps + threadIdx.x / 32;
    if (read >= batch.count || batch.totals[0] > batch.capacity) return;
    const Warp group;
    uint32_t records = 0;
    char* out = batch.out + batch.block_sums[read / TextBatch::kScanned] + batch.sizes[read];
    write_read<FORM, true>(group, batch, read, out, records);
}
