// cuda/word_draws.cu as a library for the host (emulated_cuda.hpp).
#include "emulated_cuda.hpp"
// after what it needs
#include "word_draws.cu"

extern "C" int run_kernel(const char* name, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    static const std::map<std::string, void (*)(WordDraws)> kernels{{"word_draws", word_draws}};
    return emulated::run_by_name(kernels, name, bytes, size, grid, threads);
}
