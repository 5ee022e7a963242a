// PAF text out of NumPy arrays.
#include "arrays.hpp"
#include "bindings.hpp"
#include "text/paf_text.hpp"
#include "text/read_arrays.hpp"
#include "text/record_arrays.hpp"
#include "seeds/index/reference_arrays.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

Output<uint8_t> format_paf(const ReferenceArrays& reference, Input<uint8_t> contig_names,
    Input<int64_t> contig_name_offsets, const Arrays& reads, const Arrays& alignments, bool eqx, int cs) {
    if (cs < 0 || cs > int(CsForm::whole)) throw nb::value_error("no form of cs");
    const ReadArrays read_arrays(reads);
    const RecordArrays records(alignments);
    const size_t n = read_arrays.reads();
    if (records.reads() != n) throw nb::value_error("the arrays of reads and alignments differ in length");
    const ReferenceView view = reference.view();
    PafWriter writer(
        view, {contig_names.data(), contig_name_offsets.data()}, read_arrays.view(), records.view(), eqx, CsForm(cs));
    {
        nb::gil_scoped_release release;
        for (size_t i = 0; i < n; i++) writer.read(i);
    }
    return to_numpy(writer.release());
}

}  // namespace

void bind_paf(nb::module_& m) {
    m.def("format_paf", &format_paf, nb::arg("reference"), nb::arg("contig_names"), nb::arg("contig_name_offsets"),
        nb::arg("reads"), nb::arg("alignments"), nb::arg("eqx"), nb::arg("cs"),
        "PAF lines of a batch's mapped records, in order, with NM, AS, tp and cg, and cs where it is 1 (brief) or 2 "
        "(whole).");
}

}  // namespace gpualign
