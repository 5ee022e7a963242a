// Edit distances of a group of queries, one per lane, to one target after the other: all lanes read the same symbol,
// so that a profile row is one load per word (algo/align/edit/myers_striped.hpp).
#pragma once
#include "abi/verify.hpp"
#include "algo/align/edit/myers_striped.hpp"
#include "align/matrix/symbols.hpp"

namespace gpualign {
namespace distances {

template <class Symbol> class EditRows {
public:
    EditRows(size_t symbols, VerifyMode mode) : codes_(symbols), mode_(mode) {}

    void take(const SymbolSet<Symbol>& queries, const int32_t* members, int count) {
        const Group<Symbol> group(queries, members, count, codes_);
        const Tiles tiles(group.longest);
        tiles_ = tiles;
        lengths_ = group.lengths();
        const size_t all_words = size_t(tiles.count) * tiles.words;
        rows_.assign(all_words, Word(0));
        profile_.assign(codes_.count() * all_words, Word(0));
        for (int l = 0; l < kLanes; l++) {
            const int64_t pad = tiles.rows() - group.length[l];
            for (int t = 0; t < tiles.count; t++)
                for (int w = 0; w < tiles.words; w++) {
                    const uint64_t rows = striped_rows<uint64_t>(w, tiles.words, pad - int64_t(t) * tiles.words * 64);
                    rows_[size_t(t * tiles.words + w)].set(l, rows);
                    if (mode_ != VerifyMode::infix) continue;
                    for (size_t code = 0; code < codes_.count(); code++) word(t, code, w).set(l, ~rows);
                }
            for (int64_t i = 0; i < group.length[l]; i++) {
                const int64_t row = pad + i, tile = row / (tiles.words * 64), r = row % (tiles.words * 64);
                Word& at = word(int(tile), codes_[group.text[l][i]], int(r % tiles.words));
                at.set(l, at[l] | uint64_t(1) << (r / tiles.words));
            }
        }
    }

    // Computes distances to targets order[0, count): count x kLanes.
    void run(const SymbolSet<Symbol>& targets, const int32_t* order, int64_t count, int32_t* out) {
        with_words(tiles_.words, [&](auto words) {
            if (mode_ == VerifyMode::global) run_words<decltype(words)::value, false>(targets, order, count, out);
            else run_words<decltype(words)::value, true>(targets, order, count, out);
        });
    }

private:
    template <int W> struct State {
        StripedColumn<Word, W> column;
        Count score, best;  // of the last row, if it is followed
    };

    Word& word(int tile, size_t code, int w) {
        return profile_[(size_t(tile) * codes_.count() + code) * size_t(tiles_.words) + size_t(w)];
    }

    template <int W, bool Followed>
    void run_words(const SymbolSet<Symbol>& targets, const int32_t* order, int64_t count, int32_t* out) {
        if (tiles_.count > 1) {
            each_together<1>(targets, order, count,
                [&](auto, const Text<Symbol>* one, int64_t at) { run_tiles<W, Followed>(*one, out + at * kLanes); });
            return;
        }
        each_together<at_once(W)>(targets, order, count, [&](auto n, const Text<Symbol>* texts, int64_t at) {
            run_together<W, decltype(n)::value, Followed>(texts, out + at * kLanes);
        });
    }

    template <int W> void start(State<W>& state, int tile) const {
        state.column.start(&rows_[size_t(tile) * W]);
        state.score = state.best = lengths_;
    }
    template <bool Followed, int W> GPUALIGN_HD static void follow(State<W>& state, Word up, Word down) {
        if (!Followed) return;
        state.score = state.score + (up >> 63).template as<int64_t>() - (down >> 63).template as<int64_t>();
        state.best = min(state.best, state.score);
    }
    template <int W, bool Followed> void finish(const State<W>& state, int64_t columns, int32_t* out) const {
        if (Followed) store_counts(state.best, out);
        else store_counts(Count(columns) + count_bits<W>(state.column.vp) - count_bits<W>(state.column.vn), out);
    }

    template <int W, int N, bool Followed>
    void advance(State<W>* states, const Text<Symbol>* texts, int64_t from, int64_t to) const {
        State<W> state[N];
        for (int i = 0; i < N; i++) state[i] = states[i];
        const Word above(mode_ == VerifyMode::infix ? 0 : 1);
        const Word* profile = profile_.data();
        for (int64_t j = from; j < to; j++) GPUALIGN_UNROLL
        for (int i = 0; i < N; i++) {
            Word up, down;
            state[i].column.step(profile + size_t(codes_[texts[i].symbols[j]]) * W, above, Word(0), up, down);
            follow<Followed>(state[i], up, down);
        }
        for (int i = 0; i < N; i++) states[i] = state[i];
    }

    template <int W, int N, bool Followed> void run_together(const Text<Symbol>* texts, int32_t* out) const {
        State<W> states[N];
        int64_t shared = texts[0].length;
        for (int i = 0; i < N; i++) start(states[i], 0), shared = std::min(shared, texts[i].length);
        advance<W, N, Followed>(states, texts, 0, shared);
        for (int i = 0; i < N; i++) {
            advance<W, 1, Followed>(states + i, texts + i, shared, texts[i].length);
            finish<W, Followed>(states[i], texts[i].length, out + i * kLanes);
        }
    }

    // Computes tile after tile; the last row of one is the input of the next.
    template <int W, bool Followed> void run_tiles(const Text<Symbol>& text, int32_t* out) {
        ups_.assign(size_t(text.length), Word(mode_ == VerifyMode::infix ? 0 : 1));
        downs_.assign(size_t(text.length), Word(0));
        Count distance(text.length);
        for (int t = 0; t < tiles_.count; t++) {
            State<W> state;
            start(state, t);
            const Word* profile = &word(t, 0, 0);
            for (int64_t j = 0; j < text.length; j++) {
                Word up, down;
                state.column.step(
                    profile + size_t(codes_[text.symbols[j]]) * W, ups_[size_t(j)], downs_[size_t(j)], up, down);
                if (Followed && t == tiles_.count - 1) follow<Followed>(state, up, down);
                ups_[size_t(j)] = up >> 63;
                downs_[size_t(j)] = down >> 63;
            }
            distance = distance + count_bits<W>(state.column.vp) - count_bits<W>(state.column.vn);
            if (Followed) distance = state.best;
        }
        store_counts(distance, out);
    }

    Codes<Symbol> codes_;
    VerifyMode mode_;
    Tiles tiles_{0};
    Count lengths_;
    std::vector<Word> profile_, rows_, ups_, downs_;
};

}  // namespace distances
}  // namespace gpualign
