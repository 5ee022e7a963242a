// Bindings of the pairs that may reach an identity.
#include "align/edit/block_edits.hpp"
#include "align/matrix/common_symbols.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "common/parallel_for.hpp"
#include "seeds/words/word_index.hpp"

namespace gpualign {
namespace near {
namespace {

using distances::CommonSymbols;
using distances::Lookup;
using words::WordIndex;

constexpr size_t queries_a_task = 16;

class Index {
public:
    Index(Input<uint8_t> codes, Input<int64_t> offsets, int identical, bool codes_match, int word, double identity,
        int definition, double coverage, Input<int32_t> scores)
        : codes_(codes), offsets_(offsets),
          words_({codes.data(), offsets.data(), identical, codes_match}, word, {identity, coverage, definition}) {
        if (offsets.size() == 0 || offsets.data()[offsets.size() - 1] > int64_t(codes.size()))
            throw nb::value_error("the symbols end before their sequences");
        if (scores.size() == 0) return;
        if (scores.size() != 6) throw nb::value_error("there are six scores");
        const int32_t* const s = scores.data();
        scores_ = ShiftedScores::of(s[0], s[1], s[2], s[3], s[4], s[5]);
    }

    Index(const Index&) = delete;
    Index& operator=(const Index&) = delete;

    int64_t size() const { return words_.size(); }
    int64_t bytes() const { return words_.bytes(); }

    void add(Input<int32_t> sequences) {
        check(sequences);
        nb::gil_scoped_release release;
        words_.add(sequences.data(), sequences.size());
    }

    // The same sequences, and others after them, which may be queries.
    void extend(Input<uint8_t> codes, Input<int64_t> offsets) {
        int32_t last = -1;
        for (int32_t i = 0; i < words_.size(); i++) last = std::max(last, words_.sequence(i));
        if (int64_t(offsets.size()) < last + 2 || offsets.data()[offsets.size() - 1] > int64_t(codes.size()))
            throw nb::value_error("the symbols end before their sequences");
        codes_ = codes, offsets_ = offsets;
        words_.extend(codes.data(), offsets.data());
    }

    auto candidates(
        Input<int32_t> queries, Input<int32_t> from, Input<int32_t> to, Input<double> identities, int threads) {
        check(queries, from, to);
        if (identities.size() != queries.size()) throw nb::value_error("arrays of unequal length");
        Found all;
        {
            nb::gil_scoped_release release;
            find(queries.data(), from.data(), to.data(), identities.data(), queries.size(), threads, all);
        }
        return tuple_of(
            to_numpy(std::move(all.query)), to_numpy(std::move(all.target)), to_numpy(std::move(all.highest)));
    }

    auto most_words(Input<int32_t> queries, Input<int32_t> from, Input<int32_t> to, int threads) {
        check(queries, from, to);
        std::vector<int32_t> result(queries.size());
        {
            nb::gil_scoped_release release;
            std::vector<WordIndex::Scratch> scratch(static_cast<size_t>(threads));
            parallel_for(threads, (result.size() + queries_a_task - 1) / queries_a_task, [&](size_t task, int thread) {
                for (size_t i = task * queries_a_task; i < std::min(result.size(), (task + 1) * queries_a_task); i++)
                    result[i] =
                        words_.most_words(queries.data()[i], from.data()[i], to.data()[i], scratch[size_t(thread)]);
            });
        }
        return to_numpy(std::move(result));
    }

private:
    // Rows of queries, targets, and as far as is known the highest identity that each pair can have.
    struct Found {
        std::vector<int32_t> query, target;
        std::vector<float> highest;
    };

    void check(const Input<int32_t>& queries, const Input<int32_t>& from, const Input<int32_t>& to) const {
        check(queries);
        if (from.size() != queries.size() || to.size() != queries.size())
            throw nb::value_error("arrays of unequal length");
        for (size_t i = 0; i < queries.size(); i++)
            if (from.data()[i] < 0 || to.data()[i] > words_.size()) throw nb::value_error("there is no such target");
    }

    void check(const Input<int32_t>& sequences) const {
        for (size_t i = 0; i < sequences.size(); i++)
            if (sequences.data()[i] < 0 || size_t(sequences.data()[i]) + 1 >= offsets_.size())
                throw nb::value_error("there is no such sequence");
    }

