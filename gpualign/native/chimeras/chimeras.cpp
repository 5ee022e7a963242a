// Bindings of `chimeras`.
#include "chimeras/votes.hpp"

#include "arrays.hpp"
#include "bindings.hpp"
#include "common/parallel_for.hpp"
#include "seeds/words/word_rows.hpp"

namespace gpualign {
namespace chimeras {
namespace {

constexpr int parts = 4;

std::string_view text_of(const Input<uint8_t>& text, const Input<int64_t>& offsets, int64_t i) {
    const int64_t* const at = offsets.data() + i;
    return {reinterpret_cast<const char*>(text.data()) + at[0], size_t(at[1] - at[0])};
}

void check(const Input<int32_t>& numbers, const Input<int64_t>& offsets) {
    for (size_t i = 0; i < numbers.size(); i++)
        if (numbers.data()[i] < 0 || size_t(numbers.data()[i]) + 1 >= offsets.size())
            throw nb::value_error("there is no such sequence");
}

// Places of the `few` sequences of a part's words that have most of them, among the first `limit`; of equal ones the
// first.
void most_words(
    const words::WordRows& index, std::string_view part, size_t few, int32_t limit, std::vector<int32_t>& found) {
    words::QueryWords query(index, part);
    std::vector<std::pair<uint32_t, int32_t>> best;  // the most words first
    for (size_t block = 0; block < index.blocks() && int32_t(block) * words::block_sequences < limit; block++) {
        const uint64_t* const* const rows = query.rows(block);
        for (int vector = 0; vector < words::block_vectors; vector++) {
            const int32_t first = int32_t(block) * words::block_sequences + vector * 512;
            if (first >= limit) break;
            words::RowCounts counts;
            for (uint32_t i = 0; i < query.size(); i += words::RowCounts::kRows)
                counts.add([&](uint32_t row) { return words::BitWord<words::Bits>::load(rows[i + row] + vector * 8); });
            const words::Bits more = counts.at_least(best.size() < few ? 1 : best.back().first + 1);
            words::each_bit(more, [&](uint32_t at) {
                const uint32_t count = counts.of(at);
                if (first + int32_t(at) >= limit || (best.size() == few && count <= best.back().first)) return;
                if (best.size() == few) best.pop_back();
                const auto after = std::upper_bound(best.begin(), best.end(), count,
                    [](uint32_t value, const auto& other) { return value > other.first; });
                best.insert(after, {count, first + int32_t(at)});
            });
        }
    }
    for (const auto& [count, place] : best) found.push_back(place);
}

// For each query candidates among the parents before its limit: those that have most words of a quarter of it.
auto candidates(Input<uint8_t> text, Input<int64_t> offsets, Input<int32_t> queries, Input<int32_t> parents,
    Input<int32_t> limits, int few, int threads) {
    check(queries, offsets);
    check(parents, offsets);
    if (limits.size() != queries.size()) throw nb::value_error("arrays of unequal length");
    std::vector<std::vector<int32_t>> found(queries.size());
    std::vector<int32_t> row, parent;
    {
        nb::gil_scoped_release release;
        const words::WordRows index(reinterpret_cast<const char*>(text.data()), offsets.data(),
            std::vector<int32_t>(parents.data(), parents.data() + parents.size()));
        parallel_for(threads, queries.size(), [&](size_t i, int) {
            const std::string_view query = text_of(text, offsets, queries.data()[i]);
            const size_t n = query.size();
            for (size_t part = 0; part < parts; part++) {
                const size_t begin = n * part / parts, end = n * (part + 1) / parts;
                most_words(index, query.substr(begin, end - begin), size_t(few), limits.data()[i], found[i]);
            }
            std::sort(found[i].begin(), found[i].end());
            found[i].erase(std::unique(found[i].begin(), found[i].end()), found[i].end());
        });
        for (size_t i = 0; i < found.size(); i++)
            for (const int32_t place : found[i]) {
                row.push_back(int32_t(i));
                parent.push_back(parents.data()[place]);
            }
    }
    return tuple_of(to_numpy(std::move(row)), to_numpy(std::move(parent)));
}

// queries and parents: of each alignment, those of a query together; found has a result for each query.
auto judged(Input<uint8_t> text, Input<int64_t> offsets, Input<int32_t> queries, Input<int32_t> parents,
    Input<uint32_t> operations, Input<int64_t> operation_offsets, double min_score, double min_divergence,
    double no_weight, double pseudo_votes, int min_differences, int threads) {
    check(queries, offsets);
    check(parents, offsets);
    if (parents.size() != queries.size() || operation_offsets.size() != queries.size() + 1)
        throw nb::value_error("arrays of unequal length");
    const Params params{min_score, min_divergence, no_weight, pseudo_votes, min_differences};
    std::vector<size_t> starts;
    for (size_t i = 0; i < queries.size(); i++)
        if (!i || queries.data()[i] != queries.data()[i - 1]) starts.push_back(i);
    const size_t count = starts.size();
    starts.push_back(queries.size());
    std::vector<uint8_t> verdict(count);
    std::vector<double> score(count);
    std::vector<int32_t> numbers(count * 13);  // A, B, columns, matches, votes
    {
        nb::gil_scoped_release release;
        parallel_for(threads, count, [&](size_t q, int) {
            std::vector<Parent> candidates;
            for (size_t i = starts[q]; i < starts[q + 1]; i++) {
                const int64_t* const at = operation_offsets.data() + i;
                candidates.push_back(
                    {text_of(text, offsets, parents.data()[i]), operations.data() + at[0], size_t(at[1] - at[0])});
            }
            const Result found = judge(text_of(text, offsets, queries.data()[starts[q]]), candidates, params);
            verdict[q] = found.verdict, score[q] = found.score;
            int32_t* out = &numbers[q * 13];
            for (const int32_t parent : found.parents)
                *out++ = parent < 0 ? -1 : parents.data()[starts[q] + size_t(parent)];
            *out++ = found.columns;
            out = std::copy(found.matches.begin(), found.matches.end(), out);
            std::copy(found.votes.begin(), found.votes.end(), out);
        });
    }
    return tuple_of(to_numpy(std::move(verdict)), to_numpy(std::move(score)), to_numpy(std::move(numbers)));
}

}  // namespace
}  // namespace chimeras

void bind_chimeras(nb::module_& m) {
    m.def("parent_candidates", &chimeras::candidates, nb::arg("text"), nb::arg("offsets"), nb::arg("queries"),
        nb::arg("parents"), nb::arg("limits"), nb::arg("few"), nb::arg("threads"),
        "For each query those of the first limits[i] parents that have most words of a quarter of it, `few` for each "
        "quarter: (rows of the queries, parents), int32 each.");
    m.def("judge_chimeras", &chimeras::judged, nb::arg("text"), nb::arg("offsets"), nb::arg("queries"),
        nb::arg("parents"), nb::arg("operations"), nb::arg("operation_offsets"), nb::arg("min_score"),
        nb::arg("min_divergence"), nb::arg("no_weight"), nb::arg("pseudo_votes"), nb::arg("min_differences"),
        nb::arg("threads"),
        "Of each query, in order, with the alignments of its candidates next to each other: verdict (uint8: no "
        "parents, "
        "no score, low score, borderline, chimera), score (float64), and 13 numbers (int32): parents A and B, or -1; "
        "columns; matches of the query with model, A and B, and of A with B; votes yes, no and abstain, left and "
        "right.");
}

}  // namespace gpualign
