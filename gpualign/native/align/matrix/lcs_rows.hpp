// Lengths of longest common subsequences of a group of queries, one per lane, with targets (algo/align/lcs/lcs.hpp).
#pragma once
#include "algo/align/lcs/lcs.hpp"
#include "align/matrix/symbols.hpp"
#include "align/lcs/lane_bits.hpp"

namespace gpualign {
namespace distances {

template <class Symbol> class LcsRows {
public:
    explicit LcsRows(size_t symbols) : codes_(symbols) {}

    void take(const SymbolSet<Symbol>& queries, const int32_t* members, int count) {
        const Group<Symbol> group(queries, members, count, codes_);
        tiles_ = Tiles(group.longest);
        const size_t codes = codes_.count(), words = size_t(tiles_.words);
        profile_.assign(codes * words * size_t(tiles_.count), Word(0));
        for (int l = 0; l < kLanes; l++)
            for (int64_t i = 0; i < group.length[l]; i++) {
                const size_t w = size_t(i / 64), code = codes_[group.text[l][i]];
                Word& at = profile_[(w / words * codes + code) * words + w % words];
                at.set(l, at[l] | uint64_t(1) << (i % 64));
            }
    }

    // Computes lengths for targets order[0, count): count x kLanes.
    void run(const SymbolSet<Symbol>& targets, const int32_t* order, int64_t count, int32_t* out) {
        with_words(tiles_.words, [&](auto words) {
            constexpr int W = decltype(words)::value;
            each_together<at_once(W)>(targets, order, count, [&](auto n, const Text<Symbol>* texts, int64_t at) {
                run_together<W, decltype(n)::value>(texts, out + at * kLanes);
            });
        });
    }

private:
    template <int W> struct State {
        Word row[W];
    };

    template <int W, int N> void run_together(const Text<Symbol>* texts, int32_t* out) {
        int64_t shared = texts[0].length, longest = 0;
        for (int i = 0; i < N; i++)
            shared = std::min(shared, texts[i].length), longest = std::max(longest, texts[i].length);
        carries_.assign(size_t(N) * size_t(longest / 64 + 1), Word(0));
        Count total[N];
        for (int i = 0; i < N; i++) total[i] = Count(0);
        for (int t = 0; t < tiles_.count; t++) {
            const Word* profile = &profile_[size_t(t) * codes_.count() * W];
            State<W> states[N];
            for (int i = 0; i < N; i++)
                for (int w = 0; w < W; w++) states[i].row[w] = lcs_first_row<Word>();
            // blocks of 64 columns, whose carries are a word: shared blocks of all texts, then the rest of each
            const int64_t whole = shared / 64 * 64;
            for (int64_t j = 0; j < whole; j += 64) advance<W, N>(states, profile, texts, j, j + 64, j / 64 * N);
            for (int i = 0; i < N; i++)
                for (int64_t j = whole; j < texts[i].length; j += 64)
                    advance<W, 1>(states + i, profile, texts + i, j, std::min(texts[i].length, j + 64), j / 64 * N + i);
            for (int i = 0; i < N; i++) {
                Word grows[W];
                for (int w = 0; w < W; w++) grows[w] = lcs_grows(states[i].row[w]);
                total[i] = total[i] + count_bits<W>(grows);
            }
        }
        for (int i = 0; i < N; i++) store_counts(total[i], out + i * kLanes);
    }

    // Columns [from, to) of one block; the carries of text i are at index + i.
    template <int W, int N>
    void advance(
        State<W>* states, const Word* profile, const Text<Symbol>* texts, int64_t from, int64_t to, int64_t index) {
        State<W> state[N];
        Word in[N], out[N];
        for (int i = 0; i < N; i++) {
            state[i] = states[i];
            in[i] = carries_[size_t(index + i)];
            out[i] = Word(0);
        }
        for (int64_t j = from; j < to; j++) GPUALIGN_UNROLL
        for (int i = 0; i < N; i++) {
            const Word* masks = profile + size_t(codes_[texts[i].symbols[j]]) * W;
            lcs_column(state[i].row, [&](int w) { return masks[w]; }, in[i], out[i]);
        }
        for (int i = 0; i < N; i++) {
            states[i] = state[i];
            carries_[size_t(index + i)] = out[i] << int(64 - (to - from)) % 64;
        }
    }

    Codes<Symbol> codes_;
    Tiles tiles_{0};
    std::vector<Word> profile_, carries_;
};

}  // namespace distances
}  // namespace gpualign
