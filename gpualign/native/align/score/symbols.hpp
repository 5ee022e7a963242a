// The symbols of a group of pairs as the strips want them: a profile where the query is shared, interleaved codes where
// every lane has its own.
#pragma once
#include <cstring>
#include <vector>

#include "align/score/scheme.hpp"

namespace gpualign {
namespace nw {

template <class Word, int K> class Symbols {
public:
    using L = Lanes<Word>;
    using T = typename L::Value;
    enum class Kind { profile, compare, compare_codes, gather };

    struct Profile {  // scores of one query symbol against the strip
        const Word* row;
        GPUALIGN_HD Word operator()(int k) const { return row[k]; }
    };
    struct Compare {  // match where the symbols are equal
        const Word* columns;
        Word row, match, mismatch;
        GPUALIGN_HD Word operator()(int k) const { return select(row == columns[k], match, mismatch); }
    };
    struct CompareCodes {  // and a score of its own, no lower than a mismatch, for ambiguity codes
        const Word *columns, *of_columns;  // of_columns, of_row: that score where there is a code, else the worst
        Word row, of_row, match, mismatch;
        GPUALIGN_HD Word operator()(int k) const {
            return max(select(row == columns[k], match, mismatch), max(of_row, of_columns[k]));
        }
    };

    void set_up(const Scheme& scheme, const Pair* pairs, int count, bool shared, int64_t rows, int64_t columns,
        Profiles profiles) {
        scheme_ = &scheme;
        pairs_ = pairs;
        count_ = count;
        // a padded row or column must lose where the best cell may be anywhere
        kind_ = Kind::gather;
        if (shared) kind_ = Kind::profile;
        else if (scheme.match_mismatch && !(scheme.local && scheme.scores[1] > 0)) kind_ = Kind::compare;
        else if (scheme.unambiguous && !scheme.local) kind_ = Kind::compare_codes;
        worst_ = T(std::min(0, scheme.lowest()) + 2 * scheme.shift());
        if (kind_ == Kind::gather) tabulate();
        if (kind_ != Kind::profile) interleave(rows);
        each_ = size_t(scheme.symbols) * K;
        keep_ = profiles != Profiles::of_one_call && kind_ == Kind::profile &&
                size_t((columns + K - 1) / K) * each_ * sizeof(Word) <= kept_bytes;
        if (profiles != Profiles::as_before || !keep_) built_ = 0;
    }

    Kind kind() const { return kind_; }

    void build(int64_t c0) {
        const size_t strip = keep_ ? size_t(c0 / K) : 0;
        at_ = strip * each_;
        if (strip < built_) return;
        const int past = kind_ == Kind::gather ? scheme_->symbols : beyond;
        for (int k = 0; k < K; k++)
            columns_[k] = L::filled(L::count, [&](int l) {
                const Pair& pair = pairs_[l < count_ ? l : 0];
                return c0 + k < pair.m ? T(pair.target[c0 + k]) : T(past);
            });
        if (kind_ == Kind::compare_codes)
            for (int k = 0; k < K; k++) {
                of_columns_[k] = Word(worst_);
                for (int l = 0; l < count_; l++)
                    if (c0 + k < pairs_[l].m && is_code(pairs_[l].target[c0 + k]))
                        L::set(of_columns_[k], l, with_code());
            }
        if (kind_ != Kind::profile) return;
        if (table_.size() < at_ + each_) table_.resize(at_ + each_);
        if (keep_) built_ = strip + 1;
        if (build_by_permutation()) return;
        T columns[K][L::count];
        std::memcpy(columns, columns_, sizeof columns);
        T of_symbol[beyond + 1];
        of_symbol[beyond] = worst_;
        for (int symbol = 0; symbol < scheme_->symbols; symbol++) {
            for (int other = 0; other < scheme_->symbols; other++) of_symbol[other] = score(symbol, other);
            for (int k = 0; k < K; k++)
                table_[at_ + size_t(symbol * K + k)] =
                    L::filled(L::count, [&](int l) { return of_symbol[columns[k][l]]; });
        }
    }

    Profile profile(int64_t i) const { return {table_.data() + at_ + pairs_[0].query[i] * K}; }
    Compare compare(int64_t i) const {
        const int shift = 2 * scheme_->shift();
        return {columns_, rows_[i], Word(T(scheme_->scores[0] + shift)), Word(T(scheme_->scores[1] + shift))};
    }
    CompareCodes compare_codes(int64_t i) const {
        const Compare plain = compare(i);
        const Word of_row = select(plain.row == Word(T(coded)), Word(with_code()), Word(worst_));
        return {columns_, of_columns_, plain.row, of_row, plain.match, plain.mismatch};
    }
    Profile gather(int64_t i) {
        int32_t row[L::count];  // where its scores begin
        for (int l = 0; l < L::count; l++) row[l] = int32_t(L::get(rows_[size_t(i)], l)) * (scheme_->symbols + 1);
        for (int k = 0; k < K; k++) {
            T lanes[L::count];
            std::memcpy(lanes, &columns_[k], sizeof lanes);
            for (int l = 0; l < L::count; l++) lanes[l] = scores_[size_t(row[l] + lanes[l])];
            std::memcpy(&gathered_[k], lanes, sizeof lanes);
        }
        return {gathered_};
    }

private:
    static constexpr int beyond = 101;  // no symbol: past the end of a sequence
    static constexpr int never = 100;  // a query's symbol that matches nothing, not even itself
    static constexpr int coded = 102;  // an ambiguity code of the query
    static constexpr size_t kept_bytes = 1 << 20;

    T score(int row, int column) const {
        if (row == beyond || column == beyond) return worst_;
        return T(scheme_->scores[row * scheme_->symbols + column] + 2 * scheme_->shift());
    }

    bool is_code(int symbol) const { return symbol >= scheme_->unambiguous; }
    T with_code() const { return T(scheme_->scores[scheme_->symbols * scheme_->symbols - 1] + 2 * scheme_->shift()); }

    // A symbol's scores fit one vector of 32 lanes, so that a permutation by the columns' symbols looks up all lanes.
    bool build_by_permutation() {
        if constexpr (L::count == 32 && sizeof(T) == 2) {
            if (scheme_->symbols > 31) return false;
            Word columns[K];
            for (int k = 0; k < K; k++) columns[k] = min(columns_[k], Word(T(31)));  // `beyond` is the last
            for (int symbol = 0; symbol < scheme_->symbols; symbol++) {
                Word scores = Word(worst_);
                for (int other = 0; other < scheme_->symbols; other++) scores.set(other, score(symbol, other));
                for (int k = 0; k < K; k++)
                    table_[at_ + size_t(symbol * K + k)] = Word(__builtin_shuffle(scores.v, columns[k].v));
            }
            return true;
        }
        return false;
    }

    // Scores by row and column, the last of each past the end of a sequence.
    void tabulate() {
        const int symbols = scheme_->symbols;
        scores_.assign(size_t(symbols + 1) * size_t(symbols + 1), worst_);
        for (int row = 0; row < symbols; row++)
            for (int column = 0; column < symbols; column++)
                scores_[size_t(row * (symbols + 1) + column)] = score(row, column);
    }

    void interleave(int64_t rows) {
        rows_.resize(size_t(rows));
        for (int64_t i = 0; i < rows; i++)
            rows_[size_t(i)] = L::filled(L::count, [&](int l) {
                const Pair& pair = pairs_[l < count_ ? l : 0];
                const int code = i < pair.n ? pair.query[i] : beyond;
                if (kind_ == Kind::compare && (code == beyond || code == scheme_->symbols - 1)) return T(never);
                if (kind_ == Kind::gather && code == beyond) return T(scheme_->symbols);
                if (kind_ == Kind::compare_codes) return T(code == beyond ? never : is_code(code) ? coded : code);
                return T(code);
            });
    }

    const Scheme* scheme_ = nullptr;
    const Pair* pairs_ = nullptr;
    int count_ = 0;
    Kind kind_ = Kind::profile;
    T worst_ = 0;
    bool keep_ = false;
    size_t each_ = 0, at_ = 0,
           built_ = 0;  // words of a strip's profile, where this strip's begins, strips that are there
    Word columns_[K], of_columns_[K], gathered_[K];
    std::vector<Word> table_, rows_;
    std::vector<T> scores_;
};

}  // namespace nw
}  // namespace gpualign
