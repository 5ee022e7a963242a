// An upper bound on the identity of a pair where gaps at the ends do not count (definition 2): the query's blocks of 32
// symbols, each compared with all of the target.
//
// What lies between the gaps at the ends is an interval of the query, so that all blocks within it, a run of
// neighbours, have at least the edits of each block's best position in the target (Myers 1999, infix). A run of b
// blocks lies in an interval of at most 32 b symbols and parts of the blocks next to it. If the interval has enough
// symbols for the coverage and for the score, its edits limit the identity, and the highest of these limits is that of
// the pair. Symbols that may match others match everything here.
//
// The score: the positions of the blocks give an alignment, and the optimal one scores no less. A short interval does
// not reach this score, as each column has the score of a match at most and each edit costs something.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sequences/identity_bounds.hpp"
#include "sequences/sequence_set.hpp"
#include "simd/vector.hpp"

namespace gpualign {

// Scores of matches, mismatches and gaps, all more by what a symbol of a gap at an end costs, for each symbol: such a
// gap then costs no more than `end`, and a gap of L symbols inside `open` + L `extend`.
struct ShiftedScores {
    int32_t match = 0, mismatch = 0, code = 0;  // code: of a pair with an ambiguity code
    int32_t open = 0, extend = 0, end = 0;
    bool known = false;  // all pairs have these scores but those with ambiguity codes, and all ends the same costs

    // Of scores as `pairwise` has them, where it says that all ends cost the same.
    static ShiftedScores of(
        int32_t match, int32_t mismatch, int32_t open, int32_t extend, int32_t end_open, int32_t end_extend) {
        const int32_t twice = 2 * end_extend;
        ShiftedScores scores{
            match + twice, mismatch + twice, twice, open - extend, extend - end_extend, end_open - end_extend, false};
        scores.known = match >= 0 && scores.match > 0 && scores.mismatch <= 0 && scores.open >= 0 &&
                       scores.extend >= 0 && scores.end >= 0;
        return scores;
    }

    // The least that an edit costs, compared with a match. A gap in the query ends at most half of a block, so that its
    // edits are at most these 16, or its symbols.
    double edit(bool codes, int32_t half_block) const {
        const double least =
            std::min({double(match - mismatch), double(match + extend), double(open) / half_block + extend});
        return codes ? std::min(least, double(match - code)) : least;
    }
};

class BlockEdits {
public:
    // Whether the bound says anything.
    static bool limits(const IdentityBounds& bounds, const ShiftedScores& scores) {
        return bounds.definition == 2 && bounds.identity > 0 && (bounds.coverage > 0 || scores.known);
    }

    void take(const SequenceSet& set, int32_t query) {
        set_ = &set;
        query_ = query;
        length_ = set.length(query);
        blocks_ = length_ / block;
        vectors_ = size_t(blocks_ + Word::lanes - 1) / Word::lanes;
        // a row for each symbol that equals itself, one without matches and one of matches
        const size_t lanes = vectors_ * Word::lanes;
        matches_.assign(size_t(set.identical + 2) * lanes, 0);
        std::fill(matches_.end() - std::ptrdiff_t(lanes), matches_.end(), ~uint32_t(0));
        const uint8_t* const symbols = set.begin(query);
        for (int32_t i = 0; i < blocks_ * block; i++) {
            const auto put = [&](int symbol) {
                matches_[size_t(symbol) * lanes + size_t(i / block)] |= uint32_t(1) << i % block;
            };
            if (symbols[i] < set.identical) put(symbols[i]);
            else if (set.codes_match)
                for (int symbol = 0; symbol < set.identical; symbol++) put(symbol);
        }
        edits_.resize(lanes), ends_.resize(lanes);
    }

    // The highest identity that the pair can have, or one below that of the bounds; less than 0 where the query cannot
    // be covered.
    double highest_with(const IdentityBounds& bounds, const ShiftedScores& scores, int32_t target) {
        compare(set_->begin(target), set_->length(target));
        const double highest = highest_of_runs(bounds, scores, target, no_score);
        if (highest < bounds.identity || !scores.known) return highest;
        return highest_of_runs(bounds, scores, target, score_of_blocks(scores, target));
    }

private:
    using Word = Vec<uint32_t>;
    static constexpr int32_t block = 32;
    static constexpr size_t most_diagonals = 16;
    static constexpr int32_t no_score = -(1 << 28);

