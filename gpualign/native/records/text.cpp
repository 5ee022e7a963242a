// Bindings of the SAM formatter for BAM records, and of the contigs in their headers.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "records/record_order.hpp"
#include "records/sam_lines.hpp"
#include "bindings.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

constexpr size_t kGrowth = 2;  // size of a record as text, relative to BAM

// Where the names of contigs begin and end, with the end of the last one.
ContigNames names_of(const Input<uint8_t>& names, const Input<int64_t>& offsets) {
    if (offsets.size() == 0) throw nb::value_error("no offsets of the contigs' names");
    return {names.data(), offsets.data()};
}

// Contigs as the header of BAM has them (SAM specification, section 4.2): their names, where each begins, their
// lengths, and bytes of all; nothing where the bytes end before.
std::optional<std::tuple<Output<uint8_t>, Output<int64_t>, Output<int64_t>, size_t>> bam_contigs(
    Input<uint8_t> bytes, int64_t count) {
    std::vector<uint8_t> names;
    std::vector<int64_t> offsets{0}, lengths;
    size_t at = 0;
    {
        nb::gil_scoped_release release;
        if (count < 0) throw std::invalid_argument("a negative length");
        const auto integer = [&] {
            int32_t value;
            std::memcpy(&value, bytes.data() + at, sizeof value);
            at += sizeof value;
            return value;
        };
        for (int64_t i = 0; i < count; i++) {
            if (bytes.size() - at < 4) return std::nullopt;
            const int32_t length = integer();
            if (length < 0) throw std::invalid_argument("a negative length");
            if (bytes.size() - at < size_t(length) + 4) return std::nullopt;
            size_t kept = size_t(length);
            while (kept && bytes.data()[at + kept - 1] == 0) kept--;
            names.insert(names.end(), bytes.data() + at, bytes.data() + at + kept);
            offsets.push_back(int64_t(names.size()));
            at += size_t(length);
            lengths.push_back(integer());
        }
    }
    return std::tuple(to_numpy(std::move(names)), to_numpy(std::move(offsets)), to_numpy(std::move(lengths)), at);
}

// The same from names and lengths, with their number before it.
Output<uint8_t> bam_contig_table(Input<uint8_t> names, Input<int64_t> offsets, Input<int64_t> lengths) {
    const ContigNames named = names_of(names, offsets);
    const size_t count = offsets.size() - 1;
    if (lengths.size() != count) throw nb::value_error("a length for each contig");
    Text out;
    out.reserve(4 + Text::kSpare);
    out.value(int32_t(count));
    for (size_t i = 0; i < count; i++) {
        const auto size = size_t(named.size(int32_t(i)));
        out.reserve(size + 9 + Text::kSpare);
        out.value(int32_t(size + 1));
        out.put(named.text(int32_t(i)), size);
        out.put('\0');
        out.value(int32_t(lengths.data()[i]));
    }
    return to_numpy(std::move(out));
}

// The first name that stands twice.
std::optional<size_t> first_repeated(Input<uint8_t> names, Input<int64_t> offsets) {
    const ContigNames named = names_of(names, offsets);
    nb::gil_scoped_release release;
    const auto name = [&](int32_t i) { return std::string_view(named.text(i), size_t(named.size(i))); };
    std::vector<std::pair<uint64_t, int32_t>> hashes;  // sorted: a table of millions of names would miss the cache
    for (int32_t i = 0; size_t(i) + 1 < offsets.size(); i++) hashes.emplace_back(hash_text(name(i)), i);
    std::sort(hashes.begin(), hashes.end());
    int32_t first = -1;
    for (size_t i = 1, begin = 0; i < hashes.size(); i++) {
        if (hashes[i].first != hashes[begin].first) begin = i;
        for (size_t k = begin; k < i; k++)
            if (name(hashes[k].second) == name(hashes[i].second) && (first < 0 || hashes[i].second < first))
                first = hashes[i].second;
    }
    return first < 0 ? std::nullopt : std::optional(size_t(first));
}

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
    m.def("bam_contigs", &bam_contigs, nb::arg("bytes"), nb::arg("count"),
        "So many contigs as the header of BAM has them: (their names, uint8, where each begins and the last one ends, "
        "int64, their lengths, int64, bytes of all); None where the bytes end before. Raises ValueError where they are "
        "damaged.");
    m.def("bam_contig_table", &bam_contig_table, nb::arg("names"), nb::arg("offsets"), nb::arg("lengths"),
        "Contigs as the header of BAM has them, with their number before them.");
    m.def("first_repeated", &first_repeated, nb::arg("names"), nb::arg("offsets"),
        "The number of the first contig whose name another one before it has; None: there is none.");
}

}  // namespace gpualign
