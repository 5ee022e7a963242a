// Bindings of depth of coverage.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "records/coverage.hpp"
#include "bindings.hpp"

namespace gpualign {
namespace {

DepthChanges changes(const CoverageCounter& counter, Input<uint8_t> records) {
    nb::gil_scoped_release release;
    return DepthChanges(records.data(), records.size(), counter.contig_count());
}

Output<uint8_t> add(CoverageCounter& counter, const DepthChanges& range) {
    {
        nb::gil_scoped_release release;
        counter.add(range);
    }
    return to_numpy(counter.take_lines());
}

Output<uint8_t> finish(CoverageCounter& counter) {
    {
        nb::gil_scoped_release release;
        counter.finish();
    }
    return to_numpy(counter.take_lines());
}

auto contigs(const CoverageCounter& counter) {
    std::vector<std::tuple<int64_t, int64_t, int64_t, Output<int64_t>>> rows;
    for (const ContigCoverage& contig : counter.contigs())
        rows.emplace_back(contig.contig, contig.bases, contig.maximum, to_numpy(std::vector<int64_t>(contig.depths)));
    return rows;
}

}  // namespace

void bind_coverage(nb::module_& m) {
    nb::class_<DepthChanges>(m, "DepthChanges", "Where a range of records changes the depth.");
    nb::class_<CoverageCounter>(m, "CoverageCounter", "Depth of coverage, from records sorted by coordinate.")
        .def(nb::init<std::vector<int64_t>, std::vector<std::string>>(), nb::arg("lengths"), nb::arg("names"))
        .def("changes", &changes, nb::arg("records"),
            "What `add` takes of BAM records, uint8, from any thread. Raises ValueError where they are not sorted or "
            "damaged.")
        .def("add", &add, nb::arg("changes"),
            "Takes those of the next records and returns lines of bedGraph, uint8; none where no names were given. "
            "Raises ValueError where they are not sorted.")
        .def("finish", &finish, "The last lines.")
        .def("contigs", &contigs,
            "For each contig with records: (number, sum of depths, greatest depth, int64 positions of each depth).");
}

}  // namespace gpualign
