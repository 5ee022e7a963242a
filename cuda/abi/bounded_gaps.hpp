// Arguments of the kernels of bounded gaps; the host fills them in gpualign/align/gaps/device.py.
#pragma once
#include "algo/align/gaps/gapsmis.hpp"

namespace gpualign {
namespace gapsmis {

struct Batch {
    const uint8_t* patterns;
    const int64_t* pattern_offsets;
    const uint8_t* texts;
    const int64_t* text_offsets;
    const int32_t* pattern_ids;
    const int32_t* text_ids;
    const int32_t* order;  // pairs by length, so that a warp's lanes have equal work
    int32_t* score;
    int32_t* gaps;
    int32_t* start;
    int32_t* end;
    Gap* gap_list;
    int64_t pairs;
};

// Arguments that a launch passes by value.
struct Launch {
    Batch batch;
    const int32_t* table;  // Single: symbols x symbols scores; Packed: a symbol's four bytes
    uint32_t* edges;
    uint32_t* checkpoints;
    uint32_t* directions;
    int64_t edges_stride, checkpoints_stride, directions_stride;  // strides between the memory of two warps, in words
    int32_t symbols, other, opening, extend, ends, unreached, band, unused;
};

static_assert(sizeof(Batch) == 104 && sizeof(Launch) == 192, "laid out as the host writes them");

}  // namespace gapsmis
}  // namespace gpualign
