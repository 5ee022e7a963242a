// Chaining of short reads: of those that do not align end to end, or not well.
#pragma once
#include "abi/chains.hpp"
#include "algo/map/chain/gaps.hpp"
#include "algo/map/thresholds.hpp"

namespace gpualign {

// Longer reads are mapped by chaining alone, as with the presets of long reads: memory and time of an end-to-end
// alignment grow quadratically with the length, as does trying every suboptimal chain.
constexpr int32_t kLongestEndToEnd = 1000;

GPUALIGN_HD bool maps_as_long(const MapRules& rules, int64_t length) {
    return rules.local && length > kLongestEndToEnd;
}

// Parameters of chaining short reads with minimizers of windows of w k-mers; of spliced ones if there are introns.
GPUALIGN_HD ChainRules short_read_chaining(
    int32_t k, int32_t w, const AffineScores& scores, const IntronRules& introns = {}) {
    ChainRules rules{};
    rules.k = k;
    rules.w = w;
    rules.interval = kLongestEndToEnd;
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
    rules.doubt = introns.open ? 0 : 10;
    rules.max_cells = introns.open ? 1 << 20 : 1 << 26;
    rules.introns = introns;
    return rules;
}

// Limits per read: hits followed, and suboptimal chains aligned per interval.
struct ChainDepth {
    int32_t max_hits, max_suboptimal;
};

// If a read aligns end to end, chaining only looks for a better end or a gap nearby; otherwise for the read itself,
// and in a repeat the right chain is often not among the first.
GPUALIGN_HD ChainDepth chain_depth(const MapRules& rules, bool aligns_end_to_end) {
    constexpr int32_t kMaxSuboptimal = 64, kFewSuboptimal = 10, kMaxHitsNear = 4000;
    const int32_t max_hits = int32_t(limit_at(rules.max_hits, kDepth));
    return aligns_end_to_end ? ChainDepth{min(max_hits, kMaxHitsNear), kFewSuboptimal}
                             : ChainDepth{max_hits, kMaxSuboptimal};
}

// Whether a read that does not align end to end is chained again with all of its k-mers, because its best chain is
// poor and not certain: with many errors the minimizers of read and reference differ even where the bases agree.
GPUALIGN_HD bool wants_all_kmers(int32_t length, const AffineScores& scores, int32_t best_score, uint8_t mapq) {
    constexpr uint8_t kSure = 30;
    return best_score * 2 < length * scores.match && mapq < kSure;
}

}  // namespace gpualign
