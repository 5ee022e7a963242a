// Two banded DP matrices (algo/map/chain/band.hpp) on a part of a warp, each in a half of every word: of the same band,
// and mostly of as many rows. The schedule is that of BandAligner: a lane takes a row, two cells after the lane with
// the row above, then the row kLanes further on; the last lane stores its row for the first one.
//
// A score takes 15 bits, so that no difference borrows from the other half: a + kSign - b has the top bit of a half set
// where a >= b. What lanes hold of a cell is its value less the cost of a gap's first base.
#pragma once
#include "algo/map/chain/band.hpp"
#include "device/int16x2.cuh"

namespace gpualign {

template <class Group, class Text> class BandPair {
    static constexpr uint32_t kLanes = Group::kLanes;
    using Layout = BandLayout<kLanes, false>;
    static constexpr uint32_t kSign = 0x80008000u;
    static constexpr int32_t kZero = 1 << 14, kLowest = 1 << 13;  // a score of 0, and of cells that nothing reaches

public:
    static constexpr int32_t kRows = 248, kBand = 96;
    static constexpr uint32_t kTraceWords = 6 << 10, kOperations = 512;
    static constexpr uint64_t kBytes = sizeof(uint32_t) * (kTraceWords + 2 * kOperations);

    struct alignas(8) Cell {
        uint32_t value, gap;
        static constexpr uint32_t kWords = 2;
    };
    struct Memory {  // shared, of a part
        Cell row[kBand + 1];  // the one that the last lane has stored
        uint16_t rows[kRows + 1];  // of each matrix the set of bases that the row matches, in a byte
        uint16_t columns[kRows + kBand + 1];  // the nibbles of permute_bytes for their bases
    };

    GPUALIGN_HD static bool fits(const AffineScores& s) {
        return !has_long_gaps(s) && s.match + s.mismatch < 128 &&
               kRows * s.match + (kRows + kBand) * s.gap_extend + 3 * (s.gap_open + s.gap_extend) + s.clip_penalty <
                   kLowest;
    }
    GPUALIGN_HD static bool fits(const BandTask& task) {
        return task.rows <= kRows && task.band <= kBand && task.band > int32_t(2 * kLanes);
    }

    __device__ BandPair(
        const Group& group, const AffineScores& scores, const Text& text, Memory& memory, uint8_t* workspace)
        : group_(group), scores_(scores), text_(text), memory_(memory), trace_(reinterpret_cast<uint32_t*>(workspace)),
          first_of_gap_(scores.gap_open + scores.gap_extend) {
        for (int32_t i = int32_t(group.lane()); i < kRows + kBand + 1; i += int32_t(kLanes)) memory.columns[i] = 0xC480;
        group.sync();
    }

    // Takes a task as one of the two; all lanes of a warp call it, some of them without a task. The second one needs a
    // first one. Those with columns that are no base are left to others.
    __device__ void load(int32_t number, bool own, const BandTask& task, const ChainQuery& query) {
        const int32_t lane = int32_t(group_.lane()), lanes = int32_t(kLanes), rows = own ? task.rows : 0;
        const Conversion conversion = query.conversion(task.reverse);
        const int64_t left = task.swapped ? 0 : text_.contig_begin(task.contig);
        const int64_t right = task.swapped ? query.length() : text_.contig_begin(task.contig + 1);
        const auto matched = [&](int64_t at) {  // the bases of the columns, a bit each
            if (!task.swapped) return matched_codes(conversion, query.code(int32_t(at), task.reverse));
            const uint8_t base = text_.code(at);
            uint8_t reads = 0;
            for (uint8_t read = 0; read < kNoBase; read++)
                reads |= uint8_t((matched_codes(conversion, read) >> base & 1) << read);
            return reads;
        };
        for (int32_t i = lane; i < rows; i += lanes)
            reinterpret_cast<uint8_t*>(&memory_.rows[i])[number] = matched(task.row + i);
        bool unknown = false;
        for (int32_t i = lane; own && i < rows + task.band - 1; i += lanes) {
            const int64_t at = task.diagonal + i;
            const uint8_t code = at < left || at >= right ? kNoBase
                                 : task.swapped           ? query.code(int32_t(at), task.reverse)
                                                          : text_.code(at);
            unknown |= code >= kNoBase;
            reinterpret_cast<uint8_t*>(&memory_.columns[i])[number] = uint8_t((code & 3) + 4 * number) * 0x11 | 0x80;
        }
        for (int32_t b = lane; own && b < task.band; b += lanes) {
            const int32_t after = b - task.begin_pin;
            const int32_t value = task.begin_pin < 0 ? kZero
                                  : after < 0        ? kLowest
                                  : after            ? kZero - gap_cost(scores_, after)
                                                     : kZero;
            reinterpret_cast<uint16_t*>(&memory_.row[b].value)[number] = uint16_t(value - first_of_gap_);
            reinterpret_cast<uint16_t*>(&memory_.row[b].gap)[number] = kLowest;
        }
        if (group_.largest(int32_t(unknown))) own = false;
        if (own || number == 0) band_ = own ? task.band : kBand;
        ends_[number] = {own ? task.rows : 0, task.begin_pin, task.end_pin};
    }

    __device__ int32_t steps() const { return int32_t(Layout::steps(max(ends_[0].rows, ends_[1].rows), band_)); }

    // Runs `steps` steps, which may be more than needed.
    __device__ void sweep(int32_t steps) {
        Front front{};
        const int32_t lane = int32_t(group_.lane());
        GPUALIGN_UNROLL
        for (int32_t n = 0; n < 2; n++) {
            const int32_t last = ends_[n].rows - 1, pin = ends_[n].end;
            front.last[n] = pin >= 0 ? -1 : last;
            front.pinned[n] = last >= 0 && pin >= 0 && lane == last % int32_t(kLanes)
                                  ? last / int32_t(kLanes) * band_ + 2 * lane + pin
                                  : -1;
        }
        front.row = lane - int32_t(kLanes);
        front.diagonal = band_ - 2 * lane;
        front.bonus = kSign;
        front.column = memory_.columns;
        front.cell = memory_.row;
        const auto clipped = [&](int32_t n) { return ends_[n].begin < 0 ? kZero - scores_.clip_penalty : kLowest; };
        const Costs costs{both(scores_.gap_extend), int16x2::both(-scores_.gap_extend).bits, both(first_of_gap_),
            both(first_of_gap_ - scores_.mismatch), int16x2::of(clipped(0), clipped(1)).bits,
            uint32_t(scores_.match + scores_.mismatch), uint32_t(scores_.clip_penalty)};
        if (lane == 0) begin_row(front, costs);
        look_ahead(front);
        uint32_t* trace = trace_ + lane;
        for (int32_t step = 0; step < steps; step += 4, trace += kLanes) {
            uint32_t from = 0;
            GPUALIGN_UNROLL
            for (int32_t s = 0; s < 4; s++) from |= next_cell(front, costs, step + s) & 0x11111111u << s;
            *trace = from;
        }
        best_ = front.best;
        at_ = front.at;
    }

    // End of the best alignment, in all lanes; ties go to the first row, then to the first diagonal.
    __device__ BandEnd end(int32_t number) const {
        const int32_t lane = int32_t(group_.lane()), value = int32_t(best_ >> 16 * number & 0xFFFF),
                      passed = max(int32_t(at_ >> 16 * number & 0xFFFF) - 2 * lane, 0),
                      row = lane + passed / band_ * int32_t(kLanes), diagonal = passed % band_;
        const int32_t best = group_.largest(value), none = -kLowest,
                      first_row = -group_.largest(value == best ? -row : none),
                      first = -group_.largest(value == best && row == first_row ? -diagonal : none);
        const Ends& ends = ends_[number];
        if (ends.end >= 0) return {best - kZero + first_of_gap_, ends.rows - 1, ends.end};
        return {best - kZero + first_of_gap_ - scores_.clip_penalty, first_row, first};
    }

    __device__ bool has(int32_t number) const { return ends_[number].rows != 0; }

    // Finishes a task; called by one lane.
    __device__ void finish(uint32_t number, const BandEnd& end, const Arena<uint32_t>& cigars, BandTask& task) const {
        uint32_t* const operations = trace_ + kTraceWords + number * kOperations;
        const auto from = [&](int i, int b) {
            const uint32_t lane = uint32_t(i) % kLanes,
                           step = uint32_t(i) / kLanes * uint32_t(band_) + uint32_t(b) + 2 * lane;
            const uint32_t bits = trace_[(step >> 2) * kLanes + lane] >> (16 * number + (step & 3));
            const uint32_t source = bits & 1       ? bits & 0x100 ? kFromStart : kFromDiagonal
                                    : bits & 0x100 ? kFromInsertion
                                                   : kFromDeletion;
            return uint8_t(source | (bits & 0x10 ? kInsertionExtends : 0) | (bits & 0x1000 ? kDeletionExtends : 0));
        };
        finish_band(
            OneLane(), trace_band(OneLane(), scores_, task, end, 0, from, operations), operations, cigars, task);
    }

private:
    // A lane's position, and the neighbours of its next cell.
    struct Front {
        int32_t row, diagonal;
        uint32_t value, gap, above, left_value, left_gap;  // of its last cell, and what the next one comes from
        Cell stored;  // for the first lane
        uint32_t tables[2], bonus;  // of the row: scores of the bases, and what ends there in addition
        uint32_t selector;
        const uint16_t* column;
        Cell* cell;
        bool stores;
        int32_t last[2], pinned[2];  // row of a free end, step of a pinned one
        uint32_t best, at;  // best ends, and their steps
    };

    struct Costs {  // of both halves; the last three are added to one
        uint32_t extend, minus_extend, first_of_gap, to_diagonal, start, matched, clipped;
    };
    struct Ends {
        int32_t rows, begin, end;  // pins
    };

    static __device__ uint32_t both(int32_t value) { return uint32_t(value) * 0x10001u; }

    __device__ void begin_row(Front& front, const Costs& costs) const {
        front.row += int32_t(kLanes);
        front.diagonal = 0;
        front.left_value = front.left_gap = both(kLowest);
        const int32_t at = min(front.row, kRows);  // later ones are not used
        front.column = memory_.columns + at;
        front.cell = memory_.row;
        front.stores = group_.lane() == kLanes - 1;
        if (group_.lane() == 0) front.above = memory_.row[0].value;
        front.bonus = 0;
        GPUALIGN_UNROLL
        for (int32_t n = 0; n < 2; n++) {
            const uint32_t set = memory_.rows[at] >> 8 * n;
            const uint32_t matched = (set & 1) | (set & 2) << 7 | (set & 4) << 14 | (set & 8) << 21;
            front.tables[n] = matched * costs.matched;
            const int32_t before = front.last[n] - front.row;
            front.bonus |= (before > 0 ? 0u : before == 0 ? costs.clipped : 0x8000u) << 16 * n;
        }
    }
    __device__ void look_ahead(Front& front) const {
        front.selector = *front.column;
        if (group_.lane() == 0) front.stored = front.cell[1];
    }

    // Computes a cell; returns how it is reached, in each bit of four nibbles of either half: not by a gap; by a longer
    // insertion; by an insertion, or from the start; by a longer deletion.
    __device__ uint32_t next_cell(Front& front, const Costs& costs, int32_t step) const {
        const uint32_t diagonal =
            front.above + permute_bytes(front.tables[0], front.tables[1], front.selector) + costs.to_diagonal;
        Cell above = group_.record_before(Cell{front.value, front.gap}, front.stored);
        front.above = above.value;
        const bool last = front.diagonal + 1 == band_;
        if (last) above = {both(kLowest), both(kLowest)};
        const uint32_t longer_insertion = above.gap - above.value + (kSign - costs.extend),
                       longer_deletion = front.left_gap - front.left_value + (kSign - costs.extend);
        front.gap = __viaddmax_s16x2(above.gap, costs.minus_extend, above.value);
        front.left_gap = __viaddmax_s16x2(front.left_gap, costs.minus_extend, front.left_value);
        const uint32_t insertion_first = front.gap - front.left_gap + kSign;
        const uint32_t best = __vimax3_s16x2(diagonal, __vmaxs2(front.gap, front.left_gap), costs.start);
        const uint32_t from_diagonal = diagonal - best + kSign, from_start = costs.start - best + kSign;
        front.value = front.left_value = best - costs.first_of_gap;
        if (front.stores) *front.cell = {front.value, front.gap};
        const uint32_t end = __viaddmax_s16x2(front.value, front.bonus, 0);
        const uint32_t kept = permute_bytes(front.best - end + kSign, 0, 0xBB99);
        front.best = __vmaxs2(front.best, end);
        front.at = (front.at & kept) | (both(step) & ~kept);
        if (step == front.pinned[0] || step == front.pinned[1]) note_pinned(front, step);
        front.diagonal++;
        front.column++;
        front.cell++;
        if (last) begin_row(front, costs);
        group_.sync();
        look_ahead(front);
        const uint32_t longer = permute_bytes(longer_insertion, longer_deletion, 0xFBD9);
        const uint32_t moves =
            permute_bytes(from_diagonal | from_start, from_start | (insertion_first & ~from_diagonal), 0xFBD9);
        return (longer & 0xF0F0F0F0u) | (moves & 0x0F0F0F0Fu);
    }
    __device__ void note_pinned(Front& front, int32_t step) const {
        GPUALIGN_UNROLL
        for (int32_t n = 0; n < 2; n++)
            if (front.pinned[n] == step)
                front.best = (front.best & ~(0xFFFFu << 16 * n)) | (front.value & 0xFFFFu << 16 * n);
    }

    const Group& group_;
    const AffineScores& scores_;
    const Text& text_;
    Memory& memory_;
    uint32_t* const trace_;
    const int32_t first_of_gap_;
    Ends ends_[2] = {};
    int32_t band_ = kBand;
    uint32_t best_ = 0, at_ = 0;
};

}  // namespace gpualign
