// Data of mapping by chaining: its parameters, and the arrays that the steps of algo/map/chain pass to each other, on
// the host or on a device. An array whose length is known only after a step has run is an arena, from which each read
// takes what it needs.
#pragma once
#include <cstddef>

#include "abi/map.hpp"

namespace gpualign {

constexpr uint32_t kNoItem = ~0u;

// `used` may exceed the capacity: then an item did not fit, and the host repeats all steps with more space or fewer
// reads.
template <class Item> struct Arena {
    Item* items;
    uint32_t* used;
    uint64_t capacity;
};

// Signals at the two ends of an intron on its transcript's strand (R: A or G, Y: C or T), from the most to the least
// frequent: those at its begin, GT before R, other GT, GC, AT, any other bases; and those at its end, AG after Y, other
// AG, AC, any other.
constexpr int32_t kDonors = 5, kAcceptors = 4;

// Introns of an alignment. Their cost depends on the distance between the points that they lie between, as bases that
// fit by chance are found in it: each doubling beyond kShortIntron costs one more.
constexpr int32_t kShortIntron = 1 << 10;

struct IntronRules {
    int32_t open;  // cost of a short intron with the most frequent signals; 0: no alignment has introns
    int32_t donor[kDonors], acceptor[kAcceptors];  // what other signals cost in addition
    int32_t known;  // what an end of a known intron costs less; at most half of `open`
    int32_t shortest, longest;  // shorter ones are deletions
    int32_t strands;  // of transcripts: a set of TranscriptStrand, kForward that of the read
};
enum TranscriptStrand : uint8_t { kNoTranscript = 0, kForwardTranscript = 1, kReverseTranscript = 2 };

struct ChainRules {
    int32_t k, w;
    int32_t interval, max_hits;  // hits followed per `interval` bases of a read, those of the rarest seeds first
    int32_t max_gap, max_difference;  // between neighbouring anchors: bases on the shorter side, and the difference
                                      // between both sides
    int32_t min_chain_score, min_anchors;
    int32_t max_suboptimal, suboptimal_percent;  // suboptimal chains of one interval of the read that are aligned, and
                                                 // their minimum share of the best score in %
    int32_t query_gap;  // bases between anchors from which on a chain does not cover them
    AffineScores scores;
    int32_t step, reach;  // bases between points of an alignment; longest extension at its ends
    int32_t zdrop, min_score, min_split;
    int32_t doubt;  // a gap that gains no more than this is doubtful: both sides are aligned separately as well; 0: no
                    // gap is
    int64_t max_cells;  // of one DP matrix between two points, a byte a cell
    IntronRules introns;
};

// An end of a known intron: its first or last base, and that of the other end.
struct KnownSite {
    int64_t position, other;
    int64_t strand;  // a TranscriptStrand
};
struct KnownIntrons {
    const KnownSite *begins, *ends;  // sorted by position
    uint64_t count;
};

struct ChainSeed {
    uint32_t first, hits;  // entries of the index, and the number of them that is followed
    uint32_t at;  // position << 1 | 1 where the canonical k-mer is the reverse strand's
};

struct ReadInterval {
    int32_t begin, end;
};

// A chain of anchors, until the chains to align are chosen.
struct AnchorChain {
    int32_t score;
    uint32_t first, last;  // indices among the chained anchors of the read
    int32_t intervals, covered;  // intervals of the read that it covers, and their bases
    int32_t aligned,
        unaligned;  // suboptimal chains of the same interval: how many are aligned, and the best score of the others
    uint8_t reverse, secondary;
    uint8_t jumps;  // it contains a long gap, so its alignment may be split
};

// A chain that is aligned.
struct ChosenChain {
    const uint64_t* anchors;
    uint32_t anchor_count, read;
    uint32_t contig;
    int32_t score, unaligned;
    uint32_t first_point, points;
    int32_t exact_begin, exact_end;  // bases of the read that match without an edit, with the first and last anchor
    uint32_t left, right;  // tasks that extend both ends
    uint32_t left_over[2], right_over[2];  // tasks that do so over a known intron each: the first, and how many
    uint32_t first_run, runs;
    uint32_t first_alignment, alignments;
    uint8_t reverse;
    uint8_t alone;  // no other chain of the same interval of the read has a quarter of its score
    uint8_t transcript;  // strand of the reference that the introns' signals are on, a TranscriptStrand
};

// The alignment between two points: a diagonal without gaps, the result of a task, or broken.
struct ChainSegment {
    uint32_t task;
    int32_t score, forgiven;
};

struct ChainPoint {
    int64_t reference;  // this base is paired with the query's
    int32_t query;
    ChainSegment after;
};
constexpr uint32_t kDiagonalSegment = ~1u, kBrokenSegment = ~2u;  // values of ChainSegment::task

// A banded DP matrix: row i covers the columns diagonal + i + [0, band). Rows are bases of the read, or of the
// reference if `swapped`. An end is either free, so that it may be clipped, or pinned to a diagonal of the band.
//
// A folded band leaves out the middle of an intron: the diagonals from `fold` on are `jump` bases further on, and only
// an intron leads there.
constexpr int32_t kFreeEnd = -1;
struct BandTask {
    int64_t row, diagonal;
    int32_t rows, band;
    int32_t begin_pin, end_pin;
    int32_t fold, jump;  // fold 0: not folded
    int32_t intron;  // what an intron costs with the most frequent signals
    uint32_t read, contig;
    uint8_t reverse, swapped;
    uint8_t transcript;  // strand of the introns it may have, a TranscriptStrand
    // result:
    int64_t begin;  // column of the first row that is aligned
    int32_t score;
    uint32_t cigar, operations;
};

// Consecutive points of a chain whose segments form one alignment.
struct ChainRun {
    uint32_t first_point, last_point;
    uint32_t left, right;  // tasks
    uint32_t left_round, right_round;  // which array of tasks they are in: 0, or 1 for those of cut chains
    uint32_t side;  // 1: one side of the doubtful gap of the last run with `side` 0
};

struct ChainAlignment {
    int64_t begin, end;  // score for choosing, and how much of the cost of very long gaps it leaves out
    int32_t query_begin, query_end;  // on the strand of the chain
    int32_t score, forgiven;  // by which it is chosen, and what that makes less of very long gaps
    int32_t matches, columns;
    int32_t anchors;  // anchors of the chain within the alignment
    uint32_t chain;
    uint32_t cigar, operations;
};

enum class ChainKind : uint8_t { primary, supplementary, secondary };

// A local alignment, ranked among those of its read.
struct RankedAlignment {
    uint32_t alignment;
    int32_t begin, end;  // on the read
    uint32_t parent;  // the best alignment of this interval of the read
    int32_t second,
        suboptimal;  // best score of the suboptimal alignments of the interval, and how many come close to it
    ChainKind kind;
    uint8_t mapq;
    int32_t rank;  // its score, or less than that of a split alignment that together scores more
};

// A reported alignment.
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
    uint32_t
        flipped;  // bit 0: its reverse complement is mapped; bit 1: all its bases are A, C, G or T; then its Conversion
    uint32_t tie_break;  // tie-break hash (algo/map/tie_break.hpp)
};

