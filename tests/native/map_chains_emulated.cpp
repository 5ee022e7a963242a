// cuda/map_chains.cu as a library for the host (emulated_cuda.hpp).
#include "emulated_cuda.hpp"
// after what it needs
#include <string>

#include "map_chains.cu"

extern "C" int run_kernel(const char* name, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    ChainLaunch launch;
    if (size != sizeof launch) return 1;
    std::memcpy(&launch, bytes, size);
    const std::string wanted = name;
    const auto kernel = wanted == "chain_reads"       ? chain_reads
                        : wanted == "align_in_16"     ? align_in_16
                        : wanted == "align_in_32"     ? align_in_32
                        : wanted == "align_in_parts"  ? align_in_parts
                        : wanted == "align_stretches" ? align_stretches
                        : wanted == "align_wide"      ? align_wide
                        : wanted == "align_widest"    ? align_widest
                        : wanted == "cut_chains"      ? cut_chains
                        : wanted == "finish_chains"   ? finish_chains
                        : wanted == "report_reads"    ? report_reads
                                                      : nullptr;
    if (!kernel) return 2;
    const auto call = [&] { kernel(launch); };
    emulated::run(&call, grid, threads);
    return 0;
}
