// Kernels of `pairwise` for alignments of long pairs: see device/align/score/dp_tile.cuh. The host side is
// gpualign/align/score/device/long.py.
#include "device/align/score/dp_tile.cuh"

#ifndef AFFINE  // as in cuda/pairwise.cu
#define AFFINE 1
#endif

namespace gpualign {
namespace nw {

#define PART(name, Ends, Affine, Columns) \
    extern "C" __global__ void __launch_bounds__(block_threads, 1) name(BorderedTile part, LazyScheme scheme, \
        unsigned* ticket, int2* borders, int ring, int* progress, AlignmentEnd* found) { \
        part_strips<Ends, Affine, Columns>(part, scheme, ticket, borders, ring, progress, found); \
    }
#define DIRECTIONS(name, Ends, Affine, Columns) \
    extern "C" __global__ void __launch_bounds__(block_threads, 1) name(const DpTile* parts, int count, int strips, \
        LazyScheme scheme, unsigned* ticket, int2* borders, int* progress, uint32_t* directions, AlignmentEnd* ends) { \
        part_directions<Ends, Affine, Columns>( \
            parts, count, strips, scheme, ticket, borders, progress, directions, ends); \
    }

// The whole table, with borders kept, of each mode; then parts, where it matters only whether they are local.
#define PARTS(gaps, Affine, kind, Scored, Kept) \
    PART(part_borders_##gaps##_##kind, CornerStrips, Affine, Scored) \
    PART(part_ends_##gaps##_##kind, BorderStrips, Affine, Scored) \
    DIRECTIONS(part_directions_##gaps##_##kind, CornerStrips, Affine, Kept)
#define LOCAL_PARTS(kind, Scored, Kept) \
    PART(part_local_affine_##kind, LocalStrips, true, Scored) \
    DIRECTIONS(part_localdirections_affine_##kind, LocalStrips, true, Kept)

#if AFFINE
PARTS(affine, true, nucleotides, HalfColumns<half_columns>, ByteColumns<kept_columns>)
PARTS(affine, true, symbols, TableColumns<scored_columns>, TableColumns<kept_columns>)
LOCAL_PARTS(nucleotides, HalfColumns<half_columns>, ByteColumns<kept_columns>)
LOCAL_PARTS(symbols, TableColumns<scored_columns>, TableColumns<kept_columns>)
#else
PARTS(linear, false, nucleotides, HalfColumns<half_columns>, ByteColumns<kept_columns>)
PARTS(linear, false, symbols, TableColumns<scored_columns>, TableColumns<kept_columns>)
#endif

// A warp: the traceback from part to part, until it comes to one that is not there. Where the whole table ends, or a
// local alignment, so does the path. free_ends: EndBit, where symbols are left out.
extern "C" __global__ void __launch_bounds__(warp_size) part_walk(const DpTile* parts, int count,
    const uint32_t* directions, PartWalk* state, uint32_t* runs, Matching matching, uint32_t free_ends) {
    __shared__ __align__(16) Window window;
    PartWalk at = *state;
    Path path(runs);
    path.result = at.result;
    path.operation = at.operation;
    path.length = at.length;
    const auto over = [&] { return at.walk.i == 0 || at.walk.j == 0 || at.walk.state == ended; };
    while (!over()) {
        const int number = part_of_cell(parts, count, at.walk.i, at.walk.j);
        if (number == count) break;
        const DpTile part = parts[number];
        Walk walk{at.walk.i - part.first_row, at.walk.j - part.first_column, at.walk.state};
        WindowWalk(part.query, part.n, part.target, directions + part.directions_at, window, matching).run(walk, path);
        at.walk = {walk.i + part.first_row, walk.j + part.first_column, walk.state};
    }
    if (over()) path.finish(at.walk, free_ends);
    at.result = path.result;
    at.operation = path.operation;
    at.length = path.length;
    __syncwarp();  // all have read the state
    if (threadIdx.x == 0) *state = at;
}

}  // namespace nw
}  // namespace gpualign
