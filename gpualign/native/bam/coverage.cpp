// Depth of coverage of sorted records.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bam/coverage.hpp"
#include "bindings.hpp"

namespace gpualign {
namespace {

Output<uint8_t> add(CoverageCounter& counter, Input<uint8_t> records) {
    {
        nb::gil_scoped_release release;
        for (BamRecords left(records.data(), records.size()); left.more();) counter.add(left.next());
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

nb::list contigs(const CoverageCounter& counter) {
    nb::list rows;
    for (const ContigCoverage& contig : counter.contigs())
        rows.append(nb::make_tuple(contig.contig, contig.bases, contig.maximum, to_numpy(std::vector<int64_t>(contig.depths))));
    return rows;
}

}  // namespace

void bind_coverage(nb::module_& m) {
    nb::class_<CoverageCounter>(m, "CoverageCounter", "Depth of coverage, from records sorted by coordinate.")
        .def(nb::init<std::vector<int64_t>, std::vector<std::string>>(), nb::arg("lengths"), nb::arg("names"))
        .def("add", &add, nb::arg("records"),
             "Takes BAM records, uint8, and returns lines of bedGraph, uint8; none where no names were given. Raises ValueError "
             "where they are not sorted or damaged.")
        .def("finish", &finish, "The last lines.")
        .def("contigs", &contigs,
             "For each contig with records: (number, sum of depths, greatest depth, int64 positions of each depth).");
}

}  // namespace gpualign
