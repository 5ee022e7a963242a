// cuda/map_fastq.cu as a library for the host (emulated_cuda.hpp).
#include "emulated_cuda.hpp"
// after what it needs
#include <map>
#include <string>

#include "map_fastq.cu"

extern "C" int run_kernel(const char* name, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    static const std::map<std::string, void (*)(FastqBatch)> kernels{{"find_fastq_lines", find_fastq_lines},
                                                                     {"measure_fastq_reads", measure_fastq_reads},
                                                                     {"place_fastq_reads", place_fastq_reads},
                                                                     {"place_fastq_blocks", place_fastq_blocks},
                                                                     {"copy_fastq_reads", copy_fastq_reads}};
    FastqBatch batch;
    if (size != sizeof batch) return 1;
    std::memcpy(&batch, bytes, size);
    const auto kernel = kernels.find(name);
    if (kernel == kernels.end()) return 2;
    const auto call = [&] { kernel->second(batch); };
    emulated::run(&call, grid, threads);
    return 0;
}