    void find(const int32_t* queries, const int32_t* from, const int32_t* to, const double* identities, size_t count,
        int threads, Found& all) const {
        std::vector<Found> found((count + queries_a_task - 1) / queries_a_task);
        std::vector<WordIndex::Scratch> scratch(static_cast<size_t>(threads));
        std::vector<CommonSymbols> common(static_cast<size_t>(threads));
        std::vector<BlockEdits> blocks(static_cast<size_t>(threads));
        parallel_for(threads, found.size(), [&](size_t task, int thread) {
            Found& part = found[task];
            std::vector<Lookup> lookups;
            for (size_t i = task * queries_a_task; i < std::min(count, (task + 1) * queries_a_task); i++) {
                const int32_t length = words_.set().length(queries[i]);
                const IdentityBounds bounds = words_.bounds().reaching(identities[i]);
                if (from[i] < to[i] && !words_.counts_words(length, bounds) && bounds.limits_matches()) {
                    lookups.push_back({queries[i], from[i], to[i], int32_t(i), identities[i]});
                    continue;
                }
                words_.candidates(queries[i], from[i], to[i], bounds, scratch[size_t(thread)], [&](int32_t hit) {
                    part.query.push_back(int32_t(i));
                    part.target.push_back(hit);
                });
            }
            if (!lookups.empty()) find_common(lookups, common[size_t(thread)], part);
            part.highest.assign(part.query.size(), 1.0f);
            if (BlockEdits::limits(words_.bounds(), scores_))
                leave_out(queries, identities, blocks[size_t(thread)], part);
        });
        size_t pairs = 0;
        for (const Found& part : found) pairs += part.query.size();
        all.query.reserve(pairs), all.target.reserve(pairs), all.highest.reserve(pairs);
        for (Found& part : found) {
            all.query.insert(all.query.end(), part.query.begin(), part.query.end());
            all.target.insert(all.target.end(), part.target.begin(), part.target.end());
            all.highest.insert(all.highest.end(), part.highest.begin(), part.highest.end());
            part = Found();
        }
    }

    // Keeps the pairs that blocks of the query do not rule out.
    void leave_out(const int32_t* queries, const double* identities, BlockEdits& blocks, Found& part) const {
        constexpr double slack = 1e-6;  // more than a float rounds
        size_t kept = 0;
        for (size_t i = 0; i < part.query.size(); i++) {
            const int32_t row = part.query[i];
            if (i == 0 || row != part.query[i - 1]) blocks.take(words_.set(), queries[row]);
            IdentityBounds bounds = words_.bounds().reaching(identities[row]);
            bounds.identity -= slack;
            const int32_t target = words_.sequence(part.target[i]);
            const double highest = blocks.highest_with(bounds, scores_, target);
            if (highest < bounds.identity) continue;
            part.query[kept] = row;
            part.target[kept] = part.target[i];
            part.highest[kept++] = float(highest + slack);
        }
        part.query.resize(kept), part.target.resize(kept), part.highest.resize(kept);
    }

    // Queries of about the same length together; the pairs in order again.
    void find_common(std::vector<Lookup>& lookups, CommonSymbols& common, Found& part) const {
        std::sort(lookups.begin(), lookups.end(), [&](const Lookup& a, const Lookup& b) {
            const int32_t n = words_.set().length(a.query), m = words_.set().length(b.query);
            return n != m ? n < m : a.row < b.row;
        });
        std::vector<std::pair<int32_t, int32_t>> pairs;
        for (size_t i = 0; i < part.query.size(); i++) pairs.emplace_back(part.query[i], part.target[i]);
        for (size_t i = 0; i < lookups.size(); i += distances::kLanes)
            common.candidates(words_, &lookups[i], int(std::min<size_t>(distances::kLanes, lookups.size() - i)),
                [&](int32_t row, int32_t target) { pairs.emplace_back(row, target); });
        std::sort(pairs.begin(), pairs.end());
        part.query.clear(), part.target.clear();
        for (const auto& [row, target] : pairs) part.query.push_back(row), part.target.push_back(target);
    }

    Input<uint8_t> codes_;
    Input<int64_t> offsets_;
    WordIndex words_;
    ShiftedScores scores_;
};

}  // namespace
}  // namespace near

void bind_near(nb::module_& m) {
    using near::Index;
    nb::class_<Index>(m, "NearIndex")
        .def(nb::init<Input<uint8_t>, Input<int64_t>, int, bool, int, double, int, double, Input<int32_t>>(),
            nb::kw_only(), nb::arg("codes"), nb::arg("offsets"), nb::arg("identical"), nb::arg("codes_match"),
            nb::arg("word"), nb::arg("identity"), nb::arg("definition"), nb::arg("coverage"), nb::arg("scores"),
            "Sequences that others may be near to. word: symbols of a word; 0: only lengths are looked at. "
            "codes_match: codes from `identical` on match some that they do not equal. scores: of a match and a "
            "mismatch, "
            "and what the first and further symbols of a gap cost, inside and at the ends; empty: pairs have others.")
        .def("__len__", &Index::size)
        .def_prop_ro("size_bytes", &Index::bytes, "Memory of the index.")
        .def("add", &Index::add, nb::arg("sequences"), "Add targets: numbers of sequences.")
        .def("extend", &Index::extend, nb::arg("codes"), nb::arg("offsets"),
            "Take other arrays, in which further sequences follow the ones there are; queries may be any of them.")
        .def("candidates", &Index::candidates, nb::arg("queries"), nb::arg("first"), nb::arg("last"),
            nb::arg("identities"), nb::arg("threads"),
            "For each query the targets first ... last - 1 that are not proved to miss the identity, or that of "
            "`identities` where it is higher: (rows of the queries, targets), int32 each; as far as blocks say "
            "the highest identity (float32) that the pair can have.")
        .def("most_words", &Index::most_words, nb::arg("queries"), nb::arg("first"), nb::arg("last"),
            nb::arg("threads"),
            "int32 (q,): of the targets first ... last - 1 the one that has most words of each query, or -1.");
}

}  // namespace gpualign
