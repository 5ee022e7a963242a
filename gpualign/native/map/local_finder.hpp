// Local alignments, by chaining, of reads that do not align end to end, or not well: clipped reads, reads with a long
// gap, and split alignments.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "algo/map/chain/short_reads.hpp"
#include "map/chain_mapper.hpp"
#include "map/read_block.hpp"

namespace gpualign {

class LocalFinder {
public:
    LocalFinder(const IndexView& index, const ReferenceView& reference, const MapperParams& params, ReadBlock& block)
        : params_(params), block_(block),
          chainer_(index, reference,
              short_read_chaining(params.seeding.k, params.seeding.w, params.rules.scores, params.introns),
              params.known),
          dense_chainer_(index, reference,
              short_read_chaining(params.seeding.k, 1, params.rules.scores, params.introns), params.known),
          long_chainer_(index, reference, params.long_reads, params.known) {}

    // Adds the loci of the reads that need chaining.
    void run() {
        queries_.clear();
        chained_.clear();
        for (size_t r = 0; r < block_.size(); r++)
            if (block_.read(r).length == block_.read(r).bases &&
                wants_chaining(params_.rules, block_.view(r), block_.read(r)))
                ask(r, chain_depth(params_.rules, !block_.loci(r).empty()), chained_);
        chainer_.map(queries_.data(), queries_.size(), chains_);
        for (size_t i = 0; i < chained_.size(); i++) block_.locals(chained_[i]) = std::move(chains_[i]);
        run_densely();
        run_long();
        for (const size_t r : chained_) {
            const std::vector<ChainRecord>& locals = block_.locals(r);
            for (size_t c = 0; c < locals.size(); c++)
                if (is_locus(locals[0], locals[c])) block_.add_local(r, int32_t(c));
            block_.settle(r);
        }
    }

private:
    void ask(size_t r, const ChainDepth& depth, std::vector<size_t>& asked) {
        queries_.push_back({block_.codes(r, false), block_.codes(r, true), block_.read(r).length, depth.max_hits,
            depth.max_suboptimal, block_.read(r).tie_break, block_.read(r).conversion});
        asked.push_back(r);
    }

    void run_densely() {
        queries_.clear();
        poor_.clear();
        for (const size_t r : chained_) {
            const uint8_t mapq = block_.locals(r).empty() ? uint8_t(0) : block_.locals(r)[0].mapq;
            if (block_.loci(r).empty() &&
                wants_all_kmers(block_.read(r).length, params_.rules.scores, block_.best_local_score(r), mapq))
                ask(r, chain_depth(params_.rules, false), poor_);
        }
        dense_chainer_.map(queries_.data(), queries_.size(), chains_);
        for (size_t i = 0; i < poor_.size(); i++)
            if (!chains_[i].empty() && chains_[i][0].score > block_.best_local_score(poor_[i]))
                block_.locals(poor_[i]) = std::move(chains_[i]);
    }

    // Long reads, in batches that bound the memory.
    void run_long() {
        for (size_t r = 0; r < block_.size();) {
            queries_.clear();
            long_.clear();
            for (int64_t bases = 0; r < block_.size() && bases < kLongBases; r++) {
                if (!params_.is_long(block_.read(r).length)) continue;
                ask(r, {params_.long_reads.max_hits, params_.long_reads.max_suboptimal}, long_);
                bases += block_.read(r).length;
            }
            long_chainer_.map(queries_.data(), queries_.size(), chains_);
            for (size_t i = 0; i < long_.size(); i++) block_.locals(long_[i]) = std::move(chains_[i]);
            chained_.insert(chained_.end(), long_.begin(), long_.end());
        }
    }
    static constexpr int64_t kLongBases = 1 << 17;

    const MapperParams& params_;
    ReadBlock& block_;
    ChainMapper chainer_, dense_chainer_, long_chainer_;
    std::vector<ChainRequest> queries_;
    std::vector<size_t> chained_, poor_, long_;  // reads of the current queries
    std::vector<std::vector<ChainRecord>> chains_;
};

}  // namespace gpualign
