// Parses FASTA and FASTQ text into flat arrays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "abi/fastq.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "simd/blocks.hpp"
#include "text/fastx_text.hpp"
#include "text/text.hpp"
#include "text/text_input.hpp"
#include "text/wrapped_fastq.hpp"

namespace gpualign {
namespace {

auto parse_fastx(TextInput data, bool fastq, bool nucleotides, bool with_comments, bool wrapped) {
    Records r;
    {
        const char* begin = begin_of(data);
        const size_t size = data.size();
        nb::gil_scoped_release release;
        r.symbols.reserve(size / (fastq ? 2 : 1) + 64);
        if (fastq) r.quality_symbols.reserve(size / 2 + 64);
        Lines lines(begin, begin + size);
        if (wrapped) {
            parse_wrapped_fastq(lines, r, nucleotides, with_comments);
        } else if (fastq) {
            parse_fastq(lines, r, nucleotides, with_comments);
        } else {
            parse_fasta(lines, r, nucleotides, with_comments);
        }
    }
    const auto optional = [](bool wanted, auto&& values) {
        return wanted ? std::optional(to_numpy(std::move(values))) : std::nullopt;
    };
    return tuple_of(to_numpy(std::move(r.names)), to_numpy(std::move(r.name_offsets)), to_numpy(std::move(r.symbols)),
        to_numpy(std::move(r.base_offsets)), optional(fastq, std::move(r.quality_symbols)),
        optional(with_comments, std::move(r.comments)), optional(with_comments, std::move(r.comment_offsets)));
}

int64_t count_newlines(TextInput data) {
    const char* p = begin_of(data);
    const char* end = p + data.size();
    nb::gil_scoped_release release;
    return newlines(p, end);
}

// Newlines in each run of `bytes` bytes of a text.
std::vector<int64_t> newlines_of_pieces(TextInput data, size_t bytes) {
    if (bytes == 0) throw nb::value_error("pieces of no bytes");
    const char* const begin = begin_of(data);
    const size_t size = data.size();
    nb::gil_scoped_release release;
    std::vector<int64_t> counts;
    for (size_t at = 0; at < size; at += bytes)
        counts.push_back(newlines(begin + at, begin + std::min(size, at + bytes)));
    return counts;
}

// Counts the lines of FASTQ text fed in parts: newlines before each tile (abi/fastq.hpp), and whether a line is blank.
class FastqLineCounter {
public:
    FastqLineCounter(uint32_t* lines_before, size_t tiles) : lines_before_(lines_before), tiles_(tiles) {}

    void add(const char* p, const char* end) {
        constexpr int64_t kTile = FastqText::kTile;
        while (p < end) {
            if (position_ % kTile == 0 && size_t(position_ / kTile) < tiles_)
                lines_before_[position_ / kTile] = uint32_t(lines_);
            const char* const stop = p + std::min<int64_t>(end - p, kTile - position_ % kTile);
            blank_ = blank_ || has_blank_line(p, stop, last_);
            lines_ += newlines(p, stop);
            position_ += stop - p, last_ = stop[-1], p = stop;
        }
    }
    // (lines, including a last one without a newline; whether any is blank)
    std::pair<int64_t, bool> end() {
        if (position_ % FastqText::kTile == 0 && size_t(position_ / FastqText::kTile) < tiles_)
            lines_before_[position_ / FastqText::kTile] = uint32_t(lines_);
        return {lines_ + (last_ != '\n'), blank_};
    }
    bool blank() const { return blank_; }

private:
    uint32_t* const lines_before_;
    const size_t tiles_;
    int64_t position_ = 0, lines_ = 0;
    char last_ = '\n';
    bool blank_ = false;
};

std::pair<int64_t, bool> count_fastq_lines(const std::vector<TextInput>& pieces, Mutable<uint32_t> lines_before) {
    FastqLineCounter counter(lines_before.data(), lines_before.size());
    nb::gil_scoped_release release;
    for (const TextInput& piece : pieces) counter.add(begin_of(piece), begin_of(piece) + piece.size());
    return counter.end();
}

// Counts the lines of an interval of an open file; also returns (missing bytes, error number) if it cannot be read.
std::tuple<int64_t, bool, int64_t, int> count_stored_fastq_lines(
    int descriptor, int64_t offset, int64_t size, Mutable<uint32_t> lines_before) {
    constexpr int64_t kAtOnce = 1 << 18;  // fits a core's cache
    FastqLineCounter counter(lines_before.data(), lines_before.size());
    nb::gil_scoped_release release;
    const auto memory = std::make_unique<char[]>(kAtOnce);
    int64_t missing = size;
    int error = 0;
    while (missing > 0 && !counter.blank()) {
        const ssize_t count = pread(descriptor, memory.get(), size_t(std::min(missing, kAtOnce)), offset);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) error = errno;
        if (count <= 0) break;
        counter.add(memory.get(), memory.get() + count);
        offset += count, missing -= count;
    }
    const auto [lines, blank] = counter.end();
    return {lines, blank, blank ? 0 : missing, error};
}

// Where a line of a text begins; the text's size if it has fewer lines.
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

bool is_wrapped(TextInput data) {
    const char* begin = begin_of(data);
    return is_wrapped_fastq(begin, begin + data.size());
}

int64_t find_wrapped_border(TextInput data) {
    const char* begin = begin_of(data);
    const size_t size = data.size();
    nb::gil_scoped_release release;
    return wrapped_fastq_border(begin, begin + size);
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
        nb::arg("wrapped") = false,
        "Whole FASTA/FASTQ records to (names, name_offsets, bases, base_offsets, qualities | None, comments | None, "
        "comment_offsets | None). Raises ValueError('LINE_OFFSET\\tWHAT').");
    m.def("count_newlines", &count_newlines, nb::arg("data"));
    m.def("newlines_of_pieces", &newlines_of_pieces, nb::arg("data"), nb::arg("bytes"),
        "Newlines in each piece of so many bytes of a text.");
    m.attr("FASTQ_TILE") = uint32_t(FastqText::kTile);
    m.def("count_fastq_lines", &count_fastq_lines, nb::arg("pieces"), nb::arg("lines_before"),
        "(lines of a text in pieces, whether one is blank); fills in the newlines before each tile.");
    m.def("count_stored_fastq_lines", &count_stored_fastq_lines, nb::arg("descriptor"), nb::arg("offset"),
        nb::arg("size"), nb::arg("lines_before"),
        "The same of a part of a file, and (bytes that are not there, the error's number).");
    m.def("line_begin", &line_begin, nb::arg("data"), nb::arg("line"));
    m.def("last_record_border", &find_border, nb::arg("data"), nb::arg("fastq"),
        "Bytes of the longest prefix that is known to end at a record border.");
    m.def("is_wrapped_fastq", &is_wrapped, nb::arg("head"),
        "Whether the first records of FASTQ have several lines of bases.");
    m.def("wrapped_fastq_border", &find_wrapped_border, nb::arg("data"),
        "Bytes of the whole records that such a text begins with; all of it where it is malformed.");
}

}  // namespace gpualign
