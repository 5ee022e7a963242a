// Many (pattern, text window) pairs at once: one pair per lane of a machine vector, infix mode.
#pragma once
#include <cstdint>
#include <numeric>
#include <vector>

#include "algo/myers.hpp"
#include "query.hpp"
#include "reference.hpp"
#include "vector.hpp"

namespace gpualign {

// A pattern against the reference's bases [begin, end).
struct InfixPair {
    const PlaneWord* planes;
    int32_t length;  // of the pattern
    uint64_t begin, end;
};

// Distance of the whole pattern to the best substring of the window, and where the first such substring ends.
struct InfixResult {
    int32_t distance;
    int32_t end;  // bases of the window up to and including the last one used; 0 for the empty substring
};

class InfixBatch {
public:
    explicit InfixBatch(const ReferenceView& reference) : reference_(reference) {}

    // results[i] belongs to pairs[i]. The order in which pairs are taken does not show.
    void run(const std::vector<InfixPair>& pairs, std::vector<InfixResult>& results) {
        results.resize(pairs.size());
        order_.resize(pairs.size());
        std::iota(order_.begin(), order_.end(), 0u);
        const auto key = [&](uint32_t i) {
            const InfixPair& p = pairs[i];
            const bool runs = reference_.has_run(p.begin, p.end);
            return uint64_t(pattern_words(p.length)) << 33 | uint64_t(runs) << 32 | uint32_t(p.end - p.begin);
        };
        keys_.resize(pairs.size());
        for (uint32_t i = 0; i < pairs.size(); i++) keys_[i] = key(i);
        std::sort(order_.begin(), order_.end(),
                  [&](uint32_t a, uint32_t b) { return keys_[a] != keys_[b] ? keys_[a] < keys_[b] : a < b; });
        for (size_t at = 0; at < order_.size();) {
            const uint64_t group = keys_[order_[at]] >> 32;
            size_t stop = at + 1;
            while (stop < order_.size() && stop - at < size_t(kLanes) && keys_[order_[stop]] >> 32 == group) stop++;
            run_lanes(pairs, results, at, int(stop - at), int(group >> 1), group & 1);
            at = stop;
        }
    }

private:
    using Word = Vec<uint64_t>;
    using Score = Vec<int64_t>;
    static constexpr int kLanes = Word::lanes;
    static constexpr int kMostUnrolled = 8;  // 512 bases

    void run_lanes(const std::vector<InfixPair>& pairs, std::vector<InfixResult>& results, size_t at, int count,
                   int words, bool has_runs) {
        const uint32_t* members = order_.data() + at;
        load_text(pairs, members, count, has_runs);
        if (has_runs) {
            dispatch<true>(pairs, results, members, count, words);
        } else {
            dispatch<false>(pairs, results, members, count, words);
        }
    }

    template <bool HasRuns>
    void dispatch(const std::vector<InfixPair>& pairs, std::vector<InfixResult>& results, const uint32_t* members,
                  int count, int words) {
        switch (words) {
            case 0: for (int i = 0; i < count; i++) results[members[i]] = {0, 0}; break;
            case 1: search<1, HasRuns>(pairs, results, members, count); break;
            case 2: search<2, HasRuns>(pairs, results, members, count); break;
            case 3: search<3, HasRuns>(pairs, results, members, count); break;
            case 4: search<4, HasRuns>(pairs, results, members, count); break;
            case 5: case 6: search<6, HasRuns>(pairs, results, members, count); break;
            case 7: case 8: search<8, HasRuns>(pairs, results, members, count); break;
            default: search_tiled<HasRuns>(pairs, results, members, count, words);
        }
    }

    // Text letters, 32 a word, word t of lane l at t * lanes + l; and which of them are bases, in the same layout.
    void load_text(const std::vector<InfixPair>& pairs, const uint32_t* members, int count, bool has_runs) {
        uint64_t longest = 0;
        for (int lane = 0; lane < count; lane++) {
            const InfixPair& p = pairs[members[lane]];
            longest = std::max(longest, p.end - p.begin);
        }
        columns_ = int64_t(longest);
        const size_t words = size_t(longest / kBasesPerWord + 1);
        text_.assign(words * kLanes, 0);
        for (int lane = 0; lane < count; lane++) {
            const InfixPair& p = pairs[members[lane]];
            for (size_t t = 0; t * kBasesPerWord < p.end - p.begin; t++)
                text_[t * kLanes + size_t(lane)] = packed_window(reference_.words, p.begin + t * kBasesPerWord);
        }
        if (!has_runs) return;
        bases_.assign(words * kLanes, ~uint64_t(0));
        for (int lane = 0; lane < count; lane++) {
            const InfixPair& p = pairs[members[lane]];
            for (size_t run = reference_.first_run(p.begin); run < reference_.runs && reference_.run_starts[run] < p.end; run++)
                for (uint64_t i = std::max<uint64_t>(p.begin, reference_.run_starts[run]);
                     i < std::min<uint64_t>(p.end, reference_.run_ends[run]); i++) {
                    const uint64_t j = i - p.begin;
                    bases_[j / kBasesPerWord * kLanes + size_t(lane)] &= ~(uint64_t(3) << (2 * (j % kBasesPerWord)));
                }
        }
    }

