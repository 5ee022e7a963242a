// Adapters at the ends of reads: which part of a read each may match, and its best alignment.
//
// Which alignment counts is cutadapt's rule (Martin 2011, EMBnet.journal 17:10; "Algorithm details" in the manual of
// version 5): errors are edits, at most a share of the adapter's aligned bases, N left out; an alignment's score is +1
// a match, -1 a mismatch, -2 a gap; the first one in the read counts, unless one that begins at most half an adapter
// later, or has more of the adapter, scores higher. Columns of bits (SearchColumn) find the reads that have any, for
// all adapters at once, and only these are aligned cell by cell.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algo/align/patterns/column.hpp"

namespace gpualign {

// What an alignment may leave out: the adapter's first bases before the read, the read's first bases, the adapter's
// last bases after the read, the read's last bases.
enum AdapterEnds : uint8_t { kAdapterStart = 1, kReadStart = 2, kAdapterStop = 4, kReadStop = 8 };

struct AdapterMatch {
    int start = 0, stop = 0;  // in the read
    int length = 0;           // bases of the adapter
    int score = 0, errors = 0;
};

class Adapter {
public:
    // symbols: sets of bases; rate: errors a base; overlap: the fewest bases of the adapter.
    Adapter(std::vector<uint8_t> symbols, uint8_t ends, double rate, int overlap, bool indels)
        : symbols_(std::move(symbols)), ends_(ends), rate_(rate), overlap_(std::min(overlap, rows())), indels_(indels),
          limit_(int(rate * rows())), counted_{0} {
        for (uint8_t symbol : symbols_) counted_.push_back(counted_.back() + (symbol != 15));
    }

    int rows() const { return int(symbols_.size()); }
    uint8_t symbol(int row) const { return symbols_[size_t(row)]; }
    bool may(AdapterEnds end) const { return ends_ & end; }
    int limit() const { return limit_; }
    // The most errors of the first `rows`, which may not be fewer than the overlap; -1: none.
    int limit_of_rows(int rows) const { return rows < overlap_ ? -1 : int(rate_ * rows); }
    // The most errors of a full match that ends after so many bases of the read, and may begin before it.
    int limit_at(int column) const {
        if (!may(kAdapterStart) || column >= rows()) return limit_;
        int most = -1;
        for (int errors = 0; errors <= limit_ && errors <= rate_ * std::min(rows(), column + errors); errors++)
            if (column + errors >= overlap_) most = errors;
        return most;
    }

    // The alignment that counts in a read of symbols as AdapterColumns takes them. Those before column `from` and after
    // `to` are known not to. Rows below the last one within the limit are not computed (Ukkonen 1985).
    bool align(const uint8_t* read, int size, int from, int to, AdapterMatch& out) {
        struct Best {
            int rows, stop, cost, origin, score;
        } best{rows(), size, -1, 0, 0};
        const auto consider = [&](int row, int column) {
            const Cell& cell = cells_[size_t(row)];
            const int begin = std::max(0, -cell.origin), length = row - begin;
            if (length < overlap_ || cell.cost > rate_ * (counted_[size_t(row)] - counted_[size_t(begin)])) return;
            const int best_length = best.rows + std::min(best.origin, 0);
            if (best.cost < 0 ||
                (cell.score > best.score && (cell.origin <= best.origin + rows() / 2 || length > best_length)))
                best = {row, column, cell.cost, cell.origin, cell.score};
        };
        const int m = rows(), gap = indels_ ? 1 : kNoGap;
        const bool hangs = may(kAdapterStart) && from == 0, free = may(kReadStart);
        cells_.resize(size_t(m) + 1);
        for (int i = 0; i <= m; i++) cells_[size_t(i)] = hangs ? Cell{0, 0, -i} : Cell{i * gap, -2 * i, from};
        int rows_within = hangs ? m : std::min(m, limit_ + 1);
        for (int j = from + 1; j <= to; j++) {
            Cell diagonal = cells_[0];
            cells_[0] = free ? Cell{0, 0, j} : Cell{cells_[0].cost + gap, cells_[0].score - 2, cells_[0].origin};
            const uint8_t base = uint8_t(1 << read[j - 1] >> 1);
            for (int i = 1; i <= rows_within; i++) {
                const Cell left = cells_[size_t(i)], &up = cells_[size_t(i - 1)];
                Cell& cell = cells_[size_t(i)];
                if (symbols_[size_t(i - 1)] & base) {
                    cell = {diagonal.cost, diagonal.score + 1, diagonal.origin};
                } else if (diagonal.cost + 1 <= std::min(up.cost, left.cost) + gap) {
                    cell = {diagonal.cost + 1, diagonal.score - 1, diagonal.origin};
                } else if (up.cost <= left.cost) {
                    cell = {up.cost + gap, up.score - 2, up.origin};
                } else {
                    cell = {left.cost + gap, left.score - 2, left.origin};
                }
                diagonal = left;
            }
            while (rows_within >= 0 && cells_[size_t(rows_within)].cost > limit_) rows_within--;
            if (rows_within < m) {
                rows_within++;
            } else if (may(kReadStop)) {
                consider(m, j);
                if (best.cost == 0 && best.rows == m && best.origin >= 0) break;
            }
        }
        if (to == size && !(best.cost == 0 && best.rows == m && best.origin >= 0))
            for (int i = m; i >= (may(kAdapterStop) ? 0 : m); i--) consider(i, size);
        if (best.cost < 0) return false;
        out = {std::max(0, best.origin), best.stop, best.rows + std::min(0, best.origin), best.score, best.cost};
        return true;
    }

private:
    static constexpr int kNoGap = 1 << 16;
    struct Cell {
        int cost, score, origin;  // origin: where in the read it begins; -i: with row i of the adapter
    };

