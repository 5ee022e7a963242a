// cuda/search.cu as a library for the host (emulated_cuda.hpp).
#include "emulated_cuda.hpp"
// after what it needs
#include "search.cu"

extern "C" int run_kernel(const char* name, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    static const std::map<std::string, void (*)(SearchArrays)> kernels{
        {"search_words", search_words}, {"search_narrow", search_narrow}, {"search_wide", search_wide}};
    return emulated::run_by_name(kernels, name, bytes, size, grid, threads);
}
