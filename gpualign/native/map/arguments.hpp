// The mappers' parameters as Python hands them over, by name: gpualign/map/cpu.py.
#pragma once
#include <nanobind/nanobind.h>

#include "algo/map/mapping_quality.hpp"
#include "arrays.hpp"
#include "map/chain_mapper.hpp"
#include "map/params.hpp"

namespace gpualign {

template <class T = int32_t>
T named(const nanobind::dict& values, const char* name) {
    return nanobind::cast<T>(values[name]);
}

inline AffineScores scores_of(const nanobind::tuple& scores) {
    const auto at = [&](size_t i) { return nanobind::cast<int32_t>(scores[i]); };
    return {at(0), at(1), at(2), at(3), at(4)};
}

inline ChainParams chain_params_of(const nanobind::dict& values) {
    ChainParams params;
    params.max_gap = named(values, "max_gap");
    params.max_difference = named(values, "max_difference");
    params.min_score = named(values, "min_chain_score");
    params.min_anchors = named(values, "min_anchors");
    return params;
}

inline ChainMapParams chain_map_params_of(int k, int w, const AffineScores& scores, const nanobind::dict& values) {
    ChainMapParams params{};
    params.anchors = {k, w, named(values, "stretch")};
    params.max_hits = named(values, "max_hits");
    params.chains = chain_params_of(values);
    params.align = {scores, named(values, "step"), named(values, "reach"), named(values, "zdrop"), named(values, "min_score")};
    params.max_suboptimal = named(values, "max_suboptimal");
    params.suboptimal_share = named(values, "suboptimal_percent") / 100.0;
    params.query_gap = named(values, "query_gap");
    params.min_split = named(values, "min_split");
    return params;
}

// Points into the arrays of `values`.
inline MapRules map_rules_of(int k, int w, uint64_t bases, const nanobind::dict& values, const nanobind::dict& pairs) {
    MapRules rules{};
    rules.k = k;
    rules.w = w;
    rules.max_hits = named(values, "max_hits");
    rules.max_candidates = named(values, "max_candidates");
    rules.scores = scores_of(named<nanobind::tuple>(values, "scores"));
    rules.local = named<bool>(values, "local");
    rules.max_secondary = named(values, "max_secondary");
    rules.strata = named(values, "strata");
    rules.locus_bits = bits_of_locus(bases);
    rules.pairs = {named<int64_t>(pairs, "min"), named<int64_t>(pairs, "max"), Orientation(named(pairs, "orientation")),
                   named(pairs, "unpaired_penalty")};
    const auto penalties = named<Input<int32_t>>(pairs, "penalties");
    if (int64_t(penalties.size()) <= rules.pairs.max) throw nanobind::value_error("one penalty per insert size");
    rules.penalties = penalties.data();
    return rules;
}

inline MapParams map_params_of(int k, int w, uint64_t bases, const nanobind::dict& values, const nanobind::dict& chaining,
                               const nanobind::dict& pairs) {
    MapParams params;
    params.rules = map_rules_of(k, w, bases, values, pairs);
    params.scores = params.rules.scores;
    params.local = params.rules.local;
    params.seeding = {k, w, params.rules.max_hits, params.rules.max_candidates, named<bool>(values, "full")};
    params.error_rate = named<double>(values, "error_rate");
    params.long_reads = chain_map_params_of(k, w, params.scores, chaining);
    return params;
}

}  // namespace gpualign
