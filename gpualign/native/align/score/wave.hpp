// The table of one long pair, or a part of it, in the lanes of a vector. Each lane has a block of rows and is one tile
// of columns behind the lane above, so that all lanes work along an anti-diagonal of tiles. Values are 16 bits from a
// base of each lane's tile: what its corner has, less what no cell is below it. Of a local alignment the base is 0 at
// least, and stands at the lowest value that there is: sums that saturate floor at it, and what they alter elsewhere,
// gaps that are lower than the base, are never taken. Groups of lanes go to threads, each a few tiles behind the one
// above.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "align/score/symbols.hpp"
#include "common/parallel_for.hpp"
#include "simd/saturated.hpp"
#include "stop.hpp"

namespace gpualign {
namespace nw {

// A border's value: H', and F' of the coming row or E' of the column to the right; where local, H, F and E.
struct BorderCell {
    int32_t h, gap;
};

// A part of a pair's table whose upper and left border are known.
struct DpTile {
    const uint8_t* query;
    int64_t n;
    const uint8_t* target;
    int64_t m;
    const BorderCell* top;   // from the column left of it on: m + 1
    const BorderCell* left;  // n
};

// Rows and columns of a part that are kept, about `spacing` symbols apart.
struct KeptBorders {
    int64_t spacing = 0;
    std::vector<int64_t> row_ends;   // rows above and with each kept row
    std::unique_ptr<BorderCell[]> rows;     // m + 1 each, as a part's `top`
    std::unique_ptr<BorderCell[]> columns;  // n each, as a part's `left`, at multiples of `spacing`
};

// Where the best local alignments end: of all rectangles with a cell of this score those that begin with the first
// column of any, one below the other.
struct BestTiles {
    struct Rows {
        int64_t begin, end;
    };
    int64_t score = 0, first_column = 0;
    std::vector<Rows> rows;

