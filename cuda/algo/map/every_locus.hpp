// All loci of a read within the limit (`--sensitivity full`).
//
// By the pigeonhole principle at most `limit` of the read's length / (w + k - 1) pieces have an edit, and each of the
// others shares a minimizer with the reference, on a diagonal of the path. All diagonals of a path are within the
// limit of its leftmost one. Many hits, as in low complexity, are taken interval by interval of the reference.
#pragma once
#include "algo/map/candidates.hpp"

namespace gpualign {

constexpr uint64_t kHitInterval = 1 << 14;  // bases

// Minimum seed hits of a path within the limit.
GPUALIGN_HD uint32_t min_path_hits(int32_t length, int32_t limit, int32_t k, int32_t w) {
    return uint32_t(max(1, length / (w + k - 1) - limit));
}

// Whether a read may share no seed with a locus within the limit: one of limit + 1 pieces has no edit, but is shorter
// than a window. A read shorter than its limit has no locus.
GPUALIGN_HD bool may_lie_anywhere(int32_t length, int32_t limit, int32_t k, int32_t w) {
    return length > limit && length / (limit + 1) < w + k - 1;
}

// First diagonal that may still get hits from `position` on.
GPUALIGN_HD int64_t diagonals_done(int64_t position, int32_t length, int32_t limit) {
    return position - length - 2 * limit;
}

// Whether one of the sorted hits [from, to) can be a path's leftmost: at least `minimum` hits are within the limit to
// its right.
GPUALIGN_HD bool any_path(
    const uint64_t* hits, uint32_t count, uint32_t from, uint32_t to, int32_t limit, uint32_t minimum) {
    for (uint32_t i = from; i < to && i + minimum <= count; i++)
        if (hit_line(hits[i + minimum - 1]) <= hit_line(hits[i]) + uint64_t(limit)) return true;
    return false;
}

// For such reads the whole reference is searched: the number of windows of a contig.
GPUALIGN_HD int64_t windows_everywhere(int64_t contig_begin, int64_t contig_end, int32_t length, int32_t limit) {
    const int64_t last = contig_end - length + limit - contig_begin;
    return last < 0 ? 0 : last / (limit + 1) + 1;
}
GPUALIGN_HD int64_t window_everywhere(int64_t contig_begin, int64_t number, int32_t limit) {
    return contig_begin + number * (limit + 1) - limit;
}
GPUALIGN_HD int64_t columns_everywhere(int32_t length, int32_t limit) { return 3 * int64_t(limit) + length; }

}  // namespace gpualign
