// Scoring scheme and pairs of `pairwise`, shared by its CPU engine and its bindings.
#pragma once
#include <algorithm>
#include <climits>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "algo/align/matching.hpp"
#include "algo/align/score/nw.hpp"
#include "simd/lanes.hpp"

namespace gpualign {

template <class T> GPUALIGN_HD Vec<T> flag(Vec<T> mask, uint32_t bits) { return mask & Vec<T>(T(bits)); }

namespace nw {

struct Scheme {
    const int32_t* scores;  // symbols x symbols, row: the query's symbol
    int symbols;
    int open, extend;  // positive penalties
    bool local;
    bool free_query_start, free_query_end, free_target_start, free_target_end;  // symbols there are left out
    EndGaps ends;  // nothing for free ends, and for all of a local alignment
    bool match_mismatch;  // scores[0] for equal symbols, scores[1] for others and always for the last code
    // Codes below this have scores[0] for equal and scores[1] for different ones, and all pairs with other codes have
    // one score, no lower than scores[1]. 0: it is not so.
    int unambiguous = 0;

    void find_unambiguous(int identical) {
        const int32_t with_others = scores[symbols * symbols - 1];
        bool so = identical > 1 && identical < symbols && scores[1] <= with_others;
        for (int a = 0; a < symbols; a++)
            for (int b = 0; b < symbols; b++) {
                const bool other = a >= identical || b >= identical;
                so &= scores[a * symbols + b] == (other ? with_others : scores[a == b ? 0 : 1]);
            }
        unambiguous = so ? identical : 0;
    }
    bool affine() const { return open != extend || local; }
    int shift() const { return local ? 0 : extend; }  // x of the transform
    int opening() const { return open - shift(); }  // o'
    int lowest() const { return *std::min_element(scores, scores + symbols * symbols); }
    bool whole() const { return !local && !free_query_end && !free_target_end; }  // no symbols are left out at the end
    bool cheap(EndGap gap) const { return gap.open != open || gap.extend != extend; }  // less than elsewhere
    int highest() const { return *std::max_element(scores, scores + symbols * symbols); }
};

// The smallest and the largest value that a table of n x m holds on the way to its maxima.
struct Range {
    int64_t low, high;
};
inline Range range(const Scheme& scheme, int64_t n, int64_t m) {
    const int64_t x = scheme.shift(), o = scheme.opening();
    const int64_t step = std::max<int64_t>(0, scheme.highest() + 2 * x);
    const bool cheap_start = scheme.cheap(scheme.ends.query_start) || scheme.cheap(scheme.ends.target_start);
    // outside a band a path begins below every value inside, and its gap opens once more
    const int64_t low = std::min<int64_t>(0, scheme.lowest() + 2 * x) - 5 * o - 2 * scheme.extend - 8;
    const int64_t high = std::min(n, m) * step + (cheap_start ? x * (n + m) : 0) + step + 8;
    return {low, high};
}

// Whether the values fit T. Local alignment floors at zero, so it has no bias to spend.
template <class T> bool fits(const Scheme& scheme, int64_t n, int64_t m) {
    const Range bounds = range(scheme, n, m);
    const int64_t lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
    if (scheme.local || sizeof(T) >= 4) return bounds.low >= lowest && bounds.high <= highest;
    return bounds.high - bounds.low <= highest - lowest;
}

// Whether the profiles of a group's targets serve other queries as well.
enum class Profiles { of_one_call, to_be_kept, as_before };

using End = EndOf<int64_t>;

// A pair and its result. Coordinates are half-open, in symbols.
struct Pair {
    const uint8_t* query;
    const uint8_t* target;
    int32_t n, m;
    int32_t band_low, band_high;  // diagonals j - i that an optimal path may touch, inclusive
    int32_t score;
    int32_t start_i, end_i, start_j, end_j;
    std::vector<uint32_t> cigar;  // BAM encoding; while the walk goes back, from the end
    Walk walk;
    bool walking;  // neither at a border of the table nor at a local alignment's start

    void push(uint32_t operation, int64_t length) {
        if (length == 0) return;
        if (!cigar.empty() && (cigar.back() & 15) == operation) cigar.back() += uint32_t(length) << 4;
        else cigar.push_back(uint32_t(length) << 4 | operation);
    }
    // From the alignment's end, with the gap that follows it where that is not free.
    void begin_walk(const Scheme& scheme) {
        walk = {end_i, end_j, 0};
        walking = end_i > 0 && end_j > 0;
        cigar.clear();
        if (scheme.local) return;
        if (!scheme.free_target_end) push(op_delete, m - std::exchange(end_j, m));
        if (!scheme.free_query_end) push(op_insert, n - std::exchange(end_i, n));
    }
    void end_walk(const Scheme& scheme) {
        if (!scheme.local && !scheme.free_target_start && walk.i == 0) push(op_delete, std::exchange(walk.j, 0));
        if (!scheme.local && !scheme.free_query_start && walk.j == 0) push(op_insert, std::exchange(walk.i, 0));
        start_i = int32_t(walk.i);
        start_j = int32_t(walk.j);
        std::reverse(cigar.begin(), cigar.end());
    }
};

}  // namespace nw
}  // namespace gpualign
