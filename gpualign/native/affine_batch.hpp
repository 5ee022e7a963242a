// Many banded affine alignments at once: one (query, text window) pair per lane of a vector of 16-bit scores, or one at a
// time in 32 bits where 16 could overflow.
#pragma once
#include <cstdint>
#include <numeric>
#include <vector>

#include "algo/affine.hpp"
#include "alignment.hpp"
#include "reference.hpp"
#include "vector.hpp"

namespace gpualign {

// The whole query against the text of diagonals [diagonal, diagonal + band) of the reference: query letter i may meet the
// reference's letters diagonal + i + [0, band), as far as they lie in the contig [contig_begin, contig_end).
//
// An end of the query is free to be clipped and to meet any of the text, or it is pinned: the alignment begins (ends) with
// its first (last) letter on one diagonal of the band.
constexpr int32_t kFreeEnd = -1;
struct AffineTask {
    const uint8_t* codes;  // of the query, kNoBase where it has no base
    int32_t length;
    int32_t band;
    int64_t diagonal;
    int64_t contig_begin, contig_end;
    int32_t begin_pin = kFreeEnd, end_pin = kFreeEnd;  // diagonals of the band, 0 the first one
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
            if (wide) {
                align<int32_t, int32_t, 1>(tasks, results, at, 1);
            } else {
                align<Vec<int16_t>, int16_t, kLanes>(tasks, results, at, int(stop - at));
            }
            at = stop;
        }
    }

