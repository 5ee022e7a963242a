// Scores of local alignments of one query with as many targets as a vector has lanes, in bytes or words of 16 bits that
// saturate: what does not fit is found, and left to wider lanes.
#pragma once
#include <limits>
#include <vector>

#include "align/score/scheme.hpp"
#include "simd/saturated.hpp"

namespace gpualign {
namespace nw {

template <class T> class LocalScores {
public:
    using Word = Vec<T>;
    static constexpr int lanes = Word::lanes;

    static bool suits(const Scheme& scheme) {
        constexpr int most = std::numeric_limits<T>::max() - 27;
        return scheme.local && scheme.symbols <= 31 && scheme.open <= most && scheme.lowest() >= -most &&
               scheme.highest() <= most && scheme.highest() > 0;
    }

    // Scores of `count` pairs with the same query; -1 where a lane may be too small.
    void run(const Scheme& scheme, Pair* pairs, int count) {
        const int64_t n = pairs[0].n;
        int64_t columns = 0, low = INT32_MAX, high = INT32_MIN;
        for (int l = 0; l < count; l++) {
            columns = std::max<int64_t>(columns, pairs[l].m);
            low = std::min<int64_t>(low, pairs[l].band_low), high = std::max<int64_t>(high, pairs[l].band_high);
        }
        left_.assign(2 * size_t(n), Word(zero));
        table_.resize(size_t(scheme.symbols) * K);
        Word best = Word(zero);
        for (int64_t c0 = 0; c0 < columns; c0 += K) {
            const int64_t first = std::clamp<int64_t>(c0 - high, 0, n), last = std::clamp<int64_t>(c0 + K - low, 0, n);
            if (first >= last) continue;
            build(scheme, pairs, count, c0);
            best = max(best, strip(scheme, pairs[0].query, first, last));
        }
        for (int l = 0; l < count; l++)
            pairs[l].score = best[l] == std::numeric_limits<T>::max() ? -1 : int32_t(best[l]) - zero;
    }

private:
    static constexpr int K = sizeof(Word) == 64 ? 8 : 4;  // columns that registers hold
    static constexpr T zero = std::numeric_limits<T>::min();

    // Each symbol's scores against the strip's columns.
    void build(const Scheme& scheme, const Pair* pairs, int count, int64_t c0) {
        T scores[32][32];  // by the query's symbol; the last is past a target's end
        for (int a = 0; a < scheme.symbols; a++)
            for (int b = 0; b < 32; b++)
                scores[a][b] = b < scheme.symbols ? T(scheme.scores[a * scheme.symbols + b]) : zero;
        for (int k = 0; k < K; k++) {
            const auto symbol = [&](int l) {
                return l < count && c0 + k < pairs[l].m ? pairs[l].target[c0 + k] : uint8_t(31);
            };
            if constexpr (sizeof(T) == 1) {
                const Word column = Lanes<Word>::filled(lanes, [&](int l) { return T(symbol(l)); });
                for (int a = 0; a < scheme.symbols; a++) table_[size_t(a * K + k)] = look_up(scores[a], column);
            } else {
                uint8_t column[lanes];
                for (int l = 0; l < lanes; l++) column[l] = symbol(l);
                for (int a = 0; a < scheme.symbols; a++)
                    table_[size_t(a * K + k)] = Lanes<Word>::filled(lanes, [&](int l) { return scores[a][column[l]]; });
            }
        }
    }

    // Rows first ... last - 1.
    Word strip(const Scheme& scheme, const uint8_t* query, int64_t first, int64_t last) {
        const Word open = Word(T(scheme.open)), extend = Word(T(scheme.extend));
        Word h[K], f[K], best = Word(zero), diagonal = first ? left_[size_t(2 * first - 2)] : Word(zero);
        for (int k = 0; k < K; k++) h[k] = f[k] = Word(zero);
        for (int64_t i = first; i < last; i++) {
            const Word* row = table_.data() + query[i] * K;
            Word left = left_[size_t(2 * i)], e = left_[size_t(2 * i + 1)];
            const Word next_diagonal = left;
            saturated_local_row<Word, K>([&](int k) { return row[k]; }, diagonal, left, e, h, f, open, extend, best);
            left_[size_t(2 * i)] = left;
            left_[size_t(2 * i + 1)] = e;
            diagonal = next_diagonal;
        }
        return best;
    }

    std::vector<Word> left_, table_;  // left_: H and E right of the last strip, by row
};

}  // namespace nw
}  // namespace gpualign
