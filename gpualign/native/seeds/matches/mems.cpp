// Bindings of maximal exact matches: query texts, the search on the CPU, and the report.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <nanobind/stl/optional.h>

#include <string>
#include <tuple>

#include "arrays.hpp"
#include "bindings.hpp"
#include "seeds/matches/columns.hpp"
#include "seeds/matches/finder.hpp"
#include "seeds/matches/index.hpp"
#include "seeds/matches/report.hpp"
#include "seeds/matches/query_records.hpp"
#include "seeds/matches/text.hpp"
#include "seeds/matches/unique.hpp"
#include "seeds/matches/unique_finder.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

void check_range(const MemText& text, uint64_t from, uint64_t to) {
    if (from > to || to > text.length()) throw nb::index_error("outside the text");
}

// Tells a filter the ends of matches that begin before `from`, in the same strand sequence.
void add_ends_before(MemFinder& finder, const MemText& text, uint64_t from, RareInReference& filter) {
    if (text.blocks() && from > text.block(text.block_at(from)).begin)
        finder.ends_before(from, [&](uint64_t end) { filter.add_end(end); });
}

// Searches [from, to); with `maximum`, only for matches whose string occurs at most so often in the reference. Returns
// where the search stopped.
uint64_t search(const MemIndex& index, const MemText& text, uint64_t from, uint64_t to, uint32_t min_length,
    size_t maximum, MemColumns& found) {
    if (index.sorted()) return UniqueMemFinder(index.unique_task(text, min_length), text.length()).run(from, to, found);
    MemFinder finder(index.task(text, min_length));
    if (maximum == 0) return finder.run(from, to, found);
    RareInReference filter(found, maximum);
    add_ends_before(finder, text, from, filter);
    const uint64_t reached = finder.run(from, to, filter);
    filter.finish();
    return reached;
}

auto to_python(MemColumns&& columns) {
    return tuple_of(to_numpy(std::move(columns.starts)), to_numpy(std::move(columns.references)),
        to_numpy(std::move(columns.lengths)));
}

auto find_mems(const MemIndex& index, const MemText& text, uint64_t from, uint64_t to, uint32_t min_length,
    size_t maximum, size_t limit) {
    check_range(text, from, to);
    MemColumns columns;
    columns.limit = limit;
    uint64_t reached;
    {
        nb::gil_scoped_release release;
        reached = search(index, text, from, to, min_length, maximum, columns);
    }
    return tuple_of(to_python(std::move(columns)), reached);
}

// Formats the matches that start in [from, to).
auto report_mems(const MemIndex& index, const nb::bytes& style, const MemText& text,
    const std::tuple<Input<uint8_t>, Input<int64_t>>& names, uint64_t from, uint64_t to,
    const FoundColumns::Tuple& found) {
    check_range(text, from, to);
    const Names queries{std::get<0>(names).data(), std::get<1>(names).data()};
    MemReporter reporter(text, index.reference.view(), index.names, queries, struct_of<MemStyle>(style), from);
    const FoundColumns columns(found);
    {
        nb::gil_scoped_release release;
        reporter.expect(columns.size());
        for (size_t i = 0; i < columns.size(); i++) reporter.put(columns[i]);
        reporter.finish(to);
    }
    return tuple_of(to_numpy(std::move(reporter.out)), reporter.headers);
}

struct MutableColumns {
    uint32_t *starts, *references, *lengths;
    size_t count;
};

using Column = Mutable<uint32_t>;

MutableColumns columns_of(std::tuple<Column, Column, Column>& columns) {
    auto& [starts, references, lengths] = columns;
    if (starts.size() != references.size() || starts.size() != lengths.size())
        throw nb::value_error("the columns differ in length");
    return {starts.data(), references.data(), lengths.data(), starts.size()};
}

