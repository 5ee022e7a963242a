// Dynamic programming over a few windows: distances under constraints that bit vectors do not hold, and alignments.
//
// D[b][i][j] is the least number of errors of the first i rows, at most b of them insertions and deletions where these
// are limited, against a part of the text that ends before symbol j. A row that is fixed must match, and nothing may
// stand between two of them. Rows that hang over an end of the text cost floor(overhang * rows).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "align/patterns/patterns.hpp"

namespace gpualign {

inline constexpr int kFar = 1 << 20;

struct SearchAlignment {
    int64_t start;  // of the text
    int pattern_start, pattern_end;
};

class SearchMatrix {
public:
    explicit SearchMatrix(const SearchPatterns& patterns) : patterns_(patterns), settings_(patterns.settings()) {}

    // Calls each(column, value) after every symbol of a window. `at_begin`, `at_end`: it begins or ends where the
    // target does.
    template <class Each>
    void profile(
        const SearchPattern& pattern, const uint8_t* text, int64_t length, bool at_begin, bool at_end, Each&& each) {
        const int m = pattern.rows(), layers = layers_of(pattern.limit);
        const bool limited = bulges_limited(pattern.limit), hanging = settings_.overhang >= 0;
        std::vector<int>& now = now_;
        now.resize(size_t(layers) * (m + 1));
        for (int b = 0; b < layers; b++)
            for (int i = 0; i <= m; i++)
                now[index(m, b, i)] = hanging && at_begin ? hung(i) : i == 0 ? 0 : first_column(pattern, b, i);
        for (int64_t j = 0; j < length; j++) {
            for (int b = layers - 1; b >= 0; b--) {  // a layer reads the former column of the one below
                int diagonal = now[index(m, b, 0)];
                now[index(m, b, 0)] = 0;
                for (int i = 1; i <= m; i++) {
                    const size_t here = index(m, b, i);
                    const int left = !limited ? now[here] : b ? now[index(m, b - 1, i)] : kFar;
                    int value = diagonal + step(pattern, i, text[j]);
                    if (may_delete(pattern, i)) value = std::min(value, left + 1);
                    diagonal = now[here];
                    now[here] = value;
                }
            }
            for (int b = 0; b < layers; b++)  // insertions, which stay in the column
                for (int i = 1; i <= m; i++) {
                    if (pattern.fixed[size_t(i - 1)] || (limited && b == 0)) continue;
                    int& value = now[index(m, b, i)];
                    value = std::min(value, now[index(m, b - limited, i - 1)] + 1);
                }
            int best = now[index(m, layers - 1, m)];
            if (hanging && at_end && j == length - 1)
                for (int i = 1; i < m; i++) best = std::min(best, now[index(m, layers - 1, i)] + hung(m - i));
            each(j, best);
        }
    }

    // An alignment with `distance` errors that ends with the window, whose path is traced back from there: diagonally
    // where that keeps the distance, else over a symbol of the text, else over a row. The operations are appended.
    SearchAlignment trace(const SearchPattern& pattern, const uint8_t* text, int64_t length, bool at_begin, bool at_end,
        int distance, std::vector<uint32_t>& operations) {
        int rows = pattern.rows();
        const bool hanging = settings_.overhang >= 0 && at_end;  // as few rows as possible
        while (!fill(pattern, rows, text, length, at_begin, distance - (hanging ? hung(pattern.rows() - rows) : 0)) &&
               hanging && rows > 1)
            rows--;
        return walk(pattern, rows, text, at_begin, operations);
    }

    // Appends an operation to a CIGAR in BAM's form that begins at `first`; I consumes the pattern.
    static void put(std::vector<uint32_t>& operations, size_t first, char operation) {
        const uint32_t code = operation == 'I' ? 1 : operation == 'D' ? 2 : operation == '=' ? 7 : 8;
        if (operations.size() > first && (operations.back() & 15) == code) operations.back() += 16;
        else operations.push_back(16 | code);
    }

