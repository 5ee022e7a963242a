// The engines of `pairwise`, and shortcuts.
#include "align/score/engines.hpp"

#include "align/score/lanes.hpp"

namespace gpualign {
namespace nw {

struct Engines::Kinds {
    template <class Word> struct Three {
        Engine<Word, false, false> linear;
        Engine<Word, true, false> affine;
        Engine<Word, true, true> local;

        template <class... Arguments> void run(const Scheme& scheme, Arguments... arguments) {
            if (scheme.local) local.run(scheme, arguments...);
            else if (scheme.affine()) affine.run(scheme, arguments...);
            else linear.run(scheme, arguments...);
        }
    };
    Three<Vec<int8_t>> narrow_words;
    Three<Vec<int16_t>> middle_words;
    Three<Vec<int32_t>> wide_words;
    Three<int32_t> single_words;
};

Engines::Engines() : kinds_(new Kinds) {}
Engines::~Engines() = default;

void Engines::run(Width width, const Scheme& scheme, Pair* pairs, int count, bool shared, bool traced,
    int64_t table_bytes, Profiles profiles) {
    switch (width) {
        case narrow: return kinds_->narrow_words.run(scheme, pairs, count, shared, traced, table_bytes, profiles);
        case middle: return kinds_->middle_words.run(scheme, pairs, count, shared, traced, table_bytes, profiles);
        case wide: return kinds_->wide_words.run(scheme, pairs, count, shared, traced, table_bytes, profiles);
        default: return kinds_->single_words.run(scheme, pairs, count, shared, traced, table_bytes, profiles);
    }
}

int lanes_of(Width width) {
    const int lanes[] = {Vec<int8_t>::lanes, Vec<int16_t>::lanes, Vec<int32_t>::lanes, 1};
    return lanes[width];
}

Width width_of(const Scheme& scheme, const Pair& pair, bool traced, int64_t table_bytes) {
    // a group of lanes keeps at least two borders of all its rows
    if (traced && int64_t(pair.n) * 8 * GPUALIGN_VECTOR_BYTES > table_bytes) return single;
    if (fits<int8_t>(scheme, pair.n, pair.m)) return narrow;
    if (fits<int16_t>(scheme, pair.n, pair.m)) return middle;
    return wide;
}

void align_empty(const Scheme& scheme, Pair& pair) {
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

Scheme scheme_of(const int32_t* scores, int symbols, int open, int extend, bool local, int free_ends,
    const int32_t* end_gaps, bool match_mismatch) {
    const auto gap = [&](int end) { return EndGap{end_gaps[2 * end], end_gaps[2 * end + 1]}; };
    return {scores, symbols, open, extend, local, bool(free_ends & 1), bool(free_ends & 2), bool(free_ends & 4),
        bool(free_ends & 8), EndGaps{gap(0), gap(1), gap(2), gap(3)}, match_mismatch};
}

}  // namespace nw
}  // namespace gpualign
