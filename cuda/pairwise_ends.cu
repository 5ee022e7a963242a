// Scores of semi-global and of local alignments: LazyRScan with other borders (device/lazy_ends.cuh).
#include "device/lazy_ends.cuh"
#include "device/lazy_kernel.cuh"

namespace gpualign {
namespace nw {

LAZY_LINEAR(borders, Borders)
LAZY_AFFINE(borders, Borders)
LAZY_AFFINE(anywhere, Anywhere)

}  // namespace nw
}  // namespace gpualign
