// Alignment of one long pair: the score by a wave over the table (align/score/wave.hpp), which keeps
// some rows and columns; then the parts between them that the traceback enters are computed again with directions, each
// from its two kept borders down to the cell where the path comes in, or, where they are still large, by a wave of
// their own. As on a GPU (cuda/device/align/score/dp_tile.cuh).
#pragma once
#include <utility>

#include "align/score/part_directions.hpp"
#include "align/score/wave.hpp"

namespace gpualign {
namespace nw {

template <bool Affine, bool Local> class LongPair {
public:
    // Whether the wave is worth it and can be: most of its lanes have tiles most of the time, and borders have space.
    static bool suits(const Scheme& scheme, const Pair& pair, bool traced, int64_t table_bytes) {
        const int64_t n = pair.n, m = pair.m, band = int64_t(pair.band_high) - pair.band_low;
        return scheme.match_mismatch && Wave<Affine, Local>::fits(scheme) && n >= 16 * Wave<Affine, Local>::lanes &&
               m >= Wave<Affine, Local>::lanes * Wave<Affine, Local>::width &&
               (!traced || table_bytes >= 64 * std::max(n, m)) && band * 8 > std::min(n, m);
    }

    LongPair(const Scheme& scheme, int threads)
        : scheme_(scheme), threads_(threads), wave_(scheme), directions_(scheme) {}

    void run(Pair& pair, bool traced, int64_t table_bytes) {
        pair_ = &pair;
        const std::vector<BorderCell> top = border(pair.m, scheme_.ends.target_start);
        const std::vector<BorderCell> left = border(pair.n, scheme_.ends.query_start);
        const DpTile whole{pair.query, pair.n, pair.target, pair.m, top.data(), left.data() + 1};
        KeptBorders kept;
        kept.spacing = spacing(whole, table_bytes / 2);
        pair.cigar.clear();
        pair.score = pair.start_i = pair.start_j = pair.end_i = pair.end_j = 0;
        const bool last_column = !Local && scheme_.cheap(scheme_.ends.query_end);
        if (last_column) right_.resize(size_t(pair.n));
        BorderCell* edge = last_column ? right_.data() : nullptr;
        const std::vector<BorderCell>& last_row = wave_.sweep(whole, threads_, traced ? &kept : nullptr, edge);
        if (!Local) choose_end(whole, last_row);
        else choose_end(whole, kept, traced);
        if (!traced) return;
        pair.begin_walk(scheme_);
        go_back_through(whole, kept, 0, 0, table_bytes / 4);
        pair.end_walk(scheme_);
    }

private:
    static constexpr int K = 8;  // columns of a strip
    static constexpr int64_t min_spacing = 256, max_direct = 1 << 18;  // symbols; cells
    // A large table keeps fewer borders: that costs less than computing the tiles between them twice.
    static constexpr int64_t wide_spacing = 1024, large = int64_t(1) << 32;

    // Symbols between what is kept of a part in so many bytes: a multiple of a tile's columns.
    static int64_t spacing(const DpTile& part, int64_t bytes) {
        constexpr int64_t width = Wave<Affine, Local>::width;
        const int64_t wanted = int64_t(2 * sizeof(BorderCell) * double(part.n) * double(part.m) / double(bytes)) + 1;
        return std::max(part.n * part.m < large ? min_spacing : wide_spacing, (wanted + width - 1) / width * width);
    }

    // Row or column 0 of the table, from the corner on.
    std::vector<BorderCell> border(int64_t symbols, EndGap gap) const {
        std::vector<BorderCell> cells(size_t(symbols) + 1);
        if (Local) return cells;  // zeros
        for (int64_t i = 0; i <= symbols; i++) {
            const int64_t h = gap.border(i, scheme_.shift());
            cells[size_t(i)] = {int32_t(h), int32_t(h - scheme_.opening())};
        }
        return cells;
    }

    // The best end, as Ends has it.
    void choose_end(const DpTile& whole, const std::vector<BorderCell>& last_row) {
        End best{INT64_MIN, 0, 0};
        const EndGaps& ends = scheme_.ends;
        const auto offer = [&](int32_t h, int64_t i, int64_t j) {
            const int64_t rest = ends.query_end.cost(whole.n - i) + ends.target_end.cost(whole.m - j);
            const End found{h - scheme_.shift() * (i + j) - rest, i, j};
            if (found.preferred_to(best, scheme_.whole(), whole.n, whole.m)) best = found;
        };
        for (int64_t j = scheme_.cheap(ends.target_end) ? 0 : whole.m; j <= whole.m; j++)
            offer(last_row[size_t(j)].h, whole.n, j);
        if (scheme_.cheap(ends.query_end)) {
            offer(whole.top[whole.m].h, 0, whole.m);
            finish_last_column(whole);
            for (int64_t i = 1; i <= whole.n; i++) offer(right_[size_t(i - 1)].h, i, whole.m);
        }
        pair_->score = int32_t(best.score);
        pair_->end_i = int32_t(best.i);
        pair_->end_j = int32_t(best.j);
    }

    // The best end of local alignments, in the tiles that have it, and its score.
    void choose_end(const DpTile& whole, const KeptBorders& kept, bool traced) {
        const BestTiles best = wave_.best();
        pair_->score = int32_t(best.score);
        if (!traced || best.score == 0) return;
        End found{best.score, whole.n + 1, whole.m + 1};
        const int64_t end = std::min(best.first_column + Wave<Affine, Local>::width, whole.m);
        for (const BestTiles::Rows& rows : best.rows) {
            int64_t row, column;
            const DpTile part = part_at(whole, kept, rows.end, end, row, column);
            right_.assign(part.left, part.left + part.n);
            for (int64_t c = 0; c < part.m; c += K)
                trace_strip(part, c, [&](int64_t i, const Strip<int32_t, K, Affine>& state) {
                    for (int64_t k = 0; k < std::min<int64_t>(K, part.m - c); k++) {
                        const End here{state.h[k], row + i + 1, column + c + k + 1};
                        if (here.preferred_to(found, false, whole.n, whole.m)) found = here;
                    }
                });
        }
        pair_->end_i = int32_t(found.i);
        pair_->end_j = int32_t(found.j);
    }

    // From the border of the last tiles, in right_, to the table's last column, left there.
    void finish_last_column(const DpTile& whole) {
        for (int64_t c = Wave<Affine, Local>::before_last_tile(whole.m); c < whole.m; c++) {
            Strip<int32_t, 1, Affine> state;
            state.h[0] = whole.top[c + 1].h;
            if (Affine) state.f[0] = whole.top[c + 1].gap;
            int32_t diagonal = whole.top[c].h;
            for (int64_t i = 0; i < whole.n; i++) {
                const int32_t score =
                    scheme_.scores[whole.query[i] * scheme_.symbols + whole.target[c]] + 2 * scheme_.shift();
                BorderCell& border = right_[size_t(i)];
                const int32_t next_diagonal = border.h;
                state.row([&](int) { return score; }, diagonal, border.h, border.gap, -scheme_.opening());
                diagonal = next_diagonal;
            }
        }
    }

    // The tile from the kept borders to cell (i, j), its last one; it begins at `row` and `column`.
    static DpTile part_at(
        const DpTile& part, const KeptBorders& kept, int64_t i, int64_t j, int64_t& row, int64_t& column) {
        const auto above = std::lower_bound(kept.row_ends.begin(), kept.row_ends.end(), i) - kept.row_ends.begin();
        row = above ? kept.row_ends[size_t(above - 1)] : 0;
        const int64_t before = (j - 1) / kept.spacing;
        column = before * kept.spacing;
        const BorderCell* top = above ? kept.rows.get() + (above - 1) * (part.m + 1) : part.top;
        const BorderCell* left = before ? kept.columns.get() + (before - 1) * part.n : part.left;
        return {part.query + row, i - row, part.target + column, j - column, top + column, left + row};
    }

    // From where the walk stands, the last cell of a part that begins after row `i0` and column `j0`, to its border.
    void go_back_through(const DpTile& part, const KeptBorders& kept, int64_t i0, int64_t j0, int64_t bytes) {
        const Walk& walk = pair_->walk;
        while (pair_->walking && walk.i > i0 && walk.j > j0) {
            int64_t row, column;
            const DpTile inner = part_at(part, kept, walk.i - i0, walk.j - j0, row, column);
            if (inner.n * inner.m <= max_direct) {
                trace(inner, i0 + row, j0 + column);
                continue;
            }
            KeptBorders inner_kept;
            inner_kept.spacing = spacing(inner, bytes);
            wave_.sweep(inner, threads_, &inner_kept);
            go_back_through(inner, inner_kept, i0 + row, j0 + column, bytes / 2);
        }
    }

    void trace(const DpTile& part, int64_t i0, int64_t j0) {
        directions_.compute(part);
        Walk& walk = pair_->walk;
        while (pair_->walking && walk.i > i0 && walk.j > j0)
            pair_->walking = step(walk, directions_.bits(walk.i - i0, walk.j - j0),
                [&](uint32_t operation) { pair_->push(operation, 1); });
    }

    // Calls row(i, strip) after each row of the strip that begins with column c, of local alignments.
    template <class Row> void trace_strip(const DpTile& part, int64_t c, const Row& after_row) {
        Strip<int32_t, K, Affine> state;
        int symbols[K];
        for (int k = 0; k < K; k++) {
            const int64_t column = std::min(c + k, part.m - 1);
            state.h[k] = part.top[column + 1].h;
            if (Affine) state.f[k] = part.top[column + 1].gap;
            symbols[k] = part.target[column];
        }
        int32_t diagonal = part.top[c].h;
        for (int64_t i = 0; i < part.n; i++) {
            const int32_t* scores = scheme_.scores + part.query[i] * scheme_.symbols;
            BorderCell border = right_[size_t(i)];
            const int32_t next_diagonal = border.h;
            const auto score = [&](int k) { return scores[symbols[k]] + 2 * scheme_.shift(); };
            state.row_local(score, diagonal, border.h, border.gap, -scheme_.open, -scheme_.extend);
            right_[size_t(i)] = border;
            diagonal = next_diagonal;
            after_row(i, state);
        }
    }

    const Scheme& scheme_;
    int threads_;
    Wave<Affine, Local> wave_;
    Pair* pair_ = nullptr;
    PartDirections<Affine, Local> directions_;
    std::vector<BorderCell> right_;  // of a part, by row
};

}  // namespace nw
}  // namespace gpualign