    std::vector<uint8_t> symbols_;
    uint8_t ends_;
    double rate_;
    int overlap_;
    bool indels_;
    int limit_;
    std::vector<int> counted_;  // bases before a row that are not N
    std::vector<Cell> cells_;
};

// Which of several adapters a read may have, by the columns of all of them side by side.
class AdapterColumns {
public:
    explicit AdapterColumns(const std::vector<Adapter>& adapters) {
        const size_t n = adapters.size();
        for (auto* words : {&first_up_, &first_row_, &pv_, &mv_}) words->resize(n);
        for (auto* values : {&top_, &score_, &first_, &last_}) values->resize(n);
        eq_.resize(5 * n);
        for (const Adapter& each : adapters) columns_ = std::max(columns_, each.rows() + 1);
        limits_.resize(size_t(columns_) * n);
        for (size_t a = 0; a < n; a++) {
            const Adapter& each = adapters[a];
            const int rows = std::min(each.rows(), 64);
            top_[a] = rows - 1;
            first_up_[a] = !each.may(kReadStart);
            first_row_[a] = each.may(kAdapterStart) ? 0 : ~uint64_t(0);
            for (int i = 0; i < rows; i++)
                for (size_t code = 0; code < 4; code++)
                    if (each.symbol(i) >> code & 1) eq_[(code + 1) * n + a] |= uint64_t(1) << i;
            for (int c = 0; c < columns_; c++) limits_[size_t(c) * n + a] = each.limit_at(c);
        }
    }

    // Columns [first(a), last(a)] of the adapters [begin, end) where a full match may end; last < 0: there are none.
    // Looks at columns (from, to] of the read, whose symbols are 0 or 1 + a base.
    void run(const uint8_t* read, int from, int to, size_t begin, size_t end) {
        if (end - begin == 1) return run_one(read, from, to, begin);
        const size_t n = top_.size();
        uint64_t *pv = pv_.data(), *mv = mv_.data();
        int64_t *score = score_.data(), *first = first_.data(), *last = last_.data();
        const int64_t* top = top_.data();
        const uint64_t* row_up = first_up_.data();
        for (size_t a = begin; a < end; a++) {
            pv[a] = from ? ~uint64_t(0) : first_row_[a], mv[a] = 0;
            score[a] = pv[a] ? top[a] + 1 : 0;
            first[a] = last[a] = -1;
        }
        for (int j = from; j < to; j++) {
            const uint64_t* eq = &eq_[size_t(read[j]) * n];
            const int64_t* limit = &limits_[size_t(std::min(j + 1, columns_ - 1)) * n];
            for (size_t a = begin; a < end; a++) {
                SearchColumn<uint64_t> column{pv[a], mv[a]};
                uint64_t up, down;
                column.step(eq[a], row_up[a], 0, up, down);
                pv[a] = column.pv, mv[a] = column.mv;
                score[a] += int64_t(up >> top[a] & 1) - int64_t(down >> top[a] & 1);
                const bool hit = score[a] <= limit[a];
                first[a] = hit && first[a] < 0 ? j + 1 : first[a];
                last[a] = hit ? j + 1 : last[a];
            }
        }
    }
    // One adapter, with its column in registers.
    void run_one(const uint8_t* read, int from, int to, size_t a) {
        const size_t n = top_.size();
        const uint64_t eq[5] = {eq_[a], eq_[n + a], eq_[2 * n + a], eq_[3 * n + a], eq_[4 * n + a]},
                       up_in = first_up_[a];
        SearchColumn<uint64_t> column{from ? ~uint64_t(0) : first_row_[a], 0};
        const int64_t top = top_[a];
        int64_t score = column.pv ? top + 1 : 0, first = -1, last = -1;
        for (int j = from; j < to; j++) {
            uint64_t up, down;
            column.step(eq[read[j]], up_in, 0, up, down);
            score += int64_t(up >> top & 1) - int64_t(down >> top & 1);
            if (score <= limits_[size_t(std::min(j + 1, columns_ - 1)) * n + a]) {
                if (first < 0) first = j + 1;
                last = j + 1;
            }
        }
        pv_[a] = column.pv, mv_[a] = column.mv;
        first_[a] = first, last_[a] = last;
    }

    int first(size_t a) const { return int(first_[a]); }
    int last(size_t a) const { return int(last_[a]); }
    // Whether the read may end within an adapter.
    bool ends_within(const Adapter& adapter, size_t a) const {
        int value = 0;
        for (int i = 0; i < adapter.rows() - 1; i++) {
            value += int(pv_[a] >> i & 1) - int(mv_[a] >> i & 1);
            if (value <= adapter.limit_of_rows(i + 1)) return true;
        }
        return false;
    }

private:
    int columns_ = 1;
    std::vector<uint64_t> first_up_, first_row_, pv_, mv_, eq_;
    std::vector<int64_t> top_, score_, first_, last_, limits_;
};

}  // namespace gpualign
