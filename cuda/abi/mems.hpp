// What the kernels of maximal exact matches leave in memory that the host reserves and reads (gpualign/mems/device.py).
#pragma once
#include "algo/mems/mem.hpp"

namespace gpualign {

constexpr uint32_t kMostParts = 4096;  // a tile that finds no room for its parts is done by its own warp

// A match that was written down before its place was known.
struct FoundMem {
    Mem mem;
    uint32_t unit, number;
};

// Hits [part * kPartHits, (part + 1) * kPartHits) of a tile; part 0 marks an entry that is not in use.
struct TilePart {
    uint32_t tile, part;
};

// What a search leaves beside its matches; all zeros before it.
struct LeftOverHead {
    unsigned long long found;  // matches to be written down, those that found no room included
    uint64_t total;            // matches
    uint32_t part_count;       // parts to be listed, likewise
    uint32_t unused;
};

struct LeftOver : LeftOverHead {
    TilePart parts[kMostParts];  // those of one tile one after the other, in order
};

static_assert(sizeof(FoundMem) == 20 && sizeof(LeftOverHead) == 24 && sizeof(LeftOver) == 24 + 8 * kMostParts,
              "laid out without padding");

}  // namespace gpualign
