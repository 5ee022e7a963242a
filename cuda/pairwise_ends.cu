// Scores of semi-global and of local alignments: LazyRScan with other borders (device/lazy_ends.cuh).
#include "device/lazy_ends.cuh"
#include "device/lazy_kernel.cuh"

namespace gpualign {
namespace nw {

LAZY(borders_linear_nucleotides, Pair16, 24, false, Borders, registers)
LAZY(borders_linear_letters, Pair16, 16, false, Borders, bytes)
LAZY(borders_affine_nucleotides, Pair16, 32, true, Borders, bytes)
LAZY(borders_affine_letters, Pair16, 16, true, Borders, bytes)
LAZY(borders_linear_wide, int32_t, 12, false, Borders, table)
LAZY(borders_affine_wide, int32_t, 16, true, Borders, table)
LAZY(anywhere_affine_nucleotides, Pair16, 32, true, Anywhere, bytes)
LAZY(anywhere_affine_letters, Pair16, 16, true, Anywhere, bytes)
LAZY(anywhere_affine_wide, int32_t, 16, true, Anywhere, table)

}  // namespace nw
}  // namespace gpualign
