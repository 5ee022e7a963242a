// Many banded affine alignments at once: one (query, text window) pair per lane of a vector of 16-bit scores, or one at a
// time in 32 bits where 16 could overflow.
#pragma once
#include <cstdint>
#include <numeric>
#include <vector>

#include "abi/chains.hpp"
#include "algo/map/affine.hpp"
#include "algo/map/chain/gaps.hpp"
#include "map/alignment.hpp"
#include "index/reference.hpp"
#include "simd/vector.hpp"

namespace gpualign {

// The whole query against the text of diagonals [diagonal, diagonal + band) of the reference: query base i may meet the
// reference's bases diagonal + i + [0, band), as far as they lie in the contig [contig_begin, contig_end).
//
// An end of the query is free to be clipped and to meet any of the text, or it is pinned: the alignment begins (ends) with
// its first (last) base on one diagonal of the band.
//
// The two may change roles: then the rows are the reference's bases from `swapped_row` on, and their columns those of the
// query, all of which `codes` holds.
struct AffineTask {
    const uint8_t* codes;  // of the query, kNoBase where it has no base
    int32_t length;
    int32_t band;
    int64_t diagonal;
    int64_t contig_begin, contig_end;                  // columns
    int32_t begin_pin = kFreeEnd, end_pin = kFreeEnd;  // diagonals of the band, 0 the first one
    int64_t swapped_row = -1;

    bool swapped() const { return swapped_row >= 0; }
};

struct AffineResult {
    int32_t score;           // without clip penalties, as bwa's AS
    int64_t begin;           // reference position of the first aligned column
    Cigar cigar;
};

class AffineBatch {
public:
    AffineBatch(const ReferenceView& reference, const AffineScores& scores) : reference_(reference), scores_(scores) {}

