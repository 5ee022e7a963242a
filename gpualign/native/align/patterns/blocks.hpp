// The last row of a pattern of any length against a text: words of 64 rows, of which only those are computed that can
// still lead to a value within the limit (Ukkonen 1985; Myers 1999, section 4).
#pragma once
#include <cstdint>
#include <vector>

#include "algo/align/patterns/column.hpp"
#include "align/patterns/patterns.hpp"

namespace gpualign {

class SearchBlocks {
public:
    // A column of one word, with the differences from the column before; to follow an alignment back.
    struct Trace {
        uint64_t pv, mv, ph, mh;
    };

    bool one_word() const { return words_ == 1; }
    bool matches(int row, uint8_t code) const { return eq_[code] >> (pad_ + row) & 1; }

    // Runs a pattern of one word, as run() does, and keeps all columns.
    template <class Each>
    void run_traced(const uint8_t* text, int64_t length, int limit, std::vector<Trace>& columns, Each&& each) {
        columns.resize(size_t(length));
        SearchColumn<uint64_t> column;
        column.start();
        int score = rows_;
        for (int64_t at = 0; at < length; at++) {
            Trace& trace = columns[size_t(at)];
            column.step(eq_[text[at]], trace.ph, trace.mh);
            trace.pv = column.pv, trace.mv = column.mv;
            score += int(trace.ph >> 63) - int(trace.mh >> 63);
            if (score <= limit) each(at, score);
        }
    }

    // Follows the alignment that ends with the last of `length` symbols back, by the rule of SearchMatrix::trace. Calls
    // put(operation) for each step from its end on, and returns how many symbols are before it.
    template <class Put>
    int64_t walk(const uint8_t* text, int64_t length, const std::vector<Trace>& columns, int value, Put&& put) const {
        int64_t j = length;
        for (int i = rows_ - 1; i >= 0;) {
            if (j == 0) {
                put('I'), i--;
                continue;
            }
            const uint64_t row = uint64_t(1) << (pad_ + i);
            const Trace& now = columns[size_t(j - 1)];
            const int left = value - ((now.ph & row) != 0) + ((now.mh & row) != 0);
            // column 0 grows by one a row
            const int rise =
                j > 1 ? ((columns[size_t(j - 2)].pv & row) != 0) - ((columns[size_t(j - 2)].mv & row) != 0) : 1;
            const int diagonal = left - rise;
            const bool same = matches(i, text[j - 1]);
            if (diagonal + !same == value) {
                put(same ? '=' : 'X');
                value = diagonal, i--, j--;
            } else if (left + 1 == value) {
                put('D');
                value = left, j--;
            } else {
                put('I');
                value -= ((now.pv & row) != 0) - ((now.mv & row) != 0);
                i--;
            }
        }
        return j;
    }

    // Rows [first, last) of a pattern.
    void load(const SearchPatterns& patterns, const SearchPattern& pattern, int first, int last) {
        rows_ = last - first;
        words_ = (rows_ + 63) / 64;
        pad_ = words_ * 64 - rows_;
        codes_ = patterns.codes();
        eq_.assign(size_t(codes_) * words_, 0);
        for (int i = 0; i < rows_; i++) {
            const uint8_t symbol = pattern.symbols[size_t(first + i)];
            const size_t word = size_t(i + pad_) / 64;
            for (int code = 0; code < codes_; code++)
                if (patterns.matches(symbol, uint8_t(code)))
                    eq_[size_t(code) * words_ + word] |= uint64_t(1) << ((i + pad_) % 64);
        }
    }

    // Calls each(column, value) after each symbol where the last row's value is at most the limit; stops where it
    // returns false.
    template <class Each> void run(const uint8_t* text, int64_t length, int limit, Each&& each) {
        columns_.resize(size_t(words_));
        scores_.resize(size_t(words_));
        int last = 0;
        open(0, 64 - pad_);
        while (last + 1 < words_ && scores_[size_t(last)] <= limit) open(last + 1, scores_[size_t(last)] + 64), last++;
        for (int64_t at = 0; at < length; at++) {
            const uint64_t* eq = &eq_[size_t(text[at]) * words_];
            uint64_t up = 0, down = 0;
            for (int w = 0; w <= last; w++) advance(w, eq[w], up, down);
            if (last + 1 < words_ && scores_[size_t(last)] <= limit + 1) {
                // the row above the next word was what it is now less its change
                open(last + 1, scores_[size_t(last)] - int(up) + int(down) + 64);
                last++;
                advance(last, eq[last], up, down);
            }
            while (last > 0 && scores_[size_t(last)] > limit + 64) last--;
            if (last == words_ - 1 && scores_[size_t(last)] <= limit && !each(at, scores_[size_t(last)])) return;
        }
    }

private:
    void open(int word, int score) {
        columns_[size_t(word)].start();
        scores_[size_t(word)] = score;
    }

    // One word of a column; `up` and `down` become its last row's change.
    void advance(int w, uint64_t eq, uint64_t& up, uint64_t& down) {
        uint64_t out_up, out_down;
        columns_[size_t(w)].step(eq, up, down, out_up, out_down);
        up = out_up >> 63;
        down = out_down >> 63;
        scores_[size_t(w)] += int(up) - int(down);
    }

    int rows_ = 0, words_ = 0, pad_ = 0, codes_ = 0;
    std::vector<uint64_t> eq_;
    std::vector<SearchColumn<uint64_t>> columns_;
    std::vector<int> scores_;
};

}  // namespace gpualign
