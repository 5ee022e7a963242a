// Bindings of `cluster`: the pairs that may reach an identity, the greedy step, and equal sequences.
#include <string_view>
#include <unordered_map>

#include "align/edit/block_edits.hpp"
#include "align/matrix/common_symbols.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "cluster/greedy.hpp"
#include "common/parallel_for.hpp"
#include "seeds/words/word_index.hpp"

namespace gpualign {
namespace cluster {
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

class GreedyClusters {
public:
    GreedyClusters(Input<int64_t> last, Input<uint8_t> equals_itself, Input<int64_t> lengths, bool first)
        : last_(last), equals_itself_(equals_itself), lengths_(lengths),
          greedy_(last.data(), equals_itself.data(), lengths.data(), int32_t(last.size()), first) {
        if (equals_itself.size() != last.size() || lengths.size() < last.size())
            throw nb::value_error("arrays of unequal length");
    }

    GreedyClusters(const GreedyClusters&) = delete;
    GreedyClusters& operator=(const GreedyClusters&) = delete;

    int32_t size() const { return greedy_.clusters(); }

    auto clusters_of(Input<int32_t> sequences) const {
        check(sequences);
        std::vector<int32_t> result(sequences.size());
        for (size_t i = 0; i < result.size(); i++) result[i] = greedy_.cluster_of(sequences.data()[i]);
        return to_numpy(std::move(result));
    }

    auto identities(Input<int32_t> sequences) const {
        check(sequences);
        std::vector<double> result(sequences.size());
        for (size_t i = 0; i < result.size(); i++) result[i] = greedy_.identity_of(sequences.data()[i]);
        return to_numpy(std::move(result));
    }

    void found(Input<int32_t> sequences) {
        check(sequences);
        greedy_.found(sequences.data(), sequences.size());
    }

    void compare(Input<int32_t> query, Input<int32_t> target, Input<double> identity, Input<uint8_t> exact,
        Input<uint32_t> operations, Input<int64_t> offsets) {
        const Hits hits = hits_of(query, target, identity, exact, operations, offsets);
        for (size_t i = 0; i < hits.count; i++)
            if (greedy_.cluster_of(hits.target[i]) < 0) throw nb::value_error("a target is no centroid");
        nb::gil_scoped_release release;
        greedy_.compare(hits);
    }

    auto join(Input<int32_t> sequences, int64_t position, Input<int32_t> query, Input<int32_t> target,
        Input<double> identity, Input<uint8_t> exact, Input<uint32_t> operations, Input<int64_t> offsets) {
        check(sequences);
        const Hits hits = hits_of(query, target, identity, exact, operations, offsets);
        Joined joined;
        {
            nb::gil_scoped_release release;
            greedy_.join(sequences.data(), sequences.size(), position, hits, joined);
        }
        return tuple_of(to_numpy(std::move(joined.cluster)), to_numpy(std::move(joined.founds)),
            to_numpy(std::move(joined.identity)), to_numpy(std::move(joined.minus)), to_numpy(std::move(joined.exact)),
            to_numpy(std::move(joined.operations)), to_numpy(std::move(joined.offsets)));
    }

private:
    void check(const Input<int32_t>& sequences, size_t strands = 1) const {
        for (size_t i = 0; i < sequences.size(); i++)
            if (sequences.data()[i] < 0 || size_t(sequences.data()[i]) >= strands * last_.size())
                throw nb::value_error("there is no such sequence");
    }

    Hits hits_of(const Input<int32_t>& query, const Input<int32_t>& target, const Input<double>& identity,
        const Input<uint8_t>& exact, const Input<uint32_t>& operations, const Input<int64_t>& offsets) const {
        check(query, 2);
        check(target);
        if (target.size() != query.size() || identity.size() != query.size() || exact.size() != query.size() ||
            offsets.size() != query.size() + 1)
            throw nb::value_error("arrays of unequal length");
        return {query.data(), target.data(), identity.data(), exact.data(), operations.data(), offsets.data(),
            query.size()};
    }

