// Arguments of the kernels of `pairwise` (host side: gpualign/align/score/device).
#pragma once
#include "algo/align/edit/edit_band.hpp"
#include "algo/align/matching.hpp"
#include "algo/align/score/nw.hpp"

struct int2;  // CUDA's; the host only holds its address

namespace gpualign {
namespace nw {

// -- passed by value

// Encoded sequences that stay on the device.
struct DeviceSequences {
    const uint8_t* codes;
    const int64_t* offsets;
};

struct PairList {
    const int32_t* query;
    const int32_t* target;
};

struct LazyScheme {
    const int32_t* scores;  // symbols x symbols, untransformed
    int32_t symbols;
    int32_t shift, opening;  // x and o' of the transformed recurrence
    int32_t bias;            // H'(0,0)
    int32_t extend;          // of a gap, without the transform
    uint16_t cheap_ends;     // EndBit: where gaps cost less than inside
    uint16_t free_ends;      // EndBit: where symbols may be left out for free; all four for local alignment
    EndGaps ends;
};

// The lowest score at which a pair can reach the identity, from its longer length l and the sum t of both lengths:
// min(p l + q t, r l + s t) (IdentityBound.score_lines).
struct ScoreLines {
    double p, q, r, s;
};

// A tile of a pair's DP matrix, or the whole matrix, whose upper and left border are known.
struct DpTile {
    const uint8_t *query, *target;  // the tile's first symbols
    const int2* top;  // H' of the row above and F' below it, by column, from the column on the left on: m + 1 cells
    const int2* left;               // H' of the column on the left and E' right of it, by row: n cells
    int2* rows;                     // output: every row_spacing-th row of the tile, laid out as `top`
    int2* columns;                  // output: the last column of every strip_spacing-th strip, laid out as `left`
    int32_t n, m;
    int32_t first_row, first_column;  // symbols of the pair before the tile
    int32_t row_spacing, strip_spacing;
    int64_t directions_at, borders_at;  // in words and cells, for tiles whose traceback directions are kept
    int32_t first_strip;                // number among the strips of all tiles
    int32_t padding;
};

// -- in arrays

// A warp's work: one query against `count` targets, those of the pairs first, first + 1, ... of the sorted list;
// without a list the targets are target, target + 1, ...
struct LazyTask {
    int32_t query, first, count, target;
};

// A warp's work in RScan: up to 32 (64 in 16 bits) pairs of any queries. Strip s computes the rows from first_row(s)
// on, at most `height` of them, which is the height of the directions that are kept.
struct TraceTask {
    int32_t first, count;         // pairs of the sorted list
    int32_t band_low, band_high;  // diagonals j - i that any of the pairs can reach
    int32_t height;
    int32_t strips;
    int64_t column_at, kept_at;  // where its borders begin, in words
};

struct StripTask {
    int32_t query, target, strip;
    int32_t pair;           // index of the output score; the strip with the last column writes it
    int64_t directions_at;  // where this strip's directions begin, in words
};

// End of an alignment: symbols of query and target before it.
using AlignmentEnd = EndOf<int32_t>;

// Result of a traceback: score; matches, mismatches, gaps and gap symbols; CIGAR operations; the aligned intervals of
// query and target, half-open.
struct TraceResult {
    int32_t score, matches, mismatches, openings, gaps, runs;
    int32_t query_start, query_end, target_start, target_end;
};

// Traceback position, handed from tile to tile.
struct PartWalk {
    Walk walk;  // in symbols of the whole pair
    TraceResult result;
    uint32_t operation, length;  // current CIGAR operation
};

static_assert(sizeof(DeviceSequences) == 16 && sizeof(PairList) == 16 && sizeof(LazyScheme) == 64 &&
                  sizeof(ScoreLines) == 32 && sizeof(Matching) == 16 && sizeof(DpTile) == 96 &&
                  sizeof(LazyTask) == 16 && sizeof(EditLimits) == 16 && sizeof(TraceTask) == 40 &&
                  sizeof(StripTask) == 24 && sizeof(AlignmentEnd) == 12 && sizeof(TraceResult) == 40 &&
                  sizeof(PartWalk) == 72,
    "laid out as the host writes them");

}  // namespace nw
}  // namespace gpualign
