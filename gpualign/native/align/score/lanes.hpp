// The CPU engine of `pairwise`: a group of pairs, one per lane of a machine vector, aligned strip by strip. A traceback
// keeps four bits a cell; where the table would be too large, the borders of blocks of columns are kept instead and the
// blocks are computed again, from the last to the first, block within block if need be.
#pragma once
#include <vector>

#include "align/score/ends.hpp"
#include "align/score/symbols.hpp"

namespace gpualign {
namespace nw {

template <class Word_, bool Affine, bool Local> class Engine {
public:
    using Word = Word_;
    using L = Lanes<Word>;
    using T = typename L::Value;
    static constexpr int K = sizeof(Word) == 64 && !Affine ? 16 : 8;
    static constexpr int cells = sizeof(T) * 2;  // cells of directions in a lane
    static constexpr int words = K / cells;  // words of directions in a row of a strip
    static_assert(K % cells == 0, "a row's directions fill whole words");

    // Aligns `count` pairs; with `shared`, all have the same query. With `traced`, within `table_bytes`, cigars too.
    void run(const Scheme& scheme, Pair* pairs, int count, bool shared, bool traced, int64_t table_bytes,
        Profiles profiles) {
        set_up(scheme, pairs, count, shared || count == 1, profiles);
        table_bytes_ = table_bytes;
        const bool direct = traced && table_size(0, cols_, rows_) <= table_bytes;
        std::vector<Border> borders;
        for (int64_t i = 0; i <= rows_; i++) {
            left_.h[i] = Word(left_value(i));
            left_.e[i] = left_.h[i] + minus_open_;
        }
        tracking_ = true;
        if (traced && !direct) {
            borders = forward(0, cols_, rows_, true);
        } else {
            if (direct) lay_out(0, cols_, rows_);
            sweep(0, cols_, rows_, direct);
        }
        tracking_ = false;
        ends_.finish();
        if (!traced) return;
        for (int l = 0; l < count; l++) pairs[l].begin_walk(scheme);
        if (direct) {
            walk_back(0);
        } else {
            backward(borders, cols_);
        }
        for (int l = 0; l < count; l++) pairs[l].end_walk(scheme);
    }

private:
    struct Border {  // H' and E' to the right of a column, by row
        int64_t column = 0;
        std::vector<Word> h, e;
    };
    using State = Strip<Word, K, Affine>;

    void set_up(const Scheme& scheme, Pair* pairs, int count, bool shared, Profiles profiles) {
        scheme_ = &scheme;
        pairs_ = pairs;
        count_ = count;
        rows_ = cols_ = 0;
        band_low_ = INT32_MAX;
        band_high_ = INT32_MIN;
        row_ends_.clear();
        for (int l = 0; l < count; l++) {
            rows_ = std::max<int64_t>(rows_, pairs[l].n);
            cols_ = std::max<int64_t>(cols_, pairs[l].m);
            band_low_ = std::min<int64_t>(band_low_, pairs[l].band_low);
            band_high_ = std::max<int64_t>(band_high_, pairs[l].band_high);
            row_ends_.push_back(pairs[l].n);
        }
        std::sort(row_ends_.begin(), row_ends_.end());
        row_ends_.erase(std::unique(row_ends_.begin(), row_ends_.end()), row_ends_.end());
        bias_ = sizeof(T) >= 4 || Local ? 0 : std::numeric_limits<T>::min() - range(scheme, rows_, cols_).low;
        minus_open_ = Word(T(-scheme.opening()));
        minus_extend_ = Word(T(-scheme.extend));
        outside_ = Word(T(bias_ - 3 * scheme.opening() - 1));
        left_.h.resize(size_t(rows_) + 1);
        left_.e.resize(size_t(rows_) + 1);
        symbols_.set_up(scheme, pairs, count, shared, rows_, cols_, profiles);
        ends_.set_up(scheme, pairs, count, bias_);
        if (Local) return;
        for (int l = 0; l < count; l++) {  // alignments that leave a whole sequence unaligned
            if (scheme.cheap(scheme.ends.target_end)) ends_.offer_in_row(l, left_value(pairs[l].n), 0);
            if (scheme.cheap(scheme.ends.query_end)) ends_.offer_in_column(l, top_value(pairs[l].m), 0);
        }
    }

    T left_value(int64_t i) const {  // H' of column 0
        return T(bias_ + scheme_->ends.query_start.border(i, scheme_->shift()));
    }
    T top_value(int64_t j) const {  // H' of row 0
        return T(bias_ + scheme_->ends.target_start.border(j, scheme_->shift()));
    }

    // ---- the rows of a strip that the band leaves: first < row <= last, rows counted from 1 ----
    int64_t first_row(int64_t c0) const { return std::min(rows_, std::max<int64_t>(0, c0 - band_high_)); }
    int64_t last_row(int64_t c0, int64_t rows) const {
        return std::max(std::min(first_row(c0), rows), std::min(rows, c0 + K - band_low_));
    }
    int64_t table_size(int64_t c0, int64_t c1, int64_t rows) const {
        int64_t size = 0;
        for (int64_t c = c0; c < c1; c += K) size += std::max<int64_t>(0, last_row(c, rows) - first_row(c));
        return size * words * int64_t(sizeof(Word));
    }
    void lay_out(int64_t c0, int64_t c1, int64_t rows) {
        strip_start_.clear();
        table_column_ = c0;
        int64_t size = 0;
        for (int64_t c = c0; c < c1; c += K) {
            strip_start_.push_back((size - first_row(c)) * words);
            size += std::max<int64_t>(0, last_row(c, rows) - first_row(c));
        }
        if (table_.size() < size_t(size * words)) table_ = std::vector<Word>(size_t(size * words));
    }

    // From the border at c0, in left_, to the border at c1, left there.
    void sweep(int64_t c0, int64_t c1, int64_t rows, bool recorded) {
        int64_t reached = rows;
        for (int64_t c = c0; c < c1; c += K) {
            const int64_t last = last_row(c, rows);
            for (int64_t i = reached + 1; i <= last; i++) left_.h[i] = left_.e[i] = outside_;
            reached = last;
            strip(c, first_row(c), last, recorded ? table_.data() + strip_start_[(c - table_column_) / K] : nullptr);
        }
        for (int64_t i = reached + 1; i <= rows; i++) left_.h[i] = left_.e[i] = outside_;
        left_.column = c1;
    }

    void strip(int64_t c0, int64_t first, int64_t last, Word* table) {
        State state;
        for (int k = 0; k < K; k++) {
            state.h[k] = first == 0 ? Word(top_value(c0 + k + 1)) : outside_;
            if (Affine) state.f[k] = state.h[k] + minus_open_;
        }
        symbols_.build(c0);
        bool watch = false;
        for (int l = 0; l < count_; l++) watch |= pairs_[l].m > c0 && pairs_[l].m <= c0 + K;
        watch = watch && tracking_ && !Local && scheme_->cheap(scheme_->ends.query_end);
        Word diagonal = first == 0 ? Word(top_value(c0)) : left_.h[first];
        int64_t row = first;
        for (const int64_t end : row_ends_) {
            const int64_t stop = std::min(end, last);
            if (row < stop) rows(state, diagonal, c0, row, stop, table, watch);
            row = std::max(row, stop);
            if (tracking_ && !Local && end == row && row > 0) ends_.template last_row<State, K>(state, c0, row);
        }
    }

    void rows(State& state, Word& diagonal, int64_t c0, int64_t from, int64_t to, Word* table, bool watch) {
        using Kind = typename Symbols<Word, K>::Kind;
        const auto go = [&](const auto& scores_of) {
            if (table && watch) {
                rows_with<true, true>(state, diagonal, c0, from, to, table, scores_of);
            } else if (table) {
                rows_with<true, false>(state, diagonal, c0, from, to, table, scores_of);
            } else if (watch) {
                rows_with<false, true>(state, diagonal, c0, from, to, table, scores_of);
            } else {
                rows_with<false, false>(state, diagonal, c0, from, to, table, scores_of);
            }
        };
        if (symbols_.kind() == Kind::profile) go([&](int64_t i) { return symbols_.profile(i); });
        else if (symbols_.kind() == Kind::compare) go([&](int64_t i) { return symbols_.compare(i); });
        else if (symbols_.kind() == Kind::compare_codes) go([&](int64_t i) { return symbols_.compare_codes(i); });
        else go([&](int64_t i) { return symbols_.gather(i); });
    }

    template <bool Record, bool Watch, class ScoresOf>
    void rows_with(State& shared_state, Word& shared_diagonal, int64_t c0, int64_t from, int64_t to, Word* table,
        const ScoresOf& scores_of) {
        State state = shared_state;  // locals stay in registers
        Word diagonal = shared_diagonal;
        Word* const left_h = left_.h.data();
        Word* const left_e = left_.e.data();
        const Word minus_open = minus_open_, minus_extend = minus_extend_;
        for (int64_t i = from; i < to; i++) {
            Word left = left_h[i + 1], e = left_e[i + 1];
            const Word next_diagonal = left;
            const auto scores = scores_of(i);
            Word packed[words] = {};
            const auto put = [&](int k, Word bits) {
                packed[k / cells] = k % cells ? (packed[k / cells] << 4) | bits : bits;
            };
            if constexpr (Local) {
                state.row_local(scores, diagonal, left, e, minus_open, minus_extend, put);
                if (tracking_) ends_.template local_row<State, K>(state, c0, i + 1);
            } else if constexpr (Record) {
                state.row_directions(scores, diagonal, left, e, minus_open, put);
            } else {
                state.row(scores, diagonal, left, e, minus_open);
            }
            if constexpr (Record)
                for (int w = 0; w < words; w++) table[i * words + w] = packed[w];
            left_h[i + 1] = left;
            if (Affine) left_e[i + 1] = e;
            diagonal = next_diagonal;
            if constexpr (Watch) ends_.template last_column<State, K>(state, c0, i + 1);
        }
        shared_state = state;
        shared_diagonal = diagonal;
    }

    // ---- blocks of columns, where the whole table is too large ----
    std::vector<Border> forward(int64_t c0, int64_t c1, int64_t rows, bool to_the_end) {
        const int64_t border_bytes = 2 * rows * int64_t(sizeof(Word)) + 1;
        const int64_t wanted = 1 + 2 * table_size(c0, c1, rows) / std::max<int64_t>(1, table_bytes_);
        const int64_t blocks = std::max<int64_t>(2, std::min(wanted, table_bytes_ / border_bytes));
        const int64_t width = (c1 - c0 + blocks * K - 1) / (blocks * K) * K;  // less than all, as there are more than K
        std::vector<Border> borders;
        for (int64_t c = c0; c < c1; c += width) {
            left_.column = c;
            borders.push_back(left_);
            if (to_the_end || c + width < c1) sweep(c, std::min(c1, c + width), rows, false);
        }
        return borders;
    }

    void backward(std::vector<Border>& borders, int64_t c1) {
        while (!borders.empty()) {
            left_ = std::move(borders.back());
            borders.pop_back();
            const int64_t c0 = left_.column;
            int64_t rows = 0;
            for (int l = 0; l < count_; l++)
                if (pairs_[l].walking && pairs_[l].walk.j > c0) rows = std::max(rows, pairs_[l].walk.i);
            if (rows > 0) trace(c0, c1, rows);
            c1 = c0;
        }
    }

    void trace(int64_t c0, int64_t c1, int64_t rows) {
        if (c1 - c0 <= K || table_size(c0, c1, rows) <= table_bytes_) {
            lay_out(c0, c1, rows);
            sweep(c0, c1, rows, true);
            walk_back(c0);
            return;
        }
        std::vector<Border> borders = forward(c0, c1, rows, false);
        backward(borders, c1);
    }

    // ---- the walk ----
    void walk_back(int64_t c0) {
        for (int l = 0; l < count_; l++) {
            Pair& pair = pairs_[l];
            Walk& walk = pair.walk;
            while (pair.walking && walk.j > c0) {
                const int64_t column = walk.j - 1 - table_column_;
                const int k = int(column % K);
                const Word& word = table_[strip_start_[column / K] + (walk.i - 1) * words + k / cells];
                const uint32_t bits = uint32_t(L::get(word, l)) >> (4 * (cells - 1 - k % cells));
                const bool goes_on = step(walk, bits & 15, [&](uint32_t operation) { pair.push(operation, 1); });
                pair.walking = goes_on && walk.i > 0 && walk.j > 0;
            }
        }
    }

    const Scheme* scheme_ = nullptr;
    Pair* pairs_ = nullptr;
    int count_ = 0;
    int64_t rows_ = 0, cols_ = 0, band_low_ = 0, band_high_ = 0, bias_ = 0, table_bytes_ = 0, table_column_ = 0;
    bool tracking_ = true;
    Word minus_open_, minus_extend_, outside_;
    Border left_;
    Symbols<Word, K> symbols_;
    Ends<Word> ends_;
    std::vector<int64_t> row_ends_, strip_start_;
    std::vector<Word> table_;
};

}  // namespace nw
}  // namespace gpualign
