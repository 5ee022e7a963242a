// Arguments of the kernels of `map` (host side: gpualign/map/device/kernel.py), and the records that they write.
#pragma once
#include <cstdint>

#include "algo/seeds/index/minimizer.hpp"

namespace gpualign {

struct AffineScores {
    int32_t match = 1, mismatch = 4, gap_open = 6, gap_extend = 1, clip_penalty = 5;  // all but `match` are penalties
    int32_t long_gap_open = 0,
            long_gap_extend =
                0;  // the second of two affine gap costs, of which the lower counts; 0, 0: there is only one
};

enum class Orientation : int32_t { forward_reverse = 0, reverse_forward = 1, same_strand = 2 };

struct PairLibrary {
    int64_t min = 1, max = 1000;  // insert sizes of a proper pair
    Orientation orientation = Orientation::forward_reverse;
    int32_t unpaired_penalty = 17;  // cost of reporting mates as unpaired, as in bwa
    int64_t max_intron = 0;  // longest intron that a read, or a pair, may lie across; 0: there are none
};

struct MapTarget {
    IndexView index;
    const uint64_t* text;  // two bits a base, then a word of padding
    const uint32_t* acgt_mask;  // a bit a base: 1 for A, C, G and T; then a word of padding
    const int64_t* contig_offsets;
    int64_t contigs;
};

struct MapRules {
    int32_t k, w;
    int32_t max_hits, max_candidates;  // per read: hits followed, candidates kept
    AffineScores scores;
    int32_t local;  // reads that do not align end to end are aligned locally, by chaining
    int32_t max_secondary;  // secondary alignments reported per read
    int32_t strata;  // edits that a secondary alignment may have more than the primary one
    int64_t locus_bits;  // bits needed to name a position of the reference (algo/map/mapping_quality.hpp)
    PairLibrary pairs;
    const int32_t* penalties;  // by insert size up to pairs.max, in score units; then that of mates across an intron
    const int32_t* limits;  // edits allowed, by read length
};

// A record of a read. What does not fit goes to the batch's overflow records, which groups take as they need them.
struct MapFacts {
    static constexpr uint16_t kOnHost = 0x8000;  // flag: the host maps the read or pair; the other fields are unset
    static constexpr uint16_t kNoSpace =
        0x4000;  // flag: the overflow records did not suffice; MapBatch::next_overflow says how many are needed
    static constexpr uint16_t kWideCigar =
        0x2000;  // flag: the CIGAR is in overflow records: a count, then operations of 32 bits
    static constexpr uint16_t kNoDistance = 0xFFFF;  // of a local alignment

    uint32_t contig, position;
    int32_t score;
    uint16_t distance, flag, mapq;
    uint16_t operations;  // of the CIGAR; if it is wide, the upper half of the distance instead
    uint32_t secondary, first_secondary;  // secondary and supplementary records of the read: their number, and the
                                          // index of the first overflow record
    uint32_t long_cigar;  // index of the overflow record with the CIGAR, if it is wide
};

struct MapRecord : MapFacts {
    static constexpr uint32_t kMaxOperations = 16;

    uint16_t cigar[kMaxOperations];  // length << 4 | operation
};

// Work counters of the kernels of cuda/map.cu.
struct MapCounters {
    uint32_t found, rescued, aligned;  // reads or templates taken so far, by step
    uint32_t loci;  // loci of all reads
    uint32_t templates, reads;  // that a lane leaves to a warp
};

struct MapBatch {
    MapTarget target;
    MapRules rules;
    const uint8_t* bases;
    const uint8_t* qualities;  // as in FASTQ, a byte a base; null: there are none
    const int64_t* offsets;  // where each read begins in `bases`
    const uint32_t* tie_breaks;  // tie-break hash of each read, equal for mates (algo/map/tie_break.hpp)
    const uint8_t*
        conversions;  // Conversion of each read (algo/common/bisulfite.hpp); null: they are not bisulfite reads
    const uint32_t* templates;  // first read of each template, then the number of reads
    MapRecord* records;  // one per read
    MapRecord* overflow_records;
    uint8_t* workspace;  // scratch of each group
    uint8_t* state;  // of the reads between two kernels: algo/map/read_state.hpp
    MapCounters* counters;
    uint32_t* next_overflow;  // if this exceeds overflow_count, the host repeats the batch with more space
    uint32_t* slow_templates;  // templates for the slow path, and their number
    uint32_t* slow_count;
    uint32_t template_count, overflow_count;
    uint32_t workspace_hits, workspace_loci, workspace_band, read_count;  // sizes of `workspace`: algo/map/types.hpp
};

static_assert(sizeof(MapRecord) == 64 && sizeof(MapTarget) == 72 && sizeof(MapRules) == 112 && sizeof(MapBatch) == 320,
    "laid out as the host writes them");

}  // namespace gpualign
