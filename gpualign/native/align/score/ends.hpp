// Ends of a group's alignments: in the last row and column, or anywhere (local).
#pragma once
#include "align/score/scheme.hpp"

namespace gpualign {
namespace nw {

template <class Word> class Ends {
public:
    using L = Lanes<Word>;
    using T = typename L::Value;

    void set_up(const Scheme& scheme, Pair* pairs, int count, int64_t bias) {
        scheme_ = &scheme;
        pairs_ = pairs;
        count_ = count;
        bias_ = bias;
        for (int l = 0; l < L::count; l++) best_[l] = {INT64_MIN, 0, 0};
        threshold_ = Word(T(0));
        for (int l = 0; l < count; l++) {
            in_row_[l] = bias + scheme.shift() * int64_t(pairs[l].n) + scheme.ends.target_end.cost(int64_t(pairs[l].m));
            in_column_[l] =
                bias + scheme.shift() * int64_t(pairs[l].m) + scheme.ends.query_end.cost(int64_t(pairs[l].n));
        }
    }

    // Offers (i, j), where the alignment, with what follows it, has this score.
    void offer(int lane, int64_t score, int64_t i, int64_t j) {
        const End found{score, i, j};
        End& best = best_[lane];
        if (found.preferred_to(best, scheme_->whole(), pairs_[lane].n, pairs_[lane].m)) best = found;
    }

    // Offers H' at (n, j), j < m, and at (i, m), i < n: a gap of the symbols that are left costs as much less than one
    // of all as they are fewer.
    void offer_in_row(int lane, T value, int64_t j) {
        offer(
            lane, value - in_row_[lane] - j * (scheme_->shift() - scheme_->ends.target_end.extend), pairs_[lane].n, j);
    }
    void offer_in_column(int lane, T value, int64_t i) {
        offer(lane, value - in_column_[lane] - i * (scheme_->shift() - scheme_->ends.query_end.extend), i,
            pairs_[lane].m);
    }

    // A lane's last row: its corner, and all of it where gaps at the target's end are cheap.
    template <class Strip, int K> void last_row(const Strip& strip, int64_t c0, int64_t row) {
        const bool all = scheme_->cheap(scheme_->ends.target_end);
        for (int l = 0; l < count_; l++) {
            if (pairs_[l].n != row) continue;
            const int64_t m = pairs_[l].m;
            for (int64_t j = c0 + 1; all && j < std::min(m, c0 + K + 1); j++)
                offer_in_row(l, L::get(strip.h[j - c0 - 1], l), j);
            if (m > c0 && m <= c0 + K)
                offer(l, L::get(strip.h[m - c0 - 1], l) - bias_ - scheme_->shift() * (row + m), row, m);
        }
    }

    // A lane's last column but for the corner, where gaps at the query's end are cheap.
    template <class Strip, int K> void last_column(const Strip& strip, int64_t c0, int64_t row) {
        for (int l = 0; l < count_; l++) {
            const int64_t k = pairs_[l].m - c0 - 1;
            if (k >= 0 && k < K && row < pairs_[l].n) offer_in_column(l, L::get(strip.h[k], l), row);
        }
    }

    // Any cell of a row of a local alignment.
    template <class Strip, int K> GPUALIGN_HD void local_row(const Strip& strip, int64_t c0, int64_t row) {
        Word maximum = strip.h[0];
        for (int k = 1; k < K; k++) maximum = max(maximum, strip.h[k]);
        if (any(maximum > threshold_)) local_cells<Strip, K>(strip, maximum, c0, row);
    }

    void finish() {
        for (int l = 0; l < count_; l++) {
            const End& best = best_[l];
            const bool none = best.score == INT64_MIN;  // a local alignment without a positive score
            pairs_[l].score = none ? 0 : int32_t(best.score);
            pairs_[l].end_i = none ? 0 : int32_t(best.i);
            pairs_[l].end_j = none ? 0 : int32_t(best.j);
        }
    }

private:
    template <class Strip, int K> void local_cells(const Strip& strip, const Word& maximum, int64_t c0, int64_t row) {
        for (int l = 0; l < count_; l++) {
            const T value = L::get(maximum, l);
            if (value <= L::get(threshold_, l) || row > pairs_[l].n) continue;
            int k = 0;
            while (L::get(strip.h[k], l) != value) k++;
            offer(l, value - bias_, row, c0 + k + 1);
            L::set(threshold_, l, T(value - 1));
        }
    }

    const Scheme* scheme_ = nullptr;
    Pair* pairs_ = nullptr;
    int count_ = 0;
    int64_t bias_ = 0;
    int64_t in_row_[L::count], in_column_[L::count];  // what H' is more than a score at (n, 0), and at (0, m)
    End best_[L::count];
    Word threshold_ = Word(T(0));
};

}  // namespace nw
}  // namespace gpualign
