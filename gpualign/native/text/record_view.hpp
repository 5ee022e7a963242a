// The records of a batch of reads as the formatters see them. No Python here: fuzz/records.cpp reads it too.
#pragma once
#include <cstdint>

#include "map/alignment.hpp"

namespace gpualign {

struct RecordsView {
    const uint16_t* flag;
    const int32_t* contig;
    const int64_t* position;
    const uint8_t* mapq;
    const int32_t *score, *distance;
    const uint32_t* cigar;
    const int64_t* cigar_offsets;
    const int64_t* record_offsets;  // of each read

    bool mapped(size_t record) const { return contig[record] >= 0; }
    bool reverse(size_t record) const { return flag[record] & kFlagReverse; }
    size_t primary(size_t read) const { return size_t(record_offsets[read]); }
    const uint32_t* cigar_begin(size_t record) const { return cigar + cigar_offsets[record]; }
    const uint32_t* cigar_end(size_t record) const { return cigar + cigar_offsets[record + 1]; }
    int64_t end(size_t record) const { return position[record] + reference_span(cigar_begin(record), cigar_end(record)); }
};

}  // namespace gpualign
