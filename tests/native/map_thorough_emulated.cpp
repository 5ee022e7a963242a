// cuda/map_thorough.cu as a library for the host (emulated_cuda.hpp).
#include "emulated_cuda.hpp"
// after what it needs
#include "map_thorough.cu"

extern "C" int run_kernel(const char* name, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    static const std::map<std::string, void (*)(ThoroughLaunch)> kernels{
        {"find_doubtful", find_doubtful}, {"chain_doubtful", chain_doubtful},
        {"rank_doubtful", rank_doubtful}, {"choose_doubtful", choose_doubtful},
        {"write_doubtful", write_doubtful}, {"end_doubtful", end_doubtful}};
    return emulated::run_by_name(kernels, name, bytes, size, grid, threads);
}
