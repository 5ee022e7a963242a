// What mapping by chaining works on: its rules, and the arrays that its steps (algo/map/chain) hand to each other, on the
// host or on a device. Arrays whose length only the steps know are arenas, of which each read takes what it needs.
#pragma once
#include <cstddef>

#include "abi/map.hpp"

namespace gpualign {

constexpr uint32_t kNoItem = ~0u;

// `used` may pass the capacity: then something did not fit, and all is done again with more space or with fewer reads.
template <class Item>
struct Arena {
    Item* items;
    uint32_t* used;
    uint64_t capacity;
};

struct ChainRules {
    int32_t k, w;
    int32_t stretch, max_hits;             // of each stretch of a read so many hits are followed, those of rare seeds first
    int32_t max_gap, max_difference;       // bases between neighbours on read or reference, whichever has fewer, and how many more the other has
    int32_t min_chain_score, min_anchors;
    int32_t max_suboptimal, suboptimal_percent;  // chains of one stretch that are aligned, and their share of the best score
    int32_t query_gap;                     // bases without an anchor that a chain does not count as its own
    AffineScores scores;
    int32_t step, reach;                   // bases between the points of an alignment, and that its ends are extended by
    int32_t zdrop, min_score, min_split;
    int32_t doubt;                         // where a gap earns no more than that, its sides are aligned by themselves, too; 0: never
    int64_t max_cells;                     // of one dynamic program between two points, a byte each
};

struct ChainSeed {
    uint32_t first, hits;  // entries of the index, and how many of them are followed
    uint32_t at;           // position << 1 | 1 where the canonical k-mer is the reverse strand's
};

struct ReadInterval {
    int32_t begin, end;
};

// A chain of anchors, while chains are chosen.
struct AnchorChain {
    int32_t score;
    uint32_t first, last;  // of the read's chained anchors
    uint32_t contig;
    int32_t intervals, covered;     // of the read that it covers: how many, and their bases
    int32_t aligned, unaligned;     // suboptimal chains of its stretch: how many are aligned, the best score of the others
    uint8_t reverse, chosen, secondary;
    uint8_t jumps;                  // its alignment may be cut: a long gap is in it
};

// A chain that is aligned.
struct ChosenChain {
    const uint64_t* anchors;
    uint32_t anchor_count, read;
    uint32_t contig;
    int32_t score, unaligned;
    uint32_t first_point, points;
    uint32_t left, right;           // tasks of its ends
    uint32_t first_run, runs;
    uint32_t first_alignment, alignments;
    uint8_t reverse;
    uint8_t alone;                  // no other chain of its stretch of the read has a quarter of its score
};

// What lies between two points: a diagonal without gaps, or the result of a task, or nothing sensible.
struct ChainSegment {
    uint32_t task;
    int32_t score, forgiven;
};

struct ChainPoint {
    int64_t reference;  // the alignment pairs these bases
    int32_t query;
    ChainSegment after;
};
constexpr uint32_t kDiagonalSegment = ~1u, kBrokenSegment = ~2u;  // in place of a task

// Rows against columns in a band: row i meets the columns diagonal + i + [0, band). The rows are bases of the read, or of
// the reference where they are `swapped`. An end is free to be clipped, or pinned to a diagonal of the band.
constexpr int32_t kFreeEnd = -1;
struct BandTask {
    int64_t row, diagonal;
    int32_t rows, band;
    int32_t begin_pin, end_pin;
    uint32_t read, contig;
    uint8_t reverse, swapped;
    // its result
    int64_t begin;  // column of the first row that is aligned
    int32_t score;
    uint32_t cigar, operations;
};

// Points of a chain whose segments make one alignment.
struct ChainRun {
    uint32_t first_point, last_point;
    uint32_t left, right;  // tasks
    uint32_t left_round, right_round;  // of tasks: the first, or those of cut chains
    uint32_t side;         // of a gap of the last run that is none
};

struct ChainAlignment {
    int64_t begin, end;                  // on the reference
    int32_t query_begin, query_end;      // on the strand of the chain
    int32_t score, forgiven;             // by which it is chosen, and what that makes less of very long gaps
    int32_t matches, columns;
    int32_t anchors;                     // of the chain, within the alignment
    uint32_t chain;
    uint32_t cigar, operations;
};

enum class ChainKind : uint8_t { primary, supplementary, secondary };

// A local alignment among those of its read.
struct RankedAlignment {
    uint32_t alignment;
    int32_t begin, end;        // on the read
    uint32_t parent;           // the alignment that stands for this stretch of the read
    int32_t second, suboptimal;  // best score of the suboptimal ones of its stretch, how many come near that
    ChainKind kind;
    uint8_t mapq;
    int32_t rank;              // its score, or less than that of pieces that are together better
};

// What is reported of an alignment.
struct ChainOutput {
    uint32_t contig, position;  // 0-based, in the contig
    int32_t score;
    uint32_t cigar, operations;
    uint16_t flag;
    uint8_t mapq;
};

struct ChainRead {
    uint32_t first_chosen, chosen;
    uint32_t first_ranked, ranked;
    uint32_t first_output, outputs;
    uint32_t flipped;  // bit 0: its reverse complement is mapped; bit 1: all its bases are A, C, G or T
    uint32_t tie_break;     // algo/map/tie_break.hpp
};

struct ChainBatch {
    ChainRules rules;
    const uint8_t* bases;
    const int64_t* offsets;  // of each read in the bases
    const uint32_t* tie_breaks;   // of each read
    uint32_t reads;
    int32_t max_secondary;   // reported of each read
    int64_t min_length;      // of a read that is mapped by these rules
    uint64_t* words;         // of packed reads
    uint32_t* not_acgt;
    ChainRead* state;        // of each read
    Arena<uint64_t> hashes;
    Arena<ChainSeed> seeds;
    Arena<uint64_t> anchors;  // words, kAnchorWords an anchor (algo/map/chain/chains.hpp)
    Arena<AnchorChain> candidates;
    Arena<ChosenChain> chains;
    Arena<ChainPoint> points;
    Arena<BandTask> tasks[2];
    Arena<ChainRun> runs;
    Arena<uint32_t> cigars;
    Arena<ChainAlignment> alignments;
    Arena<RankedAlignment> ranked;
    Arena<ChainOutput> outputs;
    Arena<uint32_t> output_cigars;
};

// What a kernel of cuda/map_chains.cu is launched with.
struct ChainLaunch {
    MapTarget target;
    ChainBatch batch;
    uint8_t* workspace;  // of each warp or block that aligns: so many bytes
    uint64_t workspace_bytes;
    uint64_t min_bytes, max_bytes;  // dynamic programs of more than the one and up to the other, as a warp takes them
    uint32_t* next;      // read or task
    const uint32_t* done_chains;  // of them nothing is left to do
    int64_t round;       // of tasks
};

static_assert(sizeof(Arena<uint32_t>) == 24 && sizeof(ChainRules) == 104 && sizeof(ChainRead) == 32 && sizeof(ChainOutput) == 24,
              "laid out as the host writes them");

}  // namespace gpualign
