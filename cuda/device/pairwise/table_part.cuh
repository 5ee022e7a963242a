// Alignments of long pairs. TiledDScan goes over the whole table and keeps some of its rows and columns; the traceback
// computes the parts between them that it enters again, with DScan's directions, each from its upper and left border
// down to where the path comes in. A part that is too large for that is split in the same manner.
#pragma once
#include "device/pairwise/diagonal_scan.cuh"
#include "device/pairwise/lazy_kernel.cuh"
#include "device/pairwise/window_walk.cuh"

namespace gpualign {
namespace nw {

// What a strip of a part has around it.
struct BorderedPart : TablePart {
    static constexpr bool inside = true;

    // K columns of a row that is kept, after column c0; `left_h` is H' at that, cell(k) has H' and F'.
    template <int K, class Cell>
    __device__ __forceinline__ void keep_row(int number, int c0, int32_t left_h, const Cell& cell) const {
        int2* row = rows + int64_t(number) * (m + 1);
        if (c0 == 0) row[0] = make_int2(left_h, left_h);
#pragma unroll
        for (int k = 0; k < K; k++)
            if (c0 + k < m) row[c0 + k + 1] = cell(k);
    }
};

// The strips of a part. `ring` borders of n rows are reused in turn, each after its reader has gone; where directions are
// kept, which is in small parts, there is one for every strip. After the progress of all strips comes the best score so far.
template <class Ends, bool Affine, bool Keep, class Columns, class Found>
__device__ __forceinline__ void part_strips(const BorderedPart& part, const LazyScheme& scheme, unsigned* ticket, int2* borders,
                                            int ring, int* progress, uint32_t* directions, Found* found) {
    extern __shared__ uint4 shared[];
    int32_t* table_of_scores = reinterpret_cast<int32_t*>(shared);
    load_table(table_of_scores, scheme);
    constexpr int width = warp_size * Columns::columns_of_lane;
    const int lane = threadIdx.x % warp_size, strips = (part.m + width - 1) / width;
    const auto right_of = [&](int strip) {
        const int number = strip + 1;
        if (!Keep && number % part.strip_spacing == 0) return part.columns + int64_t(number / part.strip_spacing - 1) * part.n;
        return borders + int64_t(Keep ? strip : strip % ring) * part.n;
    };
    for (int at = next_task(ticket); at < strips; at = next_task(ticket)) {
        Columns columns;
        columns.build(part.target, at * width + lane * Columns::columns_of_lane, part.m, scheme, table_of_scores);
        if (!Keep && at >= ring) {  // who wrote this border before, and who read it
            wait_for(progress, at - ring, done);
            wait_for(progress, at - ring + 1, done);
        }
        const StripTask task{0, 0, at, 0, int64_t(at) * (part.n + warp_size - 1) * (2 * warp_size)};
        strip_of_pair<Ends, Affine, Keep>(task, at, part, columns, part.query, part.n, part.m, scheme,
                                          at == 0 ? part.left : right_of(at - 1), right_of(at), progress, progress + strips,
                                          directions + task.directions_at, found);
    }
}

}  // namespace nw
}  // namespace gpualign
