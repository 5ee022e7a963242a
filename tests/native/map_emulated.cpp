// cuda/map.cu as a library for the host (emulated_cuda.hpp).
#include "emulated_cuda.hpp"

#undef __shared__
#define __shared__  // `extern` stands before it

struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};

namespace {

uint4 memory[1 << 14];  // shared by a block

}  // namespace

// after what it needs
#include "map.cu"

extern "C" int run_kernel(const char* name, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    static const std::map<std::string, void (*)(MapBatch)> kernels{{"find_loci", find_loci},
        {"choose_loci", choose_loci}, {"rescue_mates", rescue_mates}, {"report_loci", report_loci},
        {"align_loci", align_loci}};
    return emulated::run_by_name(kernels, name, bytes, size, grid, threads);
}