// Sorts each interval [bounds[i], bounds[i + 1]) by (start, reference position) unless it is sorted.
void sort_mems(std::tuple<Column, Column, Column> columns, Input<int64_t> bounds) {
    const MutableColumns c = columns_of(columns);
    if (bounds.size() && (bounds.data()[0] < 0 || bounds.data()[bounds.size() - 1] > int64_t(c.count)))
        throw nb::index_error("bounds outside the columns");
    nb::gil_scoped_release release;
    const auto key = [&](size_t i) { return uint64_t(c.starts[i]) << 32 | c.references[i]; };
    std::vector<Mem> part;
    for (size_t b = 0; b + 1 < bounds.size(); b++) {
        const size_t begin = size_t(bounds.data()[b]), end = size_t(bounds.data()[b + 1]);
        bool sorted = true;
        for (size_t i = begin + 1; i < end && sorted; i++) sorted = key(i - 1) <= key(i);
        if (sorted) continue;
        part.clear();
        for (size_t i = begin; i < end; i++) part.push_back({c.starts[i], c.references[i], c.lengths[i]});
        std::sort(part.begin(), part.end(), [](const Mem& a, const Mem& b) {
            return a.start != b.start ? a.start < b.start : a.reference < b.reference;
        });
        for (size_t i = begin; i < end; i++) {
            c.starts[i] = part[i - begin].start;
            c.references[i] = part[i - begin].reference;
            c.lengths[i] = part[i - begin].length;
        }
    }
}

// Extends matches that end at the end of a page, `page_end`, to their true ends.
void complete_mems(
    const MemIndex& index, const MemText& text, std::tuple<Column, Column, Column> columns, uint32_t page_end) {
    const MutableColumns c = columns_of(columns);
    const SegmentedReference reference = index.segments.view();
    nb::gil_scoped_release release;
    for (size_t i = 0; i < c.count; i++) {
        if (c.references[i] + c.lengths[i] != page_end || page_end == reference.bases) continue;
        const uint32_t more = extend_right(
            text.view(), uint64_t(c.starts[i]) + c.lengths[i], reference.words, page_end, reference.bases - page_end);
        c.lengths[i] += clip_right(reference, page_end, more);
    }
}

// The matches from `from` on whose string is rare in the reference; `found` must be all matches.
auto keep_rare(const MemIndex& index, const MemText& text, uint64_t from, uint32_t min_length,
    const FoundColumns::Tuple& found, size_t maximum) {
    check_range(text, from, text.length());
    const FoundColumns columns(found);
    MemColumns kept;
    {
        nb::gil_scoped_release release;
        RareInReference filter(kept, maximum);
        MemFinder finder(index.task(text, min_length));
        add_ends_before(finder, text, from, filter);
        for (size_t i = 0; i < columns.size(); i++) {
            const Mem mem = columns[i];
            filter.put(&mem, 1);
        }
        filter.finish();
    }
    return to_python(std::move(kept));
}

// The matches, all unique in the reference, that are unique in their strand sequence.
auto keep_unique(const MemText& text, const FoundColumns::Tuple& found, int threads) {
    const FoundColumns columns(found);
    MemColumns kept;
    {
        nb::gil_scoped_release release;
        std::vector<Mem> mems;
        size_t i = 0;
        for (size_t b = 0; b < text.blocks(); b++) {
            const TextBlock block = text.block(b);
            mems.clear();
            for (; i < columns.size() && columns[i].start <= block.begin + block.length; i++)
                mems.push_back(columns[i]);
            keep_unique_in_query(mems, threads);
            kept.put(mems.data(), mems.size());
        }
    }
    return to_python(std::move(kept));
}

MemText* pack_text(Input<uint8_t> bases, Input<int64_t> offsets, int strands, bool deferred) {
    if (offsets.size() == 0) throw nb::value_error("offsets need at least one element");
    nb::gil_scoped_release release;
    return new MemText(bases.data(), offsets.data(), offsets.size() - 1, Strands(strands), deferred);
}

using Queries = std::optional<nb::typed<nb::tuple, Output<uint8_t>, Output<int64_t>, MemText>>;

