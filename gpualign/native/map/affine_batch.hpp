// Many banded affine alignments at once, each (query, text window) pair in a lane of a vector, of 8 bits for short
// queries and else of 16. Tasks that would leave lanes empty, or are too large, are aligned one by one.
//
// Scores of 8 bits saturate. Those that are too low for a lane become -128, and may rise again, by no more than all
// bases match: to less than 0, as these are at most 127. So what scores 0 or more at its end is exact, and so is every
// cell of its path, which no such score can outdo; the few others are aligned again in 16 bits.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "map/affine_wave.hpp"
#include "simd/saturated.hpp"

namespace gpualign {

struct SaturatedScore : Vec<int8_t> {
    using Vec<int8_t>::Vec;
    SaturatedScore() = default;
    SaturatedScore(Vec<int8_t> score) : Vec<int8_t>(score) {}

    friend SaturatedScore operator+(SaturatedScore a, SaturatedScore b) { return add_saturated(a, b); }
    friend SaturatedScore operator-(SaturatedScore a, SaturatedScore b) { return subtract_saturated(a, b); }
};

class AffineBatch {
public:
    AffineBatch(const ReferenceView& reference, const AffineScores& scores, const IntronModel& introns = {})
        : codes_(reference, introns), scores_(scores), waves16_(reference, scores, introns),
          waves32_(reference, scores, introns) {}

    // results[i] is that of tasks[i] and independent of the other tasks.
    void run(const std::vector<AffineTask>& tasks, std::vector<AffineResult>& results) {
        results.resize(tasks.size());
        order_.resize(tasks.size());
        const auto pins = [&](uint32_t i) {
            return uint64_t(tasks[i].begin_pin >= 0) << 1 | uint64_t(tasks[i].end_pin >= 0);
        };
        const auto kind = [&](uint32_t i) {
            return pins(i) << 62 | uint64_t(width(tasks[i])) << 60 |
                   uint64_t(tasks[i].transcript != kNoTranscript) << 59 | uint64_t(tasks[i].fold != 0) << 58 |
                   uint64_t(tasks[i].band) << 32;
        };
        keys_.resize(tasks.size());
        for (uint32_t i = 0; i < tasks.size(); i++) keys_[i] = {kind(i) | uint32_t(tasks[i].length), i};
        std::sort(keys_.begin(), keys_.end());
        for (size_t i = 0; i < tasks.size(); i++) order_[i] = keys_[i].second;
        for (size_t at = 0; at < order_.size();) {
            const size_t lanes = width(tasks[order_[at]]) == Width::bits8 ? 2 * kLanes : kLanes;
            size_t stop = at + 1;
            while (stop < order_.size() && stop - at < lanes && kind(order_[stop]) == kind(order_[at])) stop++;
            if (tasks[order_[at]].transcript) align_group<Gaps::introns>(tasks, results, at, int(stop - at));
            else if (has_long_gaps(scores_)) align_group<Gaps::two_costs>(tasks, results, at, int(stop - at));
            else align_group<Gaps::affine>(tasks, results, at, int(stop - at));
            at = stop;
        }
    }

private:
    enum class Width { bits8, bits16, bits32 };
    static constexpr int kLanes = Vec<int16_t>::lanes;

    template <Gaps Model>
    void align_group(const std::vector<AffineTask>& tasks, std::vector<AffineResult>& results, size_t at, int count) {
        const uint32_t* members = order_.data() + at;
        if (alone(tasks, members, count)) {
            for (int i = 0; i < count; i++) {
                const AffineTask& task = tasks[members[i]];
                if (fits_16_bits(task)) waves16_.template align<Model>(task, results[members[i]]);
                else waves32_.template align<Model>(task, results[members[i]]);
            }
        } else if (width(tasks[members[0]]) == Width::bits8) {
            align_lanes<Model>(tasks, results, members, count, memory8_);
        } else {
            align_lanes<Model>(tasks, results, members, count, memory16_);
        }
    }