    double highest_of_runs(
        const IdentityBounds& bounds, const ShiftedScores& scores, int32_t target, int32_t score) const {
        const int32_t m = set_->length(target);
        const int32_t enough = bounds.aligned(length_, m);
        const double of_edit = scores.edit(set_->codes_match, block / 2);
        double highest = -1;
        for (int32_t first = 0; first <= blocks_; first++) {
            int32_t edits = 0;
            for (int32_t after = first; after <= blocks_; after++) {
                if (after > first) edits += int32_t(edits_[size_t(after - 1)]);
                const int32_t left = first ? block - 1 : 0;
                const int32_t right = after < blocks_ ? block - 1 : length_ - blocks_ * block;
                const int32_t symbols = left + (after - first) * block + right;
                if (symbols < enough || scores.match * double(symbols) - of_edit * edits < score) continue;
                // M matches are at most the shorter interval, and M / (M + edits) rises with M
                const int32_t matches = std::min(symbols, m);
                highest = std::max(highest, matches ? double(matches) / (matches + edits) : 1.0);
            }
        }
        return highest;
    }

    // The score of an alignment along the diagonals of the blocks' best positions, which change between blocks.
    int32_t score_of_blocks(const ShiftedScores& scores, int32_t target) {
        const int32_t m = set_->length(target);
        const uint8_t* const of_query = set_->begin(query_);
        const uint8_t* const of_target = set_->begin(target);
        diagonals_.clear();
        for (int32_t b = 0; b < blocks_ && diagonals_.size() < most_diagonals; b++) {
            const int32_t diagonal = int32_t(ends_[size_t(b)]) - (b + 1) * block;
            if (edits_[size_t(b)] > block / 3) continue;  // anywhere
            if (std::find(diagonals_.begin(), diagonals_.end(), diagonal) == diagonals_.end())
                diagonals_.push_back(diagonal);
        }
        // an end of both sequences beyond the blocks, as mismatches or as a gap inside and one at the end
        const auto beyond = [&](int32_t columns) {
            return columns <= 0 ? 0 : std::max(scores.mismatch * columns, -scores.open - scores.extend * columns);
        };
        int32_t highest = no_score;
        int32_t last[most_diagonals], next[most_diagonals];  // of alignments that end with a block on each diagonal
        std::fill(last, last + most_diagonals, no_score);
        for (int32_t b = 0; b < blocks_; b++) {
            const int32_t begin = b * block;
            for (size_t d = 0; d < diagonals_.size(); d++) {
                const int32_t at = begin + diagonals_[d];
                next[d] = no_score;
                if (at < 0 || at + block > m) continue;
                int32_t same = 0;
                for (int32_t i = 0; i < block; i++)
                    same += (of_query[begin + i] == of_target[at + i]) & (of_query[begin + i] < set_->identical);
                int32_t before = beyond(std::min(begin, at));
                for (size_t from = 0; from < diagonals_.size(); from++) {
                    const int32_t change = diagonals_[d] - diagonals_[from];
                    int32_t gap = change ? scores.open + scores.extend * std::abs(change) : 0;
                    if (change <= -block) continue;
                    if (change < 0) gap -= change * scores.match;  // the block's first symbols are in the gap
                    before = std::max(before, last[from] - gap);
                }
                next[d] = before + same * scores.match + (block - same) * scores.mismatch;
                highest = std::max(highest, next[d] + beyond(std::min(length_ - begin - block, m - at - block)));
            }
            std::copy(next, next + most_diagonals, last);
        }
        return highest - 4 * scores.end;
    }

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

    // Edits of the blocks of N vectors from block `from` on, and where their first position of so few ends.
    template <int N> void run(size_t from) {
        Word vp[N], vn[N], score[N], best[N], end[N];
        for (int v = 0; v < N; v++) {
            vp[v] = Word(~uint32_t(0)), vn[v] = Word(uint32_t(0));
            score[v] = best[v] = Word(uint32_t(block));
            end[v] = Word(uint32_t(0));
        }
        Word column = Word(uint32_t(0));
        for (const uint32_t* row : rows_) {
            column = column + Word(uint32_t(1));
            for (int v = 0; v < N; v++) {
                const Word eq = Word::load(row + from + size_t(v) * Word::lanes);
                const Word d0 = (((eq & vp[v]) + vp[v]) ^ vp[v]) | eq | vn[v];
                const Word hp = vn[v] | ~(d0 | vp[v]), hn = d0 & vp[v];
                score[v] = score[v] + (hp >> 31) - (hn >> 31);
                const Word lower = min(best[v], score[v]);
                end[v] = select(lower == best[v], end[v], column);
                best[v] = lower;
                const Word right = hp << 1;
                vp[v] = (hn << 1) | ~(d0 | right);
                vn[v] = d0 & right;
            }
        }
        for (int v = 0; v < N; v++) {
            best[v].store(edits_.data() + from + size_t(v) * Word::lanes);
            end[v].store(ends_.data() + from + size_t(v) * Word::lanes);
        }
    }

    const SequenceSet* set_ = nullptr;
    int32_t query_ = 0, length_ = 0, blocks_ = 0;
    size_t vectors_ = 0;
    std::vector<uint32_t> matches_, edits_, ends_;  // by symbol and block; of each block
    std::vector<const uint32_t*> rows_;  // of each symbol of the target
    std::vector<int32_t> diagonals_;
};

}  // namespace gpualign