// Errors are not reported here but by the parser of all commands.
Queries pack_query_text(TextInput data, bool fastq, int strands, bool deferred) {
    QueryRecords records(data.size() / (fastq ? 2 : 1) + 64);
    MemText* text;
    const char* begin = begin_of(data);
    const size_t size = data.size();
    try {
        nb::gil_scoped_release release;
        parse_nucleotides(begin, begin + size, fastq, records);
    } catch (const std::exception&) {
        return std::nullopt;
    }
    {
        nb::gil_scoped_release release;
        text = new MemText(records.packer, std::move(records.begins), Strands(strands), deferred);
    }
    return nb::make_tuple(to_numpy(std::move(records.names)), to_numpy(std::move(records.name_offsets)),
        nb::cast(text, nb::rv_policy::take_ownership));
}

void append_bases(MemTextBuilder& builder, Input<uint8_t> sequence) {
    nb::gil_scoped_release release;
    builder.append(sequence.data(), sequence.size());
}

MemText finish_text(MemTextBuilder& builder, int strands, bool deferred) {
    nb::gil_scoped_release release;
    return builder.finish(Strands(strands), deferred);
}

template <class T>
nb::ndarray<nb::numpy, const T, nb::ndim<1>> borrowed(const std::vector<T>& values, nb::handle owner) {
    return nb::ndarray<nb::numpy, const T, nb::ndim<1>>(values.data(), {values.size()}, owner);
}

auto text_state(nb::handle self) {
    const MemText& text = nb::cast<const MemText&>(self);
    const PackedText& packed = text.deferred() ? *text.forward() : text.text();
    return tuple_of(borrowed(packed.words, self), borrowed(packed.breaks, self), borrowed(text.begins(), self),
        int(text.strands()), text.deferred(), text.non_acgt());
}

// Words and breaks of the forward strands, and where records begin in them, for a device; or None.
auto forward_text(nb::handle self) {
    const MemText& text = nb::cast<const MemText&>(self);
    const auto arrays = [&] {
        return tuple_of(borrowed(text.forward()->words, self), borrowed(text.forward()->breaks, self),
            borrowed(text.begins(), self));
    };
    return text.deferred() ? std::optional(arrays()) : std::nullopt;
}

template <class T> std::vector<T> copy_of(const Input<T>& values) {
    return {values.data(), values.data() + values.size()};
}

using TextState = std::tuple<Input<uint64_t>, Input<uint64_t>, Input<uint32_t>, int, bool, uint64_t>;

void restore_text(MemText& text, const TextState& state) {
    const auto& [words, breaks, begins, strands, deferred, non_acgt] = state;
    new (&text) MemText({copy_of(words), copy_of(breaks)}, copy_of(begins), Strands(strands), deferred, non_acgt);
}

void bind_mem_texts(nb::module_& m) {
    nb::class_<MemText>(m, "MemText", "Query records packed as strand sequences one after the other.")
        .def_prop_ro("length", &MemText::length)
        .def_prop_ro("bases", &MemText::bases, "Of all records.")
        .def_prop_ro("non_acgt", &MemText::non_acgt)
        .def_prop_ro(
            "words", [](nb::handle self) { return borrowed(nb::cast<const MemText&>(self).text().words, self); })
        .def_prop_ro(
            "breaks", [](nb::handle self) { return borrowed(nb::cast<const MemText&>(self).text().breaks, self); })
        .def_prop_ro("forward", &forward_text, "(words, breaks, begins) of a deferred text's forward strands, or None.")
        .def_prop_ro(
            "strands", [](const MemText& text) { return int(text.strands()); }, "1 forward, 2 reverse, 3 both.")
        .def_prop_ro(
            "begins", [](nb::handle self) { return borrowed(nb::cast<const MemText&>(self).begins(), self); },
            "Of the records in the forward strands' text, and its end, uint32.")
        .def("strands_between", &MemText::blocks_between, nb::arg("start"), nb::arg("stop"),
            "(the first strand of a record that begins in there, how many do).")
        .def(
            "lengths", [](const MemText& text) { return to_numpy(text.lengths()); }, "Of the records, uint32.")
        .def("__getstate__", &text_state)
        .def("__setstate__", &restore_text);
    nb::class_<MemTextBuilder>(m, "MemTextBuilder", "Packs one record as it is read.")
        .def(nb::init<>())
        .def_prop_ro("length", &MemTextBuilder::length, "Bases so far.")
        .def("append", &append_bases, nb::arg("sequence"), "Add bases (uint8 ASCII); ValueError when too many.")
        .def("finish", &finish_text, nb::arg("strands"), nb::arg("deferred") = false, "The MemText, once.");
    m.attr("LONGEST_MEM_QUERY") = MemTextBuilder::kLongest;
    m.def("pack_mem_text", &pack_text, nb::arg("bases"), nb::arg("offsets"), nb::arg("strands"),
        nb::arg("deferred") = false, nb::rv_policy::take_ownership,
        "strands: 1 forward, 2 reverse, 3 both; deferred: others than forward are made when they are looked at.");
    m.def("pack_query_text", &pack_query_text, nb::arg("data"), nb::arg("fastq"), nb::arg("strands"),
        nb::arg("deferred"),
        "(names, name_offsets, MemText) of whole FASTA/FASTQ records; None where they are malformed.");
}

