// Bindings of bounded-gap alignment: pairs are sorted by length, packed into words and aligned.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "arrays.hpp"
#include "bindings.hpp"
#include "common/digit_sorter.hpp"
#include "common/with_constant.hpp"
#include "align/gaps/lanes.hpp"

namespace gpualign {
namespace gapsmis {
namespace {

// What K alone decides is worth a build of its own only for few gaps, and for the word that nearly all pairs use.
constexpr int any_gaps = -1;

struct Job {
    Model model;
    Scoring scoring;
    Results results;
};

template <class Word, int fixed_gaps, bool Strict>
void align_group(const Job& job, const Pair* pairs, int used, int32_t unreached) {
    Model model = job.model;
    model.unreached = unreached;
    Group<Word, fixed_gaps, Strict>(model, job.scoring, pairs, used).align(job.results);
}

template <int fixed_gaps, bool Strict> void align_sorted(const Job& job, const std::vector<Pair>& pairs) {
    using Narrow = Vec<int16_t>;
    using Wide = Vec<int32_t>;
    for (size_t first = 0; first < pairs.size();) {
        const auto unreached = [&](int bits, size_t count) {
            int64_t m = 0, n = 0;
            for (size_t k = first; k < first + count; k++)
                m = std::max<int64_t>(m, pairs[k].m), n = std::max<int64_t>(n, pairs[k].n);
            return unreached_value(job.model, bits, m, n, job.scoring.smallest, job.scoring.largest);
        };
        const Pair* group = pairs.data() + first;
        size_t used = std::min(pairs.size() - first, size_t(Narrow::lanes));
        // lanes that share a text share a profile, which looking up symbols cannot match
        if (!job.scoring.by_equality) {
            size_t same = 1;
            while (same < used && group[same].text == group->text) same++;
            if (4 * same >= used) used = same;
        }
        const int64_t cells = int64_t(group->m) * group->n;
        if (const int32_t low = cells < (int64_t(1) << 26) ? unreached(16, used) : 0) {
            align_group<Narrow, fixed_gaps, Strict>(job, group, int(used), low);
        } else if (cells < (int64_t(1) << 26)) {
            used = std::min(used, size_t(Wide::lanes));
            align_group<Wide, any_gaps, Strict>(job, group, int(used), unreached(32, used));
        } else {
            used = 1;  // bands and checkpoints of one pair are all the memory that long pairs may take
            align_group<int32_t, any_gaps, Strict>(job, group, int(used), unreached(32, used));
        }
        first += used;
    }
}

void align(const Job& job, const std::vector<Pair>& pairs) {
    if (job.model.opening < 0) return align_sorted<any_gaps, true>(job, pairs);
    with_constant<0, 1, 2, 3, 4, any_gaps>(
        job.model.gaps, [&](auto gaps) { align_sorted<decltype(gaps)::value, false>(job, pairs); });
}

Scoring read_scoring(Input<int16_t> table, int symbols) {
    if (symbols < 1 || table.size() != size_t(symbols) * size_t(symbols))
        throw nb::value_error("table must be symbols x symbols");
    Scoring scoring{table.data(), symbols, true, 0, 0, 0, INT32_MAX, INT32_MIN};
    for (size_t k = 0; k < table.size(); k++) {
        scoring.smallest = std::min<int32_t>(scoring.smallest, table.data()[k]);
        scoring.largest = std::max<int32_t>(scoring.largest, table.data()[k]);
    }
    scoring.match = table.data()[0];
    scoring.mismatch = symbols > 1 ? table.data()[1] : scoring.match;
    while (scoring.matching < symbols && table.data()[scoring.matching * (symbols + 1)] == scoring.match)
        scoring.matching++;
    for (int a = 0; a < symbols; a++)
        for (int b = 0; b < symbols; b++) {
            const bool equal = a == b && a < scoring.matching;
            scoring.by_equality &= table.data()[a * symbols + b] == (equal ? scoring.match : scoring.mismatch);
        }
    return scoring;
}

std::vector<Pair> sorted_pairs(const uint8_t* patterns, Input<int64_t> pattern_offsets, const uint8_t* texts,
    Input<int64_t> text_offsets, Input<int32_t> pattern_ids, Input<int32_t> text_ids, bool by_text) {
    std::vector<Pair> pairs(pattern_ids.size());
    for (size_t k = 0; k < pairs.size(); k++) {
        const int32_t p = pattern_ids.data()[k], t = text_ids.data()[k];
        if (p < 0 || t < 0 || size_t(p) + 1 >= pattern_offsets.size() || size_t(t) + 1 >= text_offsets.size())
            throw nb::index_error("a pair names a sequence that is not there");
        const int64_t* x = pattern_offsets.data() + p;
        const int64_t* y = text_offsets.data() + t;
        pairs[k] = Pair{patterns + x[0], texts + y[0], int32_t(x[1] - x[0]), int32_t(y[1] - y[0]), int64_t(k)};
    }
    std::sort(pairs.begin(), pairs.end(), [by_text](const Pair& a, const Pair& b) {
        if (by_text && a.text != b.text) return a.text < b.text;
        if (a.m != b.m) return a.m > b.m;
        if (a.n != b.n) return a.n > b.n;
        return a.index < b.index;
    });
    return pairs;
}

auto gapsmis_align(Input<uint8_t> patterns, Input<int64_t> pattern_offsets, Input<uint8_t> texts,
    Input<int64_t> text_offsets, Input<int32_t> pattern_ids, Input<int32_t> text_ids, Input<int16_t> table, int symbols,
    int gaps, int open, int extend, int ends, bool traceback) {
    if (pattern_ids.size() != text_ids.size()) throw nb::value_error("pattern_ids and text_ids differ in length");
    if (gaps < 0 || gaps > 64 || open < 0 || extend < 0)
        throw nb::value_error("gaps, open and extend are out of range");
    const size_t n = pattern_ids.size();
    std::vector<int32_t> score(n), count(n), start(n), end(n);
    std::vector<int32_t> list(traceback ? 3 * n * size_t(gaps) : 0);
    {
        nb::gil_scoped_release released;
        static_assert(sizeof(Gap) == 3 * sizeof(int32_t), "a gap travels as three integers");
        Gap* gap_list = traceback ? reinterpret_cast<Gap*>(list.data()) : nullptr;
        Gap nowhere{};
        if (traceback && list.empty()) gap_list = &nowhere;  // K = 0 has a traceback without gaps
        Job job{{gaps, open - extend, extend, ends, 0}, read_scoring(table, symbols),
            {score.data(), count.data(), start.data(), end.data(), gap_list}};
        const auto pairs = sorted_pairs(patterns.data(), pattern_offsets, texts.data(), text_offsets, pattern_ids,
            text_ids, !job.scoring.by_equality);
        align(job, pairs);
    }
    return tuple_of(to_numpy(std::move(score)), to_numpy(std::move(count)), to_numpy(std::move(start)),
        to_numpy(std::move(end)), to_numpy(std::move(list)));
}

auto gapsmis_order(Input<int64_t> pattern_offsets, Input<int64_t> text_offsets, Input<int32_t> pattern_ids,
    Input<int32_t> text_ids, int64_t warp_cells, int64_t thread_pairs) {
    const size_t n = pattern_ids.size();
    std::vector<int32_t> by_warp, by_thread, rows(n), columns(n);
    std::vector<int32_t> longest(4);
    {
        nb::gil_scoped_release released;
        for (size_t k = 0; k < n; k++) {
            const int64_t* x = pattern_offsets.data() + pattern_ids.data()[k];
            const int64_t* y = text_offsets.data() + text_ids.data()[k];
            rows[k] = int32_t(x[1] - x[0]);
            columns[k] = int32_t(y[1] - y[0]);
            (int64_t(rows[k]) * columns[k] > warp_cells ? by_warp : by_thread).push_back(int32_t(k));
        }
        if (int64_t(by_thread.size()) < thread_pairs) {
            by_warp.insert(by_warp.end(), by_thread.begin(), by_thread.end());
            by_thread.clear();
        }
        DigitSorter<uint64_t> sorter;
        for (auto* order : {&by_warp, &by_thread}) {
            int32_t* maximum = longest.data() + (order == &by_thread ? 2 : 0);
            for (const int32_t pair : *order) {
                maximum[0] = std::max(maximum[0], rows[size_t(pair)]);
                maximum[1] = std::max(maximum[1], columns[size_t(pair)]);
            }
            // the longest first
            const uint64_t width = uint64_t(maximum[1]) + 1, largest = uint64_t(maximum[0]) * width + width - 1;
            const auto value = [&](size_t i) {
                const size_t pair = size_t((*order)[i]);
                return uint64_t(maximum[0] - rows[pair]) * width + uint64_t(maximum[1] - columns[pair]);
            };
            std::vector<int32_t> sorted;
            sorted.reserve(order->size());
            for (const auto& place : sorter(order->size(), largest, value)) sorted.push_back((*order)[place.index]);
            order->swap(sorted);
        }
    }
    return tuple_of(to_numpy(std::move(by_warp)), to_numpy(std::move(by_thread)), to_numpy(std::move(longest)));
}

int gapsmis_unreached(
    int bits, int64_t m, int64_t n, int smallest, int largest, int gaps, int open, int extend, int ends) {
    return unreached_value(Model{gaps, open - extend, extend, ends, 0}, bits, m, n, smallest, largest);
}

}  // namespace
}  // namespace gapsmis

void bind_gapsmis(nb::module_& m) {
    using namespace nb::literals;
    m.def("gapsmis_align", &gapsmis::gapsmis_align, "patterns"_a, "pattern_offsets"_a, "texts"_a, "text_offsets"_a,
        "pattern_ids"_a, "text_ids"_a, nb::kw_only(), "table"_a, "symbols"_a, "gaps"_a, "open"_a, "extend"_a, "ends"_a,
        "traceback"_a,
        "Align pairs with at most `gaps` gaps. Sequences are uint8 codes < symbols, flat, with int64 offsets; table is "
        "int16 (symbols * symbols,), row = pattern. ends: 0 the text's end is free, 1 both its ends, 2 none. Returns "
        "int32 (pairs,) score, gaps, start, end (text, half-open; -1 where no alignment exists) and the gaps as int32 "
        "(pairs * gaps * 3,): pattern symbols before, text symbols before, length (> 0: symbols of the pattern).");
    m.def("gapsmis_order", &gapsmis::gapsmis_order, "pattern_offsets"_a, "text_offsets"_a, "pattern_ids"_a,
        "text_ids"_a, "warp_cells"_a, "thread_pairs"_a,
        "Pairs by pattern and text length, longest first: int32 indices of those that get a warp each (more than "
        "warp_cells cells, or all where fewer than thread_pairs remain) and of the others; and int32 (4,) the longest "
        "pattern and text of either.");
    m.def("gapsmis_unreached", &gapsmis::gapsmis_unreached, "bits"_a, "m"_a, "n"_a, nb::kw_only(), "smallest"_a,
        "largest"_a, "gaps"_a, "open"_a, "extend"_a, "ends"_a,
        "Minus infinity in words of so many bits for patterns up to m and texts up to n, or 0 where they do not fit.");
}

}  // namespace gpualign
