// Alignment of a read at one locus: banded, affine (algo/map/affine.hpp), one anti-diagonal after the other.
//
// Cell (i, b) needs (i - 1, b), (i - 1, b + 1) and (i, b - 1). With step t = 2 i + b the first is two steps back, the
// others one, so the cells of a step, every second diagonal of the band, are computed in parallel. A lane holds
// columns of two diagonals, 2 j and 2 j + 1, in registers; a cell's neighbours are in the same lane or the next one.
#pragma once
#include "algo/map/ungapped.hpp"
#include "algo/map/sam_codes.hpp"

namespace gpualign {

constexpr int32_t kLowestScore = -(1 << 29);  // below every score, with room to subtract many penalties

struct AffineBand {
    int32_t band, width;  // `band` is odd; width: columns of two diagonals
    int32_t length;       // of the read
    uint8_t *read, *text; // sets of codes, a bit each; base i of the read meets the text bases i + [0, band)
    uint8_t* trace;

    GPUALIGN_HD int32_t text_length() const { return length + band - 1; }
    GPUALIGN_HD uint8_t& traced(int32_t i, int32_t b) const { return trace[(2 * i + b) * width + (b >> 1)]; }
};

// Encodes the read, and the reference from `begin` on; bases outside the contig [left, right) become kOutside. A base
// of the read is the set of codes that it matches.
template <class Group>
GPUALIGN_HD void load_codes(const Group& group, const MapRead& read, bool reverse, const MapTarget& target,
    int64_t begin, int64_t left, int64_t right, const AffineBand& band) {
    for (int32_t i = int32_t(group.lane()); i < band.length; i += int32_t(Group::kLanes))
        band.read[i] = matched_codes(read.conversion(reverse), read.code(i, reverse));
    for (int32_t i = int32_t(group.lane()); i < band.text_length(); i += int32_t(Group::kLanes)) {
        const int64_t at = begin + i;
        const uint8_t code = at < left || at >= right ? kOutside : code_at(target, at);
        band.text[i] = uint8_t(1 << (code == kNoBase ? kTextNoBase : code));
    }
    group.sync();
}

// End of the best alignment; ties go to the first row, then to the first diagonal.
struct AffineEnd {
    int32_t value, row, diagonal;
};

// Columns [first, first + Columns) of the band in one lane: the cells of the last row on each diagonal.
template <int Columns> class BandColumns {
public:
    GPUALIGN_HD BandColumns(const AffineBand& band, const AffineScores& scores, int32_t first)
        : band_(band), scores_(scores), first_(first) {
        GPUALIGN_UNROLL
        for (int parity = 0; parity < 2; parity++)
            for (int c = 0; c < Columns; c++) {
                const bool inside = 2 * (first + c) + parity < band.band;
                best_[parity][c] = inside ? 0 : kLowestScore;
                insertion_[parity][c] = deletion_[parity][c] = kLowestScore;
            }
    }

    // Computes the cells of steps 2 * half and 2 * half + 1.
    template <class Group> GPUALIGN_HD void step(const Group& group, int32_t half) {
        const int32_t left_best = group.from_before(best_[1][Columns - 1], kLowestScore);
        const int32_t left_deletion = group.from_before(deletion_[1][Columns - 1], kLowestScore);
        GPUALIGN_UNROLL
        for (int c = 0; c < Columns; c++)
            cell(half, c, 0, best_[1][c], insertion_[1][c], c ? best_[1][c - 1] : left_best,
                c ? deletion_[1][c - 1] : left_deletion);
        const int32_t above_best = group.from_after(best_[0][0], kLowestScore);
        const int32_t above_insertion = group.from_after(insertion_[0][0], kLowestScore);
        GPUALIGN_UNROLL
        for (int c = 0; c < Columns; c++)
            cell(half, c, 1, c + 1 < Columns ? best_[0][c + 1] : above_best,
                c + 1 < Columns ? insertion_[0][c + 1] : above_insertion, best_[0][c], deletion_[0][c]);
    }

    // Best end within these columns.
    GPUALIGN_HD const AffineEnd& end() const { return end_; }

private:
    GPUALIGN_HD void cell(int32_t half, int c, int parity, int32_t above_best, int32_t above_insertion,
        int32_t left_best, int32_t left_deletion) {
        const int32_t column = first_ + c, i = half - column, b = 2 * column + parity;
        if (uint32_t(i) >= uint32_t(band_.length) || b >= band_.band) return;
        const uint8_t base = band_.read[i], met = band_.text[i + b];
        const int32_t pairing =
            (base & met ? scores_.match : -scores_.mismatch) + (met == 1 << kOutside ? kLowestScore : 0);
        const AffineCell<int32_t> cell = affine_cell<false, int32_t>(best_[parity][c] + pairing, above_best,
            {above_insertion, 0}, left_best, {left_deletion, 0},
            {scores_.gap_open + scores_.gap_extend, scores_.gap_extend, 0, 0}, -scores_.clip_penalty);
        band_.traced(i, b) = uint8_t(cell.from);
        best_[parity][c] = cell.value;
        insertion_[parity][c] = cell.insertion.gap;
        deletion_[parity][c] = cell.deletion.gap;
        const int32_t value = i == band_.length - 1 ? cell.value : cell.value - scores_.clip_penalty;
        // a column's cells come in order, but columns further right are some rows behind
        const bool earlier = Columns > 1 && (i < end_.row || (i == end_.row && b < end_.diagonal));
        if (value > end_.value || (value == end_.value && earlier)) end_ = {value, i, b};
    }

    const AffineBand& band_;
    const AffineScores& scores_;
    int32_t first_;
    int32_t best_[2][Columns], insertion_[2][Columns], deletion_[2][Columns];
    AffineEnd end_{kLowestScore, 0, 0};
};

// Fills the traceback and returns the end.
template <int Columns, class Group>
GPUALIGN_HD AffineEnd fill_band(const Group& group, const AffineScores& scores, const AffineBand& band) {
    BandColumns<Columns> mine(band, scores, int32_t(group.lane()) * Columns);
    const int32_t halves = band.length + band.width - 1;  // until the last column's last row is done
    for (int32_t half = 0; half < halves; half++) mine.step(group, half);
    group.sync();
    const AffineEnd end = mine.end();
    const int32_t value = group.largest(end.value);
    const int32_t order = value == end.value ? -(end.row * band.band + end.diagonal) : kLowestScore;
    const int32_t first = -group.largest(order);
    return {value, first / band.band, first % band.band};
}

// A CIGAR built from its end. Operations beyond the capacity are counted, not stored.
struct CigarEnd {
    uint16_t* operations;
    uint32_t capacity;
    uint32_t count = 0, last = ~0u, length = 0;

