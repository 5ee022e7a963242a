// Myers' algorithm for many (pattern, text window) pairs: a pair per vector lane, striped patterns
// (algo/align/edit/myers_striped.hpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "abi/verify.hpp"
#include "algo/common/bisulfite.hpp"
#include "algo/align/edit/myers_striped.hpp"
#include "seeds/index/reference.hpp"
#include "simd/vector.hpp"
#include "align/edit/myers_profiles.hpp"
#include "align/edit/window_texts.hpp"
#include "common/with_constant.hpp"

namespace gpualign {

// The best distance (exact if within the limit), and the number of text columns up to its first, or last, end.
struct VerifyBest {
    int32_t distance, end;
};

// `Converted`: patterns are bisulfite reads, with a conversion each.
template <bool Converted> class VerifyBatchOf {
public:
    VerifyBatchOf(const ReferenceView& reference, VerifyProfiles& profiles, const Conversion* conversions = nullptr)
        : reference_(reference), profiles_(profiles), conversions_(conversions) {}

    // results[i] is that of tasks[i], independent of the order of tasks. `backward`: the text is read from its end,
    // complemented, and the last of equal ends counts; this finds starts. Patterns and texts must not be empty.
    void run(const std::vector<VerifyTask>& tasks, VerifyMode mode, bool backward, std::vector<VerifyBest>& results) {
        mode_ = mode;
        backward_ = backward;
        results.resize(tasks.size());
        keys_.resize(tasks.size());
        order_.resize(tasks.size());
        std::iota(order_.begin(), order_.end(), 0u);
        for (size_t i = 0; i < tasks.size(); i++) {
            const VerifyTask& t = tasks[i];
            const bool runs = reference_.has_run(t.begin, uint64_t(t.begin) + t.columns);
            keys_[i] =
                uint64_t(VerifyProfiles::words(profiles_.length(t.profile))) << 33 | uint64_t(runs) << 32 | t.columns;
        }
        if (!std::is_sorted(keys_.begin(), keys_.end()))
            std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return keys_[a] < keys_[b]; });
        for (size_t at = 0; at < order_.size();) {
            const uint64_t group = keys_[order_[at]] >> 32;
            size_t stop = at + 1;
            while (stop < order_.size() && stop - at < size_t(2 * kLanes) && keys_[order_[stop]] >> 32 == group) stop++;
            run_group(tasks, results, order_.data() + at, int(stop - at), int(group >> 1), group & 1);
            at = stop;
        }
    }

