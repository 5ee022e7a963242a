// Bit planes of a batch's queries, striped.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "algo/common/dna.hpp"
#include "algo/align/edit/myers_striped.hpp"

namespace gpualign {

// base_code and its complement as tables.
struct CodeTables {
    uint8_t forward[256], reverse[256];
    CodeTables() {
        for (int i = 0; i < 256; i++) {
            forward[i] = base_code(uint8_t(i));
            reverse[i] = complement_code(forward[i]);
        }
    }
};
inline const CodeTables kCodes;

// Encodes a sequence, followed by its reverse complement.
inline void encode_both_strands(const uint8_t* text, size_t length, uint8_t* codes) {
    for (size_t i = 0; i < length; i++) {
        codes[i] = kCodes.forward[text[i]];
        codes[2 * length - 1 - i] = kCodes.reverse[text[i]];
    }
}

// Bit `plane` of each of 64 bytes.
inline uint64_t bits_of_codes(const uint8_t* codes, int plane) {
    uint64_t all = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t eight;
        std::memcpy(&eight, codes + 8 * i, 8);
        // moves bit 0 of byte b to bit 56 + b; the partial products do not overlap
        all |= ((eight >> plane & 0x0101010101010101u) * 0x0102040810204080u) >> 56 << (8 * i);
    }
    return all;
}

// Striped planes of the queries on both strands, built on first use: once per query, not per candidate.
class VerifyProfiles {
public:
    using Planes = StripedPlanes<uint64_t>;
    static constexpr int kTileWords = 8;  // a tile holds 512 rows

    VerifyProfiles(const uint8_t* bases, const int64_t* offsets, size_t queries)
        : bases_(bases), offsets_(offsets), lengths_(queries), first_(queries * 2, kNone) {
        for (size_t q = 0; q < queries; q++) lengths_[q] = offsets[q + 1] - offsets[q];
    }

    int64_t length(uint32_t profile) const { return lengths_[profile / 2]; }
    // From now on the query is so many of its first bases.
    void set_length(size_t query, int64_t length) {
        lengths_[query] = length;
        first_[2 * query] = first_[2 * query + 1] = kNone;
    }
    // Words of a pattern in one tile if it fits, else words of all tiles.
    static int words(int64_t length) {
        const int words = int((length + 63) / 64);
        return words <= kTileWords ? words : (words + kTileWords - 1) / kTileWords * kTileWords;
    }

    // Valid until the next call.
    const Planes* planes(uint32_t profile) {
        if (first_[profile] == kNone) {
            first_[profile] = planes_.size();
            make(profile);
        }
        return planes_.data() + first_[profile];
    }

private:
    static constexpr size_t kNone = ~size_t(0);

    void make(uint32_t profile) {
        const uint8_t* sequence = bases_ + offsets_[profile / 2];
        const int64_t length = this->length(profile);
        const int words = this->words(length), tile_words = std::min(words, kTileWords);
        // encoded bases in the order of the planes' bits: row r of a tile is byte r / W of word r % W
        codes_.assign(size_t(words) * 64, kNoBase);
        const int64_t pad = int64_t(words) * 64 - length, tile_rows = int64_t(tile_words) * 64;
        int64_t row = pad % tile_rows, at = pad / tile_rows * tile_rows + row % tile_words * 64 + row / tile_words;
        int word = int(row % tile_words);
        for (int64_t i = 0; i < length; i++) {
            codes_[size_t(at)] = profile & 1 ? kCodes.reverse[sequence[length - 1 - i]] : kCodes.forward[sequence[i]];
            at += 64;
            if (++word == tile_words) {  // to the next byte of the first word, or to the next tile
                word = 0;
                at -= tile_rows - 1;
                if (at % 64 == 0) at += tile_rows - 64;
            }
        }
        for (int w = 0; w < words; w++) {
            const uint8_t* codes = &codes_[size_t(w) * 64];
            planes_.push_back({bits_of_codes(codes, 0), bits_of_codes(codes, 1), ~bits_of_codes(codes, 2)});
        }
    }

    const uint8_t* bases_;
    const int64_t* offsets_;
    std::vector<int64_t> lengths_;
    std::vector<size_t> first_;  // of a profile's planes
    std::vector<Planes> planes_;
    std::vector<uint8_t> codes_;
};

}  // namespace gpualign
