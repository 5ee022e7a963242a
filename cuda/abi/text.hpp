// Arguments of the kernels that write records (host side: gpualign/map/device/text.py), and the options of the
// records.
#pragma once
#include <cstdint>

namespace gpualign {

enum class CsForm : int32_t { none, brief, whole };

// Contents of SAM records besides the alignments.
enum : int32_t { kTagConversion = 1, kTagXM = 2, kTagXR = 4, kTagXG = 8 };  // the first: YD and YC

struct SamOptions {
    int32_t eqx = 0, soft_supplementary = 0, secondary_sequence = 0;
    int32_t secondary_records = 1;
    int32_t max_other_hits = 0;      // with at most so many secondary alignments they go to XA, with more nowhere
    int32_t max_other_alt_hits = 0;  // replaces max_other_hits if one of them is on an ALT contig
    double other_hits_share = 0.8;   // minimum score in XA, relative to the primary score
    int32_t other_hits_scored = 0;   // XB, with score and quality, instead of XA
    int32_t suboptimal_score = 0;    // XS
    int32_t hits = 0;                // HN
    int32_t mate_qualities = 0;      // ms
    int32_t bisulfite = 0;           // kTag… of bisulfite reads, added
    int32_t reserved = 0;
    int32_t split_as_secondary = 0;  // supplementary alignments get flag 0x100, as with bwa mem -M
    CsForm cs = CsForm::none;
    int32_t read_group_size = 0;  // 0: there is none
    int32_t alt_contig_count = 0;
    const char* read_group = nullptr;
    const uint8_t* alt_contigs = nullptr;  // a byte per contig, not 0 for ALT contigs
};

// A batch of reads; arrays that are optional may be null.
struct ReadColumns {
    const uint8_t *names, *bases, *qualities, *comments, *mates;
    const int64_t *name_offsets, *base_offsets, *comment_offsets;
};

// Records of a batch, grouped by read.
struct RecordColumns {
    const uint16_t* flag;
    const int32_t* contig;
    const int64_t* position;
    const uint8_t* mapq;
    const int32_t *score, *distance;
    const uint32_t* cigar;
    const int64_t* cigar_offsets;
    const int64_t* record_offsets;  // first record of each read
};

struct ContigColumns {
    const uint8_t* names;
    const int64_t* offsets;
};

// The reference.
struct TextTarget {
    const uint64_t* words;      // two bits a base
    const uint32_t* acgt_mask;  // a bit a base: 1 for A, C, G and T
    const int64_t* contig_offsets;
    const uint32_t *run_starts, *run_ends;  // intervals of any other character, which `run_bases` holds
    const uint8_t* run_bases;
    int64_t runs;
    ContigColumns names;
};

struct TextBatch {
    TextTarget target;
    ReadColumns reads;
    RecordColumns records;
    SamOptions options;
    const uint8_t* wanted;  // a byte a read, 0: it is not written; null: all are written
    int32_t* edits;         // per record, scratch of the kernels: edits + 1, 0 until counted
    uint64_t* sizes;        // per read and one more: bytes of its records, then their prefix sums
    uint64_t* block_sums;   // of groups of kScanned reads
    uint64_t* totals;       // bytes, records
    char* out;
    uint64_t capacity;      // bytes at `out`; if they do not suffice nothing is written
    uint32_t count, reserved;  // count: of reads

    static constexpr uint32_t kScanned = 1024;
};

// The blocks of a BGZF file made of a text on the device (SAM specification, section 4.1).
struct BgzfBatch {
    const char* content;     // the whole text, aligned to 16 bytes
    const uint64_t* totals;  // bytes of the text; only the device knows them
    uint64_t capacity;       // bytes at `content`; a longer text gives no blocks
    // of each block from `first` on, as nvCOMP takes them: content, and output buffer
    const char** given;
    uint64_t* given_bytes;
    char** deflated;
    uint64_t* deflated_bytes;
    int32_t* status;        // 0: the block was deflated
    char* space;             // output buffers of all blocks, space_bytes each
    uint64_t space_bytes;
    uint64_t* block_offsets;       // where each block begins in `out`
    char* out;              // the blocks; at most the content and 31 bytes per block
    uint64_t* out_bytes;    // bytes of the blocks written so far
    uint32_t first, count;  // `count` may exceed the number of blocks

    // Bytes of text per block but the last: half of the maximum, as a thread block deflates a block; 1.5 times as
    // fast, and the files are 1.5 % larger (H100).
    static constexpr uint32_t kContent = 0x7f80;
    static constexpr uint32_t kLargest = 1 << 16, kHeader = 18, kTrailer = 8, kStoredHeader = 5;
    static constexpr uint32_t kMaxBlocks = 4096;  // per launch
};

// BGZF blocks that nvCOMP inflates. For each block: its deflated payload, aligned to 16 bytes, and its size; the
// output address; the expected size and CRC-32.
struct InflateBatch {
    const uint8_t* const* deflated;
    const uint64_t* deflated_bytes;
    uint8_t* const* texts;
    const uint64_t* text_bytes;
    const uint32_t* checksums;
    const uint64_t* inflated_bytes;  // as reported by nvCOMP, and 0 if it could
    const int32_t* status;
    uint32_t* damaged;  // not 0: a block is damaged
    uint32_t count, reserved;
};

static_assert(sizeof(SamOptions) == 88 && sizeof(ReadColumns) == 64 && sizeof(RecordColumns) == 72 &&
                  sizeof(TextTarget) == 72 && sizeof(TextBatch) == 360 && sizeof(BgzfBatch) == 112 &&
                  sizeof(InflateBatch) == 72,
    "laid out as the host writes them");

}  // namespace gpualign
