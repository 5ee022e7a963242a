// lcs-filter on the CPU: one query against many subjects, one subject in each lane of a vector word.
//
// The query's words are cut into tiles that stay in registers over all symbols of the subjects. A symbol's mask is a
// row of the profile; the lanes hold different symbols, so the rows of all lanes are loaded and transposed in squares.
#include <algorithm>
#include <numeric>
#include <utility>

#include "algo/align/lcs/lcs.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "common/with_constant.hpp"
#include "align/lcs/lane_bits.hpp"
#include "align/lcs/path.hpp"
#include "simd/vector.hpp"

namespace gpualign {

namespace {

using Word = Vec<uint64_t>;
constexpr int lanes = Word::lanes;
constexpr int widest_tile = lanes >= 8 ? 16 : 8;

struct Tile {
    int words;
    int64_t first_word;
    int64_t offset;  // of its rows in the profile, in 64-bit words
    int stride;      // 64-bit words from one symbol's row to the next
};

// Tiles of 1, 2, 4, … words; the last tile of a size may stick out by a quarter.
std::vector<Tile> cut_into_tiles(int64_t words, int symbols) {
    std::vector<Tile> tiles;
    int64_t offset = 0;
    for (int64_t first = 0; first < words;) {
        int width = widest_tile;
        while (width > words - first && width - (words - first) > width / 4) width /= 2;
        const int stride = std::max(width, lanes);
        tiles.push_back({width, first, offset, stride});
        offset += int64_t(stride) * symbols;
        first += width;
    }
    return tiles;
}

// The masks of every symbol, tile by tile. `absent` is the symbol of an all-zero row.
struct Profile {
    std::vector<Tile> tiles;
    std::vector<uint64_t> masks;
    uint16_t absent;

    Profile(const uint16_t* query, int64_t length, int symbols) : absent(uint16_t(symbols)) {
        tiles = cut_into_tiles((length + 63) / 64, symbols + 1);
        if (!tiles.empty()) masks.resize(size_t(tiles.back().offset + int64_t(tiles.back().stride) * (symbols + 1)));
        for (const Tile& tile : tiles) {
            const int64_t end = std::min(length, 64 * (tile.first_word + tile.words));
            for (int64_t i = 64 * tile.first_word; i < end; i++)
                if (query[i] < symbols)
                    masks[size_t(tile.offset + query[i] * tile.stride + i / 64 - tile.first_word)] |= 1ull << (i % 64);
        }
    }
};

// Swaps the elements whose row and column differ in the bit Step; all steps together transpose a square.
template <int Step, size_t... Lane>
GPUALIGN_HD void swap_blocks(Word& upper, Word& lower, std::index_sequence<Lane...>) {
    const Word::Raw a = upper.v, b = lower.v;
    upper.v = __builtin_shufflevector(a, b, (Lane & Step ? int(Lane) - Step + lanes : int(Lane))...);
    lower.v = __builtin_shufflevector(a, b, (Lane & Step ? int(Lane) + lanes : int(Lane) + Step)...);
}

template <int Step> GPUALIGN_HD void transpose_steps(Word* square) {
    if constexpr (Step < lanes) {
        GPUALIGN_LCS_UNROLL
        for (int i = 0; i < lanes; i++)
            if (!(i & Step)) swap_blocks<Step>(square[i], square[i + Step], std::make_index_sequence<lanes>());
        transpose_steps<2 * Step>(square);
    }
}

struct Subjects {
    const uint8_t* symbols;
    const int64_t* offsets;
    const uint16_t* code;  // [256]

    int64_t length(int64_t i) const { return offsets[i + 1] - offsets[i]; }
};

// Up to `lanes` subjects of like length, their codes interleaved; the shorter ones end in absent symbols.
class Group {
public:
    int64_t columns = 0;
    std::vector<uint64_t> carries;  // (columns / 64, lanes): the tile below's carries, then this tile's