    GPUALIGN_HD void push(uint32_t operation, uint32_t n) {
        if (n == 0) return;
        if (operation != last) {
            flush();
            last = operation;
            length = 0;
        }
        length += n;
    }
    GPUALIGN_HD void flush() {
        if (length == 0) return;
        if (count < capacity) operations[count] = uint16_t(length << 4 | last);
        count++;
    }
};

// Traceback from the end; `row` and `diagonal` return where the alignment begins.
template <class Group>
GPUALIGN_HD void trace_back(const Group& group, const AffineBand& band, const AffineEnd& end, CigarEnd& cigar,
    int32_t& row, int32_t& diagonal) {
    const auto matches = [&](int i, int b) {
        for (int run = 0;; run += int(Group::kLanes)) {
            const int up = i - run - int(group.lane());
            const bool paired = up >= 0 && (band.traced(up, b) & kFromMask) == kFromDiagonal;
            const uint32_t others = group.ballot(!paired);
            if (others) return run + int(first_lane(others));
        }
    };
    row = end.row;
    diagonal = end.diagonal;
    cigar.push(kCigarS, uint32_t(band.length - 1 - row));
    affine_traceback([&](int i, int b) { return band.traced(i, b); }, matches, row, diagonal,
        [&](char op, uint32_t n) {
            cigar.push(op == 'M' ? kCigarM : op == 'I' ? kCigarI : kCigarD, n);
        });
    cigar.push(kCigarS, uint32_t(row));
    cigar.flush();
}

// The best alignment within `limit` diagonals of the locus. longer(operations) returns space for a long CIGAR, or
// null: then the result is false.
template <int Words, class Group, class Longer>
GPUALIGN_HD bool align_in_band(const Group& group, const MapRead& read, bool reverse, const MapTarget& target,
    int64_t begin, uint32_t contig, const AffineScores& scores, const MapWorkspace& workspace, MapShared<Words>& shared,
    CigarEnd& cigar, MapFacts& record, Longer&& longer) {
    const int64_t left = target.contig_offsets[contig];
    const AffineBand band{2 * read.limit + 1, read.limit + 1, read.length, shared.bases,
        shared.bases + MapShared<Words>::kRows, workspace.trace};
    load_codes(group, read, reverse, target, begin - read.limit, left, target.contig_offsets[contig + 1], band);
    constexpr int kMaxColumns = (MapShared<Words>::kMaxLimit + int(Group::kLanes)) / int(Group::kLanes);
    const AffineEnd end = band.width <= int32_t(Group::kLanes) ? fill_band<1>(group, scores, band)
                                                               : fill_band<kMaxColumns>(group, scores, band);
    int32_t row, diagonal;
    while (true) {
        trace_back(group, band, end, cigar, row, diagonal);
        if (cigar.count <= cigar.capacity) break;
        cigar = {longer(cigar.count), cigar.count};
        if (!cigar.operations) return false;
    }
    record.position = uint32_t(begin - read.limit + row + diagonal - left);
    record.score = end.value + (end.row < read.length - 1 ? scores.clip_penalty : 0) + (row ? scores.clip_penalty : 0);
    return true;
}

// Fills the record of an alignment without gaps.
GPUALIGN_HD void set_ungapped(
    int32_t length, uint64_t locus, int64_t left, const AffineScores& scores, MapFacts& record) {
    const int32_t distance = int32_t(locus_distance(locus));
    record.position = uint32_t(locus_end(locus) - length - left);
    record.score = ungapped_score(scores, length, distance);
}

// Fills the alignment's fields in the record, and its CIGAR, last operation first, in shared.cigar or in what `longer`
// returned; false if that is null.
template <int Words, class Group, class Longer>
GPUALIGN_HD bool align_locus(const Group& group, const MapRead& read, uint64_t locus, const MapTarget& target,
    const MapRules& rules, const MapWorkspace& workspace, MapShared<Words>& shared, MapFacts& record, Longer&& longer) {
    const uint32_t contig = locus_contig(target, locus);
    const int64_t left = target.contig_offsets[contig], begin = locus_end(locus) - read.length;
    CigarEnd cigar{shared.cigar, MapRecord::kMaxOperations};
    record.contig = contig;
    record.distance = uint16_t(locus_distance(locus));
    if (is_ungapped(group, read, locus, target, left, target.contig_offsets[contig + 1], rules.scores, shared)) {
        set_ungapped(read.length, locus, left, rules.scores, record);
        cigar.push(kCigarM, uint32_t(read.length));
        cigar.flush();
    } else if (!align_in_band(group, read, locus_reverse(locus), target, begin, contig, rules.scores, workspace, shared,
                   cigar, record, longer)) {
        return false;
    }
    group.sync();
    record.operations = uint16_t(cigar.count);
    return true;
}

}  // namespace gpualign