    void offer(int64_t found, int64_t column, Rows where) {
        if (found < score || found == 0 || (found == score && column > first_column)) return;
        if (found > score || column < first_column) rows.clear();
        score = found;
        first_column = column;
        rows.push_back(where);
    }
};

template <bool Affine, bool Local = false> class Wave {
public:
    using Word = Vec<int16_t>;
    using L = Lanes<Word>;
    static constexpr int K = sizeof(Word) == 64 && !Affine ? 16 : 8;
    static constexpr int lanes = Word::lanes, width = 64, max_rows = 256;

    // Whether the values of a tile are within 16 bits, and what lies beside the table adds nothing. A border changes by
    // at most a pair's score, or what a free gap spares, from one symbol to the next, but for the opening of gaps, of
    // which a path around a tile needs a few.
    static bool fits(const Scheme& scheme) {
        if (Local && (scheme.lowest() > 0 || scheme.highest() <= 0)) return false;
        const int64_t step = std::max({0, scheme.highest() + 2 * scheme.shift(), scheme.shift()});
        return corner(scheme) + (max_rows + width) * step + 8 * int64_t(scheme.opening()) <= INT16_MAX;
    }

    explicit Wave(const Scheme& scheme) : scheme_(scheme), corner_(corner(scheme)) {}

    // Best tiles of the last sweep of a local alignment.
    const BestTiles& best() const { return best_; }

    // Columns ahead of the last tile's.
    static int64_t before_last_tile(int64_t m) { return (m - 1) / width * width; }

    // Returns the last row, as a part's `top`. `kept`, of which the spacing is given, is filled if not null, and so is
    // `edge`, the border (n) on the left of the last tiles. Throws Stopped.
    const std::vector<BorderCell>& sweep(
        const DpTile& part, int threads, KeptBorders* kept, BorderCell* edge = nullptr) {
        part_ = part;
        kept_ = kept;
        edge_ = edge;
        tiles_ = (part.m + width - 1) / width;
        const int64_t wanted = std::min<int64_t>(threads, part.n / (lanes * 32));
        groups_ = std::max<int64_t>({1, wanted, (part.n + lanes * max_rows - 1) / (lanes * max_rows)});
        row_.assign(part.top, part.top + part.m + 1);
        lay_out();
        progress_ = std::make_unique<std::atomic<int64_t>[]>(size_t(groups_));
        next_group_ = 0;
        given_up_ = false;
        best_ = BestTiles();
        const size_t workers = size_t(std::min<int64_t>(threads, groups_));
        while (workers_.size() < workers) workers_.push_back(std::make_unique<Group>());
        for (size_t t = 0; t < workers; t++) workers_[t]->reserve(max_rows);
        in_threads(workers, [this](size_t t) { work(*workers_[t], t == 0); });
        if (given_up_) throw Stopped();
        return row_;
    }

private:
    static int64_t corner(const Scheme& scheme) {
        if (Local) return INT16_MIN + 3 * int64_t(scheme.open) + int64_t(scheme.extend) * (max_rows + width) + 16;
        return INT16_MIN + 4 * int64_t(scheme.opening()) - std::min(0, scheme.lowest() + 2 * scheme.shift()) + 16;
    }

    int64_t block_end(int64_t block) const { return part_.n * (block + 1) / (groups_ * lanes); }

    // Which blocks' last rows are kept, and space for them.
    void lay_out() {
        kept_row_.assign(size_t(groups_ * lanes), -1);
        if (!kept_) return;
        kept_->row_ends.clear();
        for (int64_t block = 0, before = 0; block < groups_ * lanes; before = block_end(block++)) {
            if (block_end(block) / kept_->spacing == before / kept_->spacing || block_end(block) == part_.n) continue;
            kept_row_[size_t(block)] = int64_t(kept_->row_ends.size());
            kept_->row_ends.push_back(block_end(block));
        }
        kept_->rows.reset(new BorderCell[kept_->row_ends.size() * size_t(part_.m + 1)]);
        kept_->columns.reset(new BorderCell[size_t(part_.m / kept_->spacing * part_.n)]);
    }

    // A group of lanes on its way from tile to tile.
    struct Group {
        int64_t first_block, rows;               // rows: of the largest block
        int64_t begin[lanes], height[lanes];     // of each lane's block
        int64_t base[lanes], before[lanes];      // of the values of each lane's tile, and of its last one
        std::vector<Word> symbols, left_h, left_e;
        Word store_h[width + 1], store_f[width + 1], store_columns[width + 1];  // one more ahead, for shift_in()
        Word* top_h = store_h + 1;               // above the tile, later its last row
        Word* top_f = store_f + 1;
        Word* columns = store_columns + 1;
        Word corner, next_corner, best;          // best: of the tile
        Word shorter;                            // mask of blocks that end a row before the others

        void reserve(size_t maximum) {  // ahead of a thread, in which nothing may fail
            for (auto* of_rows : {&symbols, &left_h, &left_e}) of_rows->reserve(maximum);
        }
    };

    // The caller's own thread, one of several, asks whether to stop.
    void work(Group& group, bool asks) {
        for (int64_t g = next_group_++; g < groups_; g = next_group_++) {
            begin(group, g);
            for (int64_t wave = 0; wave < tiles_ + lanes - 1; wave++) {
                const int64_t above = g > 0 && wave < tiles_ ? wave + 1 : 0;
                do {
                    if (asks && stop_asked_()) given_up_ = true;
                    if (given_up_.load(std::memory_order_relaxed)) return;
                } while (above && !has_come(progress_[size_t(g - 1)], above));
                enter_tiles(group, wave);
                compute(group);
                leave_tiles(group, wave);
                if (wave >= lanes - 1) progress_[size_t(g)].store(wave - lanes + 2, std::memory_order_release);
            }
        }
    }

    static bool has_come(const std::atomic<int64_t>& progress, int64_t tiles) {
        if (progress.load(std::memory_order_acquire) >= tiles) return true;
        std::this_thread::yield();
        return false;
    }

    void begin(Group& group, int64_t number) {
        group.first_block = number * lanes;
        group.rows = 0;
        for (int l = 0; l < lanes; l++) {
            group.begin[l] = block_end(group.first_block + l - 1);
            group.height[l] = block_end(group.first_block + l) - group.begin[l];
            group.rows = std::max(group.rows, group.height[l]);
            group.base[l] = 0;
        }
        for (auto* rows : {&group.symbols, &group.left_h, &group.left_e}) rows->assign(size_t(group.rows), Word(0));
        for (int l = 0; l < lanes; l++) {
            L::set(group.shorter, l, int16_t(group.height[l] < group.rows ? -1 : 0));
            for (int64_t i = 0; i < group.height[l]; i++) {
                const int code = part_.query[group.begin[l] + i];
                L::set(group.symbols[size_t(i)], l, int16_t(code == scheme_.symbols - 1 ? never : code));
            }
        }
        for (Word* word : {group.store_h, group.store_f, group.store_columns})
            std::fill(word, word + width + 1, Word(0));
        group.next_corner = Word(0);
    }

    // Every lane goes on to its next tile: the row above comes from the lane above, and all values get new bases.
    void enter_tiles(Group& group, int64_t wave) {
        Word from_left, from_above;
        for (int l = 0; l < lanes; l++) {
            const int64_t tile = wave - l, begin = group.begin[l];
            group.before[l] = group.base[l];
            int64_t corner = group.base[l] + L::get(group.next_corner, l);
            if (tile <= 0) corner = begin == 0 ? part_.top[0].h : part_.left[begin - 1].h;
            group.base[l] = corner - corner_;
            if (Local) group.base[l] = std::max<int64_t>(group.base[l], -int64_t(INT16_MIN));
            L::set(group.corner, l, int16_t(corner - group.base[l]));
            L::set(from_left, l, int16_t(group.before[l] - group.base[l]));
            L::set(from_above, l, int16_t(l == 0 ? 0 : group.before[l - 1] - group.base[l]));
        }
        for (int64_t i = 0; i < group.rows; i++) {
            group.left_h[size_t(i)] = moved(group.left_h[size_t(i)], from_left);
            if (Affine) group.left_e[size_t(i)] = moved(group.left_e[size_t(i)], from_left);
        }
        if (wave < lanes) enter_first_tile(group, int(wave));
        for (int k = width - 1; k >= 0; k--) {
            const int64_t column = wave * width + k;
            const bool inside = column < part_.m;
            const BorderCell above = inside ? row_[size_t(column + 1)] : BorderCell{0, 0};
            shift_in(group.top_h[k], above_base(above.h, group.base[0]), from_above);
            shift_in(group.top_f[k], above_base(above.gap, group.base[0]), from_above);
            shift_in(group.columns[k], inside ? part_.target[column] : int16_t(beyond), Word(0));
        }
        group.next_corner = group.top_h[width - 1];
    }

    static int16_t above_base(int32_t value, int64_t base) {
        return int16_t(Local ? std::max<int64_t>(value - base, INT16_MIN) : value - base);
    }
    static Word moved(const Word& word, const Word& change) {
        if constexpr (Local) return add_saturated(word, change);
        else return word + change;
    }

    // What was a lane's is the next one's, more by `change`; the first lane gets `first`.
    static void shift_in(Word& word, int16_t first, const Word& change) {
        word = moved(Word::load(reinterpret_cast<const int16_t*>(&word) - 1), change);
        L::set(word, 0, first);
    }

    void enter_first_tile(Group& group, int l) {
        for (int64_t i = 0; i < group.height[l]; i++) {
            const BorderCell left = part_.left[group.begin[l] + i];
            L::set(group.left_h[size_t(i)], l, above_base(left.h, group.base[l]));
            L::set(group.left_e[size_t(i)], l, above_base(left.gap, group.base[l]));
        }
    }

    using State = Strip<Word, K, Affine>;

    void compute(Group& group) {
        Word diagonal = group.corner, best = Word(int16_t(INT16_MIN)), best_of_last = best;
        for (int c = 0; c < width; c += K) {
            State state;
            for (int k = 0; k < K; k++) {
                state.h[k] = group.top_h[c + k];
                if (Affine) state.f[k] = group.top_f[c + k];
            }
            const Word next_diagonal = group.top_h[c + K - 1];
            rows(group, c, 0, group.rows - 1, diagonal, state, best);
            const State above = state;
            rows(group, c, group.rows - 1, group.rows, diagonal, state, best_of_last);
            for (int k = 0; k < K; k++) {
                group.top_h[c + k] = select(group.shorter, above.h[k], state.h[k]);
                if (Affine) group.top_f[c + k] = select(group.shorter, above.f[k], state.f[k]);
            }
            diagonal = next_diagonal;
        }
        group.best = max(best, select(group.shorter, best, best_of_last));
    }

    void rows(Group& group, int c, int64_t from, int64_t to, Word& shared_diagonal, State& shared_state,
        Word& shared_best) const {
        const int x = 2 * scheme_.shift();
        const Word match = Word(int16_t(scheme_.scores[0] + x)), mismatch = Word(int16_t(scheme_.scores[1] + x));
        const Word open = Word(int16_t(scheme_.opening())), extend = Word(int16_t(scheme_.extend)),
                   minus_open = Word(int16_t(0)) - open;
        State state = shared_state;  // locals stay in registers
        Word diagonal = shared_diagonal, best = shared_best, columns[K];
        for (int k = 0; k < K; k++) columns[k] = group.columns[c + k];
        const Word* const symbols = group.symbols.data();
        Word* const left_h = group.left_h.data();
        Word* const left_e = group.left_e.data();
        for (int64_t i = from; i < to; i++) {
            Word left = left_h[i], e = left_e[i];
            const Word next_diagonal = left, row = symbols[i];
            const auto scores = [&](int k) { return select(row == columns[k], match, mismatch); };
            if constexpr (Local)
                saturated_local_row<Word, K>(scores, diagonal, left, e, state.h, state.f, open, extend, best);
            else state.row(scores, diagonal, left, e, minus_open);
            left_h[i] = left;
            if (Affine) left_e[i] = e;
            diagonal = next_diagonal;
        }
        shared_state = state;
        shared_diagonal = diagonal;
        shared_best = best;
    }

    void leave_tiles(const Group& group, int64_t wave) {
        if (Local) offer_best(group, wave);
        for (int l = 0; l < lanes; l++) {
            const int64_t tile = wave - l, kept = kept_row_[size_t(group.first_block + l)];
            if (tile < 0 || tile >= tiles_) continue;
            if (l == lanes - 1) leave_row(group, l, tile, row_.data());
            const int64_t column = (tile + 1) * width;
            if (edge_ && column == before_last_tile(part_.m)) leave_column(group, l, edge_);
            if (!kept_) continue;
            if (kept >= 0) leave_row(group, l, tile, kept_->rows.get() + kept * (part_.m + 1));
            if (column % kept_->spacing == 0 && column <= part_.m)
                leave_column(group, l, kept_->columns.get() + (column / kept_->spacing - 1) * part_.n);
        }
    }

    void offer_best(const Group& group, int64_t wave) {
        const std::lock_guard<std::mutex> guard(best_lock_);
        for (int l = 0; l < lanes; l++) {
            const int64_t tile = wave - l;
            if (tile < 0 || tile >= tiles_) continue;
            best_.offer(group.base[l] + L::get(group.best, l), tile * width,
                {group.begin[l], group.begin[l] + group.height[l]});
        }
    }

    void leave_row(const Group& group, int l, int64_t tile, BorderCell* row) const {
        if (tile == 0) row[0] = part_.left[group.begin[l] + group.height[l] - 1];
        const int64_t columns = std::min<int64_t>(width, part_.m - tile * width);
        for (int64_t k = 0; k < columns; k++)
            row[tile * width + k + 1] = {int32_t(group.base[l] + L::get(group.top_h[k], l)),
                int32_t(group.base[l] + L::get(Affine ? group.top_f[k] : group.top_h[k], l))};
    }

    void leave_column(const Group& group, int l, BorderCell* column) const {
        for (int64_t i = 0; i < group.height[l]; i++) {
            const Word& gap = Affine ? group.left_e[size_t(i)] : group.left_h[size_t(i)];
            column[group.begin[l] + i] = {
                int32_t(group.base[l] + L::get(group.left_h[size_t(i)], l)), int32_t(group.base[l] + L::get(gap, l))};
        }
    }

    static constexpr int beyond = 101, never = 100;  // no symbols: past the end, and what matches nothing

    const Scheme& scheme_;
    const int64_t corner_;  // value of a tile's corner
    DpTile part_{};
    KeptBorders* kept_ = nullptr;
    BorderCell* edge_ = nullptr;
    int64_t tiles_ = 0, groups_ = 0;
    std::vector<BorderCell> row_;  // the last row of the groups that have passed, by column
    std::vector<int64_t> kept_row_;
    BestTiles best_;
    std::mutex best_lock_;
    std::unique_ptr<std::atomic<int64_t>[]> progress_;  // tiles that a group's last lane has left
    std::atomic<int64_t> next_group_{0};
    std::vector<std::unique_ptr<Group>> workers_;  // one a thread
    StopAsked stop_asked_;
    std::atomic<bool> given_up_{false};
};

}  // namespace nw
}  // namespace gpualign
