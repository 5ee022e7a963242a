// A banded affine alignment task: its input, encoded, and its traceback.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "abi/chains.hpp"
#include "algo/common/bisulfite.hpp"
#include "algo/map/affine.hpp"
#include "algo/map/chain/gaps.hpp"
#include "algo/map/chain/introns.hpp"
#include "seeds/index/reference.hpp"
#include "map/alignment.hpp"

namespace gpualign {

// The query against the text on the diagonals [diagonal, diagonal + band) of the reference: query base i may meet the
// reference bases diagonal + i + [0, band) within the contig [contig_begin, contig_end).
//
// An end of the query is either free, so that it may be clipped and meet any text base, or pinned: the alignment
// begins (ends) with its first (last) base on a given diagonal of the band.
//
// Query and text may be swapped: then rows are the reference bases from `swapped_row` on, columns those of the query,
// all of which `codes` holds.
//
// The band of an alignment with introns may be folded, as that of a BandTask.
struct AffineTask {
    const uint8_t* codes;  // encoded query
    int32_t length;
    int32_t band;
    int64_t diagonal;
    int64_t contig_begin, contig_end;                  // columns
    int32_t begin_pin = kFreeEnd, end_pin = kFreeEnd;  // diagonals of the band, 0 the first one
    int64_t swapped_row = -1;
    Conversion conversion = Conversion::none;
    TranscriptStrand transcript = kNoTranscript;  // of the introns
    int32_t fold = 0, jump = 0, intron = 0;

    bool swapped() const { return swapped_row >= 0; }
    int64_t columns_end() const { return diagonal + length + band - 1 + jump; }
    bool within_contig() const { return diagonal >= contig_begin && columns_end() <= contig_end; }
    int64_t cells() const { return int64_t(length) * band; }
};

struct AffineResult {
    int32_t score;           // without clip penalties, as bwa's AS
    int64_t begin;           // reference position of the first aligned column
    Cigar cigar;
};

// The last cell of an alignment, and its score.
struct LastCell {
    int32_t value, row, diagonal;
};

// Encodes a task's rows, and its columns, kOutside beyond the contig or the query.
class AffineCodes {
public:
    explicit AffineCodes(const ReferenceView& reference, const IntronModel& introns = {})
        : reference_(reference), introns_(introns) {
        if (!introns.rules.open) return;  // no task has introns, and short batches would wait for the tables
        for (const TranscriptStrand strand : {kForwardTranscript, kReverseTranscript})
            for (unsigned bases = 0; bases <= kThreeBases; bases++) {
                const auto base = [&](unsigned i) {
                    return uint8_t(bases < kThreeBases ? bases >> 2 * i & 3 : kNoBase);
                };
                begin_costs_[strand][bases] =
                    int8_t(intron_begin_cost(introns.rules, strand, {{base(2), base(1), base(0)}}));
                end_costs_[strand][bases] =
                    int8_t(intron_end_cost(introns.rules, strand, {{base(0), base(1), base(2)}}));
            }
    }

    const uint8_t* rows(const AffineTask& task) {
        if (!task.swapped()) return task.codes;
        rows_.resize(size_t(task.length));
        reference_.codes(uint64_t(task.swapped_row), uint64_t(task.swapped_row + task.length), rows_.data());
        return rows_.data();
    }
    // What else than its own code a row matches.
    static uint8_t also(const AffineTask& task, uint8_t row) {
        return task.swapped() ? other_match_of_reference(task.conversion, row) : other_match(task.conversion, row);
    }
    const std::vector<uint8_t>& columns(const AffineTask& task) {
        columns_.assign(size_t(column_count(task.length, task.band, task.fold)), kOutside);
        for_each_piece(task, [&](int64_t begin, int64_t end, int32_t column) {
            const int64_t from = std::max(begin, task.contig_begin), to = std::min(end, task.contig_end);
            if (from >= to) return;
            uint8_t* codes = columns_.data() + column + (from - begin);
            if (task.swapped()) std::copy(task.codes + from, task.codes + to, codes);
            else reference_.codes(uint64_t(from), uint64_t(to), codes);
            for (int64_t i = 0; i < to - from; i++)
                codes[i] = uint8_t(codes[i] + (codes[i] == kNoBase ? kTextNoBase - kNoBase : 0));
        });
        return columns_;
    }

