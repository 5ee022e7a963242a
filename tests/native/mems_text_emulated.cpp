// cuda/mems_text.cu as a library for the host (emulated_cuda.hpp).
#include "emulated_cuda.hpp"
// after what it needs
#include <map>
#include <string>

#include "mems_text.cu"

extern "C" int run_kernel(const char* name, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    static const std::map<std::string, void (*)(MemLines)> kernels{{"measure_lines", measure_lines}, {"write_lines", write_lines}};
    MemLines lines;
    if (size != sizeof lines) return 1;
    std::memcpy(&lines, bytes, size);
    const auto kernel = kernels.find(name);
    if (kernel == kernels.end()) return 2;
    const auto call = [&] { kernel->second(lines); };
    emulated::run(&call, grid, threads);
    return 0;
}
