#include "abi/bounded_gaps.hpp"

#include "abi/fields.hpp"

namespace gpualign {

std::vector<AbiStruct> bounded_gaps_abi() {
    return {abi_struct<gapsmis::Batch>(
                "GapsBatch", {GPUALIGN_FIELDS(gapsmis::Batch, patterns, pattern_offsets, texts, text_offsets,
                                 pattern_ids, text_ids, order, score, gaps, start, end, gap_list, pairs)}),
        abi_struct<gapsmis::Launch>(
            "GapsLaunch", {GPUALIGN_FIELDS(gapsmis::Launch, batch, table, edges, checkpoints, directions, edges_stride,
                              checkpoints_stride, directions_stride, symbols, other, opening, extend, ends, unreached,
                              band, unused)})};
}

}  // namespace gpualign
