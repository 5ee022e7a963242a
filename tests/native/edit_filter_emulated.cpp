// The kernels of cuda/edit_filter.cu as a library for the host (emulated_cuda.hpp).
#include "pairwise_emulated.hpp"

namespace gpualign::nw {
namespace {
thread_local uint64_t bits[1 << 12];  // what `extern` finds: masks of the queries of a block
}
}  // namespace gpualign::nw

// after what it needs
#include "edit_filter.cu"

extern "C" int run_named(const char* name, void* const* arguments, int count, uint32_t grid, uint32_t threads) {
    EMULATED(edit_filter_64);
    EMULATED(edit_filter_128);
    EMULATED(edit_filter_256);
    return 1;
}
