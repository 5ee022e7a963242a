// Formats records as SAM text or as BAM, from NumPy arrays.
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "arrays.hpp"
#include "text/bam_records.hpp"
#include "bindings.hpp"
#include "text/read_arrays.hpp"
#include "text/record_arrays.hpp"
#include "seeds/index/reference_arrays.hpp"
#include "text/sam_text.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

constexpr size_t kUsualFields = 160;  // typical bytes of a record besides sequence and qualities

template <class Writer> auto write_records(Writer& writer, const ReadsView& reads, size_t n, const Wanted& written) {
    int64_t records = 0;
    {
        nb::gil_scoped_release release;
        writer.reserve(size_t(2 * reads.base_offsets[n]) + kUsualFields * n);
        constexpr size_t kAhead = 32;  // prefetch distance; they stay in the cache until then
        for (size_t i = 0; i < n; i++) {
            if (i + kAhead < n) writer.ahead(i + kAhead);
            if (written[i]) records += writer.read(i);
        }
    }
    return tuple_of(to_numpy(writer.release()), records);
}

auto format_records(const ReferenceArrays& reference, Input<uint8_t> contig_names, Input<int64_t> contig_name_offsets,
    const Arrays& reads, const Arrays& alignments, const std::optional<Input<uint8_t>>& wanted, const nb::bytes& given,
    const std::string& read_group, const nb::bytes& alt_contigs, bool bam) {
    const ReadArrays read_arrays(reads);
    const RecordArrays records(alignments);
    const size_t n = read_arrays.reads();
    if (records.reads() != n) throw nb::value_error("the arrays of reads and alignments differ in length");
    const Wanted written(wanted, n);
    const ReferenceView view = reference.view();
    const ContigNames contigs{contig_names.data(), contig_name_offsets.data()};
    SamOptions options = struct_of<SamOptions>(given);
    options.read_group = read_group.data(), options.read_group_size = int32_t(read_group.size());
    options.alt_contigs = reinterpret_cast<const uint8_t*>(alt_contigs.c_str());
    options.alt_contig_count = int32_t(alt_contigs.size());
    const ReadsView of_reads = read_arrays.view();
    if (bam) {
        if (of_reads.comments || options.alt_contig_count)
            throw nb::value_error("such tags become BAM's by way of SAM");
        RecordsWriter<BamForm> writer(view, contigs, of_reads, records.view(), options, n);
        return write_records(writer, of_reads, n, written);
    }
    SamWriter writer(view, contigs, of_reads, records.view(), options, n);
    return write_records(writer, of_reads, n, written);
}

auto bam_records(TextInput text, Input<uint8_t> contig_names, Input<int64_t> contig_name_offsets) {
    if (contig_name_offsets.size() == 0) throw nb::value_error("no offsets of the contigs' names");
    BamWriter writer({contig_names.data(), contig_name_offsets.data()}, contig_name_offsets.size() - 1);
    int64_t count = 0;
    {
        nb::gil_scoped_release release;
        writer.reserve(text.size());
        for (std::string_view rest(begin_of(text), text.size()); !rest.empty(); count++) {
            const size_t end = rest.find('\n');
            if (end == std::string_view::npos) throw std::invalid_argument("a SAM line is cut short");
            const bool returns = end > 0 && rest[end - 1] == '\r';
            writer.line(rest.substr(0, end - returns));
            rest.remove_prefix(end + 1);
        }
    }
    return tuple_of(to_numpy(writer.release()), count);
}

}  // namespace

void bind_sam(nb::module_& m) {
    m.def("format_records", &format_records, nb::arg("reference"), nb::arg("contig_names"),
        nb::arg("contig_name_offsets"), nb::arg("reads"), nb::arg("alignments"), nb::arg("wanted").none(),
        nb::arg("options"), nb::arg("read_group"), nb::arg("alt_contigs"), nb::arg("bam"),
        "Records of the wanted reads of a batch (None: of all), SAM lines or BAM's bytes, in order: (text, how many). "
        "BAM without comments and ALT contigs alone. `options`: a SamOptions, of which the read group and ALT contigs "
        "are set here.");
    m.def("bam_records", &bam_records, nb::arg("text"), nb::arg("contig_names"), nb::arg("contig_name_offsets"),
        "SAM lines as BAM records: (bytes, how many). Raises ValueError where a line is not a record.");
}

}  // namespace gpualign
