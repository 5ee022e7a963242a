// The scores of cuda/pairwise.cu, cuda/pairwise_ends.cu and cuda/pairwise_few.cu as a library for the host
// (emulated_cuda.hpp).
#include <math.h>

#include "pairwise_emulated.hpp"

namespace gpualign::nw {
namespace {
[[maybe_unused]] thread_local uint64_t bits[1];  // what `extern` finds for the edit filter, which is not called
}
}  // namespace gpualign::nw

// after what they need
#include "pairwise.cu"
#include "pairwise_ends.cu"
#include "pairwise_few.cu"

#define OF_EACH_ALPHABET(kernel) \
    EMULATED(kernel##_symbols); \
    EMULATED(kernel##_wide)

extern "C" int run_named(const char* name, void* const* arguments, int count, uint32_t grid, uint32_t threads) {
    EMULATED(few_lazy);
    EMULATED(few_borders);
#if OPENING < 0
    EMULATED(few_anywhere);
#endif
#if AFFINE
    OF_EACH_ALPHABET(lazy_affine);
    OF_EACH_ALPHABET(borders_affine);
    OF_EACH_ALPHABET(anywhere_affine);
#else
    OF_EACH_ALPHABET(lazy_linear);
    OF_EACH_ALPHABET(borders_linear);
#endif
    return 1;
}