    // Whether each task is better aligned alone: if that takes fewer vectors, needs 32 bits, or the traceback of all
    // lanes is too large.
    bool alone(const std::vector<AffineTask>& tasks, const uint32_t* members, int count) const {
        const Width bits = width(tasks[members[0]]);
        if (tasks[members[0]].fold) return false;
        const int64_t largest = tasks[members[count - 1]].cells();
        int64_t vectors = 0;
        for (int i = 0; i < count; i++) vectors += AffineWaves<int16_t>::vectors(tasks[members[i]]);
        return bits == Width::bits32 || largest > (bits == Width::bits8 ? kMaxCells / 2 : kMaxCells) ||
               vectors < largest;
    }
    static constexpr int64_t kMaxCells = 1 << 20;

    Width width(const AffineTask& task) const {
        return fits_8_bits(task) ? Width::bits8 : fits_16_bits(task) ? Width::bits16 : Width::bits32;
    }

    bool fits_8_bits(const AffineTask& task) const {
        return int64_t(task.length) * scores_.match <= 127 && task.band <= 127 && scores_.mismatch <= 127 &&
               scores_.gap_open + scores_.gap_extend <= 127 && scores_.clip_penalty <= 127 &&
               scores_.long_gap_open + scores_.long_gap_extend <= 127;
    }
    // A pinned alignment may score far below 0, but must stay above the values that unreachable cells can rise to.
    bool fits_16_bits(const AffineTask& task) const {
        const int64_t worst = std::max({scores_.match, scores_.mismatch, scores_.gap_open + scores_.gap_extend,
            scores_.long_gap_open + scores_.long_gap_extend, scores_.clip_penalty});
        const int64_t maximum = (int64_t(task.length) + 1) * scores_.match;
        const int64_t diagonals = task.transcript ? task.length : task.band;  // an intron of any length costs as much
        const int64_t gaps = (int64_t(task.length) + diagonals) * scores_.gap_extend;
        if (worst >= 1000) return false;
        if (task.begin_pin >= 0) return maximum + gaps + 2 * scores_.gap_open < -kLowest16;
        return maximum < -kLowest16 && gaps < -kLowest16;
    }
    static constexpr int16_t kLowest16 = lowest_score<int16_t>();

    template <class Lane> using ScoreOf = std::conditional_t<sizeof(Lane) == 1, SaturatedScore, Vec<Lane>>;
    template <class Lane> struct Memory {
        std::vector<Lane> codes, cells;
    };
    // Tasks of one band with the same ends pinned, a lane each; query rows and text columns are vectors.
    template <class Lane> struct Group {
        using Score = ScoreOf<Lane>;

        const std::vector<AffineTask>& tasks;
        const uint32_t* members;
        const int count, band, fold;
        int rows = 0, columns = 0;
        Lane *query = nullptr, *text = nullptr;
        Lane* also = nullptr;  // what else the rows match; null without conversion
        Lane* outside = nullptr;  // cost of columns beyond the contig; null if no lane has any
        Lane *intron_begins = nullptr, *intron_ends = nullptr;  // costs at the columns
        Score* best = nullptr;
        GapScores<Score>* insertion = nullptr;

        const AffineTask& operator[](int lane) const { return tasks[members[lane]]; }
        bool begin_pinned() const { return (*this)[0].begin_pin >= 0; }
        bool end_pinned() const { return (*this)[0].end_pin >= 0; }
    };

    // Best end per lane.
    template <class Lane> struct Ends {
        ScoreOf<Lane> value, row, diagonal;
    };

    template <Gaps Model, class Lane>
    void align_lanes(const std::vector<AffineTask>& tasks, std::vector<AffineResult>& results, const uint32_t* members,
        int count, Memory<Lane>& memory) {
        Group<Lane> group{tasks, members, count, tasks[members[0]].band, tasks[members[0]].fold};
        load_codes<Model>(group, memory.codes);
        set_first_row(group, memory.cells);
        traceback_.resize(size_t(group.rows) * size_t(group.band) * Vec<Lane>::lanes);
        const Ends<Lane> ends = sweep_rows<Model>(group);
        uint32_t again[Vec<Lane>::lanes];  // in 16 bits
        int left = 0;
        for (int lane = 0; lane < count; lane++) {
            const LastCell end{ends.value[lane], ends.row[lane], ends.diagonal[lane]};
            if (sizeof(Lane) == 1 && end.value < 0) again[left++] = members[lane];
            else trace(group, lane, end, results[members[lane]]);
        }
        for (int i = 0; i < left; i += kLanes)
            align_lanes<Model>(tasks, results, again + i, std::min(left - i, kLanes), memory16_);
    }

