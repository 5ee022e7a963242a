// Parses FASTA and FASTQ text into flat arrays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

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

// Counts the lines of FASTQ text that comes piece by piece; fills in the newlines before each tile (abi/fastq.hpp).
class FastqLineCounter {
public:
    explicit FastqLineCounter(Mutable<uint32_t>& lines_before)
        : before_(lines_before.data()), tiles_(int64_t(lines_before.size())) {}

    void add(const char* p, const char* end) {
        while (p < end) {
            begin_tile();
            const char* const stop = p + std::min<int64_t>(end - p, kTile - position_ % kTile);
            blank_ = blank_ || has_blank_line(p, stop, last_);
            lines_ += newlines(p, stop);
            position_ += stop - p, last_ = stop[-1], p = stop;
        }
    }

    // (lines, including a last one without a newline; whether any is blank)
    std::pair<int64_t, bool> finish() {
        begin_tile();
        return {lines_ + (last_ != '\n'), blank_};
    }

private:
    static constexpr int64_t kTile = FastqText::kTile;

    void begin_tile() {
        if (position_ % kTile == 0 && position_ / kTile < tiles_) before_[position_ / kTile] = uint32_t(lines_);
    }

    uint32_t* const before_;
    const int64_t tiles_;
    int64_t position_ = 0, lines_ = 0;
    char last_ = '\n';
    bool blank_ = false;
};

std::pair<int64_t, bool> count_fastq_lines(const std::vector<TextInput>& pieces, Mutable<uint32_t> lines_before) {
    nb::gil_scoped_release release;
    FastqLineCounter counter(lines_before);
    for (const TextInput& piece : pieces) counter.add(begin_of(piece), begin_of(piece) + piece.size());
    return counter.finish();
}

// Of a file's bytes, which are read into a buffer that stays in the cache; nothing if they cannot be read.
std::optional<std::pair<int64_t, bool>> count_stored_fastq_lines(
    int descriptor, int64_t offset, int64_t size, Mutable<uint32_t> lines_before) {
    constexpr int64_t kAtOnce = 1 << 18;
    nb::gil_scoped_release release;
    FastqLineCounter counter(lines_before);
    std::vector<char> buffer(size_t(std::min(size, kAtOnce)));
    for (const int64_t end = offset + size; offset < end;) {
        const ssize_t count = pread(descriptor, buffer.data(), size_t(std::min(end - offset, kAtOnce)), offset);
        if (count <= 0) return std::nullopt;
        counter.add(buffer.data(), buffer.data() + count);
        offset += count;
    }
    return counter.finish();
}

// Where a record of FASTA that begins in a text, or goes on in it, can be cut: offsets after its first line, of the
// next record, and after the last line; 0: none.
std::tuple<int64_t, int64_t, int64_t> record_cuts(TextInput data) {
    const char *const begin = begin_of(data), *const end = begin + data.size();
    nb::gil_scoped_release release;
    const auto after = [&](const void* newline) {
        return newline ? static_cast<const char*>(newline) + 1 - begin : int64_t(0);
    };
    int64_t next = 0;
    for (const char* at = begin; !next && at < end; at++) {
        at = static_cast<const char*>(memchr(at, '>', size_t(end - at)));
        if (!at) break;
        if (at > begin && at[-1] == '\n') next = at - begin;
    }
    return {after(memchr(begin, '\n', data.size())), next, after(memrchr(begin, '\n', data.size()))};
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
    m.attr("FASTQ_TILE") = uint32_t(FastqText::kTile);
    m.def("count_fastq_lines", &count_fastq_lines, nb::arg("pieces"), nb::arg("lines_before"),
        "(lines of a text in pieces, whether one is blank); fills in the newlines before each tile.");
    m.def("count_stored_fastq_lines", &count_stored_fastq_lines, nb::arg("descriptor"), nb::arg("offset"),
        nb::arg("size"), nb::arg("lines_before"),
        "As count_fastq_lines, of bytes of an open file; None if they cannot be read.");
    m.def("record_cuts", &record_cuts, nb::arg("data"),
        "Where FASTA that begins within or at a record can be cut: (after the first line, before the next record, "
        "after the last line); 0: none.");
    m.def("last_record_border", &find_border, nb::arg("data"), nb::arg("fastq"),
        "Bytes of the longest prefix that is known to end at a record border.");
    m.def("is_wrapped_fastq", &is_wrapped, nb::arg("head"),
        "Whether the first records of FASTQ have several lines of bases.");
    m.def("wrapped_fastq_border", &find_wrapped_border, nb::arg("data"),
        "Bytes of the whole records that such a text begins with; all of it where it is malformed.");
}

}  // namespace gpualign
