// Where a group's alignments end: in the last row and column, or anywhere (local).
#pragma once
#include "pairwise_scheme.hpp"

namespace gpualign {
namespace nw {

template <class Word>
class Ends {
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
    }

    // Offers H' at (i, j).
    void offer(int lane, T value, int64_t i, int64_t j) {
        const int64_t n = pairs_[lane].n, m = pairs_[lane].m;
        const int64_t rest = scheme_->ends.query_end.cost(n - i) + scheme_->ends.target_end.cost(m - j);
        const End found{int64_t(value) - bias_ - int64_t(scheme_->shift()) * (i + j) - rest, i, j};
        if (found.ahead_of(best_[lane], *scheme_, n, m)) best_[lane] = found;
    }

    // A lane's last row: its corner, or all of it where gaps at the target's end are cheap.
    template <class Strip, int K>
    void last_row(const Strip& strip, int64_t c0, int64_t row) {
        const bool all = scheme_->cheap(scheme_->ends.target_end);
        for (int l = 0; l < count_; l++) {
            if (pairs_[l].n != row) continue;
            for (int k = 0; k < K; k++) {
                const int64_t j = c0 + k + 1;
                if (j == pairs_[l].m || (all && j < pairs_[l].m)) offer(l, L::get(strip.h[k], l), row, j);
            }
        }
    }

    // A lane's last column where gaps at the query's end are cheap.
    template <class Strip, int K>
    void last_column(const Strip& strip, int64_t c0, int64_t row) {
        for (int l = 0; l < count_; l++) {
            const int64_t k = pairs_[l].m - c0 - 1;
            if (k >= 0 && k < K && row <= pairs_[l].n) offer(l, L::get(strip.h[k], l), row, pairs_[l].m);
        }
    }

    // Any cell of a row of a local alignment.
    template <class Strip, int K>
    GPUALIGN_HD void local_row(const Strip& strip, int64_t c0, int64_t row) {
        Word most = strip.h[0];
        for (int k = 1; k < K; k++) most = max(most, strip.h[k]);
        if (any(most > threshold_)) local_cells<Strip, K>(strip, most, c0, row);
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
    template <class Strip, int K>
    void local_cells(const Strip& strip, const Word& most, int64_t c0, int64_t row) {
        for (int l = 0; l < count_; l++) {
            const T value = L::get(most, l);
            if (value <= L::get(threshold_, l) || row > pairs_[l].n) continue;
            int k = 0;
            while (L::get(strip.h[k], l) != value) k++;
            offer(l, value, row, c0 + k + 1);
            L::set(threshold_, l, T(value - 1));
        }
    }

    const Scheme* scheme_ = nullptr;
    Pair* pairs_ = nullptr;
    int count_ = 0;
    int64_t bias_ = 0;
    End best_[L::count];
    Word threshold_ = Word(T(0));
};

}  // namespace nw
}  // namespace gpualign
