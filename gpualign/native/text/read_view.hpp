// A batch of reads and the names of the contigs as the formatters see them. No Python here: fuzz/records.cpp reads it too.
#pragma once
#include <algorithm>
#include <cstdint>

#include "map/alignment.hpp"
#include "text/text.hpp"

namespace gpualign {

struct ReadsView {
    const uint8_t *names, *bases, *qualities, *comments, *mates;  // qualities, comments and mates may be null
    const int64_t *name_offsets, *base_offsets, *comment_offsets;

    static constexpr size_t kNone = ~size_t(0);

    const char* letters(size_t read) const { return reinterpret_cast<const char*>(bases + base_offsets[read]); }
    int64_t length(size_t read) const { return base_offsets[read + 1] - base_offsets[read]; }
    const char* quality(size_t read) const { return reinterpret_cast<const char*>(qualities + base_offsets[read]); }
    const char* comment(size_t read) const { return reinterpret_cast<const char*>(comments + comment_offsets[read]); }
    int64_t comment_size(size_t read) const { return comments ? comment_offsets[read + 1] - comment_offsets[read] : 0; }
    int64_t name_size(size_t read) const { return name_offsets[read + 1] - name_offsets[read]; }

    bool paired(size_t read) const { return mates && mates[read] != kSingle; }
    size_t mate_of(size_t read) const { return !paired(read) ? kNone : mates[read] == kFirstMate ? read + 1 : read - 1; }

    // The name in SAM's letters, "*" where there is none; takes as many letters of space as it has, and one at least.
    void put_name(size_t read, Text& out) const {
        const uint8_t* p = names + name_offsets[read];
        const int64_t n = name_size(read);
        if (n == 0) out.put('*');
        for (int64_t c = 0; c < n; c++) out.put(p[c] > ' ' && p[c] < 127 && p[c] != '@' ? char(p[c]) : '_');
    }
};

// The names of the reference's contigs.
struct ContigNames {
    const uint8_t* names;
    const int64_t* offsets;

    const char* text(int32_t contig) const { return reinterpret_cast<const char*>(names + offsets[contig]); }
    int64_t size(int32_t contig) const { return offsets[contig + 1] - offsets[contig]; }
};

}  // namespace gpualign
