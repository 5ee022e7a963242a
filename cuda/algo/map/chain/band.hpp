// One banded DP matrix of a read or chain, computed by a group of lanes as a wavefront. A lane takes a row, two cells
// after the lane with the row above, then the row kLanes further on: a cell's neighbours are in the lane's own
// registers or in those of the lane before.
#pragma once
#include "algo/map/affine.hpp"
#include "algo/map/chain/alignment.hpp"
#include "algo/map/chain/introns.hpp"

namespace gpualign {

// A cell as the row below needs it.
struct alignas(16) BandCell {
    int32_t value;
    GapScores<int32_t> insertion;
};

// Schedule and memory of a band on `Lanes` lanes. A lane begins a row every `period` steps, so that the row above
// stays ahead. With Ring the first lane's row follows directly on the last lane's and needs no memory; otherwise the
// last lane stores its row.
template <uint32_t Lanes, bool Ring, bool Introns = false> struct BandLayout {
    static GPUALIGN_HD int32_t period(int32_t band) {
        return Ring ? int32_t(2 * Lanes) : max(band, int32_t(2 * Lanes + 1));
    }
    static GPUALIGN_HD uint64_t steps(int32_t rows, int32_t band) {
        const uint64_t needed = uint64_t(rows + int32_t(Lanes) - 1) / Lanes * uint64_t(period(band)) + 2 * (Lanes - 1);
        return (needed + 3) / 4 * 4;
    }
    static GPUALIGN_HD uint64_t row_bytes(int32_t band) { return Ring ? 0 : sizeof(BandCell) * uint64_t(band); }
    static GPUALIGN_HD uint64_t operation_bytes(int32_t rows) { return 8 * (uint64_t(rows) + 4); }
    static GPUALIGN_HD uint64_t bytes(int32_t rows, int32_t band) {  // without the encoded bases
        return row_bytes(band) + operation_bytes(rows) + steps(rows, band) * Lanes;
    }
    static constexpr GPUALIGN_HD uint64_t code_bytes(int32_t rows, int32_t band) {
        if (Introns) return uint64_t(rows) + 3 * (2 * uint64_t(rows) + uint64_t(band));  // and costs of intron ends
        return 2 * uint64_t(rows) + uint64_t(band);
    }
    // In total, a multiple of 16.
    static GPUALIGN_HD uint64_t all_bytes(int32_t rows, int32_t band) {
        return (bytes(rows, band) + code_bytes(rows, band) + 15) / 16 * 16;
    }
};

// Memory for one band.
struct BandWorkspace {
    BandCell* row;  // last row stored by the last lane
    uint32_t* operations;
    uint32_t* trace;  // four steps of a lane per word
    uint8_t* codes;   // rows, then columns, each the set of codes that it matches, a bit each

