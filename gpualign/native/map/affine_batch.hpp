// Many banded affine alignments at once, each (query, text window) pair in a lane of a vector: as 8-bit differences if
// both ends are pinned, else as 16-bit scores. Tasks that would leave lanes empty, or are too large, are aligned one
// by one.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "map/affine_wave.hpp"

namespace gpualign {

class AffineBatch {
public:
    AffineBatch(const ReferenceView& reference, const AffineScores& scores)
        : codes_(reference), scores_(scores), waves16_(reference, scores), waves32_(reference, scores) {}

    // results[i] is that of tasks[i] and independent of the other tasks.
    void run(const std::vector<AffineTask>& tasks, std::vector<AffineResult>& results) {
        results.resize(tasks.size());
        order_.resize(tasks.size());
        const auto pins = [&](uint32_t i) {
            return uint64_t(tasks[i].begin_pin >= 0) << 1 | uint64_t(tasks[i].end_pin >= 0);
        };
        const auto kind = [&](uint32_t i) {
            return pins(i) << 62 | uint64_t(width(tasks[i])) << 60 | uint64_t(tasks[i].band) << 32;
        };
        keys_.resize(tasks.size());
        for (uint32_t i = 0; i < tasks.size(); i++) keys_[i] = {kind(i) | uint32_t(tasks[i].length), i};
        std::sort(keys_.begin(), keys_.end());
        for (size_t i = 0; i < tasks.size(); i++) order_[i] = keys_[i].second;
        for (size_t at = 0; at < order_.size();) {
            const size_t lanes = width(tasks[order_[at]]) == Width::bits8 ? 2 * kLanes : kLanes;
            size_t stop = at + 1;
            while (stop < order_.size() && stop - at < lanes && kind(order_[stop]) == kind(order_[at])) stop++;
            if (has_long_gaps(scores_)) align_group<true>(tasks, results, at, int(stop - at));
            else align_group<false>(tasks, results, at, int(stop - at));
            at = stop;
        }
    }

private:
    enum class Width { bits8, bits16, bits32 };
    static constexpr int kLanes = Vec<int16_t>::lanes;

    template <bool LongGaps>
    void align_group(const std::vector<AffineTask>& tasks, std::vector<AffineResult>& results, size_t at, int count) {
        const uint32_t* members = order_.data() + at;
        if (alone(tasks, members, count)) {
            for (int i = 0; i < count; i++) {
                const AffineTask& task = tasks[members[i]];
                if (fits_16_bits(task)) waves16_.template align<LongGaps>(task, results[members[i]]);
                else waves32_.template align<LongGaps>(task, results[members[i]]);
            }
        } else if (width(tasks[members[0]]) == Width::bits8) {
            align_pinned<LongGaps>(tasks, results, members, count);
        } else {
            align_lanes<LongGaps>(tasks, results, members, count);
        }
    }

