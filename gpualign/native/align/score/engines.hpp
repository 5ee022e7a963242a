// The engines of `pairwise` by the width of a pair's values, for a list of pairs (align/score/pairwise.cpp) and for all
// pairs of two sets (align/matrix/scores.cpp). They are compiled once, in engines.cpp and long.cpp.
#pragma once
#include <memory>

#include "align/score/scheme.hpp"

namespace gpualign {
namespace nw {

struct Sequences {
    const uint8_t* codes;
    const int64_t* offsets;
    int64_t count;

    const uint8_t* begin(int64_t i) const { return codes + offsets[i]; }
    int32_t length(int64_t i) const { return int32_t(offsets[i + 1] - offsets[i]); }
};

enum Width { narrow, middle, wide, single, widths };

// One engine of each kind, each with memory that it keeps; a caller owns one set.
class Engines {
public:
    Engines();
    ~Engines();
    // Aligns `count` pairs, no more than lanes_of(width); with `shared`, all have the same query. With `traced`, within
    // `table_bytes`, cigars too.
    void run(Width width, const Scheme& scheme, Pair* pairs, int count, bool shared, bool traced, int64_t table_bytes,
        Profiles profiles = Profiles::of_one_call);

private:
    struct Kinds;
    std::unique_ptr<Kinds> kinds_;
};

int lanes_of(Width width);

Width width_of(const Scheme& scheme, const Pair& pair, bool traced, int64_t table_bytes);

// One sequence is empty: nothing to compute.
void align_empty(const Scheme& scheme, Pair& pair);

// A pair that fills all lanes by itself; false where it does not.
bool align_with_all_lanes(const Scheme& scheme, Pair& pair, bool traced, int64_t table_bytes, int threads);

// free_ends: bits; end_gaps: (open, extend) of query start and end, target start and end.
Scheme scheme_of(const int32_t* scores, int symbols, int open, int extend, bool local, int free_ends,
    const int32_t* end_gaps, bool match_mismatch);

}  // namespace nw
}  // namespace gpualign