    template <class Layout> static GPUALIGN_HD BandWorkspace at(uint8_t* memory, int32_t rows, int32_t band) {
        BandWorkspace workspace;
        workspace.row = reinterpret_cast<BandCell*>(memory);
        workspace.operations = reinterpret_cast<uint32_t*>(memory + Layout::row_bytes(band));
        workspace.trace = workspace.operations + Layout::operation_bytes(rows) / 4;
        workspace.codes = memory + Layout::bytes(rows, band);
        return workspace;
    }
};

// A CIGAR built from its end, the last operation in registers; lane 0 writes it.
template <class Group> class CigarFromEnd {
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

// End of the best alignment.
struct BandEnd {
    int32_t value, row, diagonal;
};

// Where an alignment begins, its score without clip penalties, and its operations in BandWorkspace, last one first.
struct BandAlignment {
    int64_t begin;
    int32_t score;
    uint32_t operations;
};

// Follows the best alignment of a task from its end by the cells' traceback bytes from(row, diagonal).
template <class Group, class From>
GPUALIGN_HOST_DEVICE BandAlignment trace_band(const Group& group, const AffineScores& scores, const BandTask& task,
    const BandEnd& end, int32_t shortest_intron, From&& from, uint32_t* operations) {
    CigarFromEnd<Group> cigar(group, operations);
    const int32_t clip_end = task.rows - 1 - end.row;
    cigar.push(kCigarS, uint32_t(clip_end));
    int row = end.row, diagonal = end.diagonal;
    const auto matches = [&](int i, int b) {
        int paired = 0;
        while (true) {
            const int at = i - paired - int(group.lane());
            const uint32_t others = group.ballot(at < 0 || (from(at, b) & kFromMask) != kFromDiagonal);
            if (others) return paired + int(first_lane(others));
            paired += int(Group::kLanes);
        }
    };
    const TracedIntrons traced{task.transcript ? shortest_intron : 0, task.fold, task.jump};
    affine_traceback(from, matches, row, diagonal, traced,
        [&](char op, uint32_t n) { cigar.push(traced_operation(op, task.swapped), n); });
    if (task.begin_pin >= 0) {
        cigar.push(task.swapped ? kCigarI : kCigarD, uint32_t(diagonal - task.begin_pin));
        diagonal = task.begin_pin;
    }
    cigar.push(kCigarS, uint32_t(row));
    const uint32_t count = cigar.flush();
    group.sync();
    return {task.diagonal + row + diagonal + jump_before(diagonal, task.fold, task.jump),
        end.value + (clip_end ? scores.clip_penalty : 0) + (row ? scores.clip_penalty : 0), count};
}

// Adds the CIGAR of an alignment to `cigars`, and completes its task.
template <class Group>
GPUALIGN_HOST_DEVICE void finish_band(const Group& group, const BandAlignment& found, const uint32_t* operations,
    const Arena<uint32_t>& cigars, BandTask& task) {
    const uint32_t count = found.operations;
    const uint32_t at = group.from(group.lane() == 0 ? take(cigars, count) : 0u, 0);
    if (at != kNoItem)
        for (uint32_t o = group.lane(); o < count; o += Group::kLanes) cigars.items[at + o] = operations[count - 1 - o];
    if (group.lane() != 0) return;
    task.cigar = at;
    task.operations = count;
    task.begin = found.begin;
    task.score = found.score;
}

template <Gaps Model, bool Ring, class Group, class Text> class BandAligner {
    static constexpr bool kIntrons = Model == Gaps::introns;

public:
    using Layout = BandLayout<Group::kLanes, Ring, kIntrons>;

    GPUALIGN_HD BandAligner(const Group& group, const AffineScores& scores, const Text& text, const BandTask& task,
        const BandWorkspace& workspace, const IntronModel& introns = {})
        : group_(group), scores_(scores), text_(text), task_(task), memory_(workspace), introns_(introns) {}

    GPUALIGN_HD int32_t steps() const { return int32_t(Layout::steps(task_.rows, task_.band)); }

    // Encodes rows and columns, and initialises the row above the first one.
    GPUALIGN_HD void load(const ChainQuery& query) {
        const auto in_query = [&](int64_t i) {
            return matched_codes(query.conversion(task_.reverse), query.code(int32_t(i), task_.reverse));
        };
        const auto in_text = [&](int64_t i) { return uint8_t(1 << text_.code(i)); };
        const int64_t left = task_.swapped ? 0 : text_.contig_begin(task_.contig);
        const int64_t right = task_.swapped ? query.length() : text_.contig_begin(task_.contig + 1);
        const int32_t lane = int32_t(group_.lane()), lanes = int32_t(Group::kLanes);
        for (int32_t i = lane; i < task_.rows; i += lanes)
            memory_.codes[i] = task_.swapped ? in_text(task_.row + i) : in_query(task_.row + i);
        for (int32_t i = lane; i < columns(); i += lanes) {
            const int64_t at = task_.diagonal + (kIntrons ? column_offset(i, task_.rows, task_.fold, task_.jump) : i);
            uint8_t codes = 1 << kOutside;
            if (at >= left && at < right) codes = task_.swapped ? in_query(at) : in_text(at);
            memory_.codes[task_.rows + i] = codes == 1 << kNoBase ? uint8_t(1 << kTextNoBase) : codes;
            if constexpr (kIntrons) {
                if (!task_.transcript) continue;
                const auto base = [&](int64_t p) { return p >= left && p < right ? text_.code(p) : kNoBase; };
                const TranscriptStrand strand = TranscriptStrand(task_.transcript);
                begin_costs()[i] =
                    int8_t(intron_begin_cost(introns_.rules, strand, {{base(at), base(at + 1), base(at + 2)}}));
                end_costs()[i] =
                    int8_t(intron_end_cost(introns_.rules, strand, {{base(at), base(at - 1), base(at - 2)}}));
            }
        }
        if constexpr (kIntrons) load_known_sites();
        if constexpr (!Ring)
            for (int32_t b = lane; b < task_.band; b += lanes) memory_.row[b] = before_first(b);
        group_.sync();
    }

    // Runs `steps` steps, which may be more than needed; returns the end of the best alignment in all lanes.
    GPUALIGN_HOST_DEVICE BandEnd sweep(int32_t steps) {
        BandEnd end{kLowest, 0, 0};
        Front front = first_of_lane();
        const int32_t long_gap = scores_.long_gap_open + scores_.long_gap_extend;
        const GapCosts<int32_t> costs{scores_.gap_open + scores_.gap_extend, scores_.gap_extend,
            !kIntrons          ? long_gap
            : task_.transcript ? task_.intron
                               : -kLowest,
            scores_.long_gap_extend};
        const int32_t clipped = task_.begin_pin >= 0 ? kLowest : -scores_.clip_penalty;
        uint32_t* trace = memory_.trace + group_.lane();
        for (int32_t step = 0; step < steps; step += 4, trace += Group::kLanes) {
            uint32_t from = 0;
            GPUALIGN_UNROLL
            for (int32_t s = 0; s < 4; s++) from |= uint32_t(next_cell(front, costs, clipped, end)) << 8 * s;
            *trace = from;
        }
        // both are computed, so that the lanes of a warp do not diverge
        const BandEnd pinned{
            group_.from(end.value, uint32_t(task_.rows - 1) % Group::kLanes), task_.rows - 1, task_.end_pin};
        if constexpr (Ring) return pinned;
        const BandEnd best = best_of(end);
        return task_.end_pin >= 0 ? pinned : best;
    }

    // Follow the best alignment from its end, and finish the task with it; `group` is one lane or all lanes.
    template <class Finisher>
    GPUALIGN_HOST_DEVICE BandAlignment trace(const Finisher& group, const BandEnd& end) const {
        return trace_band(
            group, scores_, task_, end, introns_.rules.shortest, [&](int i, int b) { return from(i, b); },
            memory_.operations);
    }
    template <class Finisher>
    GPUALIGN_HOST_DEVICE void finish(
        const Finisher& group, const BandEnd& end, const Arena<uint32_t>& cigars, BandTask& result) const {
        finish_band(group, trace(group, end), memory_.operations, cigars, result);
    }

private:
    static constexpr int32_t kLowest = -(1 << 29);

    // A lane's position, and the neighbours of its next cell.
    struct Front {
        int32_t row,
            diagonal;  // the diagonal is negative before the lane's first row, and at least `band` while it waits
        BandCell own, above;    // its last cell, and the cell above that
        BandCell left_in_memory;  // stored by the last lane: the first lane's next cell above
        int32_t left_value;
        GapScores<int32_t> left;
        uint8_t base, met;
        int8_t begin_cost, end_cost;  // of introns, at the next cell's column
    };

    // A cell on its way to another lane.
    struct Exchanged : BandCell {
        static constexpr uint32_t kWords = Model == Gaps::two_costs ? 3 : 2;
    };

    static GPUALIGN_HD BandCell lowest() { return {kLowest, {kLowest, kLowest}}; }

    // The row above the first one: 0 if the begin is free, else the pin and gaps that begin there.
    GPUALIGN_HD BandCell before_first(int32_t b) const {
        const int32_t after = b - task_.begin_pin;
        const int32_t value = b >= task_.band                 ? kLowest
                              : task_.begin_pin < 0           ? 0
                              : task_.fold && b >= task_.fold ? kLowest
                              : after < 0                     ? kLowest
                              : after                         ? -gap_cost(scores_, after)
                                                              : 0;
        return {value, {kLowest, kLowest}};
    }

    GPUALIGN_HD Front first_of_lane() const {
        Front front{int32_t(group_.lane()), -2 * int32_t(group_.lane()), lowest(), before_first(0), lowest(), kLowest,
            {kLowest, kLowest}, 0, 0, 0, 0};
        look_ahead(front);
        return front;
    }

    // Prefetches what the next step reads from memory. Outside the band and after the last row what is read is not
    // used, so that all lanes read, without a branch; the last lane may be writing the row.
    GPUALIGN_HD void look_ahead(Front& front) const {
        const int32_t b = front.diagonal;
        if (b == 0) front.base = memory_.codes[max(0, min(front.row, task_.rows - 1))];
        const int32_t column = kIntrons ? column_of(front.row, b, task_.rows, task_.fold) : front.row + b;
        front.met = memory_.codes[task_.rows + max(0, min(column, columns() - 1))];
        if constexpr (kIntrons) {
            front.begin_cost = begin_costs()[max(0, min(column, columns() - 1))];
            front.end_cost = end_costs()[max(0, min(column, columns() - 1))];
        }
        if (!Ring && group_.lane() == 0) front.left_in_memory = memory_.row[b + 1 < task_.band ? b + 1 : 0];
    }

    GPUALIGN_HD BandCell cell_above(const Front& front) const {
        if constexpr (Ring) {
            const BandCell above = group_.record_before_around(Exchanged{front.own});
            return front.row == 0 && front.diagonal + 1 < task_.band ? before_first(front.diagonal + 1) : above;
        } else {
            return group_.record_before(Exchanged{front.own}, Exchanged{front.left_in_memory});
        }
    }

    // Computes a cell; returns its traceback byte.
    GPUALIGN_HD uint8_t next_cell(Front& front, const GapCosts<int32_t>& costs, int32_t clipped, BandEnd& end) {
        const int32_t b = front.diagonal;
        const int32_t pairing =
            (front.base & front.met ? scores_.match : -scores_.mismatch) + (front.met == 1 << kOutside ? kLowest : 0);
        const int32_t diagonal = front.above.value + pairing;
        front.above = cell_above(front);
        if (b == 0) {
            front.left_value = kLowest;
            front.left = {kLowest, kLowest};
        }
        const bool inside = b >= 0 && b < task_.band && front.row < task_.rows;
        if (kIntrons && task_.fold && b == task_.fold) front.left_value = front.left.gap = kLowest;
        const bool joins_above = b + 1 < task_.band && !(kIntrons && task_.fold && b + 1 == task_.fold);
        const BandCell above = joins_above ? front.above : lowest();
        const AffineCell<int32_t> cell = affine_cell<Model>(diagonal, above.value, above.insertion, front.left_value,
            front.left, costs, clipped, IntronEnds<int32_t>{front.begin_cost, front.end_cost});
        front.own = {cell.value, cell.insertion};
        front.left_value = cell.value;
        front.left = cell.deletion;
        if (!Ring && inside && group_.lane() == Group::kLanes - 1) memory_.row[b] = front.own;
        note_end(front, inside, end);
        if (++front.diagonal == Layout::period(task_.band)) {
            front.diagonal = 0;
            front.row += int32_t(Group::kLanes);
        }
        if (!Ring && Group::kLanes <= 32) group_.sync();  // in a block, record_before synchronises
        look_ahead(front);
        return uint8_t(cell.from);
    }

    // Without a branch, as few cells are an end.
    GPUALIGN_HD void note_end(const Front& front, bool inside, BandEnd& end) const {
        const bool last = front.row == task_.rows - 1;
        const int32_t value = front.own.value - (last ? 0 : scores_.clip_penalty);
        const bool pinned = task_.end_pin >= 0;
        const bool is_end =
            inside & ((pinned & last & (front.diagonal == task_.end_pin)) | (!pinned & (value > end.value)));
        end.value = is_end ? value : end.value;
        end.row = is_end ? front.row : end.row;
        end.diagonal = is_end ? front.diagonal : end.diagonal;
    }

    // Best end of all lanes; ties go to the first row, then to the first diagonal.
    GPUALIGN_HD BandEnd best_of(const BandEnd& mine) const {
        BandEnd best;
        best.value = group_.largest(mine.value);
        best.row = -group_.largest(mine.value == best.value ? -mine.row : kLowest);
        best.diagonal = -group_.largest(mine.value == best.value && mine.row == best.row ? -mine.diagonal : kLowest);
        return best;
    }

    // Traceback byte of a cell.
    GPUALIGN_HD uint8_t from(int32_t i, int32_t b) const {
        const uint32_t lane = uint32_t(i) % Group::kLanes;
        const int32_t step = int32_t(uint32_t(i) / Group::kLanes) * Layout::period(task_.band) + b + 2 * int32_t(lane);
        return uint8_t(memory_.trace[uint32_t(step >> 2) * Group::kLanes + lane] >> 8 * (step & 3));
    }

    GPUALIGN_HD int32_t columns() const {
        return kIntrons ? column_count(task_.rows, task_.band, task_.fold) : task_.rows + task_.band - 1;
    }
    // What introns cost in addition that begin, or end, with each column.
    GPUALIGN_HD int8_t* begin_costs() const {
        return reinterpret_cast<int8_t*>(memory_.codes + task_.rows) + columns();
    }
    GPUALIGN_HD int8_t* end_costs() const { return begin_costs() + columns(); }

    GPUALIGN_HD void load_known_sites() {
        if (!introns_.known.count) return;
        group_.sync();  // by all parts of a warp, with a task or without
        if (!task_.transcript) return;
        const int32_t split = task_.fold ? task_.rows - 1 + task_.fold : columns();  // the columns before the fold
        for (int32_t from = 0; from < columns(); from = from ? columns() : split) {
            const int32_t to = from ? columns() : split;
            const int64_t begin = task_.diagonal + column_offset(from, task_.rows, task_.fold, task_.jump);
            const KnownIntrons& known = introns_.known;
            for (const bool ends : {false, true})
                for_each_site(ends ? known.ends : known.begins, uint32_t(known.count),
                    TranscriptStrand(task_.transcript), begin, begin + (to - from), group_.lane(), Group::kLanes,
                    [&](int64_t at) {
                        (ends ? end_costs() : begin_costs())[from + (at - begin)] = int8_t(-introns_.rules.known);
                    });
        }
    }

    const Group& group_;
    const AffineScores& scores_;
    const Text& text_;
    const BandTask task_;
    const BandWorkspace memory_;
    const IntronModel introns_;
};

}  // namespace gpualign
