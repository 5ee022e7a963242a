// What the host hands to the kernel of `map` (gpualign/map/device/kernel.py), and the records that it gets back.
#pragma once
#include <cstdint>

#include "algo/index/minimizer.hpp"

namespace gpualign {

struct AffineScores {
    int32_t match = 1, mismatch = 4, gap_open = 6, gap_extend = 1, clip_penalty = 5;  // all but match are penalties
};

enum class Orientation : int32_t { forward_reverse = 0, reverse_forward = 1, same_strand = 2 };

struct PairLibrary {
    int64_t min = 1, max = 1000;  // insert sizes of a proper pair
    Orientation orientation = Orientation::forward_reverse;
    int32_t unpaired_penalty = 17;  // score that alignments which are no proper pair must make good, as in bwa
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
    int32_t local;          // reads that do not align end to end are left to the host
    int32_t max_secondary;  // secondary alignments reported per read
    int32_t strata;         // of those with at most that many edits more than the best
    PairLibrary pairs;
    const int32_t* penalties;  // score units, by insert size up to pairs.max
    const int32_t* limits;     // edits allowed, by read length
};

// What a record of a read says besides its CIGAR. Its mapping quality is left to the host: powers and logarithms differ between
// processors.
struct MapFacts {
    static constexpr uint16_t kOnHost = 0x8000;  // flag: the host maps the read (the pair), of which nothing is said here
    static constexpr uint16_t kUnused = 0x4000;  // flag: there is no such secondary alignment
    static constexpr int32_t kNotAsked = -2, kNone = -1;

    uint32_t contig, position;
    int32_t score;
    // What suboptimal alignments lose against the record, least and how many that little: those of a proper pair (kNotAsked
    // where it is none), and those among the read's own loci (kNotAsked where the record is not the best of them).
    int32_t pair_min_loss, alone_min_loss;
    uint16_t pair_count, alone_count;
    uint16_t distance, seed_hits;
    uint16_t flag;
    uint8_t hits_truncated, operations;
};

struct MapRecord : MapFacts {
    static constexpr uint32_t kMaxOperations = 24;

    uint16_t cigar[kMaxOperations];  // length << 4 | operation, 0 after the last
};

struct MapBatch {
    MapTarget target;
    MapRules rules;
    const uint8_t* bases;
    const int64_t* offsets;     // of each read in the bases
    const uint32_t* templates;  // first read of each template, a read by itself or a pair, and one past the last
    MapRecord* records;         // 1 + max_secondary for each read
    uint8_t* workspace;         // of each group
    uint32_t* next_template;
    uint32_t template_count;
    uint32_t workspace_hits, workspace_loci, workspace_trace;  // its sizes: algo/map/types.hpp
};

static_assert(sizeof(MapRecord) == 80 && sizeof(MapTarget) == 56 && sizeof(MapRules) == 88 && sizeof(MapBatch) == 208,
              "laid out as the host writes them");

}  // namespace gpualign
