// Alignments of a read as the mappers report them: one or more records, the primary one first.
#pragma once
#include <cstdint>
#include <vector>

#include "algo/map/sam_codes.hpp"
#include "algo/text/columns.hpp"

namespace gpualign {

// A record; an unmapped read has contig -1.
struct Alignment {
    uint16_t flag = kFlagUnmapped;
    uint8_t mapq = 0;
    int32_t contig = -1;
    int64_t position = 0;   // 0-based, in the contig
    int32_t score = 0;      // affine, without clip penalties, as bwa's AS
    int32_t distance = -1;  // Levenshtein distance of the read; -1: unknown

    bool mapped() const { return contig >= 0; }
};

// A CIGAR: length << 4 | operation.
using Cigar = std::vector<uint32_t>;

inline void push_cigar(Cigar& cigar, uint32_t op, uint32_t length) {
    if (!length) return;
    if (!cigar.empty() && (cigar.back() & 15) == op) cigar.back() += length << 4;
    else cigar.push_back(length << 4 | op);
}

}  // namespace gpualign
