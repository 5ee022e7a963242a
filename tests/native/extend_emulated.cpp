// cuda/extend.cu as a library for the host (emulated_cuda.hpp).
#include "emulated_cuda.hpp"
// after what it needs
#include "extend.cu"

extern "C" int run_kernel(const char* name, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    static const std::map<std::string, void (*)(ExtendLaunch)> kernels{
        {"extend_narrow", extend_narrow}, {"extend_wide", extend_wide}};
    return emulated::run_by_name(kernels, name, bytes, size, grid, threads);
}
