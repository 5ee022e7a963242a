// One banded affine alignment, vectorised along its anti-diagonals, for tasks that are too few of their kind to share
// a vector.
//
// Cell (i, b) is in wave 2i + b. The cells of a wave are on diagonals of one parity: cell c is on diagonal 2c +
// parity. Their neighbours above and to the left are in the previous wave, the one along the diagonal has the same
// index two waves before.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "map/affine_task.hpp"
#include "simd/vector.hpp"

namespace gpualign {

template <class Lane, int Lanes> struct LaneNumbers {
    Lane of[Lanes]{};
    constexpr LaneNumbers() {
        for (int lane = 0; lane < Lanes; lane++) of[lane] = Lane(lane);
    }
};
template <class Lane, int Lanes> constexpr LaneNumbers<Lane, Lanes> kLaneNumbers{};

template <class Lane> class AffineWaves {
public:
    using Score = Vec<Lane>;
    static constexpr int kLanes = Score::lanes;

    AffineWaves(const ReferenceView& reference, const AffineScores& scores, const IntronModel& introns)
        : codes_(reference, introns), scores_(scores) {}

    // Number of vectors that an alignment takes.
    static int64_t vectors(const AffineTask& task) {
        return (2 * int64_t(task.length) + task.band) * ((width(task) - 1) / kLanes + 1);
    }

    template <Gaps Model> void align(const AffineTask& task, AffineResult& result) {
        load(task);
        set_first_row(task);
        end_ = {kLowest, task.length - 1, task.end_pin};
        if (task.end_pin >= 0) sweep<Model, false>(task);
        else sweep<Model, true>(task);
        trace_affine(task, scores_, codes_.introns(), task.end_pin >= 0 ? end_ : best_end(task), result,
            [&](int i, int b) { return traceback_[place(2 * i + b, b / 2, task.length - 1)]; });
    }

private:
    // The cells of two waves. The first one and those after the last are outside the band.
    struct Wave {
        Lane *best, *insertion, *long_insertion, *deletion, *long_deletion;
        Lane *end_value, *end_row;  // best end on each diagonal
    };
    static constexpr size_t kArrays = sizeof(Wave) / sizeof(Lane*);

    struct Constants {
        Score match, mismatch, clip, clipped;
        GapCosts<Score> costs;
    };

    static constexpr Lane kLowest = lowest_score<Lane>();

    // Maximum number of cells in a wave.
    static int width(const AffineTask& task) { return min(task.length, task.band / 2 + 1); }
    // Index of the traceback byte of cell c of wave t.
    size_t place(int t, int c, int last_row) const {
        return size_t(t) * size_t(width_) + size_t(c - max(0, t / 2 - last_row));
    }

    // Rows are stored in reverse, so that both arrays are read forwards.
    void load(const AffineTask& task) {
        width_ = width(task);
        const uint8_t* rows = codes_.rows(task);
        query_.assign(size_t(task.length + 2 * kLanes), Lane(kOutside));
        for (int i = 0; i < task.length; i++) query_[size_t(task.length - 1 - i)] = rows[i];
        also_.clear();
        if (task.conversion != Conversion::none) {
            also_ = query_;
            for (int i = 0; i < task.length; i++) also_[size_t(task.length - 1 - i)] = codes_.also(task, rows[i]);
        }
        const std::vector<uint8_t>& columns = codes_.columns(task);
        text_.assign(columns.begin(), columns.end());
        text_.resize(columns.size() + 2 * kLanes, Lane(kOutside));
        outside_.clear();
        if (!task.within_contig())
            for (const Lane code : text_) outside_.push_back(code == kOutside ? kLowest : Lane(0));
        traceback_.resize(size_t(2 * task.length + task.band) * size_t(width_) + kLanes);
        if (!task.transcript) return;
        const AffineCodes::EndCosts& ends = codes_.intron_ends(task);
        for (const auto& [costs, of] : {std::pair(&intron_begins_, &ends.begin), {&intron_ends_, &ends.end}}) {
            costs->assign(of->begin(), of->end());
            costs->resize(of->size() + 2 * kLanes, Lane(0));
        }
    }

    void set_first_row(const AffineTask& task) {
        const size_t size = size_t(task.band / 2 + 1 + 2 * kLanes);
        cells_.assign(2 * kArrays * size, kLowest);
        Lane* next = cells_.data();
        for (Wave& wave : waves_)
            for (Lane** array : {&wave.best, &wave.insertion, &wave.long_insertion, &wave.deletion, &wave.long_deletion,
                     &wave.end_value, &wave.end_row}) {
                *array = next;
                next += size;
            }
        const int pin = task.begin_pin;
        for (int b = max(pin, 0); b < task.band; b++)
            waves_[b % 2].best[1 + b / 2] =
                Lane(pin < 0 || b == pin ? 0 : max(-gap_cost(scores_, b - pin), int32_t(kLowest)));
    }

    template <Gaps Model, bool FreeEnd> void sweep(const AffineTask& task) {
        Constants constants{Score(Lane(scores_.match)), Score(Lane(-scores_.mismatch)),
            Score(Lane(scores_.clip_penalty)), Score(Lane(task.begin_pin >= 0 ? kLowest : -scores_.clip_penalty)),
            gap_costs<Score, Lane>(scores_)};
        if (Model == Gaps::introns) constants.costs.long_open_extend = Score(Lane(task.intron));
        const int last_row = task.length - 1;
        for (int t = 0; t <= 2 * last_row + task.band - 1; t++) {
            const int parity = t % 2, row = t / 2;  // row of cell 0
            const int first = max(0, row - last_row), last = min(row, (task.band + 1 - parity) / 2 - 1);
            const Wave wave = waves_[parity], before = waves_[1 - parity];
            int c = first;
            for (; c + kLanes - 1 <= last; c += kLanes)
                step<Model, FreeEnd, false>(constants, wave, before, t, c, last_row, last);
            if (c <= last) step<Model, FreeEnd, true>(constants, wave, before, t, c, last_row, last);
            if (first == row - last_row && first <= last) end_in_last_row(task, parity, first);
        }
    }

    // Computes cells [c, c + kLanes) of a wave; those after `last`, above the first row or outside the band, are left
    // unchanged.
    template <Gaps Model, bool FreeEnd, bool Partial>
    void step(const Constants& constants, const Wave& wave, const Wave& before, int t, int c, int last_row, int last) {
        const int parity = t % 2, row = t / 2 - c, at = 1 + c, above = at + parity, left = above - 1;
        const Score numbers = Score::load(kLaneNumbers<Lane, kLanes>.of);
        const Score valid = Partial ? numbers < Score(Lane(last + 1 - c)) : Score(Lane(0));
        const auto store = [&](Lane* cells, Score value) {
            if (Partial) value = select(valid, value, Score::load(cells + at));
            value.store(cells + at);
        };
        const int column = t / 2 + parity + c;
        const Score text = Score::load(text_.data() + column);
        auto same = text == Score::load(query_.data() + (last_row - row));
        if (!also_.empty()) same = same | (text == Score::load(also_.data() + (last_row - row)));
        Score pair = select(same, constants.match, constants.mismatch);
        if (!outside_.empty()) pair = pair + Score::load(outside_.data() + column);
        const GapScores<Score> insertion{
            Score::load(before.insertion + above), Score::load(before.long_insertion + above)};
        const GapScores<Score> deletion{Score::load(before.deletion + left), Score::load(before.long_deletion + left)};
        IntronEnds<Score> intron{};
        if constexpr (Model == Gaps::introns)
            intron = {Score::load(intron_begins_.data() + column), Score::load(intron_ends_.data() + column)};
        const auto cell = affine_cell<Model>(Score::load(wave.best + at) + pair, Score::load(before.best + above),
            insertion, Score::load(before.best + left), deletion, constants.costs, constants.clipped, intron);
        store(wave.best, cell.value);
        store(wave.insertion, cell.insertion.gap);
        store(wave.deletion, cell.deletion.gap);
        if (Model == Gaps::two_costs) store(wave.long_insertion, cell.insertion.long_gap);
        if (Model != Gaps::affine) store(wave.long_deletion, cell.deletion.long_gap);
        store_bytes(traceback_.data() + place(t, c, last_row), cell.from);
        if (!FreeEnd) return;
        const Score value = cell.value - constants.clip, best = Score::load(wave.end_value + at);
        store(wave.end_row, select(value > best, Score(Lane(row)) - numbers, Score::load(wave.end_row + at)));
        store(wave.end_value, max(value, best));
    }

    // The last row needs no clip penalty at the end.
    void end_in_last_row(const AffineTask& task, int parity, int c) {
        const Wave& wave = waves_[parity];
        const int at = 1 + c;
        const int b = 2 * c + parity, row = task.length - 1;
        if (task.end_pin == b) end_.value = wave.best[at];
        if (task.end_pin >= 0 || wave.best[at] <= wave.end_value[at]) return;
        wave.end_value[at] = wave.best[at];
        wave.end_row[at] = Lane(row);
    }

    // Ties go to the first row, then to the lowest diagonal.
    LastCell best_end(const AffineTask& task) const {
        LastCell end{std::numeric_limits<int32_t>::min(), 0, 0};
        for (int b = 0; b < task.band; b++) {
            const Wave& wave = waves_[b % 2];
            const int32_t value = wave.end_value[1 + b / 2], row = wave.end_row[1 + b / 2];
            if (value > end.value || (value == end.value && row < end.row)) end = {value, row, b};
        }
        return end;
    }

    AffineCodes codes_;
    const AffineScores scores_;
    Wave waves_[2];  // on even and odd diagonals
    LastCell end_{};
    int width_ = 0;
    std::vector<Lane> query_, also_, text_, outside_, cells_;  // also_: of bisulfite reads
    std::vector<Lane> intron_begins_, intron_ends_;  // costs at the columns
    std::vector<uint8_t> traceback_;
};

}  // namespace gpualign
