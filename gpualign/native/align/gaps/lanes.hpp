// Bounded-gap alignment of as many pairs at once as a word has lanes: the rows of
// algo/align/gaps/gapsmis.hpp over arrays.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "algo/align/gaps/gapsmis.hpp"
#include "simd/lanes.hpp"

namespace gpualign {

template <class T> GPUALIGN_HD Vec<T> copy_of(const Vec<T>& word) { return Vec<T>(word.v); }

namespace gapsmis {

// Symbols as codes 0..symbols-1 and a symbols x symbols table of scores, row = pattern.
struct Scoring {
    const int16_t* table;
    int32_t symbols;
    bool by_equality;  // score(a,b) is match where a == b < matching and mismatch elsewhere
    int32_t match, mismatch, matching;
    int32_t smallest, largest;
};

struct Pair {
    const uint8_t* pattern;
    const uint8_t* text;
    int32_t m, n;
    int64_t index;  // where its result goes
};

struct Results {
    int32_t* score;
    int32_t* gaps;
    int32_t* start;
    int32_t* end;
    Gap* gap_list;  // K a pair; null: scores only
};

// Scores of one row against the columns; codes of lanes that share no symbol are looked up one by one.
template <class Word> class Scores {
    using L = Lanes<Word>;
    using Scalar = typename L::Value;

public:
    Scores(const Scoring& scoring, const Model& model, const Pair* pairs, int used, int columns)
        : scoring_(scoring), added_(2 * model.extend), pairs_(pairs), used_(used), text_(size_t(columns) + 1) {
        for (int j = 1; j <= columns; j++)
            text_[size_t(j)] = L::filled(
                used, [&](int lane) { return j <= pairs[lane].n ? text_code(pairs[lane].text[j - 1]) : Scalar(0); });
        one_text_ = !scoring.by_equality;
        for (int lane = 1; lane < used; lane++) one_text_ &= pairs[lane].text == pairs[0].text;
        if (!scoring.by_equality) profile_.resize(size_t(scoring.symbols));
    }

    void start_row(int i) {
        const auto code = [&](int lane) { return i <= pairs_[lane].m ? pairs_[lane].pattern[i - 1] : uint8_t(0); };
        pattern_ = L::filled(used_, [&](int lane) { return Scalar(code(lane)); });
        if (one_text_)
            for (int symbol = 0; symbol < scoring_.symbols; symbol++)
                profile_[size_t(symbol)] = L::filled(used_, [&](int lane) { return look_up(code(lane), symbol); });
    }

    Word equality(int j) const {
        return select(text_[size_t(j)] == pattern_, Word(Scalar(scoring_.match + added_)),
            Word(Scalar(scoring_.mismatch + added_)));
    }

    bool by_profile() const { return one_text_; }
    Word profile(int j) const { return profile_[size_t(L::get(text_[size_t(j)], 0))]; }

    Word table(int j) const {
        const Word& text = text_[size_t(j)];
        return L::filled(used_, [&](int lane) { return look_up(L::get(pattern_, lane), L::get(text, lane)); });
    }

private:
    // Symbols that match nothing, not even themselves, are told from the pattern's by their sign.
    Scalar text_code(uint8_t code) const {
        return scoring_.by_equality && code >= scoring_.matching ? Scalar(-1) : Scalar(code);
    }

    Scalar look_up(int row, int column) const {
        return Scalar(scoring_.table[row * scoring_.symbols + column] + added_);
    }

    const Scoring& scoring_;
    const int32_t added_;
    const Pair* pairs_;
    const int used_;
    std::vector<Word> text_, profile_;
    Word pattern_;
    bool one_text_;
};

// Aligns the pairs of one word. fixed_gaps is K where it is known at compile time, else -1.
template <class Word, int fixed_gaps, bool Strict> class Group {
    using L = Lanes<Word>;
    using Scalar = typename L::Value;
    static constexpr int layers_per_word = 8 * int(sizeof(Scalar)) / direction_bits<Strict>;
    static constexpr int max_gaps = fixed_gaps >= 0 ? fixed_gaps : 64;

public:
    // `pairs` has 1..L::count entries whose values fit the word with model.unreached.
    Group(const Model& model, const Scoring& scoring, const Pair* pairs, int used)
        : model_(model), equality_(scoring.by_equality), pairs_(pairs), used_(used),
          rows_(longest(pairs, used, &Pair::m)), columns_(longest(pairs, used, &Pair::n)),
          scores_(scoring, model, pairs, used, columns_), text_ends_(Word(Scalar(0))),
          state_(size_t(columns_ + 1) * width()), best_(size_t(used)) {
        for (int lane = 0; lane < used; lane++) {
            L::set(text_ends_, lane, Scalar(pairs[lane].n));
            best_[size_t(lane)] = best_without_text(model, pairs[lane].m, pairs[lane].n);
        }
    }

    void align(const Results& results) {
        fill_top();
        finish_row(0);
        if (!results.gap_list) {
            run<false>(0, rows_, nullptr);
        } else {
            // A band of rows keeps its directions; above sqrt(m (2K+1)) rows, bands are computed again from
            // checkpoints.
            const int64_t cells = int64_t(rows_) * columns_ * int64_t(sizeof(Word)) * words();
            int band = std::max(rows_, 1);
            if (cells > max_bytes) band = int(std::sqrt(double(rows_) * double(width()))) + 1;
            trace(band, results);
        }
        for (int lane = 0; lane < used_; lane++) write(lane, results);
    }

    static constexpr int64_t max_bytes = int64_t(32) << 20;

private:
    int gaps() const { return fixed_gaps >= 0 ? fixed_gaps : model_.gaps; }
    int width() const { return 2 * gaps() + 1; }
    int words() const { return std::max(1, (gaps() + layers_per_word - 1) / layers_per_word); }
    Word* column(int j) { return state_.data() + size_t(j) * size_t(width()); }

    static int longest(const Pair* pairs, int used, int32_t Pair::* length) {
        int maximum = 0;
        for (int lane = 0; lane < used; lane++) maximum = std::max(maximum, pairs[lane].*length);
        return maximum;
    }

    void fill_top() {
        for (int j = 1; j <= columns_; j++)
            for (int q = 0; q <= gaps(); q++) {
                column(j)[q] = Word(Scalar(model_.top(q, j)));
                if (q < gaps()) column(j)[gaps() + 1 + q] = column(j)[q];
            }
    }

    // Rows first+1..last, from the state after row `first`.
    template <bool Trace> void run(int first, int last, Word* directions) {
        for (int i = first + 1; i <= last; i++) {
            scores_.start_row(i);
            if (equality_) row<Trace>(i, [&](int j) { return scores_.equality(j); }, directions);
            else if (scores_.by_profile()) row<Trace>(i, [&](int j) { return scores_.profile(j); }, directions);
            else row<Trace>(i, [&](int j) { return scores_.table(j); }, directions);
            if (directions) directions += size_t(columns_) * size_t(words());
            if (!retracing_) finish_row(i);
        }
    }

    template <bool Trace, class Score> void row(int i, Score score, Word* directions) {
        Word corner[max_gaps + 1], left_d[max_gaps + 1];
        const int K = gaps();
        for (int q = 0; q <= K; q++) {
            corner[q] = Word(Scalar(model_.border(q, i - 1)));
            left_d[q] = Word(Scalar(model_.border(q, i)));
        }
        Word* above = column(1);
        for (int j = 1; j <= columns_; j++, above += width()) {
            cell<Word, Strict, Trace, layers_per_word>(K, score(j), above, above + K + 1, left_d, corner, directions);
            if (Trace) directions += words();
        }
    }

    // The candidates of the lanes whose pattern ends with row i.
    void finish_row(int i) {
        bool none = true;
        for (int lane = 0; lane < used_; lane++) none &= pairs_[lane].m != i;
        if (none) return;
        for (int q = 0; q <= gaps(); q++) {
            Word best = Word(Scalar(model_.unreached)), end = Word(Scalar(0)), paid = Word(Scalar(0));
            for (int j = 1; j <= columns_; j++) {
                paid = paid + Word(Scalar(model_.extend));
                const Word here = Word(Scalar(j)), value = column(j)[q] - paid;
                auto better = (value > best) &
                              (model_.ends == no_end_free ? here == text_ends_ : here < text_ends_ + Word(Scalar(1)));
                best = select(better, value, best);
                end = select(better, here, end);
            }
            for (int lane = 0; lane < used_; lane++)
                if (pairs_[lane].m == i && L::get(end, lane) > 0)
                    best_[size_t(lane)].offer(model_.score(L::get(best, lane), q, i, 0), q, L::get(end, lane));
        }
    }

    void trace(int band, const Results& results) {
        std::vector<Word> directions(size_t(band) * size_t(columns_) * size_t(words()));
        std::vector<std::vector<Word>> checkpoints;
        int first = 0;
        for (; first + band < rows_; first += band) {
            checkpoints.push_back(state_);
            run<false>(first, first + band, nullptr);
        }
        run<true>(first, rows_, directions.data());
        std::vector<Walker<Strict>> walkers;
        for (int lane = 0; lane < used_; lane++) {
            const Best& best = best_[size_t(lane)];
            walkers.emplace_back(pairs_[lane].m, std::max(best.end, 0), std::max(best.gaps, 0));
        }
        retracing_ = true;
        for (;; first -= band) {
            for (int lane = 0; lane < used_; lane++)
                if (traced(lane)) walk(walkers[size_t(lane)], lane, first, directions, results);
            if (first == 0) break;
            state_ = std::move(checkpoints.back());
            checkpoints.pop_back();
            run<true>(first - band, first, directions.data());
        }
        for (int lane = 0; lane < used_; lane++) {
            if (!traced(lane)) continue;
            walkers[size_t(lane)].finish(model_, gap_list(lane, results));
            results.start[pairs_[lane].index] = walkers[size_t(lane)].j;
        }
    }

    bool traced(int lane) const {
        return best_[size_t(lane)].gaps >= 0 && model_.possible(pairs_[lane].m, pairs_[lane].n);
    }
    Gap* gap_list(int lane, const Results& results) const { return results.gap_list + pairs_[lane].index * gaps(); }

    void walk(
        Walker<Strict>& walker, int lane, int first, const std::vector<Word>& directions, const Results& results) {
        auto bits = [&](int i, int j, int q) {
            const size_t cell = size_t(i - first - 1) * size_t(columns_) + size_t(j - 1);
            const Word& word = directions[cell * size_t(words()) + size_t((q - 1) / layers_per_word)];
            return int32_t(
                uint32_t(int32_t(L::get(word, lane))) >> (direction_bits<Strict> * ((q - 1) % layers_per_word)));
        };
        walker.advance(bits, first, gap_list(lane, results));
    }

    void write(int lane, const Results& results) const {
        const Pair& pair = pairs_[lane];
        const bool possible = model_.possible(pair.m, pair.n);
        const Best& best = best_[size_t(lane)];
        results.score[pair.index] = possible ? best.score : no_score;
        results.gaps[pair.index] = possible ? best.gaps : -1;
        results.end[pair.index] = possible ? best.end : -1;
        if (!possible || !results.gap_list)
            results.start[pair.index] = possible && model_.ends != both_ends_free ? 0 : -1;
    }

    const Model model_;
    const bool equality_;
    const Pair* pairs_;
    const int used_, rows_, columns_;
    Scores<Word> scores_;
    Word text_ends_;
    std::vector<Word> state_;
    std::vector<Best> best_;
    bool retracing_ = false;
};

}  // namespace gapsmis
}  // namespace gpualign
