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
#include <type_traits>
#include <vector>

#include "algo/align/patterns/column.hpp"
#include "simd/vector.hpp"

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
          limit_(errors_in(rows())), counted_{0} {
        for (uint8_t symbol : symbols_) counted_.push_back(counted_.back() + (symbol != 15));
    }

    int rows() const { return int(symbols_.size()); }
    uint8_t symbol(int row) const { return symbols_[size_t(row)]; }
    bool may(AdapterEnds end) const { return ends_ & end; }
    int limit() const { return limit_; }
    // The most errors of the first `rows`, which may not be fewer than the overlap; -1: none.
    int limit_of_rows(int rows) const { return rows < overlap_ ? -1 : errors_in(rows); }
    // The most errors of a full match that ends after so many bases of the read, and may begin before it.
    int limit_at(int column) const {
        if (!may(kAdapterStart) || column >= rows()) return limit_;
        int most = -1;
        for (int errors = 0; errors <= limit_ && errors <= errors_in(std::min(rows(), column + errors)); errors++)
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
            if (length < overlap_ || cell.cost > errors_in(counted_[size_t(row)] - counted_[size_t(begin)])) return;
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
    // The most errors in so many bases; a rate such as 2 / 13 gives 2 of 13, however it is rounded.
    int errors_in(int bases) const { return int(rate_ * bases + 1e-9); }
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
    using Words = Vec<uint64_t>;

public:
    explicit AdapterColumns(const std::vector<Adapter>& adapters)
        : stride_((adapters.size() + Words::lanes - 1) / Words::lanes * Words::lanes) {
        for (auto* words : {&first_up_, &first_row_, &top_, &pv_, &mv_}) words->resize(stride_);
        for (auto* values : {&rows_, &first_, &last_}) values->resize(stride_);
        for (const Adapter& each : adapters) columns_ = std::max(columns_, each.rows() + 1);
        eq_.resize(5 * stride_);
        limits_.resize(size_t(columns_) * stride_, -1);
        for (size_t a = 0; a < adapters.size(); a++) {
            const Adapter& each = adapters[a];
            rows_[a] = std::min(each.rows(), 64);
            top_[a] = uint64_t(1) << (rows_[a] - 1);
            first_up_[a] = !each.may(kReadStart);
            first_row_[a] = each.may(kAdapterStart) ? 0 : ~uint64_t(0);
            for (int64_t i = 0; i < rows_[a]; i++)
                for (size_t code = 0; code < 4; code++)
                    if (each.symbol(int(i)) >> code & 1) eq_[(code + 1) * stride_ + a] |= uint64_t(1) << i;
            for (int c = 0; c < columns_; c++) limits_[size_t(c) * stride_ + a] = each.limit_at(c);
        }
    }

    // Columns [first(a), last(a)] of the adapters [begin, end) where a full match may end; last < 0: there are none.
    // Looks at columns (from, to] of the read, whose symbols are 0 or 1 + a base.
    void run(const uint8_t* read, int from, int to, size_t begin, size_t end) {
        if (end - begin == 1) return run_some<uint64_t, int64_t>(read, from, to, begin);
        for (size_t a = begin / Words::lanes * Words::lanes; a < end; a += Words::lanes)
            run_some<Words, Vec<int64_t>>(read, from, to, a);
    }
    static constexpr int reads_at_once = Words::lanes;
    // The first adapter in several reads, one a lane, with its columns in read order: a single read would wait for each
    // operation's result. `symbols` has those of each column next to each other, 0 after a read's end.
    void run_reads(const uint8_t* symbols, const int64_t* sizes, int longest) {
        alignas(sizeof(Words)) uint64_t eq[Words::lanes];
        const Words up_in(first_up_[0]), top(top_[0]), none(0);
        const Vec<int64_t> size = Vec<int64_t>::load(sizes);
        SearchColumn<Words> column{Words(first_row_[0]), none};
        Vec<int64_t> score = Vec<int64_t>(rows_[0]) & set_in(column.pv, top), first(-1), last(-1);
        for (int j = 0; j < longest; j++, symbols += Words::lanes) {
            for (int lane = 0; lane < Words::lanes; lane++) eq[lane] = eq_[symbols[lane] * stride_];
            SearchColumn<Words> next = column;
            Words up, down;
            next.step(Words::load(eq), up_in, none, up, down);
            const Vec<int64_t> number(j + 1), within = number < size + Vec<int64_t>(1);
            const Vec<int64_t> limit(limits_[size_t(std::min(j + 1, columns_ - 1)) * stride_]);
            score = score - set_in(up, top) + set_in(down, top);
            column.pv = select(within.as<uint64_t>(), next.pv, column.pv);
            column.mv = select(within.as<uint64_t>(), next.mv, column.mv);
            last = select((score > limit) | ~within, last, number);
            first = select(first > Vec<int64_t>(-1), first, last);
        }
        lanes_pv_ = column.pv, lanes_mv_ = column.mv, lanes_first_ = first, lanes_last_ = last;
    }
    // Makes a lane's result that of the first adapter.
    void take(int lane) {
        pv_[0] = lanes_pv_[lane], mv_[0] = lanes_mv_[lane];
        first_[0] = lanes_first_[lane], last_[0] = lanes_last_[lane];
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
    template <class Value, class T> static Value at(const std::vector<T>& values, size_t a) {
        if constexpr (std::is_integral_v<Value>) return values[a];
        else return Value::load(values.data() + a);
    }
    template <class Value, class T> static void put(std::vector<T>& values, size_t a, Value value) {
        if constexpr (std::is_integral_v<Value>) values[a] = value;
        else value.store(values.data() + a);
    }
    // -1 where the bits of `one` are in `all`, else 0.
    static int64_t set_in(uint64_t all, uint64_t one) { return -int64_t((all & one) != 0); }
    static Vec<int64_t> set_in(Words all, Words one) { return ((all & one) == one).as<int64_t>(); }
    static int64_t above(int64_t a, int64_t b) { return -int64_t(a > b); }
    static Vec<int64_t> above(Vec<int64_t> a, Vec<int64_t> b) { return a > b; }
    static int64_t one_of(int64_t mask, int64_t yes, int64_t no) { return mask ? yes : no; }
    static Vec<int64_t> one_of(Vec<int64_t> mask, Vec<int64_t> yes, Vec<int64_t> no) { return select(mask, yes, no); }

    // The adapters from `a` on that a word has.
    template <class Word, class Value> void run_some(const uint8_t* read, int from, int to, size_t a) {
        const Word up_in = at<Word>(first_up_, a), top = at<Word>(top_, a), none(0);
        const Value rows = at<Value>(rows_, a);
        SearchColumn<Word> column{from ? Word(~uint64_t(0)) : at<Word>(first_row_, a), none};
        Value score = rows & set_in(column.pv, top), first(-1), last(-1);
        for (int j = from; j < to; j++) {
            Word up, down;
            column.step(at<Word>(eq_, size_t(read[j]) * stride_ + a), up_in, none, up, down);
            score = score - set_in(up, top) + set_in(down, top);
            const Value missed = above(score, at<Value>(limits_, size_t(std::min(j + 1, columns_ - 1)) * stride_ + a));
            const Value column_number(j + 1);
            last = one_of(missed, last, column_number);
            first = one_of(above(first, Value(-1)), first, last);
        }
        put(pv_, a, column.pv), put(mv_, a, column.mv);
        put(first_, a, first), put(last_, a, last);
    }

    size_t stride_;  // adapters, rounded up to whole vectors
    int columns_ = 1;
    std::vector<uint64_t> first_up_, first_row_, top_, pv_, mv_, eq_;
    std::vector<int64_t> rows_, first_, last_, limits_;
    Words lanes_pv_, lanes_mv_;
    Vec<int64_t> lanes_first_, lanes_last_;
};

}  // namespace gpualign