    // Whether each task is better aligned alone: if that takes fewer vectors, needs 32 bits, or the traceback of all
    // lanes is too large.
    bool alone(const std::vector<AffineTask>& tasks, const uint32_t* members, int count) const {
        const Width bits = width(tasks[members[0]]);
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

    // Differences of neighbouring cells are bounded by the costs; those to unreachable cells are kLowest8 or
    // outside_slope().
    bool fits_8_bits(const AffineTask& task) const {
        return task.begin_pin >= 0 && task.end_pin >= 0 && task.within_contig() &&
               scores_.match + scores_.gap_open + scores_.gap_extend <= 15 && scores_.mismatch <= 20 &&
               scores_.long_gap_open + scores_.long_gap_extend <= 30;
    }
    // A pinned alignment may score far below 0, but must stay above the values that unreachable cells can rise to.
    bool fits_16_bits(const AffineTask& task) const {
        const int64_t worst = std::max({scores_.match, scores_.mismatch, scores_.gap_open + scores_.gap_extend,
            scores_.long_gap_open + scores_.long_gap_extend, scores_.clip_penalty});
        const int64_t maximum = (int64_t(task.length) + 1) * scores_.match;
        const int64_t gaps = (int64_t(task.length) + task.band) * scores_.gap_extend;
        if (worst >= 1000) return false;
        if (task.begin_pin >= 0) return maximum + gaps + 2 * scores_.gap_open < -kLowest16;
        return maximum < -kLowest16 && gaps < -kLowest16;
    }
    static constexpr int8_t kLowest8 = lowest_score<int8_t>();
    static constexpr int16_t kLowest16 = lowest_score<int16_t>();

    // Slope of the row above the first one to the left of the pin, steep enough that an alignment beginning there
    // scores less than one with an insertion at the pin.
    int32_t outside_slope() const { return 2 * (scores_.match + scores_.gap_open + scores_.gap_extend); }
    // Tasks of one band with the same ends pinned, a lane each; query rows and text columns are vectors.
    template <class Lane> struct Group {
        using Score = Vec<Lane>;

        const std::vector<AffineTask>& tasks;
        const uint32_t* members;
        const int count, band;
        int rows = 0, columns = 0;
        Lane *query = nullptr, *text = nullptr;
        Lane* also = nullptr;     // what else the rows match; null without conversion
        Lane* outside = nullptr;  // cost of columns beyond the contig; null if no lane has any
        Score* best = nullptr;
        GapScores<Score>* insertion = nullptr;

        const AffineTask& operator[](int lane) const { return tasks[members[lane]]; }
        bool begin_pinned() const { return (*this)[0].begin_pin >= 0; }
        bool end_pinned() const { return (*this)[0].end_pin >= 0; }
    };

    using Score16 = Vec<int16_t>;
    using Score8 = Vec<int8_t>;

    // Best end per lane.
    struct Ends {
        Score16 value, row, diagonal;
    };

    template <bool LongGaps>
    void align_lanes(
        const std::vector<AffineTask>& tasks, std::vector<AffineResult>& results, const uint32_t* members, int count) {
        Group<int16_t> group{tasks, members, count, tasks[members[0]].band};
        load_codes(group, codes16_);
        set_first_row(group);
        traceback_.resize(size_t(group.rows) * size_t(group.band) * kLanes);
        const Ends ends = sweep_rows<LongGaps>(group);
        for (int lane = 0; lane < count; lane++)
            trace(group, lane, {ends.value[lane], ends.row[lane], ends.diagonal[lane]}, results[members[lane]]);
    }

    template <bool LongGaps>
    void align_pinned(
        const std::vector<AffineTask>& tasks, std::vector<AffineResult>& results, const uint32_t* members, int count) {
        Group<int8_t> group{tasks, members, count, tasks[members[0]].band};
        load_codes(group, codes8_);
        set_first_differences(group);
        traceback_.resize(size_t(group.rows) * size_t(group.band) * Score8::lanes);
        sweep_differences<LongGaps>(group);
        for (int lane = 0; lane < count; lane++) {
            AffineResult& result = results[members[lane]];
            trace(group, lane, {0, group[lane].length - 1, group[lane].end_pin}, result);
            result.score = pinned_score(group[lane], result.cigar, group.query + lane, group.text + lane,
                (group.also ? group.also : group.query) + lane);
        }
    }

    template <class Lane>
    void trace(const Group<Lane>& group, int lane, const LastCell& end, AffineResult& result) const {
        const uint8_t* bytes = traceback_.data() + lane;
        const size_t row = size_t(group.band) * Vec<Lane>::lanes;
        trace_affine(group[lane], scores_, end, result,
            [&](int i, int b) { return bytes[size_t(i) * row + size_t(b) * Vec<Lane>::lanes]; });
    }

    // One array: query rows, text columns, and the costs of these.
    template <class Lane> void load_codes(Group<Lane>& group, std::vector<Lane>& symbols) {
        constexpr size_t lanes = Vec<Lane>::lanes;
        for (int lane = 0; lane < group.count; lane++) group.rows = std::max(group.rows, int(group[lane].length));
        group.columns = group.rows + group.band - 1;
        symbols.assign(size_t(2 * group.rows + 2 * group.columns) * lanes, Lane(kOutside));
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
            for (size_t j = 0; j < columns.size(); j++) group.text[j * lanes + size_t(lane)] = Lane(columns[j]);
            within = within && task.within_contig();
        }
        if (within) return;
        group.outside = group.text + size_t(group.columns) * lanes;
        for (size_t j = 0; j < size_t(group.columns) * lanes; j++)
            group.outside[j] = group.text[j] == kOutside ? lowest_score<Lane>() : Lane(0);
    }