    template <class Lane>
    void trace(const Group<Lane>& group, int lane, const LastCell& end, AffineResult& result) const {
        const uint8_t* bytes = traceback_.data() + lane;
        const size_t row = size_t(group.band) * Vec<Lane>::lanes;
        trace_affine(group[lane], scores_, codes_.introns(), end, result,
            [&](int i, int b) { return bytes[size_t(i) * row + size_t(b) * Vec<Lane>::lanes]; });
    }

    // One array: query rows, text columns, and the costs of these.
    template <Gaps Model, class Lane> void load_codes(Group<Lane>& group, std::vector<Lane>& symbols) {
        constexpr size_t lanes = Vec<Lane>::lanes;
        for (int lane = 0; lane < group.count; lane++) group.rows = std::max(group.rows, int(group[lane].length));
        group.columns = column_count(group.rows, group.band, group.fold);
        const int arrays = Model == Gaps::introns ? 4 : 2;
        symbols.assign(size_t(2 * group.rows + arrays * group.columns) * lanes, Lane(kOutside));
        group.query = symbols.data();
        group.text = group.query + size_t(group.rows) * lanes;
        bool within = true;
        if (group[0].conversion != Conversion::none) group.also = group.text + size_t(2 * group.columns) * lanes;
        for (int lane = 0; lane < group.count; lane++) {
            const AffineTask& task = group[lane];
            const uint8_t* rows = codes_.rows(task);
            for (size_t i = 0; i < size_t(task.length); i++) group.query[i * lanes + size_t(lane)] = Lane(rows[i]);
            for (size_t i = 0; group.also && i < size_t(task.length); i++)
                group.also[i * lanes + size_t(lane)] = Lane(codes_.also(task, rows[i]));
            const std::vector<uint8_t>& columns = codes_.columns(task);
            const size_t before_fold = group.fold ? size_t(task.length - 1 + group.fold) : columns.size();
            const auto place = [&](size_t j) {  // of column j, as the longest task has more before its fold
                return (j + (j < before_fold ? 0 : size_t(group.rows - task.length))) * lanes + size_t(lane);
            };
            for (size_t j = 0; j < columns.size(); j++) group.text[place(j)] = Lane(columns[j]);
            within = within && task.within_contig();
            if constexpr (Model == Gaps::introns) {
                group.intron_begins = group.text + size_t(2 * group.columns) * lanes;
                group.intron_ends = group.text + size_t(3 * group.columns) * lanes;
                const AffineCodes::EndCosts& ends = codes_.intron_ends(task);
                for (size_t j = 0; j < columns.size(); j++) {
                    group.intron_begins[place(j)] = Lane(ends.begin[j]);
                    group.intron_ends[place(j)] = Lane(ends.end[j]);
                }
            }
        }
        if (within) return;
        group.outside = group.text + size_t(group.columns) * lanes;
        for (size_t j = 0; j < size_t(group.columns) * lanes; j++)
            group.outside[j] = group.text[j] == kOutside ? lowest_score<Lane>() : Lane(0);
    }

    // The row above the first one: 0 if the begin is free, else the pin and gaps that begin there.
    template <class Lane> void set_first_row(Group<Lane>& group, std::vector<Lane>& cells) {
        using Score = ScoreOf<Lane>;
        constexpr Lane lowest = lowest_score<Lane>();
        cells.assign(size_t(3 * (group.band + 1)) * Score::lanes + 64, lowest);
        group.best = reinterpret_cast<Score*>((reinterpret_cast<uintptr_t>(cells.data()) + 63) & ~uintptr_t(63));
        group.insertion = reinterpret_cast<GapScores<Score>*>(group.best + group.band + 1);
        if (!group.begin_pinned()) return std::fill(group.best, group.best + group.band, Score(Lane(0)));
        for (int lane = 0; lane < group.count; lane++) {
            const int pin = group[lane].begin_pin;
            for (int b = pin; b < (group.fold ? group.fold : group.band); b++)
                group.best[b].set(lane, Lane(std::max<int32_t>(b == pin ? 0 : -gap_cost(scores_, b - pin), lowest)));
        }
    }

