// Bindings of methylation.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "records/methylation.hpp"
#include "bindings.hpp"
#include "seeds/index/reference_arrays.hpp"

namespace gpualign {
namespace {

MethylationCalls calls(const MethylationCounter& counter, Input<uint8_t> records) {
    nb::gil_scoped_release release;
    return MethylationCalls(records.data(), records.size(), counter.reference(), counter.rules());
}

auto lines_of(MethylationCounter& counter) {
    return tuple_of(to_numpy(counter.take_lines(0)), to_numpy(counter.take_lines(1)), to_numpy(counter.take_lines(2)));
}

auto add(MethylationCounter& counter, const MethylationCalls& batch) {
    {
        nb::gil_scoped_release release;
        counter.add(batch);
    }
    return lines_of(counter);
}

auto finish(MethylationCounter& counter) {
    {
        nb::gil_scoped_release release;
        counter.finish();
    }
    return lines_of(counter);
}

}  // namespace

void bind_methylation(nb::module_& m) {
    nb::class_<MethylationCalls>(m, "MethylationCalls", "Bases over cytosines in a range of records.");
    nb::class_<MethylationCounter>(
        m, "MethylationCounter", "Methylated and converted cytosines, from bisulfite records sorted by coordinate.")
        .def(
            "__init__",
            [](MethylationCounter* self, const ReferenceArrays& reference, std::vector<std::string> names, int min_mapq,
                int min_quality, bool rrbs, bool other_contexts, bool bismark) {
                const MethylationRules rules{uint8_t(min_mapq), uint8_t(min_quality), rrbs, other_contexts};
                new (self) MethylationCounter(reference.view(), std::move(names), rules, bismark);
            },
            nb::arg("reference"), nb::arg("names"), nb::arg("min_mapq"), nb::arg("min_quality"), nb::arg("rrbs"),
            nb::arg("other_contexts"), nb::arg("bismark"), nb::keep_alive<1, 2>(),
            "other_contexts: CHG and CHH besides CpG; bismark: lines as Bismark's coverage, not as MethylDackel's "
            "bedGraph.")
        .def("calls", &calls, nb::arg("records"),
            "What `add` takes of BAM records, uint8, from any thread. Raises ValueError where they are not sorted or "
            "damaged.")
        .def("add", &add, nb::arg("calls"),
            "Takes those of the next records; returns lines of CpG, CHG and CHH, uint8. Raises ValueError where they "
            "are not sorted.")
        .def("finish", &finish, "The last lines.")
        .def("totals", &MethylationCounter::totals, "Methylated and converted bases of CpG, then of CHG and CHH.");
}

}  // namespace gpualign