    template <class Lane> void reserve_cells(Group<Lane>& group, std::vector<Lane>& cells) {
        cells.assign(size_t(3 * (group.band + 1)) * Vec<Lane>::lanes + 64, lowest_score<Lane>());
        group.best = reinterpret_cast<Vec<Lane>*>((reinterpret_cast<uintptr_t>(cells.data()) + 63) & ~uintptr_t(63));
        group.insertion = reinterpret_cast<GapScores<Vec<Lane>>*>(group.best + group.band + 1);
    }

    // The row above the first one: 0 if the begin is free, else the pin and gaps that begin there.
    void set_first_row(Group<int16_t>& group) {
        reserve_cells(group, cells16_);
        if (!group.begin_pinned()) std::fill(group.best, group.best + group.band, Score16(int16_t(0)));
        else
            for (int lane = 0; lane < group.count; lane++) {
                const int pin = group[lane].begin_pin;
                for (int b = pin; b < group.band; b++)
                    group.best[b].set(lane, int16_t(b == pin ? 0 : -gap_cost(scores_, b - pin)));
            }
    }

    void set_first_differences(Group<int8_t>& group) {
        reserve_cells(group, cells8_);
        for (int lane = 0; lane < group.count; lane++) {
            const int pin = group[lane].begin_pin;
            int32_t last = 0;
            for (int b = 0; b < group.band; b++) {
                const int32_t value = b > pin ? -gap_cost(scores_, b - pin) : 0;
                group.best[b].set(lane, int8_t(b > pin ? value - last : outside_slope()));
                last = value;
            }
        }
    }

    template <bool LongGaps> void sweep_differences(const Group<int8_t>& group) {
        const Score8 match(int8_t(scores_.match)), mismatch(int8_t(-scores_.mismatch)), lowest(kLowest8);
        const auto costs = gap_costs<Score8, int8_t>(scores_);
        for (int i = 0; i < group.rows; i++) {
            const Score8 symbol = Score8::load(group.query + size_t(i) * Score8::lanes);
            const int8_t* text = group.text + size_t(i) * Score8::lanes;
            uint8_t* bytes = traceback_.data() + size_t(i) * size_t(group.band) * Score8::lanes;
            const auto at = [&](int b) { return Score8::load(text + size_t(b) * Score8::lanes); };
            const auto sweep = [&](auto&& substitution) {
                affine_difference_row<LongGaps>(substitution, group.band, costs, lowest, group.best, group.insertion,
                    [&](int b, Score8 from) { std::memcpy(bytes + size_t(b) * Score8::lanes, &from, sizeof from); });
            };
            if (group.also) {
                const Score8 other = Score8::load(group.also + size_t(i) * Score8::lanes);
                sweep([&](int b) { return select((at(b) == symbol) | (at(b) == other), match, mismatch); });
            } else {
                sweep([&](int b) { return select(at(b) == symbol, match, mismatch); });
            }
        }
    }