    // What introns cost in addition that begin, or end, with each of the columns.
    struct EndCosts {
        std::vector<int8_t> begin, end;
    };
    const EndCosts& intron_ends(const AffineTask& task) {
        const size_t count = size_t(column_count(task.length, task.band, task.fold));
        const TranscriptStrand strand = task.transcript;
        ends_.begin.assign(count, begin_costs_[strand][kThreeBases]);
        ends_.end.assign(count, end_costs_[strand][kThreeBases]);
        for_each_piece(task, [&](int64_t begin, int64_t end, int32_t column) {
            const int64_t from = std::max(begin - 2, task.contig_begin), to = std::min(end + 2, task.contig_end);
            if (from >= to) return;
            bases_.resize(size_t(to - from));
            reference_.codes(uint64_t(from), uint64_t(to), bases_.data());
            unsigned three = 0, known = 0;  // the latest bases, and how many of them are no ambiguous ones
            for (int64_t at = from; at < to; at++) {  // its last base
                const uint8_t base = bases_[size_t(at - from)];
                three = (three << 2 | (base & 3)) % kThreeBases;
                known = base == kNoBase ? 0 : known + 1;
                if (known < 3) continue;
                const int64_t first = at - 2;
                if (at >= begin && at < end) ends_.end[size_t(column + at - begin)] = end_costs_[strand][three];
                if (first >= begin && first < end)
                    ends_.begin[size_t(column + first - begin)] = begin_costs_[strand][three];
            }
            const KnownIntrons& known_introns = introns_.known;
            for (const auto& [sites, costs] :
                {std::pair(known_introns.begins, &ends_.begin), {known_introns.ends, &ends_.end}})
                for_each_site(sites, uint32_t(known_introns.count), strand, begin, end, 0, 1,
                    [&](int64_t at) { (*costs)[size_t(column + at - begin)] = int8_t(-introns_.rules.known); });
        });
        return ends_;
    }
    const IntronRules& introns() const { return introns_.rules; }

private:
    // Calls visit(begin, end, column) for the columns on both sides of the fold: the bases, and the first one's index.
    template <class Visit> static void for_each_piece(const AffineTask& task, Visit&& visit) {
        const int64_t diagonals = task.fold ? task.fold : task.band, rows = task.length - 1;
        visit(task.diagonal, task.diagonal + rows + diagonals, 0);
        if (!task.fold) return;
        const int64_t begin = task.diagonal + task.fold + task.jump;
        visit(begin, begin + rows + task.band - task.fold, int32_t(rows + task.fold));
    }

    static constexpr unsigned kThreeBases = 64;  // the number of triples; as an index: not three bases
    const ReferenceView& reference_;
    const IntronModel introns_;
    int8_t begin_costs_[3][kThreeBases + 1]{}, end_costs_[3][kThreeBases + 1]{};  // by strand and bases
    std::vector<uint8_t> rows_, columns_, bases_;
    EndCosts ends_;
};

// Builds a task's result by traceback; from(i, b) is the traceback byte of a cell.
template <class From>
void trace_affine(const AffineTask& task, const AffineScores& scores, const IntronRules& introns, const LastCell& end,
    AffineResult& result, From&& from) {
    const int clip_end = task.length - 1 - end.row;
    int row = end.row, diagonal = end.diagonal;
    result.cigar.clear();
    push_cigar(result.cigar, kCigarS, uint32_t(clip_end));
    const auto matches = [&](int i, int b) {
        int run = 0;
        while (i - run >= 0 && (from(i - run, b) & kFromMask) == kFromDiagonal) run++;
        return run;
    };
    const TracedIntrons traced{task.transcript ? introns.shortest : 0, task.fold, task.jump};
    affine_traceback(from, matches, row, diagonal, traced,
        [&](char op, uint32_t n) { push_cigar(result.cigar, traced_operation(op, task.swapped()), n); });
    if (task.begin_pin >= 0) {
        push_cigar(result.cigar, task.swapped() ? kCigarI : kCigarD, uint32_t(diagonal - task.begin_pin));
        diagonal = task.begin_pin;
    }
    push_cigar(result.cigar, kCigarS, uint32_t(row));
    std::reverse(result.cigar.begin(), result.cigar.end());
    result.begin = task.diagonal + row + diagonal + jump_before(diagonal, task.fold, task.jump);
    result.score = end.value + (clip_end ? scores.clip_penalty : 0) + (row ? scores.clip_penalty : 0);
}

// Below every reachable score, by a margin for a few penalties; scores of 8 bits saturate.
template <class Lane> constexpr Lane lowest_score() {
    return Lane(sizeof(Lane) == 1 ? -128 : sizeof(Lane) == 2 ? -12000 : -(1 << 29));
}

template <class Score, class Lane> GapCosts<Score> gap_costs(const AffineScores& s) {
    return {Score(Lane(s.gap_open + s.gap_extend)), Score(Lane(s.gap_extend)),
        Score(Lane(s.long_gap_open + s.long_gap_extend)), Score(Lane(s.long_gap_extend))};
}

// Stores the low bytes of a vector's lanes.
template <class Score> void store_bytes(uint8_t* out, const Score& from) {
    typedef uint8_t Bytes __attribute__((vector_size(Score::lanes)));
    const Bytes bytes = __builtin_convertvector(from.v, Bytes);
    std::memcpy(out, &bytes, sizeof bytes);
}

}  // namespace gpualign
