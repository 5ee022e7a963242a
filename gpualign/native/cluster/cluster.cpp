// Bindings of `cluster`: the greedy step, and equal sequences.
#include <string_view>
#include <unordered_map>

#include "arrays.hpp"
#include "bindings.hpp"
#include "cluster/greedy.hpp"

namespace gpualign {
namespace cluster {
namespace {

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
