// Scores of semi-global and of local alignments: LazyRScan with other borders (device/align/score/lazy_ends.cuh).
#include "device/align/score/lazy_ends.cuh"
#include "device/align/score/lazy_kernel.cuh"

#ifndef AFFINE  // as in cuda/pairwise.cu
#define AFFINE 1
#endif

namespace gpualign {
namespace nw {

#if AFFINE
LAZY_KERNELS(borders, affine, true, Borders)
LAZY_KERNELS(anywhere, affine, true, Anywhere)
#else
LAZY_KERNELS(borders, linear, false, Borders)
#endif

}  // namespace nw
}  // namespace gpualign
