// Reads and records as columns (abi/text.hpp), and how to look at them.
#pragma once
#include "abi/text.hpp"
#include "algo/common/hd.hpp"
#include "algo/map/sam_codes.hpp"
#include "algo/text/fastq.hpp"

namespace gpualign {

// Which mate a read is; mates are neighbours.
enum Mate : uint8_t { kSingle = 0, kFirstMate = 1, kSecondMate = 2 };

// Reference bases under a CIGAR.
GPUALIGN_HD int64_t reference_span(const uint32_t* begin, const uint32_t* end) {
    int64_t span = 0;
    for (const uint32_t* c = begin; c < end; c++)
        if ((*c & 15) == kCigarM || skips_reference(*c & 15)) span += *c >> 4;
    return span;
}

// Whether SAM allows a character in a read's name.
GPUALIGN_HD bool is_in_sam_names(uint8_t c) { return c > ' ' && c < 127 && c != '@'; }

struct ReadsView : ReadColumns {
    static constexpr uint64_t kNone = ~uint64_t(0);

    GPUALIGN_HD const char* bases_of(uint64_t read) const {
        return reinterpret_cast<const char*>(bases + base_offsets[read]);
    }
    GPUALIGN_HD int64_t length(uint64_t read) const { return base_offsets[read + 1] - base_offsets[read]; }
    GPUALIGN_HD const char* quality(uint64_t read) const {
        return reinterpret_cast<const char*>(qualities + base_offsets[read]);
    }
    GPUALIGN_HD const char* comment(uint64_t read) const {
        return reinterpret_cast<const char*>(comments + comment_offsets[read]);
    }
    GPUALIGN_HD int64_t comment_size(uint64_t read) const {
        return comments ? comment_offsets[read + 1] - comment_offsets[read] : 0;
    }
    GPUALIGN_HD int64_t name_size(uint64_t read) const { return name_offsets[read + 1] - name_offsets[read]; }

    GPUALIGN_HD bool paired(uint64_t read) const { return mates && mates[read] != kSingle; }
    GPUALIGN_HD uint64_t mate_of(uint64_t read) const {
        return !paired(read) ? kNone : mates[read] == kFirstMate ? read + 1 : read - 1;
    }

    // Characters of the name in a record: without /1 or /2 of single reads, as pairs' names have none either.
    GPUALIGN_HD int64_t record_name_size(uint64_t read) const {
        const char* name = reinterpret_cast<const char*>(names + name_offsets[read]);
        return paired(read) ? name_size(read) : template_name_size(name, name_size(read), false);
    }
    // The first `size` characters of the name in SAM's characters, "*" where there are none.
    template <class Out> GPUALIGN_HD void put_name(uint64_t read, int64_t size, Out& out) const {
        const uint8_t* p = names + name_offsets[read];
        out.reserve(32);
        if (size == 0) return out.put("*");
        out.fill(size, [p](int64_t c) { return is_in_sam_names(p[c]) ? char(p[c]) : '_'; });
    }
};

struct RecordsView : RecordColumns {
    GPUALIGN_HD bool mapped(uint64_t record) const { return contig[record] >= 0; }
    GPUALIGN_HD bool reverse(uint64_t record) const { return flag[record] & kFlagReverse; }
    GPUALIGN_HD uint64_t primary(uint64_t read) const { return uint64_t(record_offsets[read]); }
    GPUALIGN_HD const uint32_t* cigar_begin(uint64_t record) const { return cigar + cigar_offsets[record]; }
    GPUALIGN_HD const uint32_t* cigar_end(uint64_t record) const { return cigar + cigar_offsets[record + 1]; }
    GPUALIGN_HD int64_t end(uint64_t record) const {
        return position[record] + reference_span(cigar_begin(record), cigar_end(record));
    }
};

// The names of the reference's contigs.
struct ContigNames : ContigColumns {
    GPUALIGN_HD const char* text(int32_t contig) const {
        return reinterpret_cast<const char*>(names + offsets[contig]);
    }
    GPUALIGN_HD int64_t size(int32_t contig) const { return offsets[contig + 1] - offsets[contig]; }
};

}  // namespace gpualign
