// Converts the mappers' parameters from Python (gpualign/map/cpu.py), by name.
#pragma once
#include <nanobind/nanobind.h>

#include <utility>

#include "algo/map/mapping_quality.hpp"
#include "arrays.hpp"
#include "map/chain_mapper.hpp"
#include "map/params.hpp"

namespace gpualign {

template <class T = int32_t> T named(const nanobind::dict& values, const char* name) {
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
    const std::pair<const char*, int32_t&> fields[] = {{"interval", rules.interval}, {"max_hits", rules.max_hits},
        {"max_gap", rules.max_gap}, {"max_difference", rules.max_difference},
        {"min_chain_score", rules.min_chain_score}, {"min_anchors", rules.min_anchors},
        {"max_suboptimal", rules.max_suboptimal}, {"suboptimal_percent", rules.suboptimal_percent},
        {"query_gap", rules.query_gap}, {"step", rules.step}, {"reach", rules.reach}, {"zdrop", rules.zdrop},
        {"min_score", rules.min_score}, {"min_split", rules.min_split}, {"doubt", rules.doubt}};
    for (const auto& [name, field] : fields) field = named(values, name);
    rules.max_cells = named(values, "max_cells");
    return rules;
}

// The result points into the arrays of `values`.
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

inline MapParams map_params_of(int k, int w, uint64_t bases, const nanobind::dict& values,
    const nanobind::dict& chaining, const nanobind::dict& pairs) {
    MapParams params;
    params.rules = map_rules_of(k, w, bases, values, pairs);
    params.scores = params.rules.scores;
    params.local = params.rules.local;
    params.seeding = {k, w, params.rules.max_hits, params.rules.max_candidates, named<bool>(values, "full")};
    params.error_rate = named<double>(values, "error_rate");
    params.long_reads = chain_rules_of(k, w, params.scores, chaining);
    return params;
}

}  // namespace gpualign
