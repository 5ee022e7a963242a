#include "abi/bounded_gaps.hpp"

#include "abi/fields.hpp"

namespace gpualign {

#define FIELD(field) GPUALIGN_FIELD(gapsmis::Batch, field)
#define LAUNCH(field) GPUALIGN_FIELD(gapsmis::Launch, field)

std::vector<AbiStruct> bounded_gaps_abi() {
    return {{"GapsBatch", sizeof(gapsmis::Batch),
                {FIELD(patterns), FIELD(pattern_offsets), FIELD(texts), FIELD(text_offsets), FIELD(pattern_ids),
                    FIELD(text_ids), FIELD(order), FIELD(score), FIELD(gaps), FIELD(start), FIELD(end), FIELD(gap_list),
                    FIELD(pairs)}},
        {"GapsLaunch", sizeof(gapsmis::Launch),
            {abi_field("batch", &gapsmis::Launch::batch, "GapsBatch"), LAUNCH(table), LAUNCH(edges),
                LAUNCH(checkpoints), LAUNCH(directions), LAUNCH(edges_stride), LAUNCH(checkpoints_stride),
                LAUNCH(directions_stride), LAUNCH(symbols), LAUNCH(other), LAUNCH(opening), LAUNCH(extend),
                LAUNCH(ends), LAUNCH(unreached), LAUNCH(band), LAUNCH(unused)}}};
}

}  // namespace gpualign
