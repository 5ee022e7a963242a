// The kernels that `cluster` runs as a library for the host (emulated_cuda.hpp): the edit filter
// (cuda/edit_filter.cu), and alignments (cuda/pairwise.cu, cuda/pairwise_strips.cu).
#include <math.h>

#include "pairwise_emulated.hpp"

namespace gpualign::nw {
namespace {
thread_local uint64_t bits[1 << 12];  // what `extern` finds: masks of the queries of a block
}
}  // namespace gpualign::nw

// after what they need
#include "edit_filter.cu"
#include "pairwise.cu"
#include "pairwise_strips.cu"

extern "C" int run_named(const char* name, void* const* arguments, int count, uint32_t grid, uint32_t threads) {
    EMULATED(edit_filter_64);
    EMULATED(edit_filter_128);
    EMULATED(edit_filter_256);
    EMULATED(sweep_affine);
    EMULATED(trace_affine);
    EMULATED(sweep_affine_wide);
    EMULATED(trace_affine_wide);
    EMULATED(strips_corners_affine_nucleotides);
    EMULATED(strips_corners_affine_symbols);
    EMULATED(strips_borders_affine_nucleotides);
    EMULATED(strips_borders_affine_symbols);
    EMULATED(strips_walk);
    EMULATED(gather_runs);
    return 1;
}
