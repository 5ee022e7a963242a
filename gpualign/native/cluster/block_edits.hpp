// A lower bound on the edits of a pair where gaps at the ends do not count (definition 2): the query's blocks of 32
// symbols, each compared with all of the target.
//
// What lies between the gaps at the ends is an interval of the query, so that all blocks within it, a run of
// neighbours, have at least the edits of each block's best place in the target (Myers 1999, infix). A run of b blocks
// lies in an interval of at most 32 b symbols and parts of the blocks next to it. If the interval has enough symbols
// for the coverage, the identity limits its edits. A pair is left out if every run that has enough symbols, has too
// many edits. Symbols that may match others match everything here.
#pragma once
#include <algorithm>
#include <vector>

#include "cluster/word_index.hpp"
#include "simd/vector.hpp"

namespace gpualign {
namespace cluster {

class BlockEdits {
public:
    // Whether the bound says anything.
    static bool limits(const Bounds& bounds) {
        return bounds.definition == 2 && bounds.coverage > 0 && bounds.identity > 0;
    }

    void take(const SequenceSet& set, int32_t query) {
        set_ = &set;
        length_ = set.length(query);
        blocks_ = length_ / block;
        vectors_ = size_t(blocks_ + Word::lanes - 1) / Word::lanes;
        // a row for each symbol that equals itself, one without matches and one of matches
        const size_t lanes = vectors_ * Word::lanes;
        matches_.assign(size_t(set.identical + 2) * lanes, 0);
        std::fill(matches_.end() - ptrdiff_t(lanes), matches_.end(), ~uint32_t(0));
        const uint8_t* const symbols = set.begin(query);
        for (int32_t i = 0; i < blocks_ * block; i++) {
            const auto put = [&](int symbol) {
                matches_[size_t(symbol) * lanes + size_t(i / block)] |= uint32_t(1) << i % block;
            };
            if (symbols[i] < set.identical) put(symbols[i]);
            else if (set.codes_match)
                for (int symbol = 0; symbol < set.identical; symbol++) put(symbol);
        }
        edits_.resize(lanes);
    }

    // Whether the query may reach the identity with a sequence.
    bool reachable(const Bounds& bounds, int32_t target) {
        const int32_t m = set_->length(target);
        const int32_t enough = bounds.aligned(length_, m);
        compare(set_->begin(target), m);
        for (int32_t first = 0; first <= blocks_; first++) {
            int32_t edits = 0;
            for (int32_t after = first; after <= blocks_; after++) {
                if (after > first) edits += int32_t(edits_[size_t(after - 1)]);
                const int32_t left = first ? block - 1 : 0;
                const int32_t right = after < blocks_ ? block - 1 : length_ - blocks_ * block;
                const int32_t symbols = left + (after - first) * block + right;
                if (symbols >= enough && edits <= bounds.edits(symbols, m)) return true;
            }
        }
        return false;
    }

private:
    using Word = Vec<uint32_t>;
    static constexpr int32_t block = 32;

    void compare(const uint8_t* target, int32_t m) {
        const size_t lanes = vectors_ * Word::lanes;
        rows_.resize(size_t(m));
        const int no_match = set_->identical, any_match = set_->identical + 1;
        for (int32_t j = 0; j < m; j++) {
            const int symbol = target[j] < set_->identical ? target[j] : set_->codes_match ? any_match : no_match;
            rows_[size_t(j)] = matches_.data() + size_t(symbol) * lanes;
        }
        size_t v = 0;
        for (; v + 2 <= vectors_; v += 2) run<2>(v * Word::lanes);
        if (v < vectors_) run<1>(v * Word::lanes);
    }

    // Edits of the blocks of N vectors from block `from` on.
    template <int N> void run(size_t from) {
        Word vp[N], vn[N], score[N], best[N];
        for (int v = 0; v < N; v++) {
            vp[v] = Word(~uint32_t(0)), vn[v] = Word(uint32_t(0));
            score[v] = best[v] = Word(uint32_t(block));
        }
        for (const uint32_t* row : rows_)
            for (int v = 0; v < N; v++) {
                const Word eq = Word::load(row + from + size_t(v) * Word::lanes);
                const Word d0 = (((eq & vp[v]) + vp[v]) ^ vp[v]) | eq | vn[v];
                const Word hp = vn[v] | ~(d0 | vp[v]), hn = d0 & vp[v];
                score[v] = score[v] + (hp >> 31) - (hn >> 31);
                best[v] = min(best[v], score[v]);
                const Word right = hp << 1;
                vp[v] = (hn << 1) | ~(d0 | right);
                vn[v] = d0 & right;
            }
        for (int v = 0; v < N; v++) best[v].store(edits_.data() + from + size_t(v) * Word::lanes);
    }

    const SequenceSet* set_ = nullptr;
    int32_t length_ = 0, blocks_ = 0;
    size_t vectors_ = 0;
    std::vector<uint32_t> matches_, edits_;  // by symbol and block; of each block
    std::vector<const uint32_t*> rows_;  // of each symbol of the target
};

}  // namespace cluster
}  // namespace gpualign
