// Scores of local alignments of one query with as many targets as a vector has bytes, in bytes that saturate: what does
// not fit is found, and left to wider lanes.
#pragma once
#include <vector>

#include "align/score/scheme.hpp"
#include "simd/saturated.hpp"

namespace gpualign {
namespace nw {

class LocalBytes {
public:
    using Word = Vec<int8_t>;
    static constexpr int lanes = Word::lanes;

    static bool suits(const Scheme& scheme) {
        return scheme.local && scheme.symbols <= 31 && scheme.open <= 100 && scheme.lowest() >= -100 &&
               scheme.highest() <= 100 && scheme.highest() > 0;
    }

    // Scores of `count` pairs with the same query; -1 where a byte may be too small.
    void run(const Scheme& scheme, Pair* pairs, int count) {
        const int64_t n = pairs[0].n;
        int64_t columns = 0;
        for (int l = 0; l < count; l++) columns = std::max<int64_t>(columns, pairs[l].m);
        left_.assign(2 * size_t(n), Word(zero));
        table_.resize(size_t(scheme.symbols) * K);
        Word best = Word(zero);
        for (int64_t c0 = 0; c0 < columns; c0 += K) {
            build(scheme, pairs, count, c0);
            best = max(best, strip(scheme, pairs[0].query, n));
        }
        for (int l = 0; l < count; l++) {
            pairs[l].score = best[l] == INT8_MAX ? -1 : best[l] - zero;
        }
    }

private:
    static constexpr int K = lanes == 64 ? 8 : 4;  // columns that registers hold
    static constexpr int8_t zero = INT8_MIN;

    // Each symbol's scores against the strip's columns.
    void build(const Scheme& scheme, const Pair* pairs, int count, int64_t c0) {
        int8_t scores[32][32];  // by the query's symbol; the last is past a target's end
        for (int a = 0; a < scheme.symbols; a++)
            for (int b = 0; b < 32; b++)
                scores[a][b] = b < scheme.symbols ? int8_t(scheme.scores[a * scheme.symbols + b]) : int8_t(zero);
        for (int k = 0; k < K; k++) {
            Word column;
            for (int l = 0; l < lanes; l++) {
                const bool inside = l < count && c0 + k < pairs[l].m;
                column.set(l, inside ? int8_t(pairs[l].target[c0 + k]) : int8_t(31));
            }
            for (int a = 0; a < scheme.symbols; a++) table_[size_t(a * K + k)] = look_up(scores[a], column);
        }
    }

    Word strip(const Scheme& scheme, const uint8_t* query, int64_t n) {
        const Word open = Word(int8_t(scheme.open)), extend = Word(int8_t(scheme.extend));
        Word h[K], f[K], best = Word(zero), diagonal = Word(zero);
        for (int k = 0; k < K; k++) h[k] = f[k] = Word(zero);
        for (int64_t i = 0; i < n; i++) {
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