    template <Gaps Model, class Lane> Ends<Lane> sweep_rows(const Group<Lane>& group) {
        using Score = ScoreOf<Lane>;
        constexpr int lanes = Score::lanes;
        const Score match(Lane(scores_.match)), mismatch(Lane(-scores_.mismatch)), clip(Lane(scores_.clip_penalty));
        auto costs = gap_costs<Score, Lane>(scores_);
        if constexpr (Model == Gaps::introns)
            for (int lane = 0; lane < group.count; lane++) costs.long_open_extend.set(lane, Lane(group[lane].intron));
        const Score minimum(lowest_score<Lane>()), none(Lane(0));
        const Score clipped = group.begin_pinned() ? minimum : none - clip;
        Score last_row = none, end_pin = none;
        for (int lane = 0; lane < group.count; lane++) {
            last_row.set(lane, Lane(group[lane].length - 1));
            end_pin.set(lane, Lane(group[lane].end_pin));
        }
        Ends<Lane> ends{minimum, none, none};
        for (int i = 0; i < group.rows; i++) {
            const Score symbol = Score::load(group.query + size_t(i) * lanes), row{Lane(i)};
            uint8_t* bytes = traceback_.data() + size_t(i) * size_t(group.band) * lanes;
            const auto column = [&](int b) {
                if constexpr (Model == Gaps::introns) return size_t(column_of(i, b, group.rows, group.fold)) * lanes;
                else return size_t(i + b) * lanes;
            };
            const auto intron = [&](int b) -> IntronEnds<Score> {
                return {Score::load(group.intron_begins + column(b)), Score::load(group.intron_ends + column(b))};
            };
            const auto plain = [&](int b) -> Score {
                return select(Score::load(group.text + column(b)) == symbol, match, mismatch);
            };
            const auto outside = [&](int b) -> Score { return Score::load(group.outside + column(b)); };
            const auto within = [&](int b) { return plain(b) + outside(b); };
            const Score other = Score::load((group.also ? group.also : group.query) + size_t(i) * lanes);
            const auto converted = [&](int b) -> Score {
                const Score text = Score::load(group.text + column(b));
                const Score pair = select((text == symbol) | (text == other), match, mismatch);
                return group.outside ? pair + outside(b) : pair;
            };
            const auto sweep = [&](auto&& store) {
                if (group.also)
                    affine_row<Model>(converted, intron, group.band, group.fold, costs, clipped, minimum, group.best,
                        group.insertion, store);
                else if (group.outside)
                    affine_row<Model>(within, intron, group.band, group.fold, costs, clipped, minimum, group.best,
                        group.insertion, store);
                else
                    affine_row<Model>(plain, intron, group.band, group.fold, costs, clipped, minimum, group.best,
                        group.insertion, store);
            };
            Score row_best = minimum, row_diagonal = none;
            const auto is_last = row == last_row;
            if (group.end_pinned()) {
                sweep([&](int b, Score value, Score from) {
                    row_best = select(Score(Lane(b)) == end_pin, value, row_best);
                    store_bytes(bytes + size_t(b) * lanes, from);
                });
                ends = {select(is_last, row_best, ends.value), select(is_last, row, ends.row), end_pin};
                continue;
            }
            sweep([&](int b, Score value, Score from) {
                row_diagonal = select(value > row_best, Score(Lane(b)), row_diagonal);
                row_best = max(value, row_best);
                store_bytes(bytes + size_t(b) * lanes, from);
            });
            // the last row needs no clip penalty at the end; rows after it belong to longer queries
            const Score value = select(is_last, row_best, row_best - clip);
            const auto better = (value > ends.value) & ((row < last_row) | is_last);
            ends = {select(better, value, ends.value), select(better, row, ends.row),
                select(better, row_diagonal, ends.diagonal)};
        }
        return ends;
    }

    AffineCodes codes_;
    const AffineScores scores_;
    AffineWaves<int16_t> waves16_;
    AffineWaves<int32_t> waves32_;
    std::vector<uint32_t> order_;
    std::vector<std::pair<uint64_t, uint32_t>> keys_;  // of the tasks, and their numbers
    std::vector<uint8_t> traceback_;
    Memory<int8_t> memory8_;
    Memory<int16_t> memory16_;
};

}  // namespace gpualign
