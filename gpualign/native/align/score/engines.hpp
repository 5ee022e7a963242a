// The engines of `pairwise` by the width of a pair's values, and shortcuts, for a list of pairs
// (align/score/pairwise.cpp) and for all pairs of two sets (align/matrix/scores.cpp).
#pragma once
#include "align/score/lanes.hpp"
#include "align/score/long.hpp"

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

// One engine of each kind, made when first needed; a caller owns one set.
struct Engines {
    template <class Word> struct Three {
        Engine<Word, false, false> linear;
        Engine<Word, true, false> affine;
        Engine<Word, true, true> local;
    };
    Three<Vec<int8_t>> narrow_words;
    Three<Vec<int16_t>> middle_words;
    Three<Vec<int32_t>> wide_words;
    Three<int32_t> single_words;

    template <class Word>
    static void run(Three<Word>& engines, const Scheme& scheme, Pair* pairs, int count, bool shared, bool traced,
        int64_t table_bytes, Targets targets) {
        if (scheme.local) engines.local.run(scheme, pairs, count, shared, traced, table_bytes, targets);
        else if (scheme.affine()) engines.affine.run(scheme, pairs, count, shared, traced, table_bytes, targets);
        else engines.linear.run(scheme, pairs, count, shared, traced, table_bytes, targets);
    }
    void run(Width width, const Scheme& scheme, Pair* pairs, int count, bool shared, bool traced, int64_t bytes,
        Targets targets = Targets::of_one_call) {
        switch (width) {
            case narrow: return run(narrow_words, scheme, pairs, count, shared, traced, bytes, targets);
            case middle: return run(middle_words, scheme, pairs, count, shared, traced, bytes, targets);
            case wide: return run(wide_words, scheme, pairs, count, shared, traced, bytes, targets);
            default: return run(single_words, scheme, pairs, count, shared, traced, bytes, targets);
        }
    }
};

inline int lanes_of(Width width) {
    const int lanes[] = {Vec<int8_t>::lanes, Vec<int16_t>::lanes, Vec<int32_t>::lanes, 1};
    return lanes[width];
}

inline Width width_of(const Scheme& scheme, const Pair& pair, bool traced, int64_t table_bytes) {
    // a group of lanes keeps at least two borders of all its rows
    if (traced && int64_t(pair.n) * 8 * GPUALIGN_VECTOR_BYTES > table_bytes) return single;
    if (fits<int8_t>(scheme, pair.n, pair.m)) return narrow;
    if (fits<int16_t>(scheme, pair.n, pair.m)) return middle;
    return wide;
}

// One sequence is empty: nothing to compute.
inline void align_empty(const Scheme& scheme, Pair& pair) {
    const bool of_target = pair.n == 0;
    const int64_t length = of_target ? pair.m : pair.n;
    const bool free_start = of_target ? scheme.free_target_start : scheme.free_query_start;
    const bool free_end = of_target ? scheme.free_target_end : scheme.free_query_end;
    pair.score = pair.start_i = pair.start_j = pair.end_i = pair.end_j = 0;
    pair.cigar.clear();
    if (scheme.local || length == 0 || free_start || free_end) return;
    const EndGap start = of_target ? scheme.ends.target_start : scheme.ends.query_start;
    const EndGap end = of_target ? scheme.ends.target_end : scheme.ends.query_end;
    pair.score = int32_t(-std::min(start.cost(length), end.cost(length)));
    (of_target ? pair.end_j : pair.end_i) = int32_t(length);
    pair.cigar.push_back(uint32_t(length) << 4 | (of_target ? op_delete : op_insert));
}

template <bool Affine, bool Local>
bool align_with_all_lanes(const Scheme& scheme, Pair& pair, bool traced, int64_t table_bytes, int threads) {
    if (!LongPair<Affine, Local>::suits(scheme, pair, traced, table_bytes)) return false;
    LongPair<Affine, Local>(scheme, threads).run(pair, traced, table_bytes);
    return true;
}

// A pair that fills all lanes by itself; false where it does not.
inline bool align_with_all_lanes(const Scheme& scheme, Pair& pair, bool traced, int64_t table_bytes, int threads) {
    if (scheme.local) return align_with_all_lanes<true, true>(scheme, pair, traced, table_bytes, threads);
    return scheme.affine() ? align_with_all_lanes<true, false>(scheme, pair, traced, table_bytes, threads)
                           : align_with_all_lanes<false, false>(scheme, pair, traced, table_bytes, threads);
}

// free_ends: bits; end_gaps: (open, extend) of query start and end, target start and end.
inline Scheme scheme_of(const int32_t* scores, int symbols, int open, int extend, bool local, int free_ends,
    const int32_t* end_gaps, bool match_mismatch) {
    const auto gap = [&](int end) { return EndGap{end_gaps[2 * end], end_gaps[2 * end + 1]}; };
    return {scores, symbols, open, extend, local, bool(free_ends & 1), bool(free_ends & 2), bool(free_ends & 4),
        bool(free_ends & 8), EndGaps{gap(0), gap(1), gap(2), gap(3)}, match_mismatch};
}

}  // namespace nw
}  // namespace gpualign