    // The subjects order[0..count), the longest first.
    void take(const Subjects& subjects, const int64_t* order, int count, uint16_t absent) {
        subjects_ = &subjects;
        order_ = order;
        count_ = count;
        absent_ = absent;
        columns = subjects.length(order[0]);
        carries.assign(size_t((columns + 63) / 64 * lanes), 0);
        whole_ = columns <= longest_kept;
        symbols_.resize(size_t((whole_ ? columns : block) * lanes));
        if (whole_) interleave(0, columns);
    }

    // (up to 64, lanes) symbols from a column on that is a multiple of 64.
    const uint16_t* symbols(int64_t first) {
        if (whole_) return symbols_.data() + first * lanes;
        interleave(first, std::min(columns, first + block));
        return symbols_.data();
    }

private:
    static constexpr int64_t block = 64;
    static constexpr int64_t longest_kept = 1 << 20;  // longer ones are interleaved again for each tile

    const Subjects* subjects_ = nullptr;
    const int64_t* order_ = nullptr;
    int count_ = 0;
    uint16_t absent_ = 0;
    bool whole_ = true;
    std::vector<uint16_t> symbols_;

    void interleave(int64_t first, int64_t end) {
        std::fill(symbols_.begin(), symbols_.end(), absent_);
        for (int lane = 0; lane < count_; lane++) {
            const uint8_t* from = subjects_->symbols + subjects_->offsets[order_[lane]] + first;
            const int64_t length = std::min(end, subjects_->length(order_[lane])) - first;
            uint16_t* to = symbols_.data() + lane;
            for (int64_t j = 0; j < length; j++) to[j * lanes] = subjects_->code[from[j]];
        }
    }
};

template <int W> Word run_tile(const uint64_t* masks, int stride, Group& group, bool last) {
    Word row[W];
    for (int w = 0; w < W; w++) row[w] = lcs_first_row<Word>();
    for (int64_t first = 0; first < group.columns; first += 64) {
        const int count = int(std::min<int64_t>(64, group.columns - first));
        uint64_t* packed = group.carries.data() + first / 64 * lanes;
        Word carries_in = Word::load(packed), carries_out(0);
        const uint16_t* column = group.symbols(first);
        for (int j = 0; j < count; j++, column += lanes) {
            const uint64_t* lane_masks[lanes];
            for (int lane = 0; lane < lanes; lane++) lane_masks[lane] = masks + column[lane] * stride;
            Word square[lanes];
            lcs_column(
                row,
                [&](int w) {
                    if (w % lanes == 0) {
                        GPUALIGN_LCS_UNROLL
                        for (int lane = 0; lane < lanes; lane++) square[lane] = Word::load(lane_masks[lane] + w);
                        transpose_steps<1>(square);
                    }
                    return square[w % lanes];
                },
                carries_in, carries_out);
        }
        if (!last) (carries_out << (64 - count)).store(packed);
    }
    Word total(0);
    for (int w = 0; w < W; w++)
        for (int lane = 0; lane < lanes; lane++)
            total.set(lane, total[lane] + uint64_t(__builtin_popcountll(lcs_grows(row[w])[lane])));
    return total;
}

Word run_tile(const Tile& tile, const uint64_t* masks, Group& group, bool last) {
    return with_constant<1, 2, 4, 8, widest_tile>(tile.words,
        [&](auto words) { return run_tile<decltype(words)::value>(masks + tile.offset, tile.stride, group, last); });
}

std::vector<int32_t> all_lengths(const Profile& profile, const Subjects& subjects, int64_t n) {
    std::vector<int32_t> result(size_t(n), 0);
    if (profile.tiles.empty()) return result;
    std::vector<int64_t> order(size_t(n), 0);
    std::iota(order.begin(), order.end(), int64_t(0));
    std::stable_sort(
        order.begin(), order.end(), [&](int64_t a, int64_t b) { return subjects.length(a) > subjects.length(b); });
    Group group;
    for (int64_t first = 0; first < n; first += lanes) {
        const int count = int(std::min<int64_t>(lanes, n - first));
        group.take(subjects, order.data() + first, count, profile.absent);
        Word total(0);
        for (const Tile& tile : profile.tiles)
            total = total + run_tile(tile, profile.masks.data(), group, &tile == &profile.tiles.back());
        for (int lane = 0; lane < count; lane++) result[size_t(order[size_t(first + lane)])] = int32_t(total[lane]);
    }
    return result;
}

void check_codes(const Input<uint16_t>& codes, int symbols) {
    if (symbols < 0 || symbols > 256) throw nb::value_error("symbols must be from 0 to 256");
    if (codes.size() >= size_t(1) << 31) throw nb::value_error("a sequence is longer than 2^31 - 1 symbols");
    for (size_t i = 0; i < codes.size(); i++)
        if (codes.data()[i] > symbols) throw nb::value_error("a code is larger than the number of symbols");
}

Output<int32_t> lcs_lengths(
    Input<uint16_t> query, int symbols, Input<uint8_t> bases, Input<int64_t> offsets, Input<uint16_t> code) {
    check_codes(query, symbols);
    check_codes(code, symbols);
    if (code.size() != 256) throw nb::value_error("the code table has 256 entries");
    const int64_t n = int64_t(offsets.size()) - 1;
    const Subjects subjects{bases.data(), offsets.data(), code.data()};
    std::vector<int32_t> result;
    {
        nb::gil_scoped_release release;
        const Profile profile(query.data(), int64_t(query.size()), symbols);
        result = all_lengths(profile, subjects, n);
    }
    return to_numpy(std::move(result));
}

auto lcs_paths(Input<uint16_t> query, int symbols, Input<uint8_t> bases, Input<int64_t> offsets, Input<uint16_t> code,
    int64_t row_bytes) {
    check_codes(query, symbols);
    check_codes(code, symbols);
    if (code.size() != 256) throw nb::value_error("the code table has 256 entries");
    std::vector<int64_t> positions, ends{0};
    {
        nb::gil_scoped_release release;
        const Subjects subjects{bases.data(), offsets.data(), code.data()};
        LcsPath path;
        std::vector<uint16_t> codes;
        for (int64_t i = 0; i + 1 < int64_t(offsets.size()); i++) {
            const int64_t n = subjects.length(i);
            codes.resize(size_t(n));
            for (int64_t j = 0; j < n; j++) codes[size_t(j)] = subjects.code[subjects.symbols[subjects.offsets[i] + j]];
            path.align(query.data(), int64_t(query.size()), codes.data(), n, symbols, row_bytes);
            positions.insert(positions.end(), path.query_positions.begin(), path.query_positions.end());
            ends.push_back(int64_t(positions.size()));
        }
    }
    return tuple_of(to_numpy(std::move(positions)), to_numpy(std::move(ends)));
}

}  // namespace

void bind_lcs(nb::module_& m) {
    m.def("lcs_lengths", &lcs_lengths, nb::arg("query"), nb::arg("symbols"), nb::arg("bases"), nb::arg("offsets"),
        nb::arg("code"),
        "LCS length of one query against n subjects, int32 (n,). query: uint16 codes below symbols, or symbols for "
        "what never matches; bases, offsets: the subjects' bytes; code: uint16 (256,) from a byte to its code.");
    m.def("lcs_paths", &lcs_paths, nb::arg("query"), nb::arg("symbols"), nb::arg("bases"), nb::arg("offsets"),
        nb::arg("code"), nb::arg("row_bytes"),
        "For each of n subjects the query positions of one longest common subsequence, ascending: (positions of all, "
        "int64; offsets, int64 (n + 1,)). Arguments as for lcs_lengths. Each has been checked to be a common "
        "subsequence. Memory is about row_bytes plus what is linear in the lengths.");
}

}  // namespace gpualign
