// The directions of a small part of a long pair's table, a step for all lanes of a vector: each has K columns of a
// strip and stands a row behind the lane on its left, as a warp's lanes do in
// cuda/device/align/score/diagonal_scan.cuh.
#pragma once
#include "align/score/wave.hpp"

namespace gpualign {
namespace nw {

template <bool Affine, bool Local> class PartDirections {
public:
    explicit PartDirections(const Scheme& scheme) : scheme_(scheme) {}

    void compute(const DpTile& part) {
        const int64_t strips = (part.m + columns - 1) / columns;
        steps_ = part.n + lanes - 1;
        words_.resize(size_t(strips * steps_));
        border_.assign(part.left, part.left + part.n);
        for (int64_t s = 0; s < strips; s++) compute_strip(part, s * columns, words_.data() + s * steps_);
    }

    // The four bits of the cell after i rows and j columns of the part.
    uint32_t bits(int64_t i, int64_t j) const {
        const int64_t strip = (j - 1) / columns, lane = (j - 1) % columns / K, k = (j - 1) % K;
        const uint32_t word = uint32_t(words_[size_t(strip * steps_ + i - 1 + lane)][int(lane)]);
        return word >> (4 * (K - 1 - k)) & 15;
    }

private:
    using Word = Vec<int32_t>;
    static constexpr int K = 8, lanes = Word::lanes, columns = K * lanes;
    using State = Strip<Word, K, Affine>;

    // What a lane hands to the next one, with what the first lane gets.
    struct Handed {
        int32_t of[lanes + 1];

        Word from(const Word& word, int32_t first) {
            of[0] = first;
            word.store(of + 1);
            return Word::load(of);
        }
    };

    void compute_strip(const DpTile& part, int64_t c0, Word* words) {
        const int never = scheme_.symbols;  // the last code matches nothing
        const Word match(scheme_.scores[0] + 2 * scheme_.shift()), mismatch(scheme_.scores[1] + 2 * scheme_.shift());
        const Word minus_open(-scheme_.opening()), minus_extend(-scheme_.extend);
        State state;
        Word symbols[K], diagonal, number, h(0), e(0), row_symbols(0);
        Handed handed;
        for (int l = 0; l < lanes; l++) {
            number.set(l, l);
            diagonal.set(l, part.top[std::min(c0 + l * K, part.m)].h);
            for (int k = 0; k < K; k++) {
                const int64_t column = std::min(c0 + l * K + k, part.m - 1);
                state.h[k].set(l, part.top[column + 1].h);
                if (Affine) state.f[k].set(l, part.top[column + 1].gap);
                symbols[k].set(l, part.target[column]);
            }
        }
        for (int64_t step = 0; step < steps_; step++) {
            const BorderCell left = step < part.n ? border_[size_t(step)] : BorderCell{0, 0};
            const int code = step < part.n ? part.query[step] : 0;
            const Word left_h = handed.from(h, left.h);
            row_symbols = handed.from(row_symbols, code == scheme_.symbols - 1 ? never : code);
            h = left_h;
            e = Affine ? handed.from(e, left.gap) : Word(0);
            Word directions(0);
            const auto scores = [&](int k) { return select(row_symbols == symbols[k], match, mismatch); };
            const auto put = [&](int, const Word& bits) { directions = directions << 4 | bits; };
            const bool all = step >= lanes - 1 && step < part.n;
            const State before = state;
            if constexpr (Local) state.row_local(scores, diagonal, h, e, minus_open, minus_extend, put);
            else state.row_directions(scores, diagonal, h, e, minus_open, put);
            if (all) {
                diagonal = left_h;
            } else {  // lanes whose rows have not begun, or are over
                const Word rows = Word(int32_t(step)) - number,
                           outside = rows<Word(0) | rows> Word(int32_t(part.n - 1));
                for (int k = 0; k < K; k++) {
                    state.h[k] = select(outside, before.h[k], state.h[k]);
                    if (Affine) state.f[k] = select(outside, before.f[k], state.f[k]);
                }
                diagonal = select(outside, diagonal, left_h);
            }
            words[step] = directions;
            if (step >= lanes - 1)
                border_[size_t(step - lanes + 1)] = {h[lanes - 1], Affine ? e[lanes - 1] : h[lanes - 1]};
        }
    }

    const Scheme& scheme_;
    int64_t steps_ = 0;
    std::vector<Word> words_;         // of each strip and step
    std::vector<BorderCell> border_;  // on the left of the strip, by row
};

}  // namespace nw
}  // namespace gpualign