private:
    static constexpr int kLanes = Vec<int16_t>::lanes;
    static constexpr int kLowest16 = -12000;  // below every value reached, far enough from -32768 to subtract a few penalties

    // A pinned alignment may score far below 0, but must not come near what cells out of its reach can rise to. A lane's
    // share of the traceback is bounded as well.
    bool fits_16_bits(const AffineTask& task) const {
        const int64_t worst = std::max({scores_.match, scores_.mismatch, scores_.gap_open + scores_.gap_extend, scores_.clip});
        const int64_t most = (int64_t(task.length) + 1) * scores_.match;
        const int64_t gaps = (int64_t(task.length) + task.band) * scores_.gap_extend;
        if (worst >= 1000 || int64_t(task.length) * task.band > kMostCells) return false;
        if (task.begin_pin >= 0) return most + gaps + 2 * scores_.gap_open < -kLowest16;
        return most < -kLowest16 && gaps < -kLowest16;
    }
    static constexpr int64_t kMostCells = 1 << 20;

    // Letters [diagonal, diagonal + length + band - 1) of the reference as codes; kOutside beyond the contig.
    static constexpr uint8_t kOutside = 7, kTextNoBase = 5;
    void load_window(const AffineTask& task) {
        const int64_t begin = task.diagonal, end = task.diagonal + task.length + task.band - 1;
        window_.assign(size_t(end - begin), kOutside);
        const int64_t from = std::max(begin, task.contig_begin), to = std::min(end, task.contig_end);
        if (from >= to) return;
        reference_.codes(uint64_t(from), uint64_t(to), window_.data() + (from - begin));
        for (int64_t i = from; i < to; i++)
            if (window_[size_t(i - begin)] == kNoBase) window_[size_t(i - begin)] = kTextNoBase;
    }

    template <class Score, class Lane, int Lanes>
    void align(const std::vector<AffineTask>& tasks, std::vector<AffineResult>& results, size_t at, int count) {
        const uint32_t* members = order_.data() + at;
        const int band = tasks[members[0]].band;
        int rows = 0;
        for (int lane = 0; lane < count; lane++) rows = std::max(rows, int(tasks[members[lane]].length));
        const int columns = rows + band - 1;

        std::vector<Lane>& letters = lane_buffer<Lane>();  // query rows, then text columns, then text penalties
        letters.assign(size_t(rows + 2 * columns) * Lanes, Lane(kOutside));
        Lane* query = letters.data();
        Lane* text = query + size_t(rows) * Lanes;
        Lane* outside = text + size_t(columns) * Lanes;
        const Lane lowest = Lane(sizeof(Lane) == 2 ? kLowest16 : -(1 << 29));
        bool any_outside = false;
        for (int lane = 0; lane < count; lane++) {
            const AffineTask& task = tasks[members[lane]];
            for (int i = 0; i < task.length; i++) query[size_t(i) * Lanes + size_t(lane)] = task.codes[i];
            load_window(task);
            for (size_t j = 0; j < window_.size(); j++) {
                text[j * Lanes + size_t(lane)] = window_[j];
                any_outside |= window_[j] == kOutside;
            }
        }
        if (any_outside)
            for (size_t j = 0; j < size_t(columns) * Lanes; j++) outside[j] = text[j] == kOutside ? lowest : Lane(0);

        traceback_.resize(size_t(rows) * size_t(band) * Lanes);
        std::vector<Lane>& cells = cell_buffer<Lane>();
        cells.assign(size_t(2 * (band + 1)) * Lanes + 64, lowest);
        Score* best = aligned<Score>(cells.data());
        Score* insertion = best + band + 1;
        for (int b = 0; b <= band; b++) insertion[b] = Score(lowest);
        const bool begin_pinned = tasks[members[0]].begin_pin >= 0, end_pinned = tasks[members[0]].end_pin >= 0;
        for (int b = 0; b < band; b++) best[b] = Score(Lane(begin_pinned ? lowest : 0));
        best[band] = Score(lowest);
        if (begin_pinned)  // before the first row there is the pin, and gaps that begin there
            for (int lane = 0; lane < count; lane++) {
                const int pin = tasks[members[lane]].begin_pin;
                set_lane(best[pin], lane, Lane(0));
                for (int b = pin + 1; b < band; b++)
                    set_lane(best[b], lane, Lane(-scores_.gap_open - (b - pin) * scores_.gap_extend));
            }

        const Score match(Lane(scores_.match)), mismatch(Lane(-scores_.mismatch)), clip(Lane(scores_.clip));
        const Score open_extend(Lane(scores_.gap_open + scores_.gap_extend)), extend(Lane(scores_.gap_extend));
        const Score clipped = begin_pinned ? Score(lowest) : Score(Lane(0)) - clip;
        Score last_row(Lane(0)), end_pin(Lane(0)), end_value(lowest), end_row(Lane(0)), end_diagonal(Lane(0));
        for (int lane = 0; lane < count; lane++) {
            set_lane(last_row, lane, Lane(tasks[members[lane]].length - 1));
            set_lane(end_pin, lane, Lane(tasks[members[lane]].end_pin));
        }

        for (int i = 0; i < rows; i++) {
            const Score letter = load<Score>(query + size_t(i) * Lanes);
            Score row_best(lowest), row_diagonal(Lane(0));
            uint8_t* bytes = traceback_.data() + size_t(i) * size_t(band) * Lanes;
            const auto plain = [&](int b) {
                return select(load<Score>(text + size_t(i + b) * Lanes) == letter, match, mismatch);
            };
            const auto sweep = [&](auto&& store) {
                if (any_outside) {
                    affine_row([&](int b) { return plain(b) + load<Score>(outside + size_t(i + b) * Lanes); }, band,
                               open_extend, extend, clipped, Score(lowest), best, insertion, store);
                } else {
                    affine_row(plain, band, open_extend, extend, clipped, Score(lowest), best, insertion, store);
                }
            };
            const Score row{Lane(i)};
            const auto is_last = row == last_row;
            if (end_pinned) {
                sweep([&](int b, Score value, Score from) {
                    row_best = select(Score(Lane(b)) == end_pin, value, row_best);
                    store_bytes(bytes + size_t(b) * Lanes, from);
                });
                end_value = select(is_last, row_best, end_value);
                end_row = select(is_last, row, end_row);
                end_diagonal = end_pin;
                continue;
            }
            sweep([&](int b, Score value, Score from) {
                row_diagonal = select(value > row_best, Score(Lane(b)), row_diagonal);
                row_best = max(value, row_best);
                store_bytes(bytes + size_t(b) * Lanes, from);
            });
            // the last row needs no clip at the end; rows behind it belong to longer queries
            const Score value = select(is_last, row_best, row_best - clip);
            auto better = value > end_value;
            better = better & ((row < last_row) | is_last);
            end_value = select(better, value, end_value);
            end_row = select(better, row, end_row);
            end_diagonal = select(better, row_diagonal, end_diagonal);
        }
        for (int lane = 0; lane < count; lane++) {
            finish(tasks[members[lane]], results[members[lane]], lane_of(end_value, lane), lane_of(end_row, lane),
                   lane_of(end_diagonal, lane), traceback_.data() + lane, band, Lanes);
        }
    }

    void finish(const AffineTask& task, AffineResult& result, int value, int row, int diagonal, const uint8_t* bytes, int band,
                int lanes) {
        const int clip_end = task.length - 1 - row;
        result.cigar.clear();
        push_cigar(result.cigar, kCigarS, uint32_t(clip_end));
        affine_traceback([&](int i, int b) { return bytes[(size_t(i) * size_t(band) + size_t(b)) * size_t(lanes)]; }, row,
                         diagonal, [&](char op) {
                             push_cigar(result.cigar, op == 'M' ? kCigarM : op == 'I' ? kCigarI : kCigarD, 1);
                         });
        if (task.begin_pin >= 0) {
            push_cigar(result.cigar, kCigarD, uint32_t(diagonal - task.begin_pin));
            diagonal = task.begin_pin;
        }
        push_cigar(result.cigar, kCigarS, uint32_t(row));
        std::reverse(result.cigar.begin(), result.cigar.end());
        result.begin = task.diagonal + row + diagonal;
        result.score = value + (clip_end ? scores_.clip : 0) + (row ? scores_.clip : 0);
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
        if constexpr (sizeof(Lane) == 2) return letters16_;
        else return letters32_;
    }
    template <class Lane>
    std::vector<Lane>& cell_buffer() {
        if constexpr (sizeof(Lane) == 2) return cells16_;
        else return cells32_;
    }

    const ReferenceView& reference_;
    const AffineScores scores_;
    std::vector<uint32_t> order_;
    std::vector<uint8_t> window_, traceback_;
    std::vector<int16_t> letters16_, cells16_;
    std::vector<int32_t> letters32_, cells32_;
};

}  // namespace gpualign
