// One record's letters next to the reference's (algo/text/aligned_text.hpp), unpacked into memory and compared in words.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "algo/text/aligned_text.hpp"
#include "algo/text/letters.hpp"
#include "index/reference.hpp"
#include "simd/blocks.hpp"
#include "text/text.hpp"

namespace gpualign {

struct ComplementTable {
    char to[256] = {};
    constexpr ComplementTable() {
        for (int i = 0; i < 256; i++) to[i] = char(complement_letter(uint8_t(i)));
    }
};
inline constexpr ComplementTable complement_table;

// The reverse complement of a read's letters.
inline void reverse_complement_letters(const char* letters, int64_t length, char* out) {
    uint8_t others = 0;
    in_blocks(length, [&](ptrdiff_t at, auto count) {  // the four bases by arithmetic
        uint8_t given[count], turned[count], differ = 0;
        std::memcpy(given, letters + (length - at - count), count);
        for (ptrdiff_t i = 0; i < count; i++) {
            const uint8_t letter = given[count - 1 - i];
            turned[i] = uint8_t(letter ^ (letter & 2 ? 'C' ^ 'G' : 'A' ^ 'T'));
            differ |= differs_from_bases(letter);
        }
        std::memcpy(out + at, turned, count);
        others |= differ;
    });
    if (!others) return;
    for (int64_t c = 0; c < length; c++) out[c] = complement_table.to[uint8_t(letters[length - 1 - c])];
}

class UnpackedLetters {
public:
    explicit UnpackedLetters(const ReferenceView& reference) : reference_(&reference) {}

    void take(int32_t contig, int64_t position, int64_t span, const char* bases, int64_t length, bool reverse) {
        oriented_.resize(size_t(length) + kBehind);
        if (reverse) reverse_complement_letters(bases, length, oriented_.data());
        else std::copy(bases, bases + length, oriented_.begin());
        window_.resize(size_t(span) + kBehind);
        const uint64_t begin = uint64_t(reference_->contig_offsets[contig] + position), end = begin + uint64_t(span);
        reference_->letters(begin, end, window_.data());
        bases_only_ = !reference_->has_run(begin, end);
    }

    char read(int64_t i) const { return oriented_[size_t(i)]; }
    char reference(int64_t i) const { return window_[size_t(i)]; }
    void put_read(int64_t from, int64_t n, Text& out) const { out.put(oriented_.data() + from, size_t(n)); }

    // Only A, C, G and T match, so that MD and NM say what the aligner counted.
    bool match(int64_t query, int64_t reference) const {
        const char a = oriented_[size_t(query)];
        return a == window_[size_t(reference)] && is_base(uint8_t(a));
    }

    // Pairs of letters up to the first that do not match, most `most`.
    uint32_t same(int64_t query, int64_t reference, uint32_t most) const {
        uint32_t n = 0;
        if (bases_only_) {  // letters that are equal to a base are bases
            for (uint64_t a, b; n < most; n += kBehind) {
                std::memcpy(&a, oriented_.data() + query + n, kBehind);
                std::memcpy(&b, window_.data() + reference + n, kBehind);
                if (a != b) return std::min(most, n + uint32_t(__builtin_ctzll(a ^ b)) / 8);
            }
            return most;
        }
        while (n < most && match(query + n, reference + n)) n++;
        return n;
    }

private:
    static constexpr uint32_t kBehind = sizeof(uint64_t);  // letters compared at once; there are as many after the last ones

    const ReferenceView* reference_;
    bool bases_only_ = false;  // in the window
    std::vector<char> oriented_, window_;
};

using RecordText = AlignedText<UnpackedLetters>;

}  // namespace gpualign
