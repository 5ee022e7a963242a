#include "abi/pairwise.hpp"

#include "abi/extend.hpp"
#include "abi/fields.hpp"

namespace gpualign {

using namespace nw;

static_assert(offsetof(PartWalk, walk) == 0 && offsetof(Walk, state) == 16 && offsetof(PartWalk, result) == 24,
    "the fields of a walk stand first in PartWalk");

std::vector<AbiStruct> pairwise_abi() {
    return {GPUALIGN_STRUCT(DeviceSequences, codes, offsets), GPUALIGN_STRUCT(PairList, query, target),
        GPUALIGN_STRUCT(EndGap, open, extend),
        GPUALIGN_STRUCT(EndGaps, query_start, query_end, target_start, target_end),
        GPUALIGN_STRUCT(LazyScheme, scores, symbols, shift, opening, bias, extend, cheap_ends, free_ends, ends),
        GPUALIGN_STRUCT(Matching, bases, identical, padding), GPUALIGN_STRUCT(ScoreLines, p, q, r, s),
        GPUALIGN_STRUCT(DpTile, query, target, top, left, rows, columns, n, m, first_row, first_column, row_spacing,
            strip_spacing, directions_at, borders_at, first_strip, padding),
        GPUALIGN_STRUCT(LazyTask, query, first, count, target), GPUALIGN_STRUCT(EditLimits, by_length, with_difference),
        GPUALIGN_STRUCT(TraceTask, first, count, band_low, band_high, height, strips, column_at, kept_at),
        GPUALIGN_STRUCT(StripTask, query, target, strip, pair, directions_at),
        GPUALIGN_STRUCT(TraceResult, score, matches, mismatches, openings, gaps, runs, query_start, query_end,
            target_start, target_end),
        GPUALIGN_STRUCT(AlignmentEnd, score, i, j),
        GPUALIGN_STRUCT(ExtendScores, match, mismatch, gap_open, gap_extend, reach),
        GPUALIGN_STRUCT(ExtendTask, row, column, n, m, flags, unused),
        GPUALIGN_STRUCT(Extension, n, m, low, high, far_n, far_m, reached),
        GPUALIGN_STRUCT(ExtendLaunch, rows, forward, reverse, tasks, found, ticket, scores, count),
        abi_struct<PartWalk>("PartWalk", {GPUALIGN_FIELDS(Walk, i, j, state), {"padding", 20, "i4", 0, 4},
                                             GPUALIGN_FIELDS(PartWalk, result, operation, length)})};
}

}  // namespace gpualign
