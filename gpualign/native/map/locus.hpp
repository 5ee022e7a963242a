// A locus of a read on the reference, and which of two is the better one.
#pragma once
#include <cstdint>

namespace gpualign {

struct Locus {
    uint32_t read;      // of the block
    uint32_t contig;
    bool reverse;
    int32_t seed_hits;      // seed hits on its diagonals; 0 where it was found through the mate
    int32_t distance;   // Levenshtein, of the whole read; of a local alignment its edits
    int32_t score;      // what an alignment with that many mismatches and no other edit scores, or the local alignment's
    int64_t begin, end; // about the first base of the read and after its last one, on the reference
    int32_t local = -1; // which of the read's local alignments, -1 where the whole read is aligned
};

// Best first; of equal ones the leftmost, then the forward strand.
inline bool operator<(const Locus& a, const Locus& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.end != b.end) return a.end < b.end;
    if (a.reverse != b.reverse) return a.reverse < b.reverse;
    if (a.seed_hits != b.seed_hits) return a.seed_hits > b.seed_hits;
    return a.local < b.local;
}

}  // namespace gpualign
