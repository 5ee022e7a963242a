// FASTQ text to the reads of a batch (algo/text/fastq_reads.hpp): a warp finds the lines that end in a tile, a thread
// measures a record, or the two records of a pair, a scan computes where each read goes, and a warp copies it.
#include "algo/text/fastq_reads.hpp"
#include "device/block_scan.cuh"
#include "device/warp.cuh"

using namespace gpualign;

constexpr uint32_t kWarps = 8;

// Tiles of the first text, then of the second.
extern "C" __global__ void __launch_bounds__(32 * kWarps) find_fastq_lines(const __grid_constant__ FastqBatch batch) {
    const auto tiles = [](const FastqText& file) { return (file.bytes + FastqText::kTile - 1) / FastqText::kTile; };
    const uint32_t tile = warp_number(), of_first = tiles(batch.first), lines = 4 * (batch.reads / batch.mates_each);
    if (tile == 0) clear_facts(Warp(), batch);
    if (tile < of_first) find_lines(Warp(), batch.first, lines, tile);
    else if (tile - of_first < tiles(batch.second)) find_lines(Warp(), batch.second, lines, tile - of_first);
}

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    measure_fastq_reads(const __grid_constant__ FastqBatch batch) {
    const uint32_t number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= batch.reads / batch.mates_each) return;
    const FastqFound found = measure_reads(batch, number);
    if (found.odd) batch.facts->odd = 1;
    if (found.longest > *const_cast<volatile uint32_t*>(&batch.facts->longest))
        atomicMax(&batch.facts->longest, found.longest);
}

// From the sizes of reads, where each goes among those of its block, and the blocks' sums.
extern "C" __global__ void __launch_bounds__(FastqBatch::kScanned)
    place_fastq_reads(const __grid_constant__ FastqBatch batch) {
    const uint32_t read = blockIdx.x * FastqBatch::kScanned + threadIdx.x;
    uint64_t total;
    const uint64_t before = sum_before_in_block(read < batch.reads ? size_of_read(batch, read) : 0, total);
    if (read < batch.reads) batch.places[read] = before;
    if (threadIdx.x == 0) batch.block_sums[blockIdx.x] = total;
}

// From the blocks' sums, where each block begins; one block of threads.
extern "C" __global__ void __launch_bounds__(FastqBatch::kScanned)
    place_fastq_blocks(const __grid_constant__ FastqBatch batch) {
    sums_before(batch.block_sums, (batch.reads + FastqBatch::kScanned - 1) / FastqBatch::kScanned);
}

extern "C" __global__ void __launch_bounds__(32 * kWarps) copy_fastq_reads(const __grid_constant__ FastqBatch batch) {
    const uint32_t read = warp_number();
    if (read < batch.reads && !copy_read(Warp(), batch, read)) batch.facts->odd_symbols = 1;
}
