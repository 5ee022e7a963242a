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

// How matches are printed; 0 or 1 each.
struct MemStyle {
    uint32_t four_columns;         // the reference record's name on every line
    uint32_t lengths;              // " Len = N" in the header
    uint32_t strings;              // the matching string on a line of its own, by the host
    uint32_t forward_coordinates;  // reverse matches by their right-most base on the forward strand
    uint32_t table;                // tab-separated columns instead
};

// Matches to be printed, and where to.
struct MemLines {
    const uint8_t* names;         // of the query records, and where each begins
    const int64_t* name_offsets;
    const uint32_t* begins;       // of the records in the forward text (StrandLayout)
    const int64_t* contig_offsets;
    const uint8_t* contig_names;
    const int64_t* contig_name_offsets;
    const uint32_t *starts, *references, *lengths;  // of the matches, in order
    uint32_t* sizes;              // of each line, and 0 after them
    const uint64_t* offsets;      // of each line in `out`
    char* out;
    uint64_t from, to;            // text positions whose matches are printed
    uint32_t records, contigs, width, strands;  // width: of the longest name of a contig; bit 0 of strands: forward, bit 1: reverse
    uint32_t matches, first_header, headers;    // strands of records whose headers are printed
    MemStyle style;
};

static_assert(sizeof(FoundMem) == 20 && sizeof(LeftOverHead) == 24 && sizeof(LeftOver) == 24 + 8 * kMaxParts,
              "laid out without padding");

}  // namespace gpualign
