// The edit filter of `pairwise` and `cluster`: which pairs are within a given number of edits.
#include <algorithm>
#include <vector>

#include "algo/align/edit/edit_band.hpp"
#include "algo/align/matching.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "common/with_constant.hpp"
#include "simd/vector.hpp"

namespace gpualign {
namespace nw {
namespace {

constexpr int band_widths = 5;  // bands of up to 64, 128, 256, 512 and 1024 diagonals
constexpr int32_t most_edits = 1022;
constexpr int check_every = 64;  // columns between checks whether any lane can still stay within its limit

// Match masks of each symbol of the query, with zeros around, so that a band may extend beyond either end.
class QueryBits {
public:
    void build(const uint8_t* query, int32_t n, const Matching& matching, int widest) {
        margin_ = widest;
        words_ = size_t(n + 2 * widest) / 64 + 4;
        bits_.assign(words_ * size_t(matching.identical), 0);
        const auto set = [&](int symbol, int32_t i) {
            bits_[size_t(symbol) * words_ + size_t(i + margin_) / 64] |= uint64_t(1) << ((i + margin_) % 64);
        };
        for (int32_t i = 0; i < n; i++) {
            if (query[i] < matching.identical) set(query[i], i);
            else if (matching.bases)
                for (int base = 0; base < matching.identical; base++)
                    if (matching(query[i], base)) set(base, i);
        }
    }
    // 64 rows from `row` on (counted from 0, may be negative): those that match a symbol.
    uint64_t window(int symbol, int64_t row, const Matching& matching) const {
        if (symbol < matching.identical) return window(symbol, row);
        uint64_t rows = 0;
        if (matching.bases)
            for (int base = 0; base < matching.identical; base++)
                if (matching(symbol, base)) rows |= window(base, row);
        return rows;
    }

private:
    uint64_t window(int symbol, int64_t row) const {
        const int64_t at = row + margin_;
        if (at < 0 || size_t(at / 64) + 1 >= words_) return 0;
        const uint64_t* word = &bits_[symbol * words_ + size_t(at / 64)];
        const int shift = int(at % 64);
        return shift ? word[0] >> shift | word[1] << (64 - shift) : word[0];
    }

