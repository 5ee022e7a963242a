// Local alignments, by chaining, of the reads that do not align end to end, or not well: clipped reads, those with a long
// gap, and those with split alignments.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "algo/map/thresholds.hpp"
#include "map/chain_mapper.hpp"
#include "map/read_block.hpp"

namespace gpualign {

class LocalFinder {
public:
    LocalFinder(const IndexView& index, const ReferenceView& reference, const MapParams& params, ReadBlock& block)
        : params_(params), block_(block), chainer_(index, reference, chaining(params, params.seeding.w)),
          dense_chainer_(index, reference, chaining(params, 1)), long_chainer_(index, reference, params.long_reads) {}

    // Adds the loci of the block's reads that need it.
    void run() {
        queries_.clear();
        chained_.clear();
        for (size_t r = 0; r < block_.size(); r++)
            if (!params_.is_long(block_.read(r).length) && !fits_well(r)) ask(r, chained_);
        chainer_.map(queries_.data(), queries_.size(), chains_);
        for (size_t i = 0; i < chained_.size(); i++) block_.locals(chained_[i]) = std::move(chains_[i]);
        run_densely();
        run_long();
        for (const size_t r : chained_) {
            const std::vector<ChainRecord>& locals = block_.locals(r);
            for (size_t c = 0; c < locals.size(); c++)
                if (locals[c].kind != ChainKind::supplementary) block_.add_local(r, int32_t(c));
            block_.settle(r);
        }
    }

private:
    // Chains that are aligned next to the best one: of a read in a repeat the right one is often not among the first.
    static constexpr int32_t kMaxSuboptimal = 64, kFewSuboptimal = 10;
    static constexpr int32_t kMaxHitsNear = 4000;
    static constexpr uint8_t kSure = 30;

    static ChainRules chaining(const MapParams& params, int w) {
        ChainRules rules{};
        rules.k = params.seeding.k;
        rules.w = w;
        rules.stretch = kLongestWhole;
        rules.max_gap = 500;
        rules.max_difference = 200;
        rules.min_chain_score = params.seeding.k;
        rules.min_anchors = 1;
        rules.suboptimal_percent = 50;
        rules.query_gap = 30;
        rules.scores = params.scores;
        rules.step = 8;
        rules.reach = 1 << 12;
        rules.zdrop = 100;
        rules.min_score = kMinLocalScore;
        rules.min_split = 30;
        rules.doubt = 10;
        return rules;
    }

    bool fits_well(size_t r) const {
        if (block_.loci(r).empty()) return false;
        const Read& read = block_.read(r);
        const Locus& best = block_.loci(r)[0];
        return !chaining_may_be_better(params_.scores, read.limit, best.distance, best.seed_hits, read.failed, read.near_hits);
    }

    // Where a read aligns end to end, chaining looks for a better end or a gap near by; elsewhere for the read itself.
    void ask(size_t r, std::vector<size_t>& asked) {
        const int32_t max_hits = kDepth * params_.seeding.max_hits;
        if (block_.loci(r).empty()) ask(r, max_hits, kMaxSuboptimal, asked);
        else ask(r, std::min(max_hits, kMaxHitsNear), kFewSuboptimal, asked);
    }

    void ask(size_t r, int32_t max_hits, int32_t max_suboptimal, std::vector<size_t>& asked) {
        queries_.push_back({block_.codes(r, false), block_.codes(r, true), block_.read(r).length, max_hits, max_suboptimal, block_.read(r).draw});
        asked.push_back(r);
    }

    // The same with all k-mers of the reads that remain without a good alignment: where errors are many, the reference's
    // minimizers are not always the read's, even where the bases agree.
    void run_densely() {
        queries_.clear();
        poor_.clear();
        for (const size_t r : chained_) {
            const bool good = block_.best_local_score(r) * 2 >= block_.read(r).length * params_.scores.match;
            const bool sure = !block_.locals(r).empty() && block_.locals(r)[0].mapq >= kSure;
            if (!good && !sure && block_.loci(r).empty() && block_.read(r).any_hits) ask(r, poor_);
        }
        dense_chainer_.map(queries_.data(), queries_.size(), chains_);
        for (size_t i = 0; i < poor_.size(); i++)
            if (!chains_[i].empty() && chains_[i][0].score > block_.best_local_score(poor_[i]))
                block_.locals(poor_[i]) = std::move(chains_[i]);
    }

    // Reads that are too long for all that, some at a time, which bounds memory.
    void run_long() {
        for (size_t r = 0; r < block_.size();) {
            queries_.clear();
            long_.clear();
            for (int64_t bases = 0; r < block_.size() && bases < kLongBases; r++) {
                if (!params_.is_long(block_.read(r).length)) continue;
                ask(r, params_.long_reads.max_hits, params_.long_reads.max_suboptimal, long_);
                bases += block_.read(r).length;
            }
            long_chainer_.map(queries_.data(), queries_.size(), chains_);
            for (size_t i = 0; i < long_.size(); i++) block_.locals(long_[i]) = std::move(chains_[i]);
            chained_.insert(chained_.end(), long_.begin(), long_.end());
        }
    }
    static constexpr int64_t kLongBases = 1 << 17;

    const MapParams& params_;
    ReadBlock& block_;
    ChainMapper chainer_, dense_chainer_, long_chainer_;
    std::vector<ChainRequest> queries_;
    std::vector<size_t> chained_, poor_, long_;  // the reads that are asked for
    std::vector<std::vector<ChainRecord>> chains_;
};

}  // namespace gpualign
