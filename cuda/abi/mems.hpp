// Results that the kernels of maximal exact matches leave for the host (gpualign/seeds/matches/device.py).
#pragma once
#include "algo/seeds/matches/mem.hpp"

namespace gpualign {

constexpr uint32_t kMaxParts = 4096;  // if the list of parts is full, the tile's own warp finishes the tile

// A match that was written before its number in the output was known.
struct FoundMem {
    Mem mem;
    uint32_t unit, number;
};

// Hits [part * kPartHits, (part + 1) * kPartHits) of a tile; part 0 marks an unused entry.
struct TilePart {
    uint32_t tile, part;
};

// Results of a search besides its matches; the host clears it first.
struct LeftOverHead {
    unsigned long long found;  // matches written, including those that did not fit
    uint64_t total;            // matches
    uint32_t part_count;       // parts listed, including those that did not fit
    uint32_t unused;
};

struct LeftOver : LeftOverHead {
    TilePart parts[kMaxParts];  // the parts of a tile are adjacent and in order
};

// Output format of matches; each field is 0 or 1.
struct MemStyle {
    uint32_t four_columns;         // the reference record's name on every line
    uint32_t lengths;              // " Len = N" in the header
    uint32_t strings;              // the matching string on its own line, added by the host
    uint32_t forward_coordinates;  // positions of reverse matches count the right-most base on the forward strand
    uint32_t table;                // tab-separated columns instead of all this
};

// Matches to print, and the output buffer.
struct MemLines {
    const uint8_t* names;         // names of the query records, and where each begins
    const int64_t* name_offsets;
    const uint32_t* begins;       // where each record begins in the forward text (StrandLayout)
    const int64_t* contig_offsets;
    const uint8_t* contig_names;
    const int64_t* contig_name_offsets;
    const uint32_t *starts, *references, *lengths;  // of the matches, in order
    uint32_t* sizes;              // bytes of each line, then 0
    const uint64_t* offsets;      // where each line begins in `out`
    char* out;
    uint64_t from, to;            // text positions whose matches are printed
    uint32_t records, contigs, width,
        strands;  // width: of the longest contig name; bit 0 of strands: forward, bit 1: reverse
    uint32_t matches, first_header, headers;    // headers: of the strands of records that are printed
    MemStyle style;
};

static_assert(sizeof(FoundMem) == 20 && sizeof(LeftOverHead) == 24 && sizeof(LeftOver) == 24 + 8 * kMaxParts,
    "laid out without padding");

}  // namespace gpualign
