// What the host hands to the kernels of `pairwise` (gpualign/pairwise/device).
#pragma once
#include "algo/pairwise/edit_band.hpp"
#include "algo/pairwise/nw.hpp"

struct int2;  // CUDA's; the host has only addresses of it

namespace gpualign {
namespace nw {

// -- passed by value

// A set of sequences as codes, whole and resident.
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
    int32_t shift, opening;  // x and o' of the transform
    int32_t bias;            // H'(0,0)
    int32_t extend;          // of a gap, where there is no transform
    uint16_t cheap_ends;     // EndBit: where gaps cost less than elsewhere
    uint16_t free_ends;      // where symbols are left out; all of a local alignment
    EndGaps ends;
};

// The least score of a pair that reaches the identity, by its longer length l and both together t: the lower of
// p l + q t and r l + s t (IdentityBound.score_lines).
struct ScoreLines {
    double p, q, r, s;
};

// A part of a pair's table, or all of it, whose upper and left border are known.
struct TablePart {
    const uint8_t *query, *target;  // their first symbols in it
    const int2* top;                // H' of the row above and F' below it, by column from the one on the left on: m + 1
    const int2* left;               // H' of the column on the left and E' right of it, by row: n
    int2* rows;                     // the same as `top` for every row_spacing-th row of the part, m + 1 each
    int2* columns;                  // the same as `left` for the last column of every strip_spacing-th strip, n each
    int32_t n, m;
    int32_t first_row, first_column;  // symbols of the pair before it
    int32_t row_spacing, strip_spacing;
    int64_t directions_at, borders_at;  // words and cells, of a part whose directions are kept
    int32_t first_strip;                // of all parts' strips
    int32_t padding;
};

// -- in arrays

// A warp's work: one query against `count` targets, those of the pairs first, first + 1, ... of the sorted list; without a
// list they are target, target + 1, ...
struct LazyTask {
    int32_t query, first, count, target;
};

// A warp's work in RScan: up to 32 (64 in 16 bits) pairs of any queries. Strip s computes the rows from first_row(s) on,
// `height` of them at most, which is what is kept of it.
struct TraceTask {
    int32_t first, count;         // pairs first, first + 1, ... of the sorted list
    int32_t band_low, band_high;  // diagonals j - i that any of them can touch
    int32_t height;
    int32_t strips;
    int64_t column_at, kept_at;  // words, where its borders begin
};

struct StripTask {
    int32_t query, target, strip;
    int32_t pair;           // where the score goes, in the strip that holds the last column
    int64_t directions_at;  // words, of this strip
};

// Where an alignment ends, in symbols before it of query and target.
using AlignmentEnd = EndOf<int32_t>;

// What the traceback found: score; matches, mismatches, gaps, symbols in gaps; number of operations in the path; the part
// of query and target, half-open.
struct TraceResult {
    int32_t score, matches, mismatches, openings, gaps, runs;
    int32_t query_start, query_end, target_start, target_end;
};

// Where the traceback stands, from one part to the next.
struct PartWalk {
    Walk walk;  // in symbols of the whole pair
    TraceResult result;
    uint32_t operation, length;  // the operation in progress
};

static_assert(sizeof(DeviceSequences) == 16 && sizeof(PairList) == 16 && sizeof(LazyScheme) == 64 && sizeof(ScoreLines) == 32 &&
                  sizeof(TablePart) == 96 && sizeof(LazyTask) == 16 && sizeof(EditLimits) == 16 && sizeof(TraceTask) == 40 && sizeof(StripTask) == 24 &&
                  sizeof(AlignmentEnd) == 12 && sizeof(TraceResult) == 40 && sizeof(PartWalk) == 72,
              "laid out as the host writes them");

}  // namespace nw
}  // namespace gpualign
