// A record's bases next to the reference's (algo/text/aligned_text.hpp), unpacked and compared word by word.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "algo/text/aligned_text.hpp"
#include "algo/text/bases.hpp"
#include "seeds/index/reference.hpp"
#include "simd/blocks.hpp"
#include "text/text.hpp"

namespace gpualign {

struct ComplementTable {
    char to[256] = {};
    constexpr ComplementTable() {
        for (int i = 0; i < 256; i++) to[i] = char(complement_base(uint8_t(i)));
    }
};
inline constexpr ComplementTable complement_table;

// Writes the reverse complement of a read's bases.
inline void write_reverse_complement(const char* sequence, int64_t length, char* out) {
    uint8_t others = 0;
    in_blocks(length, [&](ptrdiff_t at, auto count) {  // by arithmetic for A, C, G and T
        uint8_t given[count], turned[count], differ = 0;
        std::memcpy(given, sequence + (length - at - count), count);
        for (ptrdiff_t i = 0; i < count; i++) {
            const uint8_t base = given[count - 1 - i];
            turned[i] = uint8_t(base ^ (base & 2 ? 'C' ^ 'G' : 'A' ^ 'T'));
            differ |= differs_from_bases(base);
        }
        std::memcpy(out + at, turned, count);
        others |= differ;
    });
    if (!others) return;
    for (int64_t c = 0; c < length; c++) out[c] = complement_table.to[uint8_t(sequence[length - 1 - c])];
}

class UnpackedBases {
public:
    explicit UnpackedBases(const ReferenceView& reference) : reference_(&reference) {}

    void take(int32_t contig, int64_t position, int64_t span, const char* bases, int64_t length, bool reverse) {
        if (bases != bases_ || length != length_ || reverse != reverse_) orient(bases, length, reverse);
        window_.resize(size_t(span) + kPadding);
        const uint64_t begin = uint64_t(reference_->contig_offsets[contig] + position), end = begin + uint64_t(span);
        reference_->sequence(begin, end, window_.data());
        contig_ = contig, begin_ = int64_t(begin), end_ = int64_t(end);
        bases_only_ = !reference_->has_run(begin, end);
    }

    char read(int64_t i) const { return oriented_[size_t(i)]; }
    char reference(int64_t i) const { return window_[size_t(i)]; }
    // The reference at positions outside the record as well; N outside the contig.
    char context(int64_t i) const {
        const int64_t at = begin_ + i;
        if (i >= 0 && at < end_) return reference(i);
        if (at < reference_->contig_offsets[contig_] || at >= reference_->contig_offsets[contig_ + 1]) return 'N';
        if (reference_->has_run(uint64_t(at), uint64_t(at) + 1)) return 'N';
        return kFourBases.of[packed_base(reference_->words, uint64_t(at))][0];
    }
    void put_read(int64_t from, int64_t n, Text& out) const { out.put(oriented_.data() + from, size_t(n)); }

    // Only A, C, G and T match, so that MD and NM agree with the aligner.
    bool match(int64_t query, int64_t reference) const {
        const char a = oriented_[size_t(query)];
        return a == window_[size_t(reference)] && is_base(uint8_t(a));
    }

    // Number of matching pairs of bases up to the first mismatch, at most `maximum`.
    uint32_t same(int64_t query, int64_t reference, uint32_t maximum) const {
        uint32_t n = 0;
        if (bases_only_) {  // what equals a base is one
            for (uint64_t a, b; n < maximum; n += kPadding) {
                std::memcpy(&a, oriented_.data() + query + n, kPadding);
                std::memcpy(&b, window_.data() + reference + n, kPadding);
                if (a != b) return std::min(maximum, n + uint32_t(__builtin_ctzll(a ^ b)) / 8);
            }
            return maximum;
        }
        while (n < maximum && match(query + n, reference + n)) n++;
        return n;
    }

private:
    // Orients the read once for all records on a strand, of which a contig may have hundreds.
    void orient(const char* bases, int64_t length, bool reverse) {
        oriented_.resize(size_t(length) + kPadding);
        if (reverse) write_reverse_complement(bases, length, oriented_.data());
        else std::copy(bases, bases + length, oriented_.begin());
        bases_ = bases;
        length_ = length;
        reverse_ = reverse;
    }

    static constexpr uint32_t kPadding =
        sizeof(uint64_t);  // bases compared at once; the buffers have as many after the last one

    const ReferenceView* reference_;
    const char* bases_ = nullptr;  // of the current orientation
    int64_t length_ = 0;
    int32_t contig_ = 0;
    int64_t begin_ = 0, end_ = 0;  // of the window
    bool reverse_ = false;
    bool bases_only_ = false;  // the window is unambiguous
    std::vector<char> oriented_, window_;
};

using RecordText = AlignedText<UnpackedBases>;

}  // namespace gpualign