    // Score of an alignment with both ends pinned; `query` and `text` are those of its lane.
    int32_t pinned_score(
        const AffineTask& task, const Cigar& cigar, const int8_t* query, const int8_t* text, const int8_t* also) const {
        const ptrdiff_t other = also - query;
        constexpr int32_t lanes = Score8::lanes;
        int32_t score = 0;
        text += task.begin_pin * lanes;
        for (const uint32_t operation : cigar) {
            const int32_t n = int32_t(operation >> 4);
            if ((operation & 15) == kCigarM) {
                int32_t mismatches = 0;
                for (int32_t i = 0; i < n; i++, query += lanes, text += lanes)
                    mismatches += *query != *text && query[other] != *text;
                score += ungapped_score(scores_, n, mismatches);
            } else {
                score -= gap_cost(scores_, n);
                (((operation & 15) == kCigarI) != task.swapped() ? query : text) += n * lanes;
            }
        }
        return score;
    }

    template <bool LongGaps> Ends sweep_rows(const Group<int16_t>& group) {
        const Score16 match(int16_t(scores_.match)), mismatch(int16_t(-scores_.mismatch)),
            clip(int16_t(scores_.clip_penalty));
        const auto costs = gap_costs<Score16, int16_t>(scores_);
        const Score16 minimum(kLowest16), none(int16_t(0));
        const Score16 clipped = group.begin_pinned() ? minimum : none - clip;
        Score16 last_row = none, end_pin = none;
        for (int lane = 0; lane < group.count; lane++) {
            last_row.set(lane, int16_t(group[lane].length - 1));
            end_pin.set(lane, int16_t(group[lane].end_pin));
        }
        Ends ends{minimum, none, none};
        for (int i = 0; i < group.rows; i++) {
            const Score16 symbol = Score16::load(group.query + size_t(i) * kLanes), row{int16_t(i)};
            uint8_t* bytes = traceback_.data() + size_t(i) * size_t(group.band) * kLanes;
            const auto plain = [&](int b) {
                return select(Score16::load(group.text + size_t(i + b) * kLanes) == symbol, match, mismatch);
            };
            const auto outside = [&](int b) { return Score16::load(group.outside + size_t(i + b) * kLanes); };
            const auto within = [&](int b) { return plain(b) + outside(b); };
            const Score16 other = group.also ? Score16::load(group.also + size_t(i) * kLanes) : symbol;
            const auto converted = [&](int b) {
                const Score16 text = Score16::load(group.text + size_t(i + b) * kLanes);
                const Score16 pair = select((text == symbol) | (text == other), match, mismatch);
                return group.outside ? pair + outside(b) : pair;
            };
            const auto sweep = [&](auto&& store) {
                if (group.also)
                    affine_row<LongGaps>(
                        converted, group.band, costs, clipped, minimum, group.best, group.insertion, store);
                else if (group.outside)
                    affine_row<LongGaps>(
                        within, group.band, costs, clipped, minimum, group.best, group.insertion, store);
                else
                    affine_row<LongGaps>(
                        plain, group.band, costs, clipped, minimum, group.best, group.insertion, store);
            };
            Score16 row_best = minimum, row_diagonal = none;
            const auto is_last = row == last_row;
            if (group.end_pinned()) {
                sweep([&](int b, Score16 value, Score16 from) {
                    row_best = select(Score16(int16_t(b)) == end_pin, value, row_best);
                    store_bytes(bytes + size_t(b) * kLanes, from);
                });
                ends = {select(is_last, row_best, ends.value), select(is_last, row, ends.row), end_pin};
                continue;
            }
            sweep([&](int b, Score16 value, Score16 from) {
                row_diagonal = select(value > row_best, Score16(int16_t(b)), row_diagonal);
                row_best = max(value, row_best);
                store_bytes(bytes + size_t(b) * kLanes, from);
            });
            // the last row needs no clip penalty at the end; rows after it belong to longer queries
            const Score16 value = select(is_last, row_best, row_best - clip);
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
    std::vector<int8_t> codes8_, cells8_;
    std::vector<int16_t> codes16_, cells16_;
};

}  // namespace gpualign