struct ChainBatch {
    ChainRules rules;
    const uint8_t* bases;
    const int64_t* offsets;  // where each read begins in `bases`
    const uint32_t* tie_breaks;  // tie-break hash of each read
    const uint8_t* conversions;  // as in MapBatch
    KnownIntrons known;
    uint32_t reads;
    int32_t max_secondary;  // secondary alignments reported per read
    int64_t min_length;  // shorter reads are not mapped by these rules
    uint64_t* words;  // packed reads
    uint32_t* not_acgt;
    ChainRead* state;  // of each read
    Arena<uint64_t> hashes;
    Arena<ChainSeed> seeds;
    Arena<uint64_t> anchors;  // kAnchorWords words per anchor (algo/map/chain/chains.hpp)
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

// Arguments of a kernel of cuda/map_chains.cu.
struct ChainLaunch {
    MapTarget target;
    ChainBatch batch;
    uint8_t* workspace;  // workspace_bytes for each warp or block that aligns
    uint64_t workspace_bytes;
    uint64_t min_bytes, max_bytes;  // a warp takes DP matrices of more than min_bytes and at most max_bytes
    uint32_t* next;  // next read or task to take
    const uint32_t* done;  // how many chains are finished, and how many tasks of either array
    int64_t round;  // index into ChainBatch::tasks
};

static_assert(
    sizeof(Arena<uint32_t>) == 24 && sizeof(ChainRules) == 160 && sizeof(ChainRead) == 32 && sizeof(ChainOutput) == 24,
    "laid out as the host writes them");

}  // namespace gpualign
