// The parameters of chaining as Python hands them over: gpualign/map/chaining.py.
#pragma once
#include <nanobind/nanobind.h>

#include "map/chain_mapper.hpp"

namespace gpualign {

inline AffineScores scores_of(const nanobind::tuple& scores) {
    const auto at = [&](size_t i) { return nanobind::cast<int>(scores[i]); };
    return {at(0), at(1), at(2), at(3), at(4)};
}

inline ChainParams chain_params_of(const nanobind::dict& chaining) {
    const auto at = [&](const char* name) { return nanobind::cast<int32_t>(chaining[name]); };
    ChainParams params;
    params.most_gap = at("most_gap");
    params.most_difference = at("most_difference");
    params.min_score = at("min_chain_score");
    params.min_anchors = at("min_anchors");
    return params;
}

inline ChainMapParams chain_map_params_of(int k, int w, int most_hits, const nanobind::tuple& scores, const nanobind::dict& chaining) {
    const auto at = [&](const char* name) { return nanobind::cast<int32_t>(chaining[name]); };
    ChainMapParams params{};
    params.anchors = {k, w, at("stretch")};
    params.most_hits = most_hits;
    params.chains = chain_params_of(chaining);
    params.align = {scores_of(scores), at("step"), at("reach"), at("drop"), at("min_score")};
    params.most_rivals = at("most_rivals");
    params.rival_share = at("rival_percent") / 100.0;
    params.hole = at("hole");
    params.min_part = at("min_part");
    return params;
}

}  // namespace gpualign
