// SAM text out of NumPy arrays, and BAM records out of that.
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "arrays.hpp"
#include "text/bam_records.hpp"
#include "bindings.hpp"
#include "text/read_arrays.hpp"
#include "text/record_arrays.hpp"
#include "index/reference_arrays.hpp"
#include "text/sam_text.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

constexpr size_t kUsualFields = 160;  // bytes of a record besides sequence and qualities, more or less

nb::tuple format_sam(const ReferenceArrays& reference, Input<uint8_t> contig_names, Input<int64_t> contig_name_offsets,
                     const nb::tuple& reads, const nb::tuple& alignments, const std::optional<Input<uint8_t>>& wanted, bool eqx,
                     bool soft_supplementary, bool secondary_sequence, const std::string& read_group) {
    const ReadArrays read_arrays(reads);
    const RecordArrays records(alignments);
    const size_t n = read_arrays.reads();
    if (records.reads() != n) throw nb::value_error("the arrays of reads and alignments differ in length");
    const Wanted written(wanted, n);
    const ReferenceView view = reference.view();
    SamWriter writer(view, {contig_names.data(), contig_name_offsets.data()}, read_arrays.view(), records.view(),
                     {eqx, soft_supplementary, secondary_sequence, read_group});
    int64_t lines = 0;
    {
        nb::gil_scoped_release release;
        writer.reserve(size_t(2 * read_arrays.view().base_offsets[n]) + kUsualFields * n);
        constexpr size_t kAhead = 32, kCountedAtOnce = 64;  // while they are still near
        size_t counted = 0;
        for (size_t i = 0; i < n; i++) {
            if (i + kAhead < n) writer.ahead(i + kAhead);
            if (written[i]) writer.read(i);
            if (i % kCountedAtOnce != 0 && i + 1 < n) continue;
            const Text& text = writer.text();
            lines += newlines(text.data() + counted, text.data() + text.size());
            counted = text.size();
        }
    }
    return nb::make_tuple(to_numpy(writer.release()), lines);
}

nb::tuple bam_records(TextInput text, Input<uint8_t> contig_names, Input<int64_t> contig_name_offsets) {
    if (contig_name_offsets.size() == 0) throw nb::value_error("no offsets of the contigs' names");
    BamWriter writer({contig_names.data(), contig_name_offsets.data()}, contig_name_offsets.size() - 1);
    int64_t count = 0;
    {
        nb::gil_scoped_release release;
        writer.reserve(text.size());
        for (std::string_view rest(begin_of(text), text.size()); !rest.empty(); count++) {
            const size_t end = rest.find('\n');
            if (end == std::string_view::npos) throw std::invalid_argument("a SAM line is cut short");
            writer.line(rest.substr(0, end));
            rest.remove_prefix(end + 1);
        }
    }
    return nb::make_tuple(to_numpy(writer.release()), count);
}

}  // namespace

void bind_sam(nb::module_& m) {
    m.def("format_sam", &format_sam, nb::arg("reference"), nb::arg("contig_names"), nb::arg("contig_name_offsets"),
          nb::arg("reads"), nb::arg("alignments"), nb::arg("wanted").none(), nb::arg("eqx"), nb::arg("soft_supplementary"),
          nb::arg("secondary_sequence"), nb::arg("read_group"),
          "SAM records of the wanted reads of a batch (None: of all), one line each, in order: (text, its lines as counted).");
    m.def("bam_records", &bam_records, nb::arg("text"), nb::arg("contig_names"), nb::arg("contig_name_offsets"),
          "SAM lines as BAM records: (bytes, how many). Raises ValueError where a line is no record.");
}

}  // namespace gpualign
