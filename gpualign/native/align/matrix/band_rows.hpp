// Edit distances within a limit k of a group of queries, one per lane, to targets: only the diagonals -k to k are
// computed (algo/align/edit/edit_band.hpp), and a target is dropped when no lane can stay within its limit.
//
// All lanes use the same diagonals, whatever their lengths, so that one word of the profile serves all. The lowest
// diagonal is followed; the distance is computed from it along the last column.
#pragma once
#include "algo/align/edit/edit_band.hpp"
#include "align/matrix/symbols.hpp"

namespace gpualign {
namespace distances {

constexpr int kMaxBandWords = 4;

template <class Symbol> class BandRows {
public:
    static constexpr int32_t kBeyond = INT32_MAX;  // the distance is beyond the limit

    explicit BandRows(size_t symbols) : codes_(symbols) {}

    static bool suits(int64_t limit) { return limit <= (64 * kMaxBandWords - 1) / 2; }

    // `limit`: maximum over all pairs of these queries.
    void take(const SymbolSet<Symbol>& queries, const int32_t* members, int count, int64_t limit) {
        const Group<Symbol> group(queries, members, count, codes_);
        k_ = limit;
        words_ = int(2 * k_ / 64 + 1);
        longest_ = group.longest;
        shortest_ = group.shortest;
        lengths_ = group.lengths();
        // bit b of row j for code c is set if query symbol j - k + b is c
        const int64_t rows = longest_ + k_ + 64 * words_ + 1;
        const size_t codes = codes_.count();
        profile_.assign(size_t(rows) * codes, Word(0));
        std::vector<Word> row(codes, Word(0));
        for (int64_t j = -63; j < rows; j++) {
            for (Word& bits : row) bits = bits >> 1;
            for (int l = 0; l < kLanes; l++) {
                const int64_t i = j - k_ + 63;
                if (i < 0 || i >= group.length[l]) continue;
                Word& bits = row[codes_[group.text[l][i]]];
                bits.set(l, bits[l] | uint64_t(1) << 63);
            }
            if (j >= 0) std::copy(row.begin(), row.end(), profile_.begin() + int64_t(codes) * j);
        }
    }

    // Computes distances to targets order[0, count): count x kLanes. limits[n]: for pairs whose longer sequence has n
    // symbols.
    void run(
        const SymbolSet<Symbol>& targets, const int32_t* order, int64_t count, const int32_t* limits, int32_t* out) {
        with_constant<1, 2, 3, 4>(
            words_, [&](auto words) { run_words<decltype(words)::value>(targets, order, count, limits, out); });
    }

private:
    static constexpr int kCheckEvery = 16;  // columns

    template <int W> struct State {
        nw::BandColumn<Word, W> column;
        Count followed;  // steps of the lowest diagonal that cost nothing
    };

    template <int W>
    void run_words(
        const SymbolSet<Symbol>& targets, const int32_t* order, int64_t count, const int32_t* limits, int32_t* out) {
        constexpr int N = W == 1 ? 4 : W == 2 ? 2 : 1;
        int64_t at = 0;
        while (at < count) {
            Text<Symbol> texts[N];
            int taken = 0;
            int64_t indices[N];
            for (; at < count && taken < N; at++) {
                const int64_t length = targets.length(order[at]);
                if (length < shortest_ - k_ || length > longest_ + k_) {
                    std::fill_n(out + at * kLanes, kLanes, kBeyond);
                    continue;
                }
                indices[taken] = at;
                texts[taken++] = {targets.begin(order[at]), length};
            }
            if (taken == N) run_together<W, N>(texts, indices, limits, out);
            else
                for (int i = 0; i < taken; i++) run_together<W, 1>(texts + i, indices + i, limits, out);
        }
    }

    template <int W, int N> void advance(State<W>* states, const Text<Symbol>* texts, int64_t from, int64_t to) const {
        State<W> state[N];
        for (int i = 0; i < N; i++) state[i] = states[i];
        const Word* profile = profile_.data();
        const size_t codes = codes_.count(), apart = 64 * codes;
        const int top = int(2 * k_ % 64);
        for (int64_t j = from; j < to; j++) GPUALIGN_UNROLL
        for (int i = 0; i < N; i++) {
            const Word* row = profile + size_t(j) * codes + codes_[texts[i].symbols[j]];
            Word eq[W], d0[W], hp[W], hn[W];
            for (int w = 0; w < W; w++) eq[w] = row[size_t(w) * apart];
            state[i].column.step(eq, d0, hp, hn);
            state[i].followed = state[i].followed + (d0[W - 1] >> top & Word(1)).template as<int64_t>();
        }
        for (int i = 0; i < N; i++) states[i] = state[i];
    }

    template <int W, int N>
    void run_together(const Text<Symbol>* texts, const int64_t* indices, const int32_t* limits, int32_t* out) const {
        State<W> states[N];
        Count maximum[N];  // of the lowest diagonal's value, for the distance to stay within the limit
        int64_t shared = texts[0].length;
        for (int i = 0; i < N; i++) {
            states[i].column.start(int32_t(k_));
            states[i].followed = maximum[i] = Count(0);
            shared = std::min(shared, texts[i].length);
            for (int l = 0; l < kLanes; l++)
                maximum[i].set(
                    l, limits[std::max(lengths_[l], texts[i].length)] + k_ - (lengths_[l] - texts[i].length));
        }
        int64_t j = 0;
        while (j < shared) {
            const int64_t stop = std::min(shared, j + kCheckEvery);
            advance<W, N>(states, texts, j, stop);
            j = stop;
            bool hope = false;
            for (int i = 0; i < N; i++) hope |= any(states[i].followed > Count(k_ + j) - maximum[i] - Count(1));
            if (hope) continue;
            for (int i = 0; i < N; i++) std::fill_n(out + indices[i] * kLanes, kLanes, kBeyond);
            return;
        }
        for (int i = 0; i < N; i++) {
            const int64_t length = texts[i].length;
            advance<W, 1>(states + i, texts + i, shared, length);
            finish(states[i], length, limits, out + indices[i] * kLanes);
        }
    }

    // From the lowest diagonal, in row length + k, up to each query's last row.
    template <int W> void finish(const State<W>& state, int64_t length, const int32_t* limits, int32_t* out) const {
        Word up[W], down[W];
        for (int w = 0; w < W; w++) {
            Word late(uint64_t(0));  // bit b is row length + 1 - k + b, as in the next column
            for (int l = 0; l < kLanes; l++) {
                const int64_t first = std::max<int64_t>(0, lengths_[l] - (length - k_) - 64 * w),
                              last = 2 * k_ - 1 - 64 * w;
                const uint64_t from = first >= 64 ? 0 : ~uint64_t(0) << first;
                late.set(l, from & (last >= 63 ? ~uint64_t(0) : last < 0 ? 0 : (uint64_t(2) << last) - 1));
            }
            up[w] = state.column.vp[w] & late;
            down[w] = state.column.vn[w] & late;
        }
        const Count distance = Count(k_ + length) - state.followed - count_bits<W>(up) + count_bits<W>(down);
        for (int l = 0; l < kLanes; l++) {
            const int64_t apart = std::max(lengths_[l] - length, length - lengths_[l]);
            const bool within = apart <= k_ && distance[l] <= limits[std::max(lengths_[l], length)];
            out[l] = within ? int32_t(distance[l]) : kBeyond;
        }
    }

    Codes<Symbol> codes_;
    int64_t k_ = 0, longest_ = 0, shortest_ = 0;
    int words_ = 1;
    Count lengths_;
    std::vector<Word> profile_;
};

}  // namespace distances
}  // namespace gpualign
