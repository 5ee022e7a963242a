// What the device's mapper works on: the target, the rules, a batch, the room a group of lanes has, and what it returns.
//
// gpualign/map/device/kernel.py fills MapBatch; the sizes are asserted at the end.
#pragma once
#include "algo/map/affine.hpp"
#include "algo/common/dna.hpp"
#include "algo/map/thresholds.hpp"
#include "algo/index/minimizer.hpp"
#include "algo/map/pair_geometry.hpp"

namespace gpualign {

struct MapTarget {
    IndexView index;
    const uint64_t* text;   // two bits a base, a word of padding behind
    const uint32_t* known;  // a bit a base: it is one; a word of padding behind
    const int64_t* contig_offsets;
    int64_t contigs;

    GPUALIGN_HD uint32_t contig_of(int64_t position) const {
        int64_t low = 0, high = contigs;  // the last contig that begins at or before the position
        while (high - low > 1) {
            const int64_t middle = (low + high) / 2;
            if (contig_offsets[middle] <= position) low = middle;
            else high = middle;
        }
        return uint32_t(low);
    }
    GPUALIGN_HD uint8_t code(int64_t position) const {
        return known[position >> 5] >> (position & 31) & 1 ? packed_base(text, uint64_t(position)) : kNoBase;
    }
    // Bit i tells whether position + i is a base.
    GPUALIGN_HD uint32_t known_window(uint64_t position) const {
        const uint64_t both = uint64_t(known[(position >> 5) + 1]) << 32 | known[position >> 5];
        return uint32_t(both >> (position & 31));
    }
};

struct MapRules {
    int32_t k, w;
    int32_t most_hits, most_candidates;  // followed and kept per read
    AffineScores scores;
    int32_t local;           // reads that fit nowhere as a whole are left to the host
    int32_t most_secondary;  // further places reported per read
    int32_t strata;          // of those with at most that many edits more than the best
    PairGeometry pairs;
    const int32_t* penalties;  // score units, by insert size up to pairs.max
    const int32_t* limits;     // edits allowed, by read length
};

// What a record of a read says beside its CIGAR. Its mapping quality is left to the host: powers and logarithms differ between
// processors.
struct MapFacts {
    static constexpr uint16_t kOnHost = 0x8000;  // flag: the host maps the read (the pair), of which nothing is said here
    static constexpr uint16_t kUnused = 0x4000;  // flag: a place for a secondary record that there is not
    static constexpr int32_t kNotAsked = -2, kNone = -1;

    uint32_t contig, position;
    int32_t score;
    // What the rivals lose against the record, least and how many that little: those of a proper pair (kNotAsked where it
    // is none), and those among the read's own places (kNotAsked where the record is not the best of them).
    int32_t pair_least, alone_least;
    uint16_t pair_count, alone_count;
    uint16_t distance, votes;
    uint16_t flag;
    uint8_t cut, operations;
};

struct MapRecord : MapFacts {
    static constexpr uint32_t kMostOperations = 24;

    uint16_t cigar[kMostOperations];  // length << 4 | operation, 0 behind the last
};

// Memory of one group. Shared between its lanes and quick to reach:
template <int Words>
struct MapShared {
    static constexpr int kRows = 32 * Words;              // the longest read
    static constexpr int kMostLimit = (kRows - 3) / 3;    // edits allowed, as far as there is room for

    uint64_t read_words[2][Words + 2];
    union {
        uint64_t hashes[kRows];   // while seeds are looked for,
        uint64_t hits[kRows];     // few hits, and
        int32_t reach[2 * kRows];  // two numbers for each diagonal around a place
    };
    union {
        struct {
            uint32_t first[kRows], count[kRows], start[kRows];  // entries, and hits before the seed in the order chosen
        } seeds;
        uint64_t text[2 * Words + 4];  // of the reference around that candidate, or
        uint8_t letters[12 * kRows];  // of read and reference, unpacked for the alignment
    };
    uint32_t read_unknown[2][Words + 2];
    uint32_t profile[2][5][Words];  // strand and letter (4: none) of the read whose windows are searched
    uint16_t seed_at[kRows], seed_order[kRows];
    uint32_t counter;
    uint16_t cigar[MapRecord::kMostOperations];
};

// and large:
struct MapRoom {
    uint64_t* hits;            // most_hits each
    uint64_t* candidates;
    uint32_t* window_begin;
    uint32_t* window_columns;
    uint64_t* places[2];       // most_places each
    uint8_t* trace;            // trace_bytes
    uint32_t most_hits, most_places, trace_bytes;

    // Bytes for the given sizes, each a power of two.
    static GPUALIGN_HD uint64_t bytes(uint32_t hits, uint32_t places, uint32_t trace) {
        return uint64_t(hits) * 24 + uint64_t(places) * 16 + (uint64_t(trace) + 7) / 8 * 8;
    }
    static GPUALIGN_HD MapRoom at(uint8_t* memory, uint32_t hits, uint32_t places, uint32_t trace) {
        uint64_t* words = reinterpret_cast<uint64_t*>(memory);
        MapRoom room;
        room.hits = words;
        room.candidates = room.hits + hits;
        room.window_begin = reinterpret_cast<uint32_t*>(room.candidates + hits);
        room.window_columns = room.window_begin + hits;
        room.places[0] = reinterpret_cast<uint64_t*>(room.window_columns + hits);
        room.places[1] = room.places[0] + places;
        room.trace = reinterpret_cast<uint8_t*>(room.places[1] + places);
        room.most_hits = hits;
        room.most_places = places;
        room.trace_bytes = trace;
        return room;
    }
};

struct MapBatch {
    MapTarget target;
    MapRules rules;
    const uint8_t* letters;
    const int64_t* offsets;  // of each read in the letters
    const uint32_t* units;   // first read of each unit, one more behind: a read by itself, or two that are a pair
    MapRecord* records;      // 1 + most_secondary for each read
    uint8_t* room;           // of each group
    uint32_t* next_unit;
    uint32_t unit_count;
    uint32_t room_hits, room_places, room_trace;
};

static_assert(sizeof(MapRecord) == 80 && sizeof(MapTarget) == 56 && sizeof(MapRules) == 88 && sizeof(MapBatch) == 208,
              "laid out as the host writes them");

}  // namespace gpualign
