// Alignments of long pairs. TiledDScan goes over the whole table and keeps some of its rows and columns; the traceback
// computes the parts between them that it enters again, with DScan's directions, each from its upper and left border
// down to where the path comes in. A part that is too large for that is split in the same manner.
#pragma once
#include "device/align/score/diagonal_scan.cuh"
#include "device/align/score/lazy_kernel.cuh"
#include "device/align/score/window_walk.cuh"

namespace gpualign {
namespace nw {

// What a strip of a part has around it.
struct BorderedTile : DpTile {
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

// The scores of a part by strips, with borders kept. `ring` borders of n rows are reused in turn, each after its reader
// has gone. After the progress of all strips comes the best score so far.
template <class Ends, bool Affine, class Columns>
__device__ __forceinline__ void part_strips(const BorderedTile& part, const LazyScheme& scheme, unsigned* ticket,
    int2* borders, int ring, int* progress, AlignmentEnd* found) {
    extern __shared__ uint4 shared[];
    int32_t* table_of_scores = reinterpret_cast<int32_t*>(shared);
    load_table(table_of_scores, scheme);
    constexpr int width = warp_size * Columns::columns_of_lane;
    const int lane = threadIdx.x % warp_size, strips = (part.m + width - 1) / width;
    const auto right_of = [&](int strip) {
        const int number = strip + 1;
        if (number % part.strip_spacing == 0) return part.columns + int64_t(number / part.strip_spacing - 1) * part.n;
        return borders + int64_t(strip % ring) * part.n;
    };
    for (int at = next_task(ticket); at < strips; at = next_task(ticket)) {
        Columns columns;
        columns.build(part.target, at * width + lane * Columns::columns_of_lane, part.m, scheme, table_of_scores);
        if (at >= ring) {  // who wrote this border before, and who read it
            wait_for(progress, at - ring, done);
            wait_for(progress, at - ring + 1, done);
        }
        strip_of_pair<Ends, Affine, false>(StripTask{0, 0, at, 0, 0}, at, part, columns, part.query, part.n, part.m,
            scheme, at == 0 ? part.left : right_of(at - 1), right_of(at), progress, progress + strips, nullptr, found);
    }
}

// The directions of `count` parts, `strips` in all: a border for every strip. `ends`: a part's score, of which none but
// that of a whole table is wanted.
template <class Ends, bool Affine, class Columns>
__device__ __forceinline__ void part_directions(const DpTile* parts, int count, int strips, const LazyScheme& scheme,
    unsigned* ticket, int2* borders, int* progress, uint32_t* directions, AlignmentEnd* ends) {
    extern __shared__ uint4 shared[];
    int32_t* table_of_scores = reinterpret_cast<int32_t*>(shared);
    load_table(table_of_scores, scheme);
    constexpr int width = warp_size * Columns::columns_of_lane;
    const int lane = threadIdx.x % warp_size;
    int number = 0;
    for (int at = next_task(ticket); at < strips; at = next_task(ticket)) {
        while (number + 1 < count && parts[number + 1].first_strip <= at) number++;
        const BorderedTile part{parts[number]};
        const int strip = at - part.first_strip;
        Columns columns;
        columns.build(part.target, strip * width + lane * Columns::columns_of_lane, part.m, scheme, table_of_scores);
        int2* right = borders + part.borders_at + int64_t(strip) * part.n;
        const StripTask task{
            0, 0, strip, number, part.directions_at + int64_t(strip) * (part.n + warp_size - 1) * (2 * warp_size)};
        diagonal_strip<Ends, Affine, true>(task, at, part, columns, part.query, part.n, part.m, scheme,
            strip == 0 ? part.left : right - part.n, right, progress, directions + task.directions_at, ends);
    }
}

// The part that has the cell after i symbols of the query and j of the target, or `count`; all lanes know the same.
__device__ __forceinline__ int part_of_cell(const DpTile* parts, int count, int64_t i, int64_t j) {
    for (int first = 0; first < count; first += warp_size) {
        const int at = first + int(threadIdx.x % warp_size);
        bool has = false;
        if (at < count) {
            const DpTile& part = parts[at];
            has = i > part.first_row && i <= part.first_row + part.n && j > part.first_column &&
                  j <= part.first_column + part.m;
        }
        const unsigned found = __ballot_sync(0xffffffffu, has);
        if (found) return first + __ffs(int(found)) - 1;
    }
    return count;
}

}  // namespace nw
}  // namespace gpualign
