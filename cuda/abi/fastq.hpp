// Arguments and results of the kernels that parse FASTQ; host side: gpualign/map/device/fastq.py.
#pragma once
#include <cstdint>

namespace gpualign {

// FASTQ with four lines per record, in tiles of kTile bytes.
struct FastqText {
    static constexpr uint32_t kTile = 4096;  // bytes

    const char* text;
    const uint32_t* lines_before;  // newlines before each tile, counted from an arbitrary start
    uint32_t* starts;  // scratch of the kernels: where each line of the records begins, and the end of the last one
    uint32_t bytes;
    uint32_t first_line;  // newlines between that start and the first record
};

struct FastqFacts {
    uint32_t odd;          // not 0: a record is malformed, or has a form that the host handles
    uint32_t longest;      // bases of the longest read
    uint32_t odd_symbols;  // not 0: a base, a quality or a character of a name is malformed
    uint32_t reserved;
};

// Reads of one text, or interleaved mates of two texts, and the arrays that the kernels fill, laid out as ReadColumns
// (abi/text.hpp).
struct FastqBatch {
    static constexpr uint32_t kScanned = 1024;
    static constexpr uint32_t kLongestName = 254;  // the limit of BAM; the host reports longer names

    FastqText first, second;
    uint8_t *names, *bases, *qualities, *mates;  // null: not wanted; bases and their offsets are always written
    int64_t *name_offsets, *base_offsets;
    uint32_t *tie_breaks, *templates;  // as in MapBatch (abi/map.hpp)
    uint64_t* sizes;              // of each read, bases and bytes of its name, 32 bits each
    uint64_t* places;             // prefix sums of `sizes` within each group of kScanned reads
    uint64_t* block_sums;         // prefix sums of `sizes` over the groups
    FastqFacts* facts;
    uint32_t* zeros;  // memory that the kernels set to zero
    uint32_t reads;
    uint32_t mates_each;      // reads per record number: 1, or 2 for pairs
    uint32_t template_reads;  // reads per template: 1, or 2 if mates are mapped together
    uint32_t check_names;
    uint32_t all_dots;  // all names end in .1 or .2, which number the mates (algo/text/fastq.hpp)
    uint32_t longest;  // longest read allowed; if one is longer, all reads are written as empty
    uint32_t zero_count;
    uint32_t reserved;
};

static_assert(sizeof(FastqText) == 32 && sizeof(FastqFacts) == 16 && sizeof(FastqBatch) == 200,
    "laid out as the host writes them");

}  // namespace gpualign
