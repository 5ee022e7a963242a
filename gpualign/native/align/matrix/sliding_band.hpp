// The edit distance of one pair in a band of diagonals that the lanes of a vector slide down, from both ends at once.
//
// Lanes hold blocks of 64 W rows, the top one in the last lane; each is one column behind the lane above it, whose
// last row it takes. When the top block leaves the band, all lanes move up by one and the next block enters below. So
// all lanes are always busy, a pass takes about as many steps as there are rows, and the band is as high as all lanes
// but one. D grows by one per row left of the band and by one per column above it, so the result is the cost of the
// best alignment within the band. An alignment with e errors touches at most e + 1 diagonals (Ukkonen 1985).
//
// A step has to wait for the one before. So the query is cut in the middle and its lower half computed from the end
// (Hirschberg 1975), interleaved with the upper half; the distance is the minimum sum of both along the row between
// them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algo/align/edit/myers_striped.hpp"
#include "align/matrix/long_lanes.hpp"

namespace gpualign {
namespace distances {

template <class Code> struct CodedPair {
    const Code *query, *target;
    int64_t n, m;
};

// Codes are below 2^Planes.
template <class Code, int Planes, int W> class SlidingBand {
    static constexpr int64_t kRows = 64 * W;

public:
    // Errors that fit the band, wherever they are: its diagonals, minus some at the ends.
    static constexpr int64_t kErrors = kRows * (kLanes - 1) + kLanes - 4;

    explicit SlidingBand(const CodedPair<Code>& pair)
        : size_{pair.n, pair.m}, upper_(pair.n - pair.n / 2),
          blocks_(std::max<int64_t>(kLanes, (upper_ + kRows - 1) / kRows)), highest_((pair.m - pair.n + kErrors) / 2),
          columns_(std::min(pair.m, upper_ + highest_)) {
        halves_[0].load(pair, false, upper_, blocks_, upper_ + highest_);
        halves_[1].load(pair, true, pair.n - upper_, blocks_, upper_ + highest_);
    }

    // Cost of the best alignment in the band; it is the distance if it is at most kErrors.
    int64_t run() {
        for (Half& half : halves_) half.start();
        int64_t column = 0;  // of the top lane
        for (; column < kLanes - 1; column++)
            for (Half& half : halves_) half.begin(column);
        for (Half& half : halves_) half.change = Word(0);
        int64_t leaves = upper_ - (blocks_ - 1) * kRows + highest_;  // column in which the top block leaves the band
        for (int64_t top = 0; top + kLanes < blocks_; top++, column--, leaves += kRows) {
            advance(column, leaves);
            column = leaves;
            for (Half& half : halves_) half.move_up(top + 1);
        }
        const int64_t first = column - (kLanes - 1);
        const int64_t at_first[2] = {halves_[0].value(), halves_[1].value()};
        advance_last(column, columns_ + kLanes - 1);
        return least_sum(first, at_first);
    }

private:
    // State that a step changes.
    struct State {
        StripedColumn<Word, W> column;
        Word up, down, change;  // last row of each lane: its differences in the last column, and their sum

        GPUALIGN_HD void step(const Word (&planes)[W][Planes + 1], const int8_t* const (&texts)[Planes], int64_t j) {
            Word eq[W];
            for (int w = 0; w < W; w++) eq[w] = planes[w][Planes];
            for (int p = 0; p < Planes; p++) {
                const Word symbol = load_mask(texts[p] + j);
                for (int w = 0; w < W; w++) eq[w] = and_equal(eq[w], planes[w][p], symbol);
            }
            column.step(eq, from_above(up, Word(1)), from_above(down, Word(0)), up, down);
            up = up >> 63;
            down = down >> 63;
            change = change + up - down;
        }
    };

    struct Half : State {
        using State::change, State::column, State::down, State::up;
        Word planes[W][Planes + 1];
        const int8_t* at[Planes];  // symbols of the lanes when the top one is in column 0
        int64_t bottom;            // D where the bottom lane began
        int64_t blocks, padding;
        std::vector<uint64_t> rows;  // planes of all blocks, the last block first
        std::vector<BytePlane> texts;
        std::vector<uint8_t> ups, downs;  // of the last row

        void load(const CodedPair<Code>& pair, bool from_end, int64_t n, int64_t blocks_, int64_t columns) {
            blocks = blocks_;
            padding = blocks * kRows - n;
            const auto in_order = [&](const Code* codes, int64_t all, int64_t count, Code* to) {
                if (!from_end) std::copy(codes, codes + count, to);
                else
                    for (int64_t i = 0; i < count; i++) to[i] = codes[all - 1 - i];
            };
            std::vector<Code> codes(size_t(blocks * kRows), Code(0));
            in_order(pair.query, pair.n, n, codes.data() + padding);
            rows.resize(size_t(blocks) * W * (Planes + 1));
            for (int64_t b = 0; b < blocks; b++) load_block(b, codes.data() + b * kRows);
            const int64_t symbols = std::min(pair.m, columns + kLanes);
            std::vector<Code> text(size_t(columns + 3 * kLanes), Code(0));  // lanes are behind, and ahead at the end
            in_order(pair.target, pair.m, symbols, text.data() + kLanes);
            texts.assign(Planes, BytePlane(text.size()));
            for (int p = 0; p < Planes; p++) {
                int8_t* const plane = texts[size_t(p)].data();
                const Code* const from = text.data();
                for (size_t j = 0, all = text.size(); j < all; j++) plane[j] = int8_t(-int8_t(from[j] >> p & 1));
                at[p] = plane + 1;  // lane l is in column l + 1 - kLanes
            }
        }

        void load_block(int64_t b, const Code* codes) {
            for (int w = 0; w < W; w++) {
                Code striped[64];
                for (int i = 0; i < 64; i++) striped[i] = codes[i * W + w];
                for (int p = 0; p < Planes; p++) row(w, p)[blocks - 1 - b] = bits_of_codes(striped, p);
                row(w, Planes)[blocks - 1 - b] = striped_rows<uint64_t>(w, W, padding - b * kRows);
            }
        }
        uint64_t* row(int w, int p) { return rows.data() + (w * (Planes + 1) + p) * blocks; }

        void take(int64_t top) {
            for (int w = 0; w < W; w++)
                for (int p = 0; p <= Planes; p++) planes[w][p] = Word::load(row(w, p) + blocks - kLanes - top);
        }

        void start() {
            take(0);
            Word used[W];
            for (int w = 0; w < W; w++) used[w] = planes[w][Planes];
            column.start(used);
            up = down = change = Word(0);
            bottom = kLanes * kRows - padding;
        }

        // The first columns, while lanes start one after the other.
        void begin(int64_t j) {
            const StripedColumn<Word, W> before = column;
            State::step(planes, at, j);
            Word begun(0);
            for (int l = 0; l < kLanes; l++) begun.set(l, j >= kLanes - 1 - l ? ~uint64_t(0) : 0);
            for (int w = 0; w < W; w++) {
                column.vp[w] = select(begun, column.vp[w], before.vp[w]);
                column.vn[w] = select(begun, column.vn[w], before.vn[w]);
            }
        }

        void keep(const State& state, int64_t i) {
            ups[size_t(i)] = uint8_t(state.up[0]);
            downs[size_t(i)] = uint8_t(state.down[0]);
        }

        int64_t value() const { return bottom + int64_t(change[0]); }

        void move_up(int64_t top) {
            bottom = value() - int64_t(up[0]) + int64_t(down[0]) + kRows;
            change = Word(0);
            for (int w = 0; w < W; w++) {
                column.vp[w] = from_below(column.vp[w], Word(~uint64_t(0)));
                column.vn[w] = from_below(column.vn[w], Word(0));
            }
            up = from_below(up, Word(0));
            down = from_below(down, Word(0));
            take(top);
        }
    };

    // Columns [from, to) of the top lane.
    __attribute__((noinline)) void advance(int64_t from, int64_t to) {
        Half &first = halves_[0], &second = halves_[1];
        State a = first, b = second;
        for (int64_t j = from; j < to; j++) {
            a.step(first.planes, first.at, j);
            b.step(second.planes, second.at, j);
        }
        static_cast<State&>(first) = a;
        static_cast<State&>(second) = b;
    }

    // Columns [from, to) of the top lane for the last rows, in the bottom lane, whose differences are stored.
    __attribute__((noinline)) void advance_last(int64_t from, int64_t to) {
        Half &first = halves_[0], &second = halves_[1];
        for (Half& half : halves_) {
            half.ups.resize(size_t(to - from));
            half.downs.resize(size_t(to - from));
        }
        State a = first, b = second;
        for (int64_t j = from; j < to; j++) {
            a.step(first.planes, first.at, j);
            b.step(second.planes, second.at, j);
            first.keep(a, j - from);
            second.keep(b, j - from);
        }
    }

    // Minimum sum of D along the row between the halves, over the columns [first, columns_] that both have.
    int64_t least_sum(int64_t first, const int64_t* at_first) {
        std::vector<int64_t> values[2];
        for (int i = 0; i < 2; i++) {
            const Half& half = halves_[i];
            values[i].push_back(at_first[i]);
            for (int64_t j = first; j < columns_; j++)
                values[i].push_back(
                    values[i].back() + int64_t(half.ups[size_t(j - first)]) - int64_t(half.downs[size_t(j - first)]));
        }
        int64_t least = INT64_MAX;
        for (int64_t j = std::max(first, size_.m - columns_); j <= std::min(columns_, size_.m - first); j++)
            least = std::min(least, values[0][size_t(j - first)] + values[1][size_t(size_.m - j - first)]);
        return least;
    }

    struct {
        int64_t n, m;
    } size_;
    int64_t upper_, blocks_, highest_, columns_;
    Half halves_[2];
};

}  // namespace distances
}  // namespace gpualign
