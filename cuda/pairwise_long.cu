// Kernels of `pairwise` for alignments of long pairs: see device/pairwise/table_part.cuh. The host side is
// gpualign/pairwise/device/long.py.
#include "device/pairwise/table_part.cuh"

#ifndef AFFINE  // as in cuda/pairwise.cu
#define AFFINE 1
#endif

namespace gpualign {
namespace nw {

#define PART(name, Affine, Keep, Columns)                                                                               \
    extern "C" __global__ void __launch_bounds__(block_threads, 1)                                                       \
        name(BorderedPart part, LazyScheme scheme, unsigned* ticket, int2* borders, int ring, int* progress,               \
             uint32_t* directions, int32_t* score) {                                                                    \
        part_strips<Affine, Keep, Columns>(part, scheme, ticket, borders, ring, progress, directions, score);           \
    }

#if AFFINE
PART(part_borders_affine_nucleotides, true, false, ByteColumns<scored_columns>)
PART(part_borders_affine_symbols, true, false, TableColumns<scored_columns>)
PART(part_directions_affine_nucleotides, true, true, ByteColumns<kept_columns>)
PART(part_directions_affine_symbols, true, true, TableColumns<kept_columns>)
#else
PART(part_borders_linear_nucleotides, false, false, ByteColumns<scored_columns>)
PART(part_borders_linear_symbols, false, false, TableColumns<scored_columns>)
PART(part_directions_linear_nucleotides, false, true, ByteColumns<kept_columns>)
PART(part_directions_linear_symbols, false, true, TableColumns<kept_columns>)
#endif

// A warp: the traceback through one part. Where the whole table ends, so does the path.
extern "C" __global__ void __launch_bounds__(warp_size)
    part_walk(BorderedPart part, const uint32_t* directions, PartWalk* state, uint32_t* runs, int identical) {
    __shared__ __align__(16) Window window;
    PartWalk at = *state;
    Path path(runs);
    path.result = at.result;
    path.operation = at.operation;
    path.length = at.length;
    Walk walk{at.walk.i - part.first_row, at.walk.j - part.first_column, at.walk.state};
    WindowWalk(part.query, part.n, part.target, directions, window, identical).run(walk, path);
    at.walk = {walk.i + part.first_row, walk.j + part.first_column, walk.state};
    if (at.walk.i == 0 || at.walk.j == 0) {
        path.add(op_delete, uint32_t(at.walk.j));
        path.add(op_insert, uint32_t(at.walk.i));
        path.close();
    }
    at.result = path.result;
    at.operation = path.operation;
    at.length = path.length;
    if (threadIdx.x == 0) *state = at;
}

}  // namespace nw
}  // namespace gpualign
