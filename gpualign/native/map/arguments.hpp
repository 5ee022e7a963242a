// The mappers' parameters as Python hands them over, by name: gpualign/map/cpu.py.
#pragma once
#include <nanobind/nanobind.h>

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

inline PairModel pair_model_of(const nanobind::dict& values) {
    PairModel model;
    model.mean = named<double>(values, "mean");
    model.sd = named<double>(values, "sd");
    model.min = named<int64_t>(values, "min");
    model.max = named<int64_t>(values, "max");
    model.orientation = Orientation(named(values, "orientation"));
    model.unpaired_penalty = named(values, "unpaired_penalty");
    return model;
}

inline MapParams map_params_of(int k, int w, uint64_t bases, const nanobind::dict& values, const nanobind::dict& chaining,
                               const nanobind::dict& pairs) {
    MapParams params;
    params.seeding = {k, w, named(values, "max_hits"), named(values, "max_candidates"), named<bool>(values, "full")};
    params.error_rate = named<double>(values, "error_rate");
    params.scores = scores_of(named<nanobind::tuple>(values, "scores"));
    params.pairs = pair_model_of(pairs);
    params.local = named<bool>(values, "local");
    params.max_secondary = named(values, "max_secondary");
    params.strata = named(values, "strata");
    params.bases = bases;
    params.long_reads = chain_map_params_of(k, w, params.scores, chaining);
    return params;
}

}  // namespace gpualign
