// The alignment of a read at one of its places: banded, affine, by anti-diagonals of the band (algo/affine.hpp).
//
// Cell (i, b) needs (i - 1, b), (i - 1, b + 1) and (i, b - 1). With step t = 2 i + b the first lies two steps back, the
// others one: the cells of a step, every second diagonal of the band, are computed side by side, and one array over the
// diagonals holds what the next steps need.
#pragma once
#include "algo/map_choice.hpp"
#include "algo/sam_codes.hpp"

namespace gpualign {

constexpr int32_t kLowestScore = -(1 << 29);  // below every score, far enough from the end to subtract many penalties

struct AffineBand {
    int32_t band, width;  // diagonals, and cells of a step
    int32_t length;       // of the read
    int32_t* rows;        // three, of band + 1 each
    uint8_t *read, *text; // codes: letter i of the read meets the letters i + [0, band) of the text
    uint8_t* trace;

    GPUALIGN_HD int32_t steps() const { return 2 * length + band - 2; }
    GPUALIGN_HD int32_t text_length() const { return length + band - 1; }
};
constexpr uint8_t kOutside = 7, kTextNoBase = 5;  // codes of the text, which meet none of the read's

// Unpacks the read, and the reference from `begin` on, as far as it lies in the contig [left, right).
template <class Group>
GPUALIGN_HD void load_letters(const Group& group, const MapRead& read, bool reverse, const MapTarget& target, int64_t begin,
                              int64_t left, int64_t right, const AffineBand& band) {
    for (int32_t i = int32_t(group.lane()); i < band.length; i += int32_t(Group::kLanes)) band.read[i] = read.code(i, reverse);
    for (int32_t i = int32_t(group.lane()); i < band.text_length(); i += int32_t(Group::kLanes)) {
        const int64_t at = begin + i;
        const uint8_t code = at < left || at >= right ? kOutside : target.code(at);
        band.text[i] = code == kNoBase ? kTextNoBase : code;
    }
    group.sync();
}

// Where the best alignment ends. Of equal ones the first row, then the first diagonal.
struct AffineEnd {
    int32_t value, row, diagonal;
};

// Fills the trace, step by step, and returns the end.
template <class Group>
GPUALIGN_HD AffineEnd fill_band(const Group& group, const AffineScores& scores, const AffineBand& band) {
    int32_t* best = band.rows;
    int32_t* insertion = best + band.band + 1;
    int32_t* deletion = insertion + band.band + 1;
    for (int32_t b = int32_t(group.lane()); b <= band.band; b += int32_t(Group::kLanes)) {
        best[b] = b < band.band ? 0 : kLowestScore;
        insertion[b] = deletion[b] = kLowestScore;
    }
    group.sync();
    const int32_t open_extend = scores.gap_open + scores.gap_extend;
    AffineEnd end{kLowestScore, 0, 0};
    for (int32_t t = 0; t < band.steps(); t++) {
        for (int32_t j = int32_t(group.lane()); j < band.width; j += int32_t(Group::kLanes)) {
            const int32_t b = 2 * j + (t & 1), i = (t - b) >> 1;
            if (b >= band.band || i < 0 || i >= band.length) continue;
            const uint8_t letter = band.read[i], met = band.text[i + b];
            const int32_t pairing = (letter == met ? scores.match : -scores.mismatch) + (met == kOutside ? kLowestScore : 0);
            const bool leftmost = b == 0;
            const AffineCell<int32_t> cell = affine_cell<int32_t>(
                best[b] + pairing, best[b + 1], insertion[b + 1], leftmost ? kLowestScore : best[b - 1],
                leftmost ? kLowestScore : deletion[b - 1], open_extend, scores.gap_extend, -scores.clip);
            band.trace[t * band.width + j] = uint8_t(cell.from);
            best[b] = cell.value;
            insertion[b] = cell.insertion;
            deletion[b] = cell.deletion;
            const int32_t value = i == band.length - 1 ? cell.value : cell.value - scores.clip;
            const bool earlier = i < end.row || (i == end.row && b < end.diagonal);
            if (value > end.value || (value == end.value && earlier)) end = {value, i, b};
        }
        group.sync();
    }
    const int32_t value = group.largest(end.value);
    const int32_t order = value == end.value ? -(end.row * band.band + end.diagonal) : kLowestScore;
    const int32_t first = -group.largest(order);
    return {value, first / band.band, first % band.band};
}

// A CIGAR as it comes out of the traceback, from its end. More operations than there is room for are counted, not kept.
struct CigarEnd {
    uint16_t* operations;
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
        if (count < MapRecord::kMostOperations) operations[count] = uint16_t(length << 4 | last);
        count++;
    }
};

// Fills what the alignment says in the record; false where the CIGAR has too many operations.
//
// No edit, or one that is no gap, needs no dynamic program: a gap costs at least gap_open + gap_extend, and clipping up to
// the edit costs more than it saves, where the scores are so.
template <int Words, class Group>
GPUALIGN_HD bool align_place(const Group& group, const MapRead& read, uint64_t place, const MapTarget& target,
                             const MapRules& rules, const MapRoom& room, MapShared<Words>& shared, MapRecord& record) {
    const AffineScores& s = rules.scores;
    const uint32_t contig = place_contig(target, place);
    const int64_t left = target.contig_offsets[contig], begin = place_end(place) - read.length;
    const bool reverse = place_reverse(place);
    const int32_t distance = int32_t(place_distance(place));
    record.contig = contig;
    record.distance = uint16_t(distance);
    record.votes = uint16_t(place_votes(place));
    CigarEnd cigar{shared.cigar};
    const bool provable = s.match + s.mismatch <= s.gap_open + s.gap_extend && s.match + s.mismatch < s.clip + s.match;
    if (distance == 0 || (distance == 1 && provable && begin >= left && mismatches(group, read, reverse, target, begin) == 1)) {
        record.position = uint32_t(begin - left);
        record.score = (read.length - distance) * s.match - distance * s.mismatch;
        cigar.push(kCigarM, uint32_t(read.length));
    } else {
        const int32_t width = read.limit + 1;  // of 2 * limit + 1 diagonals every second
        const AffineBand band{2 * read.limit + 1, width, read.length, shared.affine, shared.letters,
                              shared.letters + MapShared<Words>::kRows, room.trace};
        load_letters(group, read, reverse, target, begin - read.limit, left, target.contig_offsets[contig + 1], band);
        const AffineEnd end = fill_band(group, s, band);
        int row = end.row, diagonal = end.diagonal;
        const uint32_t clip_end = uint32_t(read.length - 1 - row);
        cigar.push(kCigarS, clip_end);
        affine_traceback([&](int i, int b) { return room.trace[(2 * i + b) * width + (b >> 1)]; }, row, diagonal, [&](char op) {
            cigar.push(op == 'M' ? kCigarM : op == 'I' ? kCigarI : kCigarD, 1);
        });
        cigar.push(kCigarS, uint32_t(row));
        record.position = uint32_t(begin - read.limit + row + diagonal - left);
        record.score = end.value + (clip_end ? s.clip : 0) + (row ? s.clip : 0);
    }
    cigar.flush();
    group.sync();
    if (cigar.count > MapRecord::kMostOperations) return false;
    record.operations = uint8_t(cigar.count);
    for (uint32_t i = 0; i < MapRecord::kMostOperations; i++)
        record.cigar[i] = i < cigar.count ? shared.cigar[cigar.count - 1 - i] : uint16_t(0);
    group.sync();  // the next record's operations go where this one's were
    return true;
}

}  // namespace gpualign