private:
    using Word = Vec<uint64_t>;
    using Score = Vec<int64_t>;
    static constexpr int kLanes = Word::lanes;
    static constexpr int kTile = VerifyProfiles::kTileWords;

    struct Lanes {
        const VerifyTask* tasks[kLanes];
        int count, words;
        int64_t shortest, longest;  // columns
        Score columns;
    };

    // Score and column in one number (bits 32 and above, bits below), so that one minimum keeps both.
    struct Best {
        Score score, key, column_step;
    };

    // Computes up to two vectors of pairs, both at once if patterns are short: a column's operations depend on each
    // other, so that one vector alone would leave the processor idle.
    void run_group(const std::vector<VerifyTask>& tasks, std::vector<VerifyBest>& results, const uint32_t* members,
        int count, int words, bool runs) {
        const int vectors = count > kLanes && words <= kMaxPairedWords ? 2 : 1;
        for (int at = 0; at < count; at += vectors * kLanes) {
            Lanes lanes[2];
            Best best[2];
            for (int v = 0, from = at; v < vectors; v++, from += kLanes)
                lanes[v] = load_lanes(tasks, members + from, std::min(count - from, kLanes), words, runs, v);
            if (runs) search<true>(lanes, vectors, best);
            else search<false>(lanes, vectors, best);
            for (int v = 0; v < vectors; v++) store(results, members + at + v * kLanes, lanes[v].count, best[v]);
        }
    }

    Lanes load_lanes(
        const std::vector<VerifyTask>& tasks, const uint32_t* members, int count, int words, bool runs, int group) {
        Lanes lanes;
        lanes.count = count;
        lanes.words = words;
        lanes.shortest = INT64_MAX;
        lanes.longest = 0;
        lanes.columns = Score(0);
        for (int lane = 0; lane < count; lane++) {
            lanes.tasks[lane] = &tasks[members[lane]];
            const int64_t columns = lanes.tasks[lane]->columns;
            lanes.columns.set(lane, columns);
            lanes.shortest = std::min(lanes.shortest, columns);
            lanes.longest = std::max(lanes.longest, columns);
        }
        texts_[group].load(reference_, lanes.tasks, count, lanes.longest, runs, backward_);
        return lanes;
    }

    void store(std::vector<VerifyBest>& results, const uint32_t* members, int count, const Best& best) const {
        for (int lane = 0; lane < count; lane++) {
            const int64_t key = best.key[lane];
            const int64_t column = backward_ ? kLastColumn - (key & 0xFFFFFFFF) : key & 0xFFFFFFFF;
            results[members[lane]] = {int32_t(key >> 32), int32_t(column)};
        }
    }

    static constexpr int kMaxPairedWords = 3;  // of a pattern; longer ones keep the processor busy with one vector

    template <bool Runs> void search(const Lanes* lanes, int vectors, Best* best) {
        const int words = lanes[0].words;
        if (words > kTile) best[0] = search_tiled<Runs>(lanes[0]);
        else if (vectors == 2)
            with_constant<1, 2, kMaxPairedWords>(
                words, [&](auto w) { search<decltype(w)::value, 2, Runs>(lanes, best); });
        else
            with_constant<1, 2, 3, 4, 5, 6, 7, kTile>(
                words, [&](auto w) { search<decltype(w)::value, 1, Runs>(lanes, best); });
    }

    template <int W> struct Pattern {
        Word low[W], high[W], known[W], padding[W], rows[W];
        Word c_to_t;  // all bits of lanes with this conversion; the others have g_to_a
    };

    // Loads words [first, first + W) of the patterns' planes, a tile.
    template <int W> void load_pattern(const Lanes& lanes, int first, Pattern<W>& p) {
        uint64_t low[W][kLanes] = {}, high[W][kLanes] = {}, known[W][kLanes] = {}, rows[W][kLanes] = {};
        for (int lane = 0; lane < lanes.count; lane++) {
            const uint32_t profile = lanes.tasks[lane]->profile;
            const VerifyProfiles::Planes* planes = profiles_.planes(profile) + first;
            const int64_t pad = int64_t(lanes.words) * 64 - profiles_.length(profile) - int64_t(first) * 64;
            for (int w = 0; w < W; w++) {
                low[w][lane] = planes[w].low;
                high[w][lane] = planes[w].high;
                known[w][lane] = planes[w].known;
                rows[w][lane] = striped_rows<uint64_t>(w, W, pad);
            }
        }
        uint64_t c_to_t[kLanes] = {};
        for (int lane = 0; Converted && lane < lanes.count; lane++) {
            const uint32_t profile = lanes.tasks[lane]->profile;
            c_to_t[lane] = on_strand(conversions_[profile / 2], profile & 1) == Conversion::c_to_t ? ~uint64_t(0) : 0;
        }
        p.c_to_t = Word::load(c_to_t);
        for (int w = 0; w < W; w++) {
            p.low[w] = Word::load(low[w]);
            p.high[w] = Word::load(high[w]);
            p.known[w] = Word::load(known[w]);
            p.rows[w] = Word::load(rows[w]);
            p.padding[w] = mode_ == VerifyMode::infix ? ~p.rows[w] : Word(0);
        }
    }

    static constexpr int64_t kLastColumn =
        0x7FFFFFFF;  // columns count down from it if backward, so that the last is the lowest

    Best start(const Lanes& lanes) {
        Best b;
        b.score = Score(0);
        for (int lane = 0; lane < lanes.count; lane++) b.score.set(lane, profiles_.length(lanes.tasks[lane]->profile));
        b.score = b.score << 32;
        const int64_t zero_columns = backward_ ? kLastColumn : 0;
        b.key = mode_ == VerifyMode::global ? Score(INT64_MAX) : b.score + Score(zero_columns);
        b.score = b.score + Score(zero_columns);
        b.column_step = Score(backward_ ? -1 : 1);
        return b;
    }

    // Updates the best score with the last row's difference in column `columns`.
    GPUALIGN_HD void note(Best& b, const Lanes& lanes, int64_t columns, Word up, Word down) const {
        const Score change = (up >> 63).template as<int64_t>() - (down >> 63).template as<int64_t>();
        b.score = b.score + (change << 32) + b.column_step;
        if (mode_ == VerifyMode::global) {
            if (columns >= lanes.shortest) b.key = select(lanes.columns == Score(columns), b.score, b.key);
        } else if (columns <= lanes.shortest) {
            b.key = min(b.key, b.score);
        } else {
            b.key = select(lanes.columns < Score(columns), b.key, min(b.key, b.score));
        }
    }

    // Rows that match the encoded base in the two low bits of `codes`.
    template <int W, bool Runs> static GPUALIGN_HD void match(const Pattern<W>& p, Word codes, Word bases, Word* eq) {
        const Word low = Word(0) - (codes & Word(1)), high = Word(0) - (codes >> 1 & Word(1));
        const Word known = Runs ? Word(0) - (bases & Word(1)) : Word(0);
        // the high bit does not tell C from T, or G from A
        const Word told = Converted ? ~((low ^ high) & ~(low ^ p.c_to_t)) : Word(0);
        for (int w = 0; w < W; w++) {
            const Word rows = Runs ? p.known[w] & known : p.known[w];
            const Word higher = p.high[w] ^ high;
            eq[w] = andnot_or(rows, (p.low[w] ^ low) | (Converted ? higher & told : higher), p.padding[w]);
        }
    }

    template <int W, int Vectors, bool Runs> void search(const Lanes* lanes, Best* best) {
        Pattern<W> p[Vectors];
        StripedColumn<Word, W> column[Vectors];
        Best b[Vectors];
        int64_t longest = 0;
        for (int v = 0; v < Vectors; v++) longest = std::max(longest, lanes[v].longest);
        for (int v = 0; v < Vectors; v++) {
            load_pattern<W>(lanes[v], 0, p[v]);
            column[v].start(p[v].rows);
            b[v] = start(lanes[v]);
            // further columns do not change a vector whose texts have ended
            texts_[v].extend(longest, Runs);
        }
        const Word above(mode_ == VerifyMode::infix ? 0 : 1);
        for (int64_t j = 0; j < longest;) {
            const size_t word = size_t(j / kBasesPerWord) * kLanes;
            Word codes[Vectors], bases[Vectors];
            for (int v = 0; v < Vectors; v++) {
                codes[v] = Word::load(&texts_[v].codes[word]);
                bases[v] = Runs ? Word::load(&texts_[v].known[word]) : Word(0);
            }
            const int64_t stop = std::min<int64_t>(longest, j + kBasesPerWord);
            for (; j < stop; j++) {
                for (int v = 0; v < Vectors; v++) {
                    Word eq[W], up, down;
                    match<W, Runs>(p[v], codes[v], bases[v], eq);
                    column[v].step(eq, above, Word(0), up, down);
                    note(b[v], lanes[v], j + 1, up, down);
                    codes[v] = codes[v] >> 2;
                    if (Runs) bases[v] = bases[v] >> 2;
                }
            }
        }
        for (int v = 0; v < Vectors; v++) best[v] = b[v];
    }

    // Patterns of several tiles: the horizontal differences of a tile's last row are passed to the next tile. Cells
    // further from the start and end diagonals than the limit cannot be on an alignment within it (Ukkonen 1985): a
    // tile only computes the columns between them, and takes +1 from above where the tile above has none.
    template <bool Runs> Best search_tiled(const Lanes& lanes) {
        constexpr int W = kTile, kRows = W * 64;
        ups_.assign(size_t(lanes.longest) * kLanes, mode_ == VerifyMode::infix ? 0 : 1);
        downs_.assign(size_t(lanes.longest) * kLanes, 0);
        const int tiles = lanes.words / W;
        Best b = start(lanes);
        Score bottom(0);  // D in the last row of the tile above, before its first column
        int64_t above_first = 0, above_last = lanes.longest;
        for (int tile = 0; tile < tiles; tile++) {
            Pattern<W> p;
            load_pattern<W>(lanes, tile * W, p);
            StripedColumn<Word, W> column;
            column.start(p.rows);
            const auto [first, last] = columns_of(lanes, tile, tiles, kRows);
            for (int64_t j = above_last; j < last; j++) {
                Word(1).store(&ups_[size_t(j) * kLanes]);
                Word(0).store(&downs_[size_t(j) * kLanes]);
            }
            for (int64_t j = above_first; j < first; j++)
                bottom = bottom + Word::load(&ups_[size_t(j) * kLanes]).template as<int64_t>() -
                         Word::load(&downs_[size_t(j) * kLanes]).template as<int64_t>();
            for (int lane = 0; lane < lanes.count; lane++) {
                const int64_t pad =
                    int64_t(lanes.words) * 64 - profiles_.length(lanes.tasks[lane]->profile) - int64_t(tile) * kRows;
                bottom.set(lane, bottom[lane] + std::min<int64_t>(kRows, std::max<int64_t>(0, kRows - pad)));
            }
            if (tile == tiles - 1) b.score = (bottom << 32) + Score((backward_ ? kLastColumn - first : first));
            if (tile == tiles - 1) run_tile<Runs, true>(lanes, p, column, first, last, b);
            else run_tile<Runs, false>(lanes, p, column, first, last, b);
            above_first = first;
            above_last = last;
        }
        return b;
    }

    template <bool Runs, bool Last>
    void run_tile(const Lanes& lanes, const Pattern<kTile>& p, StripedColumn<Word, kTile>& column, int64_t first,
        int64_t last, Best& b) {
        for (int64_t j = first; j < last; j++) {
            const int shift = 2 * int(j % kBasesPerWord);
            const size_t word = size_t(j / kBasesPerWord) * kLanes, at = size_t(j) * kLanes;
            Word eq[kTile], up, down;
            match<kTile, Runs>(p, Word::load(&texts_[0].codes[word]) >> shift,
                Runs ? Word::load(&texts_[0].known[word]) >> shift : Word(0), eq);
            column.step(eq, Word::load(&ups_[at]), Word::load(&downs_[at]), up, down);
            if (Last) {
                note(b, lanes, j + 1, up, down);
            } else {
                (up >> 63).store(&ups_[at]);
                (down >> 63).store(&downs_[at]);
            }
        }
    }

    // Columns that any lane needs in a tile. An alignment with at most k errors passes (i, j) only if -k <= j - i <= n
    // - m + k (infix; a free start is within that, too), or j - i <= k (prefix and global).
    std::pair<int64_t, int64_t> columns_of(const Lanes& lanes, int tile, int tiles, int64_t rows) const {
        int64_t first = lanes.longest, last = 0;
        for (int lane = 0; lane < lanes.count; lane++) {
            const VerifyTask& t = *lanes.tasks[lane];
            const int64_t length = profiles_.length(t.profile), limit = std::min<int64_t>(t.limit, length);
            const int64_t pad = int64_t(lanes.words) * 64 - length;
            const int64_t top = std::max<int64_t>(0, tile * rows - pad),
                          bottom = std::max<int64_t>(0, (tile + 1) * rows - pad);
            const int64_t right = mode_ == VerifyMode::infix ? std::max<int64_t>(0, t.columns - length) + limit : limit;
            first = std::min(first, std::max<int64_t>(0, top - limit - 1));
            last = std::max(last, std::min<int64_t>(t.columns, bottom + right + 1));
        }
        if (tile == tiles - 1 && mode_ == VerifyMode::global) last = lanes.longest;
        return {std::min(first, last), last};
    }

    const ReferenceView& reference_;
    VerifyProfiles& profiles_;
    const Conversion* const conversions_;  // of the queries on their forward strand
    VerifyMode mode_ = VerifyMode::infix;
    bool backward_ = false;
    std::vector<uint32_t> order_;
    std::vector<uint64_t> keys_, ups_, downs_;
    WindowTexts<kLanes> texts_[2];  // of the current vectors
};

using VerifyBatch = VerifyBatchOf<false>;
using ConvertedBatch = VerifyBatchOf<true>;

}  // namespace gpualign