    int hung(int rows) const { return int(std::floor(settings_.overhang * rows + 1e-9)); }

private:
    bool bulges_limited(int limit) const { return settings_.max_bulges >= 0 && settings_.max_bulges < limit; }
    int layers_of(int limit) const { return bulges_limited(limit) ? settings_.max_bulges + 1 : 1; }
    size_t index(int m, int layer, int row) const { return size_t(layer) * (m + 1) + row; }
    int step(const SearchPattern& pattern, int i, uint8_t symbol) const {
        if (patterns_.matches(pattern.symbols[size_t(i - 1)], symbol)) return 0;
        return pattern.fixed[size_t(i - 1)] ? kFar : 1;
    }
    bool may_delete(const SearchPattern& pattern, int i) const {
        return i > 0 && !(pattern.fixed[size_t(i - 1)] && (i == pattern.rows() || pattern.fixed[size_t(i)]));
    }
    // D of i rows before the first column: all of them are insertions.
    int first_column(const SearchPattern& pattern, int b, int i) const {
        for (int r = 0; r < i; r++)
            if (pattern.fixed[size_t(r)]) return kFar;
        return bulges_limited(pattern.limit) && i > b ? kFar : i;
    }

    // The band of the matrix that alignments of the first `rows` rows with `distance` errors can take; whether one
    // does.
    bool fill(
        const SearchPattern& pattern, int rows, const uint8_t* text, int64_t length, bool at_begin, int distance) {
        if (distance < 0) return false;
        band_ = distance, shift_ = length - rows, layers_ = std::min(layers_of(pattern.limit), distance + 1),
        rows_ = rows;
        limited_ = bulges_limited(pattern.limit);
        cells_.assign(size_t(layers_) * (rows + 1) * (2 * band_ + 1), kFar);
        const bool hanging = settings_.overhang >= 0 && at_begin;
        for (int b = 0; b < layers_; b++)
            for (int i = 0; i <= rows; i++)
                for (int t = -band_; t <= band_; t++) {
                    const int64_t j = i + t + shift_;
                    if (j < 0 || j > length) continue;
                    int value = i == 0 ? 0 : kFar;
                    if (j == 0 && i > 0) value = hanging ? hung(i) : first_column(pattern, b, i);
                    if (i > 0 && j > 0) {
                        value = at(b, i - 1, t) + step(pattern, i, text[j - 1]);
                        if (may_delete(pattern, i)) value = std::min(value, before(b, i, t - 1) + 1);
                    }
                    if (i > 0 && !pattern.fixed[size_t(i - 1)]) value = std::min(value, before(b, i - 1, t + 1) + 1);
                    cells_[cell(b, i, t)] = std::min(value, kFar);
                }
        return at(layers_ - 1, rows, 0) <= distance;
    }

    size_t cell(int b, int i, int t) const {
        return (size_t(b) * (rows_ + 1) + i) * (2 * band_ + 1) + size_t(t + band_);
    }
    int at(int b, int i, int t) const { return t < -band_ || t > band_ ? kFar : cells_[cell(b, i, t)]; }
    // Where a gap leads from.
    int before(int b, int i, int t) const { return limited_ ? (b ? at(b - 1, i, t) : kFar) : at(b, i, t); }

    SearchAlignment walk(
        const SearchPattern& pattern, int rows, const uint8_t* text, bool at_begin, std::vector<uint32_t>& operations) {
        const size_t first = operations.size();
        int b = layers_ - 1, i = rows, t = 0;
        while (b > 0 && limited_ && at(b - 1, i, 0) == at(b, i, 0)) b--;
        while (i > 0) {
            const int64_t j = i + t + shift_;
            const int value = at(b, i, t);
            if (j == 0 && settings_.overhang >= 0 && at_begin && value == hung(i)) break;
            const int diagonal = j > 0 ? step(pattern, i, text[j - 1]) : kFar;
            if (j > 0 && at(b, i - 1, t) + diagonal == value) {
                put(operations, first, diagonal ? 'X' : '=');
                i--;
            } else if (j > 0 && may_delete(pattern, i) && before(b, i, t - 1) + 1 == value) {
                put(operations, first, 'D');
                t--, b -= limited_;
            } else {
                put(operations, first, 'I');
                i--, t++, b -= limited_;
                b = std::max(b, 0);
            }
        }
        std::reverse(operations.begin() + ptrdiff_t(first), operations.end());
        return {i + t + shift_, i, rows};
    }

    const SearchPatterns& patterns_;
    const SearchSettings& settings_;
    std::vector<int> now_, cells_;
    int band_ = 0, layers_ = 1, rows_ = 0;
    bool limited_ = false;
    int64_t shift_ = 0;
};

}  // namespace gpualign
