// One banded dynamic program of a chain by a group of lanes, row by row: lanes take cells side by side.
//
// Only deletions lead from cell to cell of a row, and a deletion never begins at the end of one: the best that begins before a
// cell is a running maximum of what the cells before it are worth without (Khajeh-Saeed et al. 2010; Farrar's lazy F turned
// into a scan).
#pragma once
#include "algo/map/affine.hpp"
#include "algo/map/chain/alignment.hpp"

namespace gpualign {

// Memory of one dynamic program.
struct BandWorkspace {
    uint8_t *rows, *columns, *trace;
    int32_t *best;
    GapScores<int32_t>* insertion;
    uint32_t* operations;

    static GPUALIGN_HD uint64_t bytes(uint64_t rows, uint64_t band) {
        return rows * band + 8 * (rows + 4) + 12 * (band + 1) + (2 * rows + band) + 64;
    }
    static GPUALIGN_HD BandWorkspace at(uint8_t* memory, uint64_t rows, uint64_t band) {
        BandWorkspace workspace;
        workspace.operations = reinterpret_cast<uint32_t*>(memory);
        workspace.best = reinterpret_cast<int32_t*>(workspace.operations + 2 * (rows + 4));
        workspace.insertion = reinterpret_cast<GapScores<int32_t>*>(workspace.best + ((band + 2) & ~uint64_t(1)));
        workspace.trace = reinterpret_cast<uint8_t*>(workspace.insertion + band + 1);
        workspace.rows = workspace.trace + rows * band;
        workspace.columns = workspace.rows + rows;
        return workspace;
    }
};

// A CIGAR from its end, the last operation in registers; one lane writes it.
template <class Group>
class CigarFromEnd {
public:
    GPUALIGN_HD CigarFromEnd(const Group& group, uint32_t* operations) : group_(group), operations_(operations) {}

    GPUALIGN_HD void push(uint32_t operation, uint32_t length) {
        if (!length) return;
        if (length_ && operation != operation_) flush();
        operation_ = operation;
        length_ += length;
    }
    GPUALIGN_HD uint32_t flush() {
        if (length_) {
            if (group_.lane() == 0) operations_[count_] = length_ << 4 | operation_;
            count_++;
        }
        length_ = 0;
        return count_;
    }

private:
    const Group& group_;
    uint32_t* operations_;
    uint32_t count_ = 0, operation_ = 0, length_ = 0;
};

template <bool LongGaps, class Group, class Text>
class BandAligner {
public:
    GPUALIGN_HD BandAligner(const Group& group, const ChainBatch& batch, const Text& text, BandTask& task, const BandWorkspace& workspace)
        : group_(group), batch_(batch), scores_(batch.rules.scores), text_(text), task_(task), memory_(workspace) {}

    GPUALIGN_HOST_DEVICE void run() {
        load();
        start();
        End end{kLowest, 0, 0};
        for (int32_t i = 0; i < task_.rows; i++) sweep(i, end);
        if (task_.end_pin >= 0) end = {group_.from(last_value_, uint32_t(task_.end_pin) % Group::kLanes), task_.rows - 1, task_.end_pin};
        else end = best_of(end);
        finish(end);
        group_.sync();
    }

private:
    static constexpr int32_t kLowest = -(1 << 29);
    static constexpr uint8_t kOutside = 7, kTextNoBase = 5;

    struct End {
        int32_t value, row, diagonal;
    };

    GPUALIGN_HD void load() {
        const ChainQuery query = query_of(batch_, task_.read);
        const int64_t left = task_.swapped ? 0 : text_.contig_begin(task_.contig);
        const int64_t right = task_.swapped ? query.length() : text_.contig_begin(task_.contig + 1);
        for (int32_t i = int32_t(group_.lane()); i < task_.rows; i += int32_t(Group::kLanes))
            memory_.rows[i] = task_.swapped ? text_.code(task_.row + i) : query.code(int32_t(task_.row) + i, task_.reverse);
        for (int32_t i = int32_t(group_.lane()); i < task_.rows + task_.band - 1; i += int32_t(Group::kLanes)) {
            const int64_t at = task_.diagonal + i;
            uint8_t code = kOutside;
            if (at >= left && at < right) code = task_.swapped ? query.code(int32_t(at), task_.reverse) : text_.code(at);
            memory_.columns[i] = code == kNoBase ? kTextNoBase : code;
        }
    }

    // Before the first row: anything where the begin is free, otherwise the pin, and gaps that begin there.
    GPUALIGN_HD void start() {
        for (int32_t b = int32_t(group_.lane()); b <= task_.band; b += int32_t(Group::kLanes)) {
            const int32_t after = b - task_.begin_pin;
            memory_.best[b] = b == task_.band ? kLowest
                              : task_.begin_pin < 0 ? 0 : after < 0 ? kLowest : after ? -gap_cost(scores_, after) : 0;
            memory_.insertion[b] = {kLowest, kLowest};
        }
        group_.sync();
    }

