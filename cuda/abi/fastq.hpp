// What the host hands to the kernels that find FASTQ records (gpualign/map/device/fastq.py), and what it learns of them.
#pragma once
#include <cstdint>

namespace gpualign {

// Records of four lines each, in whole tiles of a text.
struct FastqText {
    static constexpr uint32_t kTile = 4096;  // bytes

    const char* text;
    const uint32_t* lines_before;  // of each tile, the newlines before it, from some point on
    uint32_t* starts;              // where each line of the records begins and the last one ends, for the kernels
    uint32_t bytes;
    uint32_t first_line;  // newlines from that point to the first record
};

struct FastqFacts {
    uint32_t odd;          // not 0: a record breaks a rule, or is of a form that is left to the host
    uint32_t longest;      // bases of the longest read
    uint32_t odd_symbols;  // not 0: the same of a base, a quality or a character of a name
    uint32_t reserved;
};

// Reads of one text, or the mates of pairs of two in turn, and where the kernels put them: as in ReadColumns (abi/text.hpp).
struct FastqBatch {
    static constexpr uint32_t kScanned = 1024;
    static constexpr uint32_t kLongestName = 254;  // as BAM holds them; the host says what is wrong with longer ones

    FastqText first, second;
    uint8_t *names, *bases, *qualities, *mates;  // null: not wanted, but for bases and their offsets
    int64_t *name_offsets, *base_offsets;
    uint32_t *tie_breaks, *templates;  // as in MapBatch (abi/map.hpp)
    uint64_t* sizes;              // of each read, bases and bytes of its name in 32 bits each
    uint64_t* places;             // their sums over the reads before it of the same kScanned ones
    uint64_t* block_sums;         // and over those of the blocks before
    FastqFacts* facts;
    uint32_t* zeros;  // that the kernels set to zero
    uint32_t reads;
    uint32_t mates_each;      // of a record number: 1, or 2 of pairs
    uint32_t template_reads;  // 1, or 2 where mates are mapped together
    uint32_t check_names;
    uint32_t all_dots;  // all names end in .1 or .2, which are mates' numbers (algo/text/fastq.hpp)
    uint32_t longest;  // bases that a read may have; where one has more all reads are empty
    uint32_t zero_count;
    uint32_t reserved;
};

static_assert(sizeof(FastqText) == 32 && sizeof(FastqFacts) == 16 && sizeof(FastqBatch) == 200, "laid out as the host writes them");

}  // namespace gpualign
