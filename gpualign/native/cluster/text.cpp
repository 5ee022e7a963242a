// Bindings of `cluster`: what names say, and the .uc format.
#include <string_view>

#include "arrays.hpp"
#include "bindings.hpp"
#include "cluster/uc.hpp"

namespace gpualign {
namespace cluster {
namespace {

Names names_of(const Input<uint8_t>& names, const Input<int64_t>& offsets) { return {names.data(), offsets.data()}; }

auto abundances(Input<uint8_t> text, Input<int64_t> offsets) {
    const Names names = names_of(text, offsets);
    std::vector<int64_t> result(offsets.size() - 1);
    for (size_t i = 0; i < result.size(); i++) result[i] = abundance(names[int64_t(i)]);
    return to_numpy(std::move(result));
}

auto samples(Input<uint8_t> text, Input<int64_t> offsets) {
    const Names names = names_of(text, offsets);
    std::vector<uint8_t> result;
    std::vector<int64_t> ends{0};
    for (size_t i = 0; i + 1 < offsets.size(); i++) {
        const std::string_view name = sample(names[int64_t(i)]);
        result.insert(result.end(), name.begin(), name.end());
        ends.push_back(int64_t(result.size()));
    }
    return tuple_of(to_numpy(std::move(result)), to_numpy(std::move(ends)));
}

auto order(Input<int64_t> lengths, Input<int64_t> sizes, Input<uint8_t> text, Input<int64_t> offsets) {
    if (lengths.size() != sizes.size() || lengths.size() + 1 != offsets.size())
        throw nb::value_error("arrays of unequal length");
    std::vector<int64_t> result;
    {
        nb::gil_scoped_release release;
        result = order_of(lengths.data(), sizes.data(), names_of(text, offsets), lengths.size());
    }
    return to_numpy(std::move(result));
}

nb::bytes uc_rows(Input<uint8_t> text, Input<int64_t> name_offsets, Input<int64_t> members, Input<int64_t> centroids,
    Input<int64_t> lengths, Input<int32_t> clusters, Input<uint8_t> founds, Input<double> identity,
    Input<uint8_t> minus, Input<uint8_t> exact, Input<uint32_t> operations, Input<int64_t> offsets, int whole) {
    const UcRows rows{names_of(text, name_offsets), members.data(), centroids.data(), lengths.data(), clusters.data(),
        founds.data(), minus.data(), exact.data(), identity.data(), operations.data(), offsets.data()};
    Text out;
    {
        nb::gil_scoped_release release;
        for (size_t i = 0; i < members.size(); i++) put_uc_row(out, rows, i, uint8_t(whole));
    }
    return nb::bytes(out.data(), out.size());
}

}  // namespace
}  // namespace cluster

void bind_cluster_text(nb::module_& m) {
    m.def("abundances", &cluster::abundances, nb::arg("names"), nb::arg("offsets"),
        "int64 (n,): size=N of each name, else 1; -1 for an N beyond 63 bits, -2 for one that is no number from 1 on.");
    m.def("samples_of_names", &cluster::samples, nb::arg("names"), nb::arg("offsets"),
        "The sample of each name: (uint8 joined, int64 (n + 1,) offsets).");
    m.def("cluster_order", &cluster::order, nb::arg("lengths"), nb::arg("sizes"), nb::arg("names"), nb::arg("offsets"),
        "int64 (n,): the longest first, of equal ones the more abundant, then by name, then as they come.");
    m.def("uc_rows", &cluster::uc_rows, nb::arg("names"), nb::arg("name_offsets"), nb::arg("members"),
        nb::arg("centroids"), nb::arg("lengths"), nb::arg("clusters"), nb::arg("founds"), nb::arg("identity"),
        nb::arg("minus"), nb::arg("exact"), nb::arg("operations"), nb::arg("offsets"), nb::arg("whole"),
        "Records S and H of the .uc format. whole: bits of `exact` with which = stands for the CIGAR.");
}

}  // namespace gpualign
