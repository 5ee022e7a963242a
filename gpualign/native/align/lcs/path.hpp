// The longest common subsequence itself, in linear space: Hirschberg (1975), "A linear space algorithm for computing
// maximal common subsequences", on bit-parallel rows.
//
// A problem whose rows fit the budget is solved by keeping them all and walking back; a larger one is halved at the
// middle of the subject. Either way the leftmost subsequence comes out (algo/align/lcs/walk.hpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "algo/align/lcs/lcs.hpp"
#include "algo/align/lcs/walk.hpp"

namespace gpualign {

class LcsPath {
public:
    std::vector<int64_t> query_positions, subject_positions;

    // Replaces the positions by the matched ones in ascending order.
    //   symbols    codes from `symbols` on match nothing
    //   row_bytes  most bytes of rows to keep at once
    void align(const uint16_t* query, int64_t m, const uint16_t* subject, int64_t n, int symbols, int64_t row_bytes) {
        symbols_ = symbols;
        row_bytes_ = row_bytes;
        query_positions.clear();
        subject_positions.clear();
        solve(query, m, 0, subject, n, 0);
        check(query, subject);
    }

private:
    static constexpr int tile = 8;  // words

    int symbols_ = 0;
    int64_t row_bytes_ = 0;
    std::vector<uint64_t> masks_;    // [tile][symbol][word in tile]
    std::vector<uint64_t> rows_;     // [tile][subject symbol][word in tile], increments
    std::vector<uint64_t> carries_;  // [subject symbol / 64]

    static int64_t tiles_of(int64_t m) { return (m + 64 * tile - 1) / (64 * tile); }

    void build_masks(const uint16_t* query, int64_t m, bool backwards) {
        const int64_t per_tile = int64_t(symbols_ + 1) * tile;
        masks_.assign(size_t(tiles_of(m) * per_tile), 0);
        for (int64_t i = 0; i < m; i++) {
            const uint16_t c = query[backwards ? m - 1 - i : i];
            if (c < symbols_) masks_[size_t(i / (64 * tile) * per_tile + c * tile + i / 64 % tile)] |= 1ull << (i % 64);
        }
    }

    // Runs the subject through one tile; keep(j, row) sees the row after each symbol, and the last row is left in
    // `row`.
    template <class Keep>
    void run_tile(int64_t t, const uint16_t* subject, int64_t n, bool backwards, uint64_t (&row)[tile], Keep&& keep) {
        const uint64_t* masks = masks_.data() + t * (symbols_ + 1) * tile;
        for (uint64_t& word : row) word = lcs_first_row<uint64_t>();
        for (int64_t first = 0; first < n; first += 64) {
            const int count = int(std::min<int64_t>(64, n - first));
            uint64_t in = carries_[size_t(first / 64)], out = 0;
            for (int64_t j = first; j < first + count; j++) {
                const uint64_t* mask = masks + subject[backwards ? n - 1 - j : j] * tile;
                lcs_column(row, [&](int w) { return mask[w]; }, in, out);
                keep(j, row);
            }
            carries_[size_t(first / 64)] = out << (64 - count);
        }
    }

    void start(const uint16_t* query, int64_t m, int64_t n, bool backwards) {
        build_masks(query, m, backwards);
        carries_.assign(size_t(n / 64 + 1), 0);
    }

    // The increments after the whole subject.
    std::vector<uint64_t> last_row(
        const uint16_t* query, int64_t m, const uint16_t* subject, int64_t n, bool backwards) {
        std::vector<uint64_t> grows;
        grows.reserve(size_t(tiles_of(m) * tile));
        start(query, m, n, backwards);
        for (int64_t t = 0; t < tiles_of(m); t++) {
            uint64_t row[tile];
            run_tile(t, subject, n, backwards, row, [](int64_t, const uint64_t*) {});
            for (uint64_t word : row) grows.push_back(lcs_grows(word));
        }
        return grows;
    }

    void solve(
        const uint16_t* query, int64_t m, int64_t query_at, const uint16_t* subject, int64_t n, int64_t subject_at) {
        if (m == 0 || n == 0) return;
        if (tiles_of(m) * tile * 8 * n <= row_bytes_ || n == 1) {
            walk_back(query, m, query_at, subject, n, subject_at);
            return;
        }
        const int64_t half = n / 2;
        const int64_t split =
            best_split(last_row(query, m, subject, half, false), last_row(query, m, subject + half, n - half, true), m);
        solve(query, split, query_at, subject, half, subject_at);
        solve(query + split, m - split, query_at + split, subject + half, n - half, subject_at + half);
    }

    // The smallest i that maximises LCS(query[0..i), first half) + LCS(query[i..m), second half).
    static int64_t best_split(const std::vector<uint64_t>& forward, const std::vector<uint64_t>& backward, int64_t m) {
        const auto bit = [](const std::vector<uint64_t>& row, int64_t i) {
            return int64_t(row[size_t(i / 64)] >> (i % 64) & 1);
        };
        int64_t gain = 0, best_gain = 0, best = 0;  // against i = 0
        for (int64_t i = 1; i <= m; i++) {
            gain += bit(forward, i - 1) - bit(backward, m - i);
            if (gain > best_gain) best_gain = gain, best = i;
        }
        return best;
    }

    // A path that is not a common subsequence is a defect of this file, and must not reach anybody's output.
    void check(const uint16_t* query, const uint16_t* subject) const {
        for (size_t k = 0; k < query_positions.size(); k++) {
            const int64_t i = query_positions[k], j = subject_positions[k];
            const bool ascends = k == 0 || (query_positions[k - 1] < i && subject_positions[k - 1] < j);
            if (!ascends || query[i] != subject[j] || query[i] >= symbols_)
                throw std::logic_error("the path found is not a common subsequence");
        }
    }

    void walk_back(
        const uint16_t* query, int64_t m, int64_t query_at, const uint16_t* subject, int64_t n, int64_t subject_at) {
        const size_t size = size_t(tiles_of(m) * tile * n);
        if (rows_.size() < size) rows_.resize(size);
        start(query, m, n, false);
        for (int64_t t = 0; t < tiles_of(m); t++) {
            uint64_t row[tile];
            uint64_t* kept = rows_.data() + t * n * tile;
            run_tile(t, subject, n, false, row, [&](int64_t j, const uint64_t* words) {
                for (int w = 0; w < tile; w++) kept[j * tile + w] = lcs_grows(words[w]);
            });
        }
        const size_t before = query_positions.size();
        const auto grows = [&](int64_t j, int64_t w) {
            return rows_[size_t((w / tile * n + j - 1) * tile + w % tile)];
        };
        const auto equal = [&](int64_t j, int64_t w) {
            return masks_[size_t((w / tile * (symbols_ + 1) + subject[j - 1]) * tile + w % tile)];
        };
        int64_t i = m, j = n;
        const auto found = [&](bool match, int64_t at, int64_t symbol) {
            if (!match) return;
            query_positions.push_back(query_at + at);
            subject_positions.push_back(subject_at + symbol);
        };
        lcs_walk_back<uint64_t>(OneLane(), i, j, int64_t(0), grows, equal, found);
        std::reverse(query_positions.begin() + int64_t(before), query_positions.end());
        std::reverse(subject_positions.begin() + int64_t(before), subject_positions.end());
    }
};

}  // namespace gpualign
