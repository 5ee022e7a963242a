// Scores of semi-global and of local alignments: LazyRScan with other borders (device/pairwise/lazy_ends.cuh).
#include "device/pairwise/lazy_ends.cuh"
#include "device/pairwise/lazy_kernel.cuh"

#ifndef AFFINE  // as in cuda/pairwise.cu
#define AFFINE 1
#endif

namespace gpualign {
namespace nw {

#if AFFINE
LAZY_AFFINE(borders, Borders)
LAZY_AFFINE(anywhere, Anywhere)
#else
LAZY_LINEAR(borders, Borders)
#endif

}  // namespace nw
}  // namespace gpualign