    // results[i] belongs to tasks[i] and does not depend on the other tasks.
    void run(const std::vector<AffineTask>& tasks, std::vector<AffineResult>& results) {
        results.resize(tasks.size());
        order_.resize(tasks.size());
        std::iota(order_.begin(), order_.end(), 0u);
        const auto pins = [&](uint32_t i) { return uint64_t(tasks[i].begin_pin >= 0) << 1 | uint64_t(tasks[i].end_pin >= 0); };
        const auto key = [&](uint32_t i) { return pins(i) << 62 | uint64_t(tasks[i].band) << 32 | uint32_t(tasks[i].length); };
        std::sort(order_.begin(), order_.end(),
                  [&](uint32_t a, uint32_t b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
        for (size_t at = 0; at < order_.size();) {
            const int32_t band = tasks[order_[at]].band;
            const bool wide = !fits_16_bits(tasks[order_[at]]);
            size_t stop = at + 1;
            while (stop < order_.size() && stop - at < size_t(wide ? 1 : kLanes) && tasks[order_[stop]].band == band &&
                   pins(order_[stop]) == pins(order_[at]) && !fits_16_bits(tasks[order_[stop]]) == wide)
                stop++;
            if (has_long_gaps(scores_)) align_group<true>(tasks, results, at, int(stop - at), wide);
            else align_group<false>(tasks, results, at, int(stop - at), wide);
            at = stop;
        }
    }

private:
    template <bool LongGaps>
    void align_group(const std::vector<AffineTask>& tasks, std::vector<AffineResult>& results, size_t at, int count, bool wide) {
        if (wide) align<LongGaps, int32_t, int32_t, 1>(tasks, results, at, 1);
        else align<LongGaps, Vec<int16_t>, int16_t, kLanes>(tasks, results, at, count);
    }

    static constexpr int kLanes = Vec<int16_t>::lanes;
    static constexpr int kLowest16 = -12000;  // below every value reached, far enough from -32768 to subtract a few penalties

    // A pinned alignment may score far below 0, but must not come near what cells out of its reach can rise to. A lane's
    // share of the traceback is bounded as well.
    bool fits_16_bits(const AffineTask& task) const {
        const int64_t worst = std::max({scores_.match, scores_.mismatch, scores_.gap_open + scores_.gap_extend, scores_.long_gap_open + scores_.long_gap_extend,
                                        scores_.clip_penalty});
        const int64_t maximum = (int64_t(task.length) + 1) * scores_.match;
        const int64_t gaps = (int64_t(task.length) + task.band) * scores_.gap_extend;
        if (worst >= 1000 || int64_t(task.length) * task.band > kMaxCells) return false;
        if (task.begin_pin >= 0) return maximum + gaps + 2 * scores_.gap_open < -kLowest16;
        return maximum < -kLowest16 && gaps < -kLowest16;
    }
    static constexpr int64_t kMaxCells = 1 << 20;

    // Codes of the rows, and of the columns [diagonal, diagonal + length + band - 1), kOutside beyond the contig or the query.
    static constexpr uint8_t kOutside = 7, kTextNoBase = 5;
    const uint8_t* load_rows(const AffineTask& task) {
        if (!task.swapped()) return task.codes;
        rows_.resize(size_t(task.length));
        reference_.codes(uint64_t(task.swapped_row), uint64_t(task.swapped_row + task.length), rows_.data());
        return rows_.data();
    }
    void load_columns(const AffineTask& task) {
        const int64_t begin = task.diagonal, end = task.diagonal + task.length + task.band - 1;
        window_.assign(size_t(end - begin), kOutside);
        const int64_t from = std::max(begin, task.contig_begin), to = std::min(end, task.contig_end);
        if (from >= to) return;
        if (task.swapped()) std::copy(task.codes + from, task.codes + to, window_.data() + (from - begin));
        else reference_.codes(uint64_t(from), uint64_t(to), window_.data() + (from - begin));
        for (int64_t i = from; i < to; i++)
            if (window_[size_t(i - begin)] == kNoBase) window_[size_t(i - begin)] = kTextNoBase;
    }

    // Tasks of one band with the same ends pinned, a lane each. Rows of the query and columns of the text are vectors.
    template <class Score, class Lane>
    struct Group {
        const std::vector<AffineTask>& tasks;
        const uint32_t* members;
        const int count, band;
        int rows = 0, columns = 0;
        Lane *query = nullptr, *text = nullptr;
        Lane* outside = nullptr;  // what columns beyond the contig cost; null where no lane has any
        Score* best = nullptr;
        GapScores<Score>* insertion = nullptr;

        const AffineTask& operator[](int lane) const { return tasks[members[lane]]; }
        bool begin_pinned() const { return (*this)[0].begin_pin >= 0; }
        bool end_pinned() const { return (*this)[0].end_pin >= 0; }
    };

    // The best end of each lane.
    template <class Score>
    struct Ends {
        Score value, row, diagonal;
    };

    template <class Lane>
    static constexpr Lane lowest() {
        return Lane(sizeof(Lane) == 2 ? kLowest16 : -(1 << 29));
    }

    template <bool LongGaps, class Score, class Lane, int Lanes>
    void align(const std::vector<AffineTask>& tasks, std::vector<AffineResult>& results, size_t at, int count) {
        Group<Score, Lane> group{tasks, order_.data() + at, count, tasks[order_[at]].band};
        load_codes<Lanes>(group);
        set_first_row<Lanes>(group);
        traceback_.resize(size_t(group.rows) * size_t(group.band) * Lanes);
        const Ends<Score> ends = sweep_rows<LongGaps, Lanes>(group);
        for (int lane = 0; lane < count; lane++)
            finish(group[lane], results[group.members[lane]], lane_of(ends.value, lane), lane_of(ends.row, lane),
                   lane_of(ends.diagonal, lane), traceback_.data() + lane, group.band, Lanes);
    }

    template <int Lanes, class Score, class Lane>
    void load_codes(Group<Score, Lane>& group) {
        for (int lane = 0; lane < group.count; lane++) group.rows = std::max(group.rows, int(group[lane].length));
        group.columns = group.rows + group.band - 1;
        std::vector<Lane>& symbols = lane_buffer<Lane>();  // query rows, then text columns, then what these cost
        symbols.assign(size_t(group.rows + 2 * group.columns) * Lanes, Lane(kOutside));
        group.query = symbols.data();
        group.text = group.query + size_t(group.rows) * Lanes;
        Lane* outside = group.text + size_t(group.columns) * Lanes;
        bool any_outside = false;
        for (int lane = 0; lane < group.count; lane++) {
            const AffineTask& task = group[lane];
            const uint8_t* rows = load_rows(task);
            for (int i = 0; i < task.length; i++) group.query[size_t(i) * Lanes + size_t(lane)] = rows[i];
            load_columns(task);
            for (size_t j = 0; j < window_.size(); j++) {
                group.text[j * Lanes + size_t(lane)] = window_[j];
                any_outside |= window_[j] == kOutside;
            }
        }
        if (!any_outside) return;
        group.outside = outside;
        for (size_t j = 0; j < size_t(group.columns) * Lanes; j++)
            outside[j] = group.text[j] == kOutside ? lowest<Lane>() : Lane(0);
    }

    // Before the first row: anything where the begin is free, otherwise the pin, and gaps that begin there.
    template <int Lanes, class Score, class Lane>
    void set_first_row(Group<Score, Lane>& group) {
        std::vector<Lane>& cells = cell_buffer<Lane>();
        cells.assign(size_t(3 * (group.band + 1)) * Lanes + 64, lowest<Lane>());
        group.best = aligned<Score>(cells.data());
        group.insertion = reinterpret_cast<GapScores<Score>*>(group.best + group.band + 1);
        const bool pinned = group.begin_pinned();
        for (int b = 0; b < group.band; b++) group.best[b] = Score(Lane(pinned ? lowest<Lane>() : 0));
        group.best[group.band] = Score(lowest<Lane>());
        if (!pinned) return;
        for (int lane = 0; lane < group.count; lane++) {
            const int pin = group[lane].begin_pin;
            set_lane(group.best[pin], lane, Lane(0));
            for (int b = pin + 1; b < group.band; b++)
                set_lane(group.best[b], lane, Lane(-gap_cost(scores_, b - pin)));
        }
    }

    template <bool LongGaps, int Lanes, class Score, class Lane>
    Ends<Score> sweep_rows(const Group<Score, Lane>& group) {
        const Score match(Lane(scores_.match)), mismatch(Lane(-scores_.mismatch)), clip(Lane(scores_.clip_penalty));
        const GapPrices<Score> prices{Score(Lane(scores_.gap_open + scores_.gap_extend)), Score(Lane(scores_.gap_extend)),
                                      Score(Lane(scores_.long_gap_open + scores_.long_gap_extend)), Score(Lane(scores_.long_gap_extend))};
        const Score minimum(lowest<Lane>());
        const Score clipped = group.begin_pinned() ? minimum : Score(Lane(0)) - clip;
        Score last_row(Lane(0)), end_pin(Lane(0));
        for (int lane = 0; lane < group.count; lane++) {
            set_lane(last_row, lane, Lane(group[lane].length - 1));
            set_lane(end_pin, lane, Lane(group[lane].end_pin));
        }
        Ends<Score> ends{minimum, Score(Lane(0)), Score(Lane(0))};
        for (int i = 0; i < group.rows; i++) {
            const Score symbol = load<Score>(group.query + size_t(i) * Lanes);
            uint8_t* bytes = traceback_.data() + size_t(i) * size_t(group.band) * Lanes;
            const auto plain = [&](int b) {
                return select(load<Score>(group.text + size_t(i + b) * Lanes) == symbol, match, mismatch);
            };
            const auto within = [&](int b) { return plain(b) + load<Score>(group.outside + size_t(i + b) * Lanes); };
            const auto sweep = [&](auto&& store) {
                const auto run = [&](const auto& score) {
                    affine_row<LongGaps>(score, group.band, prices, clipped, minimum, group.best, group.insertion, store);
                };
                if (group.outside) run(within);
                else run(plain);
            };
            Score row_best(minimum), row_diagonal(Lane(0));
            const Score row{Lane(i)};
            const auto is_last = row == last_row;
            if (group.end_pinned()) {
                sweep([&](int b, Score value, Score from) {
                    row_best = select(Score(Lane(b)) == end_pin, value, row_best);
                    store_bytes(bytes + size_t(b) * Lanes, from);
                });
                ends = {select(is_last, row_best, ends.value), select(is_last, row, ends.row), end_pin};
                continue;
            }
            sweep([&](int b, Score value, Score from) {
                row_diagonal = select(value > row_best, Score(Lane(b)), row_diagonal);
                row_best = max(value, row_best);
                store_bytes(bytes + size_t(b) * Lanes, from);
            });
            // the last row needs no clip at the end; rows after it belong to longer queries
            const Score value = select(is_last, row_best, row_best - clip);
            auto better = value > ends.value;
            better = better & ((row < last_row) | is_last);
            ends = {select(better, value, ends.value), select(better, row, ends.row),
                    select(better, row_diagonal, ends.diagonal)};
        }
        return ends;
    }

    void finish(const AffineTask& task, AffineResult& result, int value, int row, int diagonal, const uint8_t* bytes, int band,
                int lanes) {
        const int clip_end = task.length - 1 - row;
        result.cigar.clear();
        push_cigar(result.cigar, kCigarS, uint32_t(clip_end));
        const auto from = [&](int i, int b) { return bytes[(size_t(i) * size_t(band) + size_t(b)) * size_t(lanes)]; };
        const auto matches = [&](int i, int b) {
            int run = 0;
            while (i - run >= 0 && (from(i - run, b) & kFromMask) == kFromDiagonal) run++;
            return run;
        };
        affine_traceback(from, matches, row, diagonal, [&](char op, uint32_t n) {
            push_cigar(result.cigar, op == 'M' ? kCigarM : (op == 'I') != task.swapped() ? kCigarI : kCigarD, n);
        });
        if (task.begin_pin >= 0) {
            push_cigar(result.cigar, task.swapped() ? kCigarI : kCigarD, uint32_t(diagonal - task.begin_pin));
            diagonal = task.begin_pin;
        }
        push_cigar(result.cigar, kCigarS, uint32_t(row));
        std::reverse(result.cigar.begin(), result.cigar.end());
        result.begin = task.diagonal + row + diagonal;
        result.score = value + (clip_end ? scores_.clip_penalty : 0) + (row ? scores_.clip_penalty : 0);
    }

    template <class Score, class Lane>
    static Score load(const Lane* p) {
        if constexpr (sizeof(Score) == sizeof(Lane)) return Score(*p);
        else return Score::load(p);
    }
    static void set_lane(int32_t& score, int, int32_t x) { score = x; }
    static void set_lane(Vec<int16_t>& score, int lane, int16_t x) { score.set(lane, x); }
    static int lane_of(int32_t score, int) { return score; }
    static int lane_of(const Vec<int16_t>& score, int lane) { return score[lane]; }
    static void store_bytes(uint8_t* out, int32_t from) { *out = uint8_t(from); }
    static void store_bytes(uint8_t* out, const Vec<int16_t>& from) {
        typedef uint8_t Bytes __attribute__((vector_size(GPUALIGN_VECTOR_BYTES / 2)));
        const Bytes bytes = __builtin_convertvector(from.v, Bytes);
        std::memcpy(out, &bytes, sizeof bytes);
    }
    template <class Score, class Lane>
    static Score* aligned(Lane* p) {
        return reinterpret_cast<Score*>((reinterpret_cast<uintptr_t>(p) + 63) & ~uintptr_t(63));
    }
    template <class Lane>
    std::vector<Lane>& lane_buffer() {
        if constexpr (sizeof(Lane) == 2) return codes16_;
        else return codes32_;
    }
    template <class Lane>
    std::vector<Lane>& cell_buffer() {
        if constexpr (sizeof(Lane) == 2) return cells16_;
        else return cells32_;
    }

    const ReferenceView& reference_;
    const AffineScores scores_;
    std::vector<uint32_t> order_;
    std::vector<uint8_t> rows_, window_, traceback_;
    std::vector<int16_t> codes16_, cells16_;
    std::vector<int32_t> codes32_, cells32_;
};

}  // namespace gpualign
