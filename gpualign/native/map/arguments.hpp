// The mappers' parameters as Python hands them over, by name: gpualign/map/cpu.py.
#pragma once
#include <nanobind/nanobind.h>

#include <utility>

#include "map/chain_mapper.hpp"
#include "map/params.hpp"

namespace gpualign {

template <class T = int32_t>
T named(const nanobind::dict& values, const char* name) {
    return nanobind::cast<T>(values[name]);
}

inline AffineScores scores_of(const nanobind::tuple& scores) {
    const auto at = [&](size_t i) { return nanobind::cast<int32_t>(scores[i]); };
    if (scores.size() == 5) return {at(0), at(1), at(2), at(3), at(4)};
    return {at(0), at(1), at(2), at(3), at(4), at(5), at(6)};
}

inline ChainRules chain_rules_of(int k, int w, const AffineScores& scores, const nanobind::dict& values) {
    ChainRules rules{};
    rules.k = k;
    rules.w = w;
    rules.scores = scores;
    const std::pair<const char*, int32_t&> fields[] = {{"stretch", rules.stretch}, {"max_hits", rules.max_hits},
        {"max_gap", rules.max_gap}, {"max_difference", rules.max_difference}, {"min_chain_score", rules.min_chain_score},
        {"min_anchors", rules.min_anchors}, {"max_suboptimal", rules.max_suboptimal},
        {"suboptimal_percent", rules.suboptimal_percent}, {"query_gap", rules.query_gap}, {"step", rules.step},
        {"reach", rules.reach}, {"zdrop", rules.zdrop}, {"min_score", rules.min_score}, {"min_split", rules.min_split}};
    for (const auto& [name, field] : fields) field = named(values, name);
    return rules;
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
    params.long_reads = chain_rules_of(k, w, params.scores, chaining);
    return params;
}

}  // namespace gpualign
