// Binding of the SAM formatter for BAM records.
#include "arrays.hpp"
#include "records/sam_lines.hpp"
#include "bindings.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

constexpr size_t kGrowth = 2;  // size of a record as text, relative to BAM

Output<uint8_t> sam_lines(Input<uint8_t> records, Input<uint8_t> contig_names, Input<int64_t> contig_name_offsets) {
    if (contig_name_offsets.size() == 0) throw nb::value_error("no offsets of the contigs' names");
    SamLines lines({contig_names.data(), contig_name_offsets.data()}, contig_name_offsets.size() - 1);
    {
        nb::gil_scoped_release release;
        lines.reserve(kGrowth * records.size());
        for (BamRecords rest(records.data(), records.size()); rest.more();) lines.record(rest.next());
    }
    return to_numpy(lines.release());
}

}  // namespace

void bind_bam_text(nb::module_& m) {
    m.def("sam_lines", &sam_lines, nb::arg("records"), nb::arg("contig_names"), nb::arg("contig_name_offsets"),
        "BAM records as SAM lines, as htslib prints them. Raises ValueError where a record is damaged.");
}

}  // namespace gpualign
