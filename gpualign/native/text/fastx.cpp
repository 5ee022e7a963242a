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

// Calls each(begin, end) for the bytes of an interval of an open file, part by part, while that returns true. Returns
// (bytes that are not there, the error's number).
template <class Each> std::pair<int64_t, int> read_in_parts(int descriptor, int64_t offset, int64_t size, Each&& each) {
    constexpr int64_t kAtOnce = 1 << 18;  // fits a core's cache
    const auto memory = std::make_unique<char[]>(kAtOnce);
    while (size > 0) {
        const ssize_t count = pread(descriptor, memory.get(), size_t(std::min(size, kAtOnce)), offset);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return {size, count < 0 ? errno : 0};
        if (!each(memory.get(), memory.get() + count)) break;
        offset += count, size -= count;
    }
    return {0, 0};
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
    FastqLineCounter counter(lines_before.data(), lines_before.size());
    nb::gil_scoped_release release;
    const auto [missing, error] = read_in_parts(descriptor, offset, size, [&](const char* p, const char* end) {
        counter.add(p, end);
        return !counter.blank();
    });
    const auto [lines, blank] = counter.end();
    return {lines, blank, missing, error};
}

// Where a record of FASTA that begins in a text, or goes on in it, can be cut: offsets after its first line, of the
// next record, and after the last line; 0: none. The text is fed in parts.
class RecordCuts {
public:
    void add(const char* p, const char* end) {
        const auto offset = [&](const void* found) { return at_ + (static_cast<const char*>(found) - p); };
        if (const void* newline = first_line_ ? nullptr : memchr(p, '\n', size_t(end - p)))
            first_line_ = offset(newline) + 1;
        if (const void* newline = memrchr(p, '\n', size_t(end - p))) last_line_ = offset(newline) + 1;
        const char* q = p;
        while (!next_ && q < end && (q = static_cast<const char*>(memchr(q, '>', size_t(end - q))))) {
            if ((q > p ? q[-1] : last_) == '\n') next_ = offset(q);
            q++;
        }
        at_ += end - p, last_ = end[-1];
    }
    bool at_record() const { return next_ != 0; }
    std::tuple<int64_t, int64_t, int64_t> offsets() const { return {first_line_, next_, last_line_}; }

private:
    int64_t at_ = 0, first_line_ = 0, next_ = 0, last_line_ = 0;
    char last_ = 0;
};

std::tuple<int64_t, int64_t, int64_t> record_cuts(TextInput data) {
    RecordCuts cuts;
    nb::gil_scoped_release release;
    if (data.size()) cuts.add(begin_of(data), begin_of(data) + data.size());
    return cuts.offsets();
}

// Cuts of an interval of an open file, and (missing bytes, error number).
std::tuple<std::tuple<int64_t, int64_t, int64_t>, int64_t, int> stored_record_cuts(
    int descriptor, int64_t offset, int64_t size) {
    RecordCuts cuts;
    nb::gil_scoped_release release;
    const auto [missing, error] = read_in_parts(descriptor, offset, size, [&](const char* p, const char* end) {
        cuts.add(p, end);
        return !cuts.at_record();
    });
    return {cuts.offsets(), missing, error};
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
    m.attr("FASTQ_TILE") = uint32_t(FastqText::kTile);
    m.def("count_fastq_lines", &count_fastq_lines, nb::arg("pieces"), nb::arg("lines_before"),
        "(lines of a text in pieces, whether one is blank); fills in the newlines before each tile.");
    m.def("count_stored_fastq_lines", &count_stored_fastq_lines, nb::arg("descriptor"), nb::arg("offset"),
        nb::arg("size"), nb::arg("lines_before"),
        "The same of a part of a file, and (bytes that are not there, the error's number).");
    m.def("record_cuts", &record_cuts, nb::arg("data"),
        "Where FASTA that begins within or at a record can be cut: (after the first line, before the next record, "
        "after "
        "the last line); 0: none.");
    m.def("stored_record_cuts", &stored_record_cuts, nb::arg("descriptor"), nb::arg("offset"), nb::arg("size"),
        "((the same of a part of a file), bytes that are not there, the error's number).");
    m.def("line_begin", &line_begin, nb::arg("data"), nb::arg("line"));
    m.def("last_record_border", &find_border, nb::arg("data"), nb::arg("fastq"),
        "Bytes of the longest prefix that is known to end at a record border.");
    m.def("is_wrapped_fastq", &is_wrapped, nb::arg("head"),
        "Whether the first records of FASTQ have several lines of bases.");
    m.def("wrapped_fastq_border", &find_wrapped_border, nb::arg("data"),
        "Bytes of the whole records that such a text begins with; all of it where it is malformed.");
}

}  // namespace gpualign
