// Splits an index into that of chosen contigs and that of the others.
#include <algorithm>
#include <vector>

#include "algo/index/minimizer.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "index/reference_arrays.hpp"

namespace gpualign {
namespace {

auto split_index(
    const ReferenceArrays& reference, Input<uint32_t> offsets, Input<uint64_t> entries, Input<uint8_t> chosen) {
    const ReferenceView view = reference.view();
    std::vector<uint32_t> part_offsets[2];
    std::vector<uint64_t> part_entries[2];
    {
        nb::gil_scoped_release release;
        const int64_t* begin = view.contig_offsets;
        const int64_t* end = begin + chosen.size() + 1;
        for (auto& part : part_offsets) part.reserve(offsets.size());
        for (size_t bucket = 0; bucket < offsets.size(); bucket++) {
            for (int part = 0; part < 2; part++) part_offsets[part].push_back(uint32_t(part_entries[part].size()));
            if (bucket + 1 == offsets.size()) break;
            for (uint32_t e = offsets.data()[bucket]; e < offsets.data()[bucket + 1]; e++) {
                const uint64_t entry = entries.data()[e];
                const auto contig = std::upper_bound(begin, end, int64_t(entry_position(entry))) - begin - 1;
                part_entries[chosen.data()[contig] != 0].push_back(entry);
            }
        }
    }
    return tuple_of(to_numpy(std::move(part_offsets[0])), to_numpy(std::move(part_entries[0])),
        to_numpy(std::move(part_offsets[1])), to_numpy(std::move(part_entries[1])));
}

}  // namespace

void bind_split_index(nb::module_& m) {
    m.def("split_index", &split_index, nb::arg("reference"), nb::arg("offsets"), nb::arg("entries"), nb::arg("chosen"),
        "(offsets, entries) of the contigs that are not chosen, and of those that are (uint8, one a contig).");
}

}  // namespace gpualign