    Input<int64_t> last_;
    Input<uint8_t> equals_itself_;
    Input<int64_t> lengths_;
    Greedy greedy_;
};

// For each sequence the first that is equal.
auto first_equal(Input<uint8_t> symbols, Input<int64_t> offsets) {
    const size_t count = offsets.size() - 1;
    std::vector<int64_t> first(count);
    {
        nb::gil_scoped_release release;
        std::unordered_map<std::string_view, int64_t> seen;
        seen.reserve(count);
        for (size_t i = 0; i < count; i++) {
            const char* begin = reinterpret_cast<const char*>(symbols.data()) + offsets.data()[i];
            const std::string_view text(begin, size_t(offsets.data()[i + 1] - offsets.data()[i]));
            first[i] = seen.emplace(text, int64_t(i)).first->second;
        }
    }
    return to_numpy(std::move(first));
}

// Some of the sequences one after the other.
auto taken(Input<uint8_t> symbols, Input<int64_t> offsets, Input<int64_t> chosen) {
    size_t total = 0;
    for (size_t i = 0; i < chosen.size(); i++) {
        const int64_t at = chosen.data()[i];
        if (at < 0 || size_t(at) + 1 >= offsets.size()) throw nb::value_error("there is no such sequence");
        total += size_t(offsets.data()[at + 1] - offsets.data()[at]);
    }
    std::vector<uint8_t> result;
    result.reserve(total);
    for (size_t i = 0; i < chosen.size(); i++) {
        const int64_t* offset = offsets.data() + chosen.data()[i];
        result.insert(result.end(), symbols.data() + offset[0], symbols.data() + offset[1]);
    }
    return to_numpy(std::move(result));
}

// Sums the values of each sequence's symbols.
auto sums(Input<uint8_t> codes, Input<int64_t> offsets, Input<int64_t> values) {
    std::vector<int64_t> result(offsets.size() - 1);
    for (size_t i = 0; i + 1 < offsets.size(); i++)
        for (int64_t at = offsets.data()[i]; at < offsets.data()[i + 1]; at++)
            if (codes.data()[at] < values.size()) result[i] += values.data()[codes.data()[at]];
    return to_numpy(std::move(result));
}

}  // namespace
}  // namespace cluster

void bind_cluster(nb::module_& m) {
    using cluster::Index;
    nb::class_<Index>(m, "ClusterIndex")
        .def(nb::init<Input<uint8_t>, Input<int64_t>, int, bool, int, double, int, double, Input<int32_t>>(),
            nb::kw_only(), nb::arg("codes"), nb::arg("offsets"), nb::arg("identical"), nb::arg("codes_match"),
            nb::arg("word"), nb::arg("identity"), nb::arg("definition"), nb::arg("coverage"), nb::arg("scores"),
            "Sequences that others may be near to. word: symbols of a word; 0: only lengths are looked at. "
            "codes_match: codes from `identical` on match some that they do not equal. scores: of a match and a "
            "mismatch, "
            "and what the first and further symbols of a gap cost, inside and at the ends; empty: pairs have others.")
        .def("__len__", &Index::size)
        .def_prop_ro("bytes", &Index::bytes, "Memory of the index.")
        .def("add", &Index::add, nb::arg("sequences"), "Add targets: numbers of sequences.")
        .def("candidates", &Index::candidates, nb::arg("queries"), nb::arg("first"), nb::arg("last"),
            nb::arg("identities"), nb::arg("threads"),
            "For each query the targets first ... last - 1 that are not proved to miss the identity, or that of "
            "`identities` where it is higher: (rows of the queries, targets), int32 each; as far as blocks say "
            "the highest identity (float32) that the pair can have.")
        .def("most_words", &Index::most_words, nb::arg("queries"), nb::arg("first"), nb::arg("last"),
            nb::arg("threads"),
            "int32 (q,): of the targets first ... last - 1 the one that has most words of each query, or -1.");
    using cluster::GreedyClusters;
    nb::class_<GreedyClusters>(m, "GreedyClusters")
        .def(nb::init<Input<int64_t>, Input<uint8_t>, Input<int64_t>, bool>(), nb::kw_only(), nb::arg("last"),
            nb::arg("equals_itself"), nb::arg("lengths"), nb::arg("first"),
            "Clusters of distinct sequences. last: where each is met for the last time; equals_itself: where nothing "
            "is nearer to a sequence than itself; first: the first centroid that is near counts, not the nearest.")
        .def("__len__", &GreedyClusters::size)
        .def("clusters_of", &GreedyClusters::clusters_of, nb::arg("sequences"),
            "int32 (n,): the cluster of which each is the centroid, or -1.")
        .def("identities", &GreedyClusters::identities, nb::arg("sequences"),
            "float64 (n,): of the best hit that is known and may be needed again, -1 where there is none.")
        .def("found", &GreedyClusters::found, nb::arg("sequences"), "Add centroids.")
        .def("compare", &GreedyClusters::compare, nb::arg("query"), nb::arg("target"), nb::arg("identity"),
            nb::arg("exact"), nb::arg("operations"), nb::arg("offsets"), "Hits with centroids.")
        .def("join", &GreedyClusters::join, nb::arg("sequences"), nb::arg("position"), nb::arg("query"),
            nb::arg("target"), nb::arg("identity"), nb::arg("exact"), nb::arg("operations"), nb::arg("offsets"),
            "The next sequences, the first of which has the number `position`, and hits among them: (cluster, founds, "
            "identity, minus, exact, operations, offsets).");
    m.def("first_equal", &cluster::first_equal, nb::arg("symbols"), nb::arg("offsets"),
        "int64 (n,): for each sequence the first one that is equal.");
    m.def("sums_of_symbols", &cluster::sums, nb::arg("codes"), nb::arg("offsets"), nb::arg("values"),
        "int64 (n,): of each sequence the sum of its symbols' values.");
    m.def("taken_sequences", &cluster::taken, nb::arg("symbols"), nb::arg("offsets"), nb::arg("chosen"),
        "uint8: the symbols of the sequences with these numbers.");
}

}  // namespace gpualign