    int32_t margin_ = 0;
    size_t words_ = 0;
    std::vector<uint64_t> bits_;
};

struct Lane {
    const QueryBits* query;
    const uint8_t* target;
    int32_t n, m, limit, distance;
    EditBand band;
    bool open;
};

template <int W> void run_group(Lane* lanes, int count, const Matching& matching) {
    using Word = Vec<uint64_t>;
    BandColumn<Word, W> column;
    int32_t longest = 0;
    for (int l = 0; l < Word::lanes; l++) {
        BandColumn<uint64_t, W> one;
        one.start(l < count ? lanes[l].band.below : 0);
        for (int w = 0; w < W; w++) column.vp[w].set(l, one.vp[w]), column.vn[w].set(l, one.vn[w]);
        if (l < count) longest = std::max(longest, lanes[l].m);
    }
    alignas(64) uint64_t eq_lanes[W][Word::lanes] = {}, d0_lanes[W][Word::lanes], hp_lanes[W][Word::lanes],
                         hn_lanes[W][Word::lanes];
    int open = count;
    for (int32_t j = 1; j <= longest && open > 0; j++) {
        for (int l = 0; l < count; l++) {
            const int64_t row = int64_t(j) - lanes[l].band.below - 1;
            for (int w = 0; w < W; w++)
                eq_lanes[w][l] =
                    j <= lanes[l].m ? lanes[l].query->window(lanes[l].target[j - 1], row + 64 * w, matching) : 0;
        }
        Word eq[W], d0[W], hp[W], hn[W];
        for (int w = 0; w < W; w++) eq[w] = Word::load(eq_lanes[w]);
        column.step(eq, d0, hp, hn);
        for (int w = 0; w < W; w++) d0[w].store(d0_lanes[w]), hp[w].store(hp_lanes[w]), hn[w].store(hn_lanes[w]);
        for (int l = 0; l < count; l++) {
            Lane& lane = lanes[l];
            if (j > lane.m) continue;
            uint64_t d0_one[W], hp_one[W], hn_one[W];
            for (int w = 0; w < W; w++)
                d0_one[w] = d0_lanes[w][l], hp_one[w] = hp_lanes[w][l], hn_one[w] = hn_lanes[w][l];
            lane.distance += int32_t(distance_change<uint64_t, W>(d0_one, hp_one, hn_one, lane.band, lane.n, j));
        }
        if (j % check_every) continue;
        for (int l = 0; l < count; l++) {
            if (!lanes[l].open) continue;
            const bool beyond = j + lanes[l].band.above <= lanes[l].n &&
                                lanes[l].distance > lanes[l].limit + edit_slack(lanes[l].band, lanes[l].n, lanes[l].m);
            if (beyond || j >= lanes[l].m) {
                lanes[l].open = false;
                open--;
                if (beyond) lanes[l].limit = -1;
            }
        }
    }
}

using Distances = std::vector<int32_t>;

Distances edit_distances(const uint8_t* query_codes, const int64_t* query_offsets, const uint8_t* target_codes,
    const int64_t* target_offsets, const int32_t* query, const int32_t* target, const int32_t* limits, size_t n,
    const Matching& matching) {
    Distances result(n, -1);
    std::vector<size_t> lists[band_widths];
    for (size_t p = 0; p < n; p++) {
        const int32_t rows = int32_t(query_offsets[query[p] + 1] - query_offsets[query[p]]);
        const int32_t columns = int32_t(target_offsets[target[p] + 1] - target_offsets[target[p]]);
        const EditBand band = edit_band(rows, columns, std::min(limits[p], rows + columns));
        const int32_t width = band.below + band.above + 1;
        int list = 0;
        while (64 << list < width) list++;
        if (band.fits) lists[list].push_back(p);
    }
    constexpr size_t lanes = Vec<uint64_t>::lanes;
    std::vector<QueryBits> bits(lanes);
    for (int list = 0; list < band_widths; list++) {
        int32_t built = -1;  // bits[0] holds this query
        for (size_t begin = 0; begin < lists[list].size(); begin += lanes) {
            const size_t count = std::min(lanes, lists[list].size() - begin);
            Lane group[lanes];
            int32_t built_now = built;
            for (size_t l = 0; l < count; l++) {
                const size_t p = lists[list][begin + l];
                Lane& lane = group[l];
                const int32_t q = query[p];
                lane.n = int32_t(query_offsets[q + 1] - query_offsets[q]);
                lane.m = int32_t(target_offsets[target[p] + 1] - target_offsets[target[p]]);
                lane.limit = std::min(limits[p], lane.n + lane.m);
                lane.band = edit_band(lane.n, lane.m, lane.limit);
                lane.distance = lane.band.above;
                lane.open = true;
                lane.target = target_codes + target_offsets[target[p]];
                if (l > 0 && query[lists[list][begin + l - 1]] == q) {
                    lane.query = group[l - 1].query;
                    continue;
                }
                if (l > 0 || q != built) bits[l].build(query_codes + query_offsets[q], lane.n, matching, 64 << list);
                if (l == 0) built_now = q;
                lane.query = &bits[l];
            }
            built = built_now;
            with_constant<1, 2, 4, 8, 16>(
                1 << list, [&](auto words) { run_group<decltype(words)::value>(group, int(count), matching); });
            for (size_t l = 0; l < count; l++)
                if (group[l].distance <= group[l].limit) result[lists[list][begin + l]] = group[l].distance;
        }
    }
    return result;
}

}  // namespace
}  // namespace nw

void bind_edit_filter(nb::module_& m) {
    m.def(
        "edit_distances",
        [](Input<uint8_t> query_codes, Input<int64_t> query_offsets, Input<uint8_t> target_codes,
            Input<int64_t> target_offsets, Input<int32_t> query, Input<int32_t> target, Input<int32_t> limits,
            int identical, uint64_t bases) {
            if (target.size() != query.size() || limits.size() != query.size())
                throw nb::value_error("arrays of unequal length");
            for (size_t p = 0; p < limits.size(); p++)
                if (limits.data()[p] > nw::most_edits) throw nb::value_error("a limit is too high");
            nw::Distances result;
            {
                nb::gil_scoped_release release;
                result = nw::edit_distances(query_codes.data(), query_offsets.data(), target_codes.data(),
                    target_offsets.data(), query.data(), target.data(), limits.data(), query.size(),
                    {bases, identical, 0});
            }
            return to_numpy(std::move(result));
        },
        nb::arg("query_codes"), nb::arg("query_offsets"), nb::arg("target_codes"), nb::arg("target_offsets"),
        nb::arg("query"), nb::arg("target"), nb::arg("limits"), nb::arg("identical"), nb::arg("bases") = 0,
        "Edit distance of each pair where it is at most the pair's limit (1022 at most), else -1. identical, bases: of "
        "Matching (cuda/algo/align/matching.hpp).");
    m.def(
        "edit_limits",
        [](Input<int32_t> by_length, bool with_difference, Input<int32_t> n, Input<int32_t> m) {
            if (m.size() != n.size()) throw nb::value_error("arrays of unequal length");
            std::vector<int32_t> result(n.size());
            const nw::EditLimits limits{by_length.data(), with_difference};
            for (size_t p = 0; p < n.size(); p++) {
                if (size_t(std::min(n.data()[p], m.data()[p])) >= by_length.size())
                    throw nb::value_error("a sequence is longer than the table");
                result[p] = limits.of(n.data()[p], m.data()[p]);
            }
            return to_numpy(std::move(result));
        },
        nb::arg("by_length"), nb::arg("with_difference"), nb::arg("n"), nb::arg("m"),
        "int32 (p,): edits that an identity allows pairs of n and m symbols (cuda/algo/align/edit/edit_band.hpp).");
}

}  // namespace gpualign