    GPUALIGN_HD void sweep(int32_t i, End& end) {
        const GapPrices<int32_t> prices{scores_.gap_open + scores_.gap_extend, scores_.gap_extend,
                                        scores_.long_gap_open + scores_.long_gap_extend, scores_.long_gap_extend};
        const int32_t clipped = task_.begin_pin >= 0 ? kLowest : -scores_.clip_penalty;
        const int32_t clip = i == task_.rows - 1 ? 0 : scores_.clip_penalty;
        const uint8_t base = memory_.rows[i];
        int32_t left_best = kLowest;  // of the cell before the lanes'
        GapScores<int32_t> left{kLowest, kLowest}, running{kLowest, kLowest};
        for (int32_t first = 0; first < task_.band; first += int32_t(Group::kLanes)) {
            const int32_t b = first + int32_t(group_.lane());
            const bool inside = b < task_.band;
            const int32_t at = inside ? b : task_.band - 1;
            const uint8_t met = memory_.columns[i + at];
            const int32_t pairing = (base == met ? scores_.match : -scores_.mismatch) + (met == kOutside ? kLowest : 0);
            const int32_t diagonal = memory_.best[at] + pairing, above_best = memory_.best[at + 1];
            const GapScores<int32_t> above = memory_.insertion[at + 1], none{kLowest, kLowest};
            const int32_t alone = affine_cell<LongGaps>(diagonal, above_best, above, kLowest, none, prices, clipped).value;
            GapScores<int32_t> deletion{open(alone, b, prices.open_extend, prices.extend, running.gap), kLowest};
            if (LongGaps) deletion.long_gap = open(alone, b, prices.long_open_extend, prices.long_extend, running.long_gap);
            const int32_t value = max(max(alone, deletion.gap), deletion.long_gap);
            const int32_t before = group_.from_before(value, left_best);
            const GapScores<int32_t> gaps_before{group_.from_before(deletion.gap, left.gap),
                                                 LongGaps ? group_.from_before(deletion.long_gap, left.long_gap) : kLowest};
            const AffineCell<int32_t> cell = affine_cell<LongGaps>(diagonal, above_best, above, before, gaps_before, prices, clipped);
            group_.sync();  // all have read the row before
            if (inside) {
                memory_.best[b] = cell.value;
                memory_.insertion[b] = cell.insertion;
                memory_.trace[int64_t(i) * task_.band + b] = uint8_t(cell.from);
                if (cell.value - clip > end.value) end = {cell.value - clip, i, b};
                if (b == task_.end_pin) last_value_ = cell.value;
            }
            left_best = group_.from(value, Group::kLanes - 1);
            left = {group_.from(deletion.gap, Group::kLanes - 1), LongGaps ? group_.from(deletion.long_gap, Group::kLanes - 1) : kLowest};
            group_.sync();
        }
    }

    // The best deletion that ends in cell b; `running` is that of the cells before the lanes', as if it cost nothing a base.
    GPUALIGN_HD int32_t open(int32_t value, int32_t b, int32_t open_extend, int32_t extend, int32_t& running) const {
        const int32_t up_to = max(running, group_.largest_up_to(value + b * extend));
        const int32_t before = group_.from_before(up_to, running);
        running = group_.from(up_to, Group::kLanes - 1);
        return before - open_extend - (b - 1) * extend;
    }

    // Of all lanes: of equal ones the first row, then the first diagonal.
    GPUALIGN_HD End best_of(const End& mine) const {
        End best;
        best.value = group_.largest(mine.value);
        best.row = -group_.largest(mine.value == best.value ? -mine.row : kLowest);
        best.diagonal = -group_.largest(mine.value == best.value && mine.row == best.row ? -mine.diagonal : kLowest);
        return best;
    }

    GPUALIGN_HD void finish(const End& end) {
        CigarFromEnd<Group> cigar(group_, memory_.operations);
        const int32_t clip_end = task_.rows - 1 - end.row;
        cigar.push(kCigarS, uint32_t(clip_end));
        int row = end.row, diagonal = end.diagonal;
        const auto from = [&](int i, int b) { return memory_.trace[int64_t(i) * task_.band + b]; };
        const auto matches = [&](int i, int b) {
            int paired = 0;
            while (true) {
                const int at = i - paired - int(group_.lane());
                const uint32_t others = group_.ballot(at < 0 || (from(at, b) & kFromMask) != kFromDiagonal);
                if (others) return paired + int(first_lane(others));
                paired += int(Group::kLanes);
            }
        };
        affine_traceback(from, matches, row, diagonal, [&](char op, uint32_t n) {
            cigar.push(op == 'M' ? kCigarM : (op == 'I') != bool(task_.swapped) ? kCigarI : kCigarD, n);
        });
        if (task_.begin_pin >= 0) {
            cigar.push(task_.swapped ? kCigarI : kCigarD, uint32_t(diagonal - task_.begin_pin));
            diagonal = task_.begin_pin;
        }
        cigar.push(kCigarS, uint32_t(row));
        const uint32_t count = cigar.flush();
        group_.sync();
        const uint32_t at = group_.from(group_.lane() == 0 ? take(batch_.cigars, count) : 0u, 0);
        if (at != kNoItem)
            for (uint32_t o = group_.lane(); o < count; o += Group::kLanes)
                batch_.cigars.items[at + o] = memory_.operations[count - 1 - o];
        if (group_.lane() != 0) return;
        task_.cigar = at;
        task_.operations = count;
        task_.begin = task_.diagonal + row + diagonal;
        task_.score = end.value + (clip_end ? scores_.clip_penalty : 0) + (row ? scores_.clip_penalty : 0);
    }

    const Group& group_;
    const ChainBatch& batch_;
    const AffineScores& scores_;
    const Text& text_;
    BandTask& task_;
    const BandWorkspace memory_;
    int32_t last_value_ = 0;  // at the end's pin, in one lane
};

}  // namespace gpualign
