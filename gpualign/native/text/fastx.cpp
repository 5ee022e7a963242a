// FASTA and FASTQ text to flat arrays.
#include <nanobind/stl/optional.h>

#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "simd/blocks.hpp"
#include "text/fastx_text.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

nb::tuple parse_fastx(TextInput data, bool fastq, bool nucleotides, bool with_comments) {
    Records r;
    {
        const char* begin = begin_of(data);
        const size_t size = data.size();
        nb::gil_scoped_release release;
        r.symbols.reserve(size / (fastq ? 2 : 1) + 64);
        if (fastq) r.quality_symbols.reserve(size / 2 + 64);
        Lines lines(begin, begin + size);
        if (fastq) {
            parse_fastq(lines, r, nucleotides, with_comments);
        } else {
            parse_fasta(lines, r, nucleotides, with_comments);
        }
    }
    const auto optional = [](bool wanted, auto&& values) -> nb::object {
        return wanted ? nb::cast(to_numpy(std::move(values))) : nb::none();
    };
    return nb::make_tuple(to_numpy(std::move(r.names)), to_numpy(std::move(r.name_offsets)),
                          to_numpy(std::move(r.symbols)), to_numpy(std::move(r.base_offsets)),
                          optional(fastq, std::move(r.quality_symbols)), optional(with_comments, std::move(r.comments)),
                          optional(with_comments, std::move(r.comment_offsets)));
}

int64_t count_newlines(TextInput data) {
    const char* p = begin_of(data);
    const char* end = p + data.size();
    nb::gil_scoped_release release;
    return newlines(p, end);
}

int64_t find_border(TextInput data, bool fastq) {
    const char* begin = begin_of(data);
    const size_t size = data.size();
    nb::gil_scoped_release release;
    return last_record_border(begin, begin + size, fastq);
}

}  // namespace

void bind_fastx(nb::module_& m) {
    m.def("parse_fastx", &parse_fastx, nb::arg("data"), nb::arg("fastq"), nb::arg("nucleotides"), nb::arg("comments"),
          "Whole FASTA/FASTQ records to (names, name_offsets, bases, base_offsets, qualities | None, comments | None, "
          "comment_offsets | None). Raises ValueError('LINE_OFFSET\\tWHAT').");
    m.def("count_newlines", &count_newlines, nb::arg("data"));
    m.def("last_record_border", &find_border, nb::arg("data"), nb::arg("fastq"),
          "Bytes of the longest prefix that is known to end at a record border.");
}

}  // namespace gpualign
