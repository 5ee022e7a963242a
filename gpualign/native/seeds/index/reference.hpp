// The packed reference: contigs one after the other, two bits per base, and intervals of ambiguous bases.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "algo/common/dna.hpp"

namespace gpualign {

// Four packed bases as characters.
struct FourBases {
    char of[256][4] = {};
    constexpr FourBases() {
        for (int bases = 0; bases < 256; bases++)
            for (int i = 0; i < 4; i++) of[bases][i] = "ACGT"[bases >> (2 * i) & 3];
    }
};
inline constexpr FourBases kFourBases;
// Four packed bases as codes.
struct FourCodes {
    uint8_t of[256][4] = {};
    constexpr FourCodes() {
        for (int bases = 0; bases < 256; bases++)
            for (int i = 0; i < 4; i++) of[bases][i] = uint8_t(bases >> (2 * i) & 3);
    }
};
inline constexpr FourCodes kFourCodes;

constexpr uint64_t kMaxBases = 0xFFFFFFFEu;  // positions are 32-bit

// A view of the reference's arrays, which gpualign/sequences/reference.py owns.
struct ReferenceView {
    const uint64_t* words;            // ceil(bases / 32) + 1
    uint64_t bases;                   // of all contigs
    const int64_t* contig_offsets;    // contigs + 1
    size_t contigs;
    const uint32_t* run_starts;       // intervals of one base other than A, C, G, T; packed as A
    const uint32_t* run_ends;
    const uint8_t* run_bases;
    size_t runs;

    size_t contig_of(uint64_t position) const {
        return size_t(
                   std::upper_bound(contig_offsets, contig_offsets + contigs + 1, int64_t(position)) - contig_offsets) -
               1;
    }

    // Index of the first ambiguous interval that ends after `position`.
    size_t first_run(uint64_t position) const {
        return size_t(std::upper_bound(run_ends, run_ends + runs, position, [](uint64_t p, uint32_t end) {
            return p < end;
        }) - run_ends);
    }

    bool has_run(uint64_t begin, uint64_t end) const {
        const size_t run = first_run(begin);
        return run < runs && run_starts[run] < end;
    }

    // Prefetches `length` bases of a contig from `position` on. Always inlined, as GCC drops calls of functions that
    // only prefetch.
    [[gnu::always_inline]] void prefetch(int64_t position, int32_t contig, int64_t length) const {
        constexpr int64_t kBasesPerLine = 256;
        const int64_t begin = contig_offsets[contig] + position;
        for (int64_t i = 0; i < length + kBasesPerLine; i += kBasesPerLine)
            __builtin_prefetch(words + std::min(begin + i, begin + length) / kBasesPerWord);
    }

    // Encoded bases: 0-3, kNoBase if ambiguous.
    void codes(uint64_t begin, uint64_t end, uint8_t* out) const {
        uint64_t i = begin;
        for (; i + kBasesPerWord <= end; i += kBasesPerWord) {
            uint64_t bases = packed_window(words, i);
            for (int four = 0; four < kBasesPerWord; four += 4, bases >>= 8)
                std::memcpy(out + (i - begin) + four, kFourCodes.of[bases & 255], 4);
        }
        for (; i < end; i++) out[i - begin] = packed_base(words, i);
        for (size_t run = first_run(begin); run < runs && run_starts[run] < end; run++) {
            const uint64_t from = std::max<uint64_t>(begin, run_starts[run]),
                           to = std::min<uint64_t>(end, run_ends[run]);
            std::fill(out + (from - begin), out + (to - begin), kNoBase);
        }
    }

    // The bases as in the file, upper-case.
    void sequence(uint64_t begin, uint64_t end, char* out) const {
        const auto unpack = [&](uint64_t from, char* to) {
            uint64_t bases = packed_window(words, from);
            for (int four = 0; four < kBasesPerWord; four += 4, bases >>= 8)
                std::memcpy(to + four, kFourBases.of[bases & 255], 4);
        };
        uint64_t i = begin;
        for (; i + kBasesPerWord <= end; i += kBasesPerWord) unpack(i, out + (i - begin));
        if (i < end) {
            char last[kBasesPerWord];
            unpack(i, last);
            std::memcpy(out + (i - begin), last, end - i);
        }
        for (size_t run = first_run(begin); run < runs && run_starts[run] < end; run++) {
            const uint64_t from = std::max<uint64_t>(begin, run_starts[run]),
                           to = std::min<uint64_t>(end, run_ends[run]);
            std::fill(out + (from - begin), out + (to - begin), char(run_bases[run]));
        }
    }
};

}  // namespace gpualign
