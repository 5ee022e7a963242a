// What the kernels of search take (host side: gpualign/align/patterns/device.py); the CPU uses the same structs.
#pragma once
#include <cstdint>

namespace gpualign {

// A part of a pattern of at most 64 rows, which an occurrence of the pattern has with at most `limit` errors.
struct SearchSegment {
    uint64_t eq[4];  // rows that match A, C, G, T; the last row is the highest bit
    int32_t rows;
    int32_t limit;
    int32_t above;   // rows of the pattern before it
    int32_t strand;  // pattern * 2 + strand, where strand 1 is the reverse complement
    int32_t piece;   // the first of its pieces
    int32_t spare;
};

// A word of text that a piece of a pattern may have as its last bases.
struct SearchSeed {
    uint32_t segment;
    int32_t rows;  // of the segment, up to the piece's last one
};

// Where a pattern may lie: in the text from about `begin` on.
struct SearchEvent {
    uint32_t segment;
    int32_t begin;
};

// Words that some piece has: a bit for each word of `bases` bases, and the seeds of each that is set.
struct SearchTable {
    const uint64_t* marked;
    const uint32_t* ranks;   // bits set before each 64 of them
    const uint32_t* firsts;  // of each marked word's seeds, and their number
    const SearchSeed* seeds;
    const SearchSegment* segments;
    int32_t bases;
    int32_t stride;  // bases from a word that is looked up to the next one, a power of 2 up to 16
};

// A batch on a device.
struct SearchArrays {
    SearchTable table;
    const uint64_t* text;        // 32 bases a word
    const SearchSegment* dense;  // patterns without seeds, as kernels compare them with every base
    SearchEvent* events;
    uint32_t* count;    // of events, also of those beyond the capacity
    uint32_t bases;     // of the text
    uint32_t capacity;  // for events
    uint32_t patterns;  // without seeds
    uint32_t columns;   // of text that a warp takes
};

// An event of a pattern without seeds names its strand instead of a segment.
constexpr uint32_t kSearchStrand = 0x80000000u;

static_assert(
    sizeof(SearchSegment) == 56 && sizeof(SearchSeed) == 8 && sizeof(SearchEvent) == 8, "as the host writes them");
static_assert(sizeof(SearchTable) == 48 && sizeof(SearchArrays) == 96, "as the host writes them");

}  // namespace gpualign
