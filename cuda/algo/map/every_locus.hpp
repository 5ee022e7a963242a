// Where a read may lie within the limit at all (`--sensitivity full`).
//
// The pigeonhole principle: of the read's length / (w + k - 1) pieces at most `limit` have an edit, and each of the others has a
// minimizer in common with the reference, on a diagonal of the path. All of a path's diagonals lie within the limit of its leftmost
// one. Hits are taken stretch by stretch of the reference where they are many, as in low complexity.
#pragma once
#include "algo/map/candidates.hpp"

namespace gpualign {

constexpr uint64_t kHitInterval = 1 << 14;  // bases

// Seed hits that every path has at least.
GPUALIGN_HD uint32_t min_path_hits(int32_t length, int32_t limit, int32_t k, int32_t w) {
    return uint32_t(max(1, length / (w + k - 1) - limit));
}

// Whether a read may share no seed with a locus within the limit: of limit + 1 pieces one has no edit, but it has too few bases. A
// read of which no base need be right has no locus.
GPUALIGN_HD bool may_lie_anywhere(int32_t length, int32_t limit, int32_t k, int32_t w) {
    return length > limit && length / (limit + 1) < w + k - 1;
}

// The first diagonal about which not all is known where the hits before a position are.
GPUALIGN_HD int64_t diagonals_done(int64_t position, int32_t length, int32_t limit) { return position - length - 2 * limit; }

// Whether one of the sorted hits [from, to) can be a path's leftmost one: so many lie within the limit to its right.
GPUALIGN_HD bool any_path(const uint64_t* hits, uint32_t count, uint32_t from, uint32_t to, int32_t limit, uint32_t minimum) {
    for (uint32_t i = from; i < to && i + minimum <= count; i++)
        if (hit_line(hits[i + minimum - 1]) <= hit_line(hits[i]) + uint64_t(limit)) return true;
    return false;
}

// For reads that have too few bases for that, all loci that there are: window `number` of a contig, of so many.
GPUALIGN_HD int64_t windows_everywhere(int64_t contig_begin, int64_t contig_end, int32_t length, int32_t limit) {
    const int64_t last = contig_end - length + limit - contig_begin;
    return last < 0 ? 0 : last / (limit + 1) + 1;
}
GPUALIGN_HD int64_t window_everywhere(int64_t contig_begin, int64_t number, int32_t limit) {
    return contig_begin + number * (limit + 1) - limit;
}
GPUALIGN_HD int64_t columns_everywhere(int32_t length, int32_t limit) { return 3 * int64_t(limit) + length; }

}  // namespace gpualign
