// Memory of the device's mapper: scratch of a group of lanes, in shared and in global memory.
#pragma once
#include "abi/map.hpp"
#include "algo/map/affine.hpp"
#include "algo/common/dna.hpp"
#include "algo/common/memory_cursor.hpp"
#include "algo/map/thresholds.hpp"
#include "algo/seeds/index/minimizer.hpp"
#include "algo/map/pair_geometry.hpp"

namespace gpualign {

// Index of the last of `count` ascending numbers that is at most `value`, as the first one is.
template <class T> GPUALIGN_HD uint32_t last_at_most(const T* numbers, uint32_t count, T value) {
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (numbers[middle] <= value) low = middle;
        else high = middle;
    }
    return low;
}

GPUALIGN_HD uint32_t contig_of(const MapTarget& target, int64_t position) {
    return last_at_most(target.contig_offsets, uint32_t(target.contigs), position);
}
// Clips [begin, end) to the contig; it is empty if begin >= end then.
GPUALIGN_HD void clip_to_contig(const int64_t* contig_offsets, uint32_t contig, int64_t& begin, int64_t& end) {
    if (begin < contig_offsets[contig]) begin = contig_offsets[contig];
    if (end > contig_offsets[contig + 1]) end = contig_offsets[contig + 1];
}
GPUALIGN_HD uint8_t code_at(const MapTarget& target, int64_t position) {
    return target.acgt_mask[position >> 5] >> (position & 31) & 1 ? packed_base(target.text, uint64_t(position))
                                                                  : kNoBase;
}
// ACGT mask of the 32 bases from `position` on.
GPUALIGN_HD uint32_t acgt_window(const MapTarget& target, uint64_t position) {
    const uint64_t both = uint64_t(target.acgt_mask[(position >> 5) + 1]) << 32 | target.acgt_mask[position >> 5];
    return uint32_t(both >> (position & 31));
}

// Exact pieces of a read (exact_pieces.hpp): few of so many bases are in a window of a thousand by chance.
constexpr int32_t kPieceBases = 7;
constexpr uint32_t kPieceMask = (1u << 2 * kPieceBases) - 1;
constexpr uint32_t kPieceWords = (kPieceMask + 1) / 32;  // of a set of them

// Shared memory of a group, for reads of up to Words words of 32 bases.
template <int Words> struct MapShared {
    static constexpr int kRows = 32 * Words;  // the longest read
    static constexpr int kMaxLimit = (kRows - 3) / 3;  // maximum number of edits for which the arrays suffice
    static constexpr uint32_t kFewHits = kRows;

    uint64_t read_words[Words + 2];
    union {
        uint64_t hashes[kRows];  // while seeds are found
        uint64_t hits[kRows];  // few hits
        int32_t reach[2 * kRows];  // two rows per diagonal around a locus
    };
    union {
        struct {
            uint32_t first[kRows], count[kRows],
                start[kRows];  // entries, their number, and hits before the seed in the chosen order
        } seeds;
        uint64_t text[2 * Words + 4];  // of the reference around the candidate
        uint32_t pieces[kPieceWords];  // of a window
        uint8_t bases[12 * kRows];  // encoded read and reference of a banded alignment
    };
    uint32_t read_not_acgt[Words + 2];
    uint32_t profile[2][5][Words];  // by strand and base (4: ambiguous) of the read whose windows are searched
    using SeedNumber = uint16_t;
    SeedNumber seed_at[kRows], seed_order[kRows];  // position << 1 | 1 if the canonical k-mer is the reverse strand's
    uint32_t counter;
};

// Global memory of a group.
struct MapWorkspace {
    uint64_t* hits;  // max_hits each
    uint64_t* candidates;
    uint32_t* window_begin;
    uint32_t* window_columns;
    uint64_t* loci[2];  // of both mates
    uint8_t* band;  // of a banded alignment, band_bytes
    uint32_t max_hits, band_bytes;

    // Bytes for the given sizes: powers of two, and a multiple of 16.
    static GPUALIGN_HD uint64_t bytes(uint32_t hits, uint32_t loci, uint32_t band) {
        return uint64_t(hits) * 24 + uint64_t(loci) * 16 + band;
    }
    static GPUALIGN_HD MapWorkspace at(MemoryCursor& cursor, uint32_t hits, uint32_t loci, uint32_t band) {
        MapWorkspace workspace;
        workspace.hits = cursor.take<uint64_t>(hits);
        workspace.candidates = cursor.take<uint64_t>(hits);
        workspace.window_begin = cursor.take<uint32_t>(hits);
        workspace.window_columns = cursor.take<uint32_t>(hits);
        for (uint64_t*& list : workspace.loci) list = cursor.take<uint64_t>(loci);
        workspace.band = cursor.take<uint8_t>(band);
        workspace.max_hits = hits;
        workspace.band_bytes = band;
        return workspace;
    }
};

}  // namespace gpualign