void bind_mem_index(nb::module_& m) {
    nb::class_<MemIndex>(m, "MemIndex", "A reference, its segments, and its minimizer index or suffix array.")
        .def(nb::init<const ReferenceArrays&, Input<uint32_t>, Input<uint64_t>, int, int, int,
                 std::vector<std::string>>(),
            nb::arg("reference"), nb::arg("offsets"), nb::arg("entries"), nb::arg("k"), nb::arg("w"),
            nb::arg("bucket_bits"), nb::arg("names"))
        .def(nb::init<const ReferenceArrays&, Input<uint32_t>, Input<uint32_t>, int, std::vector<std::string>>(),
            nb::arg("reference"), nb::arg("offsets"), nb::arg("positions"), nb::arg("k"), nb::arg("names"))
        .def_prop_ro("segment_starts",
            [](nb::handle self) { return borrowed(nb::cast<const MemIndex&>(self).segments.starts, self); })
        .def_prop_ro("segment_ends",
            [](nb::handle self) { return borrowed(nb::cast<const MemIndex&>(self).segments.ends, self); })
        .def_prop_ro("near_break",
            [](nb::handle self) { return borrowed(nb::cast<const MemIndex&>(self).segments.near_break(), self); });
}

void bind_mem_search(nb::module_& m) {
    m.def("find_mems", &find_mems, nb::arg("index"), nb::arg("text"), nb::arg("start"), nb::arg("stop"), nb::kw_only(),
        nb::arg("min_length"), nb::arg("maximum"), nb::arg("limit"),
        "Matches whose string occurs at most `maximum` times in the reference (0: any number): ((starts, references, "
        "lengths), uint32; the start where the search paused after `limit` matches).");
    m.def("report_mems", &report_mems, nb::arg("index"), nb::arg("style"), nb::arg("text"), nb::arg("names"),
        nb::arg("start"), nb::arg("stop"), nb::arg("columns"),
        "(text uint8, headers in it) of the matches that start in [start, stop). style: a MemStyle; names: "
        "(characters, offsets) of the records.");
    m.def("keep_rare", &keep_rare, nb::arg("index"), nb::arg("text"), nb::arg("start"), nb::kw_only(),
        nb::arg("min_length"), nb::arg("columns"), nb::arg("maximum"),
        "Of all matches that start from `start` on, those whose string occurs at most `maximum` times in the "
        "reference.");
    m.def("keep_unique", &keep_unique, nb::arg("text"), nb::arg("columns"), nb::kw_only(), nb::arg("threads"),
        "(starts, references, lengths) of those that are unique in their strand of their record.");
    m.def("sort_mems", &sort_mems, nb::arg("columns"), nb::arg("bounds"),
        "Sort each interval between bounds in place by (start, reference).");
    m.def("complete_mems", &complete_mems, nb::arg("index"), nb::arg("text"), nb::arg("columns"), nb::arg("page_end"),
        "Extend in place the matches that end where a page was cut.");
}

}  // namespace

void bind_mems(nb::module_& m) {
    bind_mem_texts(m);
    bind_mem_index(m);
    bind_mem_search(m);
}

}  // namespace gpualign
