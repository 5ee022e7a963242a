// FASTA and FASTQ text to flat arrays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>
#include <utility>

#include "abi/fastq.hpp"
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

// Newlines of a part of a text of FASTQ, and before each of its tiles (abi/fastq.hpp) that begin in the part; whether any line
// is blank. `position`, `lines`, `last`: bytes of the text before the part, newlines among them, and the last of them.
std::pair<int64_t, bool> count_fastq_lines(TextInput data, int64_t position, int64_t lines, int last, Mutable<uint32_t> lines_before) {
    constexpr int64_t kTile = FastqText::kTile;
    const char* p = begin_of(data);
    const char* const end = p + data.size();
    if (position < 0 || int64_t(lines_before.size()) * kTile < position + (end - p)) throw nb::index_error("more text than tiles");
    bool blank = false;
    nb::gil_scoped_release release;
    while (p < end) {
        if (position % kTile == 0) lines_before.data()[position / kTile] = uint32_t(lines);
        const char* const stop = p + std::min(end - p, kTile - position % kTile);
        blank = blank || has_blank_line(p, stop, char(last));
        lines += newlines(p, stop);
        position += stop - p, last = stop[-1], p = stop;
    }
    return {lines, blank};
}

// Where line `line` of a text begins; its size where there are fewer.
int64_t line_begin(TextInput data, int64_t line) {
    const char* const begin = begin_of(data);
    const char* const end = begin + data.size();
    const char* p = begin;
    nb::gil_scoped_release release;
    while (line-- > 0 && p < end) {
        const char* newline = static_cast<const char*>(memchr(p, '\n', size_t(end - p)));
        p = newline ? newline + 1 : end;
    }
    return p - begin;
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
    m.attr("FASTQ_TILE") = uint32_t(FastqText::kTile);
    m.def("count_fastq_lines", &count_fastq_lines, nb::arg("data"), nb::arg("position"), nb::arg("lines"), nb::arg("last"),
          nb::arg("lines_before"),
          "(newlines up to the end of a part of a text, whether it has a blank line); fills in the newlines before each tile.");
    m.def("line_begin", &line_begin, nb::arg("data"), nb::arg("line"));
    m.def("last_record_border", &find_border, nb::arg("data"), nb::arg("fastq"),
          "Bytes of the longest prefix that is known to end at a record border.");
}

}  // namespace gpualign
