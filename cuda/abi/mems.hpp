// What the kernels of maximal exact matches leave in memory that the host reserves and reads (gpualign/mems/device.py).
#pragma once
#include "algo/mems/mem.hpp"

namespace gpualign {

constexpr uint32_t kMaxParts = 4096;  // a tile that finds no space for its parts is done by its own warp

// A match that was written down before its number was known.
struct FoundMem {
    Mem mem;
    uint32_t unit, number;
};

// Hits [part * kPartHits, (part + 1) * kPartHits) of a tile; part 0 marks an entry that is not in use.
struct TilePart {
    uint32_t tile, part;
};

// What a search leaves besides its matches; all zeros before it.
struct LeftOverHead {
    unsigned long long found;  // matches to be written down, those that found no space included
    uint64_t total;            // matches
    uint32_t part_count;       // parts to be listed, likewise
    uint32_t unused;
};

struct LeftOver : LeftOverHead {
    TilePart parts[kMaxParts];  // those of one tile one after the other, in order
};

static_assert(sizeof(FoundMem) == 20 && sizeof(LeftOverHead) == 24 && sizeof(LeftOver) == 24 + 8 * kMaxParts,
              "laid out without padding");

}  // namespace gpualign