    // Words [first, first + W) of the patterns; those before word 0 are padding.
    template <int W>
    void load_planes(const std::vector<InfixPair>& pairs, const uint32_t* members, int count, int first,
                     PatternPlanes<Word, W>& planes, Word* rows) {
        for (int w = 0; w < W; w++) {
            planes.low[w] = planes.high[w] = planes.known[w] = rows[w] = Word(0);
            for (int lane = 0; lane < count && first + w >= 0; lane++) {
                const PlaneWord& p = pairs[members[lane]].planes[first + w];
                planes.low[w].set(lane, p.low);
                planes.high[w].set(lane, p.high);
                planes.known[w].set(lane, p.known);
                rows[w].set(lane, p.rows);
            }
            planes.padding[w] = ~rows[w];
        }
    }

    struct Best {
        Score score, best, end;
    };

    void start(const std::vector<InfixPair>& pairs, const uint32_t* members, int count, Best& b, Score& lengths) {
        b.score = lengths = Score(0);
        for (int lane = 0; lane < count; lane++) {
            b.score.set(lane, pairs[members[lane]].length);
            lengths.set(lane, int64_t(pairs[members[lane]].end - pairs[members[lane]].begin));
        }
        b.best = b.score;
        b.end = Score(0);
    }

    void finish(std::vector<InfixResult>& results, const uint32_t* members, int count, const Best& b) {
        for (int lane = 0; lane < count; lane++)
            results[members[lane]] = {int32_t(b.best[lane]), int32_t(b.end[lane])};
    }

    static GPUALIGN_HD void note(Best& b, Score column, Score lengths) {
        const Score better = (b.score < b.best) & (column < lengths);
        b.best = select(better, b.score, b.best);
        b.end = select(better, column + Score(1), b.end);
    }

    template <int W, bool HasRuns>
    void search(const std::vector<InfixPair>& pairs, std::vector<InfixResult>& results, const uint32_t* members, int count) {
        PatternPlanes<Word, W> planes;
        MyersColumn<Word, W> column;
        Word rows[W];
        load_planes<W>(pairs, members, count, pattern_words(pairs[members[0]].length) - W, planes, rows);
        column.start(rows);
        Best b;
        Score lengths;
        start(pairs, members, count, b, lengths);
        for (int64_t j = 0; j < columns_;) {
            Word letters = Word::load(&text_[size_t(j / kBasesPerWord) * kLanes]);
            Word bases = HasRuns ? Word::load(&bases_[size_t(j / kBasesPerWord) * kLanes]) : Word(0);
            const int64_t stop = std::min<int64_t>(columns_, j + kBasesPerWord);
            for (; j < stop; j++) {
                const Word low = Word(0) - (letters & Word(1));
                const Word high = Word(0) - (letters >> 1 & Word(1));
                letters = letters >> 2;
                Word up(0), down(0);
                if (HasRuns) {
                    const Word known = Word(0) - (bases & Word(1));
                    bases = bases >> 2;
                    column.step([&](int w) { return planes.matches(w, low, high, known); }, up, down);
                } else {
                    column.step([&](int w) { return planes.matches(w, low, high); }, up, down);
                }
                b.score = b.score + up.template as<int64_t>() - down.template as<int64_t>();
                note(b, Score(j), lengths);
            }
        }
        finish(results, members, count, b);
    }

    // Patterns of any length: tiles of kMostUnrolled words, the horizontal differences of a tile's last row handed to the
    // next as two bits a column.
    template <bool HasRuns>
    void search_tiled(const std::vector<InfixPair>& pairs, std::vector<InfixResult>& results, const uint32_t* members,
                      int count, int words) {
        constexpr int W = kMostUnrolled;
        ups_.assign(size_t(columns_) * kLanes, 0);
        downs_.assign(size_t(columns_) * kLanes, 0);
        Best b;
        Score lengths;
        start(pairs, members, count, b, lengths);
        const int tiles = (words + W - 1) / W;
        for (int tile = 0; tile < tiles; tile++) {
            PatternPlanes<Word, W> planes;
            MyersColumn<Word, W> column;
            Word rows[W];
            load_planes<W>(pairs, members, count, words - (tiles - tile) * W, planes, rows);
            column.start(rows);
            const bool last = tile == tiles - 1;
            for (int64_t j = 0; j < columns_; j++) {
                const int shift = 2 * int(j % kBasesPerWord);
                const size_t word = size_t(j / kBasesPerWord) * kLanes;
                const Word letters = Word::load(&text_[word]) >> shift;
                const Word low = Word(0) - (letters & Word(1)), high = Word(0) - (letters >> 1 & Word(1));
                const Word known = HasRuns ? Word(0) - (Word::load(&bases_[word]) >> shift & Word(1)) : ~Word(0);
                Word up = Word::load(&ups_[size_t(j) * kLanes]), down = Word::load(&downs_[size_t(j) * kLanes]);
                column.step([&](int w) { return planes.matches(w, low, high, known); }, up, down);
                up.store(&ups_[size_t(j) * kLanes]);
                down.store(&downs_[size_t(j) * kLanes]);
                if (last) {
                    b.score = b.score + up.template as<int64_t>() - down.template as<int64_t>();
                    note(b, Score(j), lengths);
                }
            }
        }
        finish(results, members, count, b);
    }

    const ReferenceView& reference_;
    std::vector<uint32_t> order_;
    std::vector<uint64_t> keys_, text_, bases_, ups_, downs_;
    int64_t columns_ = 0;
};

}  // namespace gpualign
