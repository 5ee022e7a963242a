// When and how short reads are chained: those that do not align end to end, or not well.
#pragma once
#include "abi/chains.hpp"
#include "algo/map/chain/gaps.hpp"
#include "algo/map/thresholds.hpp"

namespace gpualign {

// Longer reads are mapped as by the presets of long reads, by chaining alone: a whole alignment takes memory and time with the
// square of the length, and so does trying every suboptimal chain.
constexpr int32_t kLongestEndToEnd = 1000;

GPUALIGN_HD bool maps_as_long(const MapRules& rules, int64_t length) { return rules.local && length > kLongestEndToEnd; }

// By minimizers of windows of w k-mers.
GPUALIGN_HD ChainRules short_read_chaining(int32_t k, int32_t w, const AffineScores& scores) {
    ChainRules rules{};
    rules.k = k;
    rules.w = w;
    rules.stretch = kLongestEndToEnd;
    rules.max_gap = 500;
    rules.max_difference = 200;
    rules.min_chain_score = k;
    rules.min_anchors = 1;
    rules.suboptimal_percent = 50;
    rules.query_gap = 30;
    rules.scores = scores;
    rules.step = 8;
    rules.reach = 1 << 12;
    rules.zdrop = 100;
    rules.min_score = kMinLocalScore;
    rules.min_split = 30;
    rules.doubt = 10;
    rules.max_cells = 1 << 26;
    return rules;
}

// How many hits of a read are followed, and suboptimal chains of a stretch of it aligned.
struct ChainDepth {
    int32_t max_hits, max_suboptimal;
};

// Where a read aligns end to end, chaining looks for a better end or a gap near by; elsewhere for the read itself, and of one in a
// repeat the right chain is often not among the first.
GPUALIGN_HD ChainDepth chain_depth(const MapRules& rules, bool aligns_end_to_end) {
    constexpr int32_t kMaxSuboptimal = 64, kFewSuboptimal = 10, kMaxHitsNear = 4000;
    const int32_t max_hits = int32_t(limit_at(rules.max_hits, kDepth));
    return aligns_end_to_end ? ChainDepth{min(max_hits, kMaxHitsNear), kFewSuboptimal} : ChainDepth{max_hits, kMaxSuboptimal};
}

// Whether a read that does not align end to end is chained again with all of its k-mers, as no chain of its minimizers is good, nor
// the best one sure: where errors are many, the reference's minimizers are not always the read's, even where the bases agree.
GPUALIGN_HD bool wants_all_kmers(int32_t length, const AffineScores& scores, int32_t best_score, uint8_t mapq) {
    constexpr uint8_t kSure = 30;
    return best_score * 2 < length * scores.match && mapq < kSure;
}

}  // namespace gpualign
