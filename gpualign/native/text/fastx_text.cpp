// Formats reads as FASTQ (FASTA without qualities), and FASTQ comments as SAM tags.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "text/read_arrays.hpp"
#include "text/tag_list.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

void put_read(const ReadsView& reads, size_t i, bool suffix, Text& out) {
    const size_t length = size_t(reads.length(i)), name = size_t(reads.name_size(i)),
                 comment = size_t(reads.comment_size(i));
    out.reserve(name + comment + 2 * length + 10);
    out.put(reads.qualities ? '@' : '>');
    out.put(reinterpret_cast<const char*>(reads.names + reads.name_offsets[i]), name);
    if (suffix && reads.paired(i)) out.put(reads.mates[i] == kFirstMate ? "/1" : "/2");
    if (comment) {
        out.put(' ');
        out.put(reads.comment(i), comment);
    }
    out.put('\n');
    out.put(reads.bases_of(i), length);
    if (reads.qualities) {
        out.put("\n+\n");
        out.put(reads.quality(i), length);
    }
    out.put('\n');
}

Output<uint8_t> format_fastx(const Arrays& reads, const std::optional<Input<uint8_t>>& wanted, bool suffix) {
    const ReadArrays arrays(reads);
    const Wanted written(wanted, arrays.reads());
    const ReadsView view = arrays.view();
    Text out;
    {
        nb::gil_scoped_release release;
        for (size_t i = 0; i < arrays.reads(); i++)
            if (written[i]) put_read(view, i, suffix, out);
    }
    return to_numpy(std::move(out));
}

bool all(std::string_view text, bool (*test)(char)) { return std::all_of(text.begin(), text.end(), test); }
bool digit(char c) { return c >= '0' && c <= '9'; }

bool integer(std::string_view text) {
    if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
    return !text.empty() && all(text, digit);
}

bool integer_between(std::string_view text, int64_t minimum, int64_t maximum) {
    if (!integer(text)) return false;
    if (text[0] == '+') text.remove_prefix(1);
    int64_t value = 0;
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc() && value >= minimum &&
           value <= maximum;
}

// [-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?
bool real(std::string_view text) {
    const size_t e = text.find_first_of("eE");
    if (e != std::string_view::npos) {
        if (!integer(text.substr(e + 1))) return false;
        text = text.substr(0, e);
    }
    if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
    const size_t dot = text.find('.');
    if (dot == std::string_view::npos) return !text.empty() && all(text, digit);
    return dot + 1 < text.size() && all(text.substr(0, dot), digit) && all(text.substr(dot + 1), digit);
}

// [cCsSiIf](,NUMBER)*
bool numbers(std::string_view text) {
    if (text.empty() || std::string_view("cCsSiIf").find(text[0]) == std::string_view::npos) return false;
    const bool reals = text[0] == 'f', is_signed = text[0] == 'c' || text[0] == 's' || text[0] == 'i';
    const int bits = text[0] == 'c' || text[0] == 'C' ? 8 : text[0] == 's' || text[0] == 'S' ? 16 : 32;
    const int64_t minimum = is_signed ? -(int64_t(1) << (bits - 1)) : 0, maximum = minimum + (int64_t(1) << bits) - 1;
    text.remove_prefix(1);
    while (!text.empty()) {
        if (text[0] != ',') return false;
        const std::string_view number =
            text.substr(1, text.find(',', 1) == std::string_view::npos ? text.size() : text.find(',', 1) - 1);
        if (!(reals ? real(number) : integer_between(number, minimum, maximum))) return false;
        text.remove_prefix(1 + number.size());
    }
    return true;
}

// One optional field of a SAM record (specification, section 1.5).
bool valid_tag(std::string_view field) {
    if (field.size() < 5 || !isalpha(uint8_t(field[0])) || !isalnum(uint8_t(field[1])) || field[2] != ':' ||
        field[4] != ':')
        return false;
    const std::string_view value = field.substr(5);
    switch (field[3]) {
        case 'A': return value.size() == 1 && value[0] > ' ' && value[0] < 127;
        case 'i': return integer_between(value, -(int64_t(1) << 31), (int64_t(1) << 32) - 1);
        case 'f': return real(value);
        case 'Z': return all(value, [](char c) { return c >= ' ' && c < 127; });
        case 'H': return value.size() % 2 == 0 && all(value, [](char c) { return digit(c) || (c >= 'A' && c <= 'F'); });
        case 'B': return numbers(value);
        default: return false;
    }
}

bool names_tag(std::string_view names, std::string_view tag) {
    for (size_t at = 0; at + 1 < names.size(); at += 2)
        if (names.substr(at, 2) == tag) return true;
    return false;
}

// Rules for the tags in comments.
struct TagRules {
    TagList dropped;
    std::vector<std::string> read_groups;  // of the header

    bool of_header(std::string_view field) const {
        if (field.substr(0, 2) != "RG") return true;
        return field[3] == 'Z' &&
               std::find(read_groups.begin(), read_groups.end(), field.substr(5)) != read_groups.end();
    }
};

// Appends a comment's tags except those dropped; returns the number of fields that are malformed, repeat a tag, or
// name a read group that the header lacks.
int64_t put_tags(std::string_view comment, const TagRules& rules, std::vector<uint8_t>& out) {
    std::string seen;
    int64_t invalid = 0;
    const size_t start = out.size();
    for (bool more = true; more;) {
        const std::string_view field = comment.substr(0, comment.find('\t'));
        more = field.size() < comment.size();
        comment.remove_prefix(field.size() + more);
        if (!valid_tag(field)) {
            invalid++;
            continue;
        }
        if (rules.dropped.has(field.data(), field[3])) continue;
        if (names_tag(seen, field.substr(0, 2)) || !rules.of_header(field)) {
            invalid++;
            continue;
        }
        seen += field.substr(0, 2);
        if (out.size() > start) out.push_back('\t');
        out.insert(out.end(), field.begin(), field.end());
    }
    return invalid;
}

auto comment_tags(Input<uint8_t> comments, Input<int64_t> offsets, const std::string& dropped,
    const std::vector<std::string>& read_groups) {
    const TagRules rules{TagList(dropped), read_groups};
    std::vector<uint8_t> tags;
    std::vector<int64_t> tag_offsets{0};
    int64_t invalid = 0;
    {
        nb::gil_scoped_release release;
        for (size_t i = 0; i + 1 < offsets.size(); i++) {
            const auto text = reinterpret_cast<const char*>(comments.data());
            const std::string_view comment(text + offsets.data()[i], size_t(offsets.data()[i + 1] - offsets.data()[i]));
            if (!comment.empty()) invalid += put_tags(comment, rules, tags);
            tag_offsets.push_back(int64_t(tags.size()));
        }
    }
    return tuple_of(to_numpy(std::move(tags)), to_numpy(std::move(tag_offsets)), invalid);
}

}  // namespace

void bind_fastx_text(nb::module_& m) {
    m.def("format_fastx", &format_fastx, nb::arg("reads"), nb::arg("wanted").none(), nb::arg("suffix"),
        "The wanted reads of a batch (None: all) as FASTQ, or FASTA where they have no qualities; with `suffix` /1 and "
        "/2 after the names of pairs.");
    m.def("comment_tags", &comment_tags, nb::arg("comments"), nb::arg("offsets"), nb::arg("dropped"),
        nb::arg("read_groups"),
        "Fields of comments that are SAM tags, tab-separated, less those in `dropped` (TagList): (tags, offsets, "
        "fields that are none, that repeat one, or that name another read group than these).");
}

}  // namespace gpualign
