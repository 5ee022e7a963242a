// cuda/map_thorough.cu as a library for the host (emulated_cuda.hpp).
#include "emulated_cuda.hpp"
// after what it needs
#include "map_thorough.cu"

extern "C" int run_kernel(const char*, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    ThoroughLaunch launch;
    if (size != sizeof launch) return 1;
    std::memcpy(&launch, bytes, size);
    const auto call = [&] { map_thoroughly(launch); };
    emulated::run(&call, grid, threads);
    return 0;
}
