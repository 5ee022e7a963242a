// cuda/map_slow_path.cu as a library for the host (emulated_cuda.hpp).
#include "emulated_cuda.hpp"
// after what it needs
#include "map_slow_path.cu"

extern "C" int run_kernel(const char* name, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    static const std::map<std::string, void (*)(SlowPathLaunch)> kernels{{"find_slow", find_slow},
        {"adapters_slow", adapters_slow}, {"seed_slow", seed_slow}, {"chain_slow", chain_slow},
        {"select_slow", select_slow}, {"rank_slow", rank_slow}, {"rescue_slow", rescue_slow}, {"clip_slow", clip_slow},
        {"choose_slow", choose_slow}, {"write_slow", write_slow}, {"end_slow", end_slow}};
    return emulated::run_by_name(kernels, name, bytes, size, grid, threads);
}
