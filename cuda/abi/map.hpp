// What the host hands to the kernel of `map` (gpualign/map/device/kernel.py), and the records that it gets back.
#pragma once
#include <cstdint>

#include "algo/index/minimizer.hpp"

namespace gpualign {

struct AffineScores {
    int32_t match = 1, mismatch = 4, gap_open = 6, gap_extend = 1, clip_penalty = 5;  // all but match are penalties
    int32_t long_gap_open = 0, long_gap_extend = 0;  // of gaps for which that is less; 0, 0: there is no second price
};

enum class Orientation : int32_t { forward_reverse = 0, reverse_forward = 1, same_strand = 2 };

struct PairLibrary {
    int64_t min = 1, max = 1000;  // insert sizes of a proper pair
    Orientation orientation = Orientation::forward_reverse;
    int32_t unpaired_penalty = 17;  // score that an unpaired alignment must make up for, as in bwa
};

struct MapTarget {
    IndexView index;
    const uint64_t* text;       // two bits a base, a word of padding after the last
    const uint32_t* acgt_mask;  // a bit a base: it is A, C, G or T; a word of padding after the last
    const int64_t* contig_offsets;
    int64_t contigs;
};

struct MapRules {
    int32_t k, w;
    int32_t max_hits, max_candidates;  // followed and kept per read
    AffineScores scores;
    int32_t local;          // reads that do not align end to end are aligned by chaining
    int32_t max_secondary;  // secondary alignments reported per read
    int32_t strata;         // of those with at most that many edits more than the best
    int64_t locus_bits;     // that name a position of the reference: algo/map/mapping_quality.hpp
    PairLibrary pairs;
    const int32_t* penalties;  // score units, by insert size up to pairs.max
    const int32_t* limits;     // edits allowed, by read length
};

// A record of a read. What does not fit in it lies in the batch's `further` records, which are handed out as they are asked for.
struct MapFacts {
    static constexpr uint16_t kOnHost = 0x8000;  // flag: the host maps the read (the pair), of which nothing is said here
    static constexpr uint16_t kNoSpace = 0x4000;  // flag: there were not enough further records, as MapBatch::next_overflow tells the host
    static constexpr uint16_t kWideCigar = 0x2000;  // flag: the CIGAR lies in further records, 32 bits an operation, after their number
    static constexpr uint16_t kNoDistance = 0xFFFF;  // of a local alignment

    uint32_t contig, position;
    int32_t score;
    uint16_t distance, flag, mapq;
    uint16_t operations;                  // of the CIGAR; of a wide one the upper half of the distance, then -1 where there is none
    uint32_t secondary, first_secondary;  // how many further records are the read's other alignments, and which is the first
    uint32_t long_cigar;                  // which further record has the CIGAR, from its end, where it has more operations than fit
};

struct MapRecord : MapFacts {
    static constexpr uint32_t kMaxOperations = 16;

    uint16_t cigar[kMaxOperations];  // length << 4 | operation
};

// What the kernels of cuda/map.cu count: turns that warps take, and what some of them leave to others.
struct MapCounters {
    uint32_t found, rescued, aligned;  // turns
    uint32_t loci;                     // of all reads
    uint32_t templates, reads;         // that warps take after lanes
};

struct MapBatch {
    MapTarget target;
    MapRules rules;
    const uint8_t* bases;
    const uint8_t* qualities;   // of each base as in FASTQ; null: there are none
    const int64_t* offsets;     // of each read in the bases
    const uint32_t* tie_breaks;      // of each read, equal for mates (algo/map/tie_break.hpp)
    const uint32_t* templates;  // first read of each template, a read by itself or a pair, and one past the last
    MapRecord* records;         // one for each read
    MapRecord* overflow_records;
    uint8_t* workspace;         // of each group
    uint8_t* state;             // of the reads between the kernels: algo/map/read_state.hpp
    MapCounters* counters;
    uint32_t* next_overflow;     // more than overflow_count: all is done again with more space
    uint32_t* slow_templates;         // templates that are mapped thoroughly, and how many there are
    uint32_t* slow_count;
    uint32_t template_count, overflow_count;
    uint32_t workspace_hits, workspace_loci, workspace_trace, read_count;  // its sizes: algo/map/types.hpp
};

static_assert(sizeof(MapRecord) == 64 && sizeof(MapTarget) == 56 && sizeof(MapRules) == 104 && sizeof(MapBatch) == 288,
              "laid out as the host writes them");

}  // namespace gpualign
