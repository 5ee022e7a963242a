// What the kernels that extend alignments take (host side: gpualign/align/genomes/device.py).
#pragma once
#include "algo/align/score/extend.hpp"

namespace gpualign {

struct ExtendLaunch {
    const uint8_t *rows, *forward, *reverse;  // codes: of the rows' text, and of the strands of the columns' text
    const ExtendTask* tasks;
    Extension* found;
    uint32_t* ticket;
    ExtendScores scores;
    uint32_t count;
};

static_assert(
    sizeof(ExtendTask) == 32 && sizeof(Extension) == 28 && sizeof(ExtendLaunch) == 72, "as the host writes them");

}  // namespace gpualign
