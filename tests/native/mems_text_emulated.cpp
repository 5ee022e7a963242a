// cuda/mems_text.cu as a library for the host (emulated_cuda.hpp).
#include "emulated_cuda.hpp"
// after what it needs
#include "mems_text.cu"

extern "C" int run_kernel(const char* name, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    static const std::map<std::string, void (*)(MemLines)> kernels{
        {"measure_lines", measure_lines}, {"write_lines", write_lines}};
    return emulated::run_by_name(kernels, name, bytes, size, grid, threads);
}
