// cuda/pairwise_strips.cu and cuda/pairwise_long.cu as a library for the host (emulated_cuda.hpp).
#include "pairwise_emulated.hpp"
// after what they need
#include "pairwise_long.cu"
#include "pairwise_strips.cu"

#define OF_EACH_KIND(kernel) \
    EMULATED(kernel##_nucleotides); \
    EMULATED(kernel##_symbols)

extern "C" int run_named(const char* name, void* const* arguments, int count, uint32_t grid, uint32_t threads) {
    EMULATED(part_walk);
    EMULATED(strips_walk);
#if AFFINE
    OF_EACH_KIND(part_borders_affine);
    OF_EACH_KIND(part_ends_affine);
    OF_EACH_KIND(part_directions_affine);
    OF_EACH_KIND(part_local_affine);
    OF_EACH_KIND(part_localdirections_affine);
    OF_EACH_KIND(strips_corners_affine);
    OF_EACH_KIND(strips_cornersscores_affine);
    OF_EACH_KIND(strips_borders_affine);
    OF_EACH_KIND(strips_anywhere_affine);
    OF_EACH_KIND(strips_bordersscores_affine);
    OF_EACH_KIND(strips_anywherescores_affine);
#else
    OF_EACH_KIND(part_borders_linear);
    OF_EACH_KIND(part_ends_linear);
    OF_EACH_KIND(part_directions_linear);
    OF_EACH_KIND(strips_corners_linear);
    OF_EACH_KIND(strips_cornersscores_linear);
    OF_EACH_KIND(strips_borders_linear);
    OF_EACH_KIND(strips_bordersscores_linear);
#endif
    return 1;
}
