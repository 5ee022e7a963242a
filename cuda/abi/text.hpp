// What the host hands to the kernels that write records (gpualign/map/device/text.py), and what the records hold.
#pragma once
#include <cstdint>

namespace gpualign {

enum class CsForm : int32_t { none, brief, whole };

// What SAM records hold on top of the alignments.
struct SamOptions {
    int32_t eqx = 0, soft_supplementary = 0, secondary_sequence = 0;
    int32_t secondary_records = 1;
    int32_t max_other_hits = 0;      // secondary alignments go to XA, or nowhere where a read has more
    int32_t max_other_alt_hits = 0;  // in place of max_other_hits where one of them is on an ALT contig
    double other_hits_share = 0.8;   // of the primary score, which they must reach
    int32_t other_hits_scored = 0;   // XB, with score and quality, instead of XA
    int32_t suboptimal_score = 0;    // XS
    int32_t hits = 0;                // HN
    int32_t mate_qualities = 0;      // ms
    int32_t split_as_secondary = 0;  // 0x100 for supplementary alignments, as bwa mem -M
    CsForm cs = CsForm::none;
    int32_t read_group_size = 0;  // 0: there is none
    int32_t alt_contig_count = 0;
    const char* read_group = nullptr;
    const uint8_t* alt_contigs = nullptr;  // a byte for each contig, not 0 for ALT ones
};

// A batch of reads; of each array that there may not be, null.
struct ReadColumns {
    const uint8_t *names, *bases, *qualities, *comments, *mates;
    const int64_t *name_offsets, *base_offsets, *comment_offsets;
};

// Their records, those of a read one after the other.
struct RecordColumns {
    const uint16_t* flag;
    const int32_t* contig;
    const int64_t* position;
    const uint8_t* mapq;
    const int32_t *score, *distance;
    const uint32_t* cigar;
    const int64_t* cigar_offsets;
    const int64_t* record_offsets;  // of each read
};

struct ContigColumns {
    const uint8_t* names;
    const int64_t* offsets;
};

// The reference's bases.
struct TextTarget {
    const uint64_t* words;      // two bits a base
    const uint32_t* acgt_mask;  // a bit a base: it is A, C, G or T
    const int64_t* contig_offsets;
    const uint32_t *run_starts, *run_ends;  // of any other base
    const uint8_t* run_letters;
    int64_t runs;
    ContigColumns names;
};

struct TextBatch {
    TextTarget target;
    ReadColumns reads;
    RecordColumns records;
    SamOptions options;
    const uint8_t* wanted;  // a byte a read, not 0 for those that are written; null: all are
    int32_t* edits;         // a number a record, for the kernels: one more than its edits, 0 where they have not been counted
    uint64_t* sizes;        // a number a read and one more: bytes of its records; then where they begin, and the end of all
    uint64_t* block_sums;   // of kScanned reads each
    uint64_t* totals;       // bytes, records
    char* out;
    uint64_t capacity;      // bytes at out: where that is too small nothing is written
    uint32_t count, reserved;  // of reads

    static constexpr uint32_t kScanned = 1024;
};

// The blocks of a BGZF file that some of a text becomes (SAM specification, section 4.1).
struct BgzfBatch {
    const char* content;     // all of it, at an address that is a multiple of 16
    const uint64_t* totals;  // its bytes first, known on the device alone
    uint64_t capacity;       // bytes at content: of a text that is larger no block is made
    // of each block from `first` on, as nvCOMP takes them: content and its bytes, space for what it is deflated to, and
    // what that is
    const char** given;
    uint64_t* given_bytes;
    char** deflated;
    uint64_t* deflated_bytes;
    int32_t* status;        // 0: it was deflated
    char* space;             // for all of them, of so many bytes each
    uint64_t space_bytes;
    uint64_t* block_offsets;       // where each block begins in `out`
    char* out;              // the blocks, one after the other, which are no more than content and 31 bytes for each
    uint64_t* out_bytes;    // of the blocks so far
    uint32_t first, count;  // of all blocks, which number more than there are

    // Bytes of text in every block but the last: half of what a block may have is deflated 1.5 times as fast, as a block is one
    // thread block's work, and to files that are 1.5 % larger.
    static constexpr uint32_t kContent = 0x7f80;
    static constexpr uint32_t kLargest = 1 << 16, kHeader = 18, kTrailer = 8, kStoredHeader = 5;
    static constexpr uint32_t kMaxBlocks = 4096;  // blocks at once
};

// Blocks of a BGZF file on their way to text; nvCOMP inflates them. Of each: where what was deflated lies, at a multiple of 16, and
// its bytes; where its text goes, and the bytes and the checksum that it should have.
struct InflateBatch {
    const uint8_t* const* deflated;
    const uint64_t* deflated_bytes;
    uint8_t* const* texts;
    const uint64_t* text_bytes;
    const uint32_t* checksums;
    const uint64_t* inflated_bytes;  // as nvCOMP says, and 0 where it could
    const int32_t* status;
    uint32_t* damaged;  // not 0: a block is not what it should be
    uint32_t count, reserved;
};

static_assert(sizeof(SamOptions) == 80 && sizeof(ReadColumns) == 64 && sizeof(RecordColumns) == 72 && sizeof(TextTarget) == 72 &&
                  sizeof(TextBatch) == 352 && sizeof(BgzfBatch) == 112 && sizeof(InflateBatch) == 72,
              "laid out as the host writes them");

}  // namespace gpualign
