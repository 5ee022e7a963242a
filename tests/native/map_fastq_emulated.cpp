// cuda/map_fastq.cu as a library for the host (emulated_cuda.hpp).
#include "emulated_cuda.hpp"
// after what it needs
#include "map_fastq.cu"

extern "C" int run_kernel(const char* name, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    static const std::map<std::string, void (*)(FastqBatch)> kernels{{"find_fastq_lines", find_fastq_lines},
        {"measure_fastq_reads", measure_fastq_reads}, {"place_fastq_reads", place_fastq_reads},
        {"place_fastq_blocks", place_fastq_blocks}, {"copy_fastq_reads", copy_fastq_reads}};
    return emulated::run_by_name(kernels, name, bytes, size, grid, threads);
}
