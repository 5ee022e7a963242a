// Bindings of the candidates of verify: lines (TSV, BED6, PAF) and records to arrays, with names looked up.
#include <nanobind/stl/string.h>

#include <string>
#include <string_view>

#include "arrays.hpp"
#include "records/tags.hpp"
#include "bindings.hpp"
#include "verify/candidate_text.hpp"
#include "align/edit/windows.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

// Names to their numbers. The text is kept by the caller's arrays.
class NameIndex {
public:
    NameIndex(Input<uint8_t> names, Input<int64_t> offsets) : names_(names), offsets_(offsets) {
        const char* text = reinterpret_cast<const char*>(names.data());
        const int64_t* at = offsets.data();
        const size_t n = offsets.size() - 1;
        nb::gil_scoped_release release;
        size_t size = slots_.size();
        while (size < 2 * n) size *= 2;
        slots_.resize(size);
        size_t hashes[kAhead] = {};
        for (size_t i = 0; i < n + kAhead; i++) {  // a slot is asked for some names before it is needed
            if (i >= kAhead) add(int32_t(i - kAhead), hashes[i % kAhead]);
            if (i >= n) continue;
            hashes[i % kAhead] =
                std::hash<std::string_view>()(std::string_view(text + at[i], size_t(at[i + 1] - at[i])));
            __builtin_prefetch(&slots_[hashes[i % kAhead] & (size - 1)], 1);
        }
    }
    // Number of a name, -1 when there is none.
    int32_t find(std::string_view name) const {
        return slots_[slot_of(name, std::hash<std::string_view>()(name))].number;
    }
    int64_t repeated() const { return repeated_; }  // the first name that was there before; -1: none

private:
    Input<uint8_t> names_;
    Input<int64_t> offsets_;
    struct Entry {
        uint32_t tag = 0;  // upper half of the name's hash
        int32_t number = -1;
    };

    static constexpr size_t kAhead = 16;

    void add(int32_t i, size_t hash) {
        Entry& entry = slots_[slot_of(name(i), hash)];
        if (entry.number < 0) entry = {uint32_t(hash >> 32), i};
        else if (repeated_ < 0) repeated_ = i;
    }
    std::string_view name(int32_t i) const {
        const int64_t begin = offsets_.data()[i], end = offsets_.data()[i + 1];
        return {reinterpret_cast<const char*>(names_.data()) + begin, size_t(end - begin)};
    }
    // The slot of a name, or the free slot where it belongs.
    size_t slot_of(std::string_view wanted, size_t hash) const {
        const size_t mask = slots_.size() - 1;
        size_t slot = hash & mask;
        while (slots_[slot].number >= 0 &&
               (slots_[slot].tag != uint32_t(hash >> 32) || name(slots_[slot].number) != wanted))
            slot = (slot + 1) & mask;
        return slot;
    }

    std::vector<Entry> slots_ = std::vector<Entry>(16);  // a power of two, half of them free
    int64_t repeated_ = -1;
};

int64_t group_border(TextInput data, int column) {
    const char* begin = begin_of(data);
    const size_t size = data.size();
    nb::gil_scoped_release release;
    return last_group_border(begin, begin + size, column);
}

// The sequences that candidates name, as Python holds them.
struct NamedArrays {
    Input<uint8_t> bases;
    Input<int64_t> offsets;
    Input<int32_t> limits;
    Input<int64_t> contig_offsets;

    NamedTexts view() const {
        const size_t queries = offsets.size() - 1, targets = contig_offsets.size() - 1;
        if (limits.size() != queries) throw nb::value_error("not every query has a limit");
        return {bases.data(), offsets.data(), limits.data(), queries, contig_offsets.data(), targets};
    }
};

auto to_python(Windows&& out) {
    return tuple_of(to_numpy(std::move(out.query)), to_numpy(std::move(out.target)), to_numpy(std::move(out.first)),
        to_numpy(std::move(out.local)), to_numpy(std::move(out.begin)), to_numpy(std::move(out.end)),
        to_numpy(std::move(out.strand)), to_numpy(std::move(out.bases)), to_numpy(std::move(out.offsets)),
        to_numpy(std::move(out.limits)), out.clipped, out.cells);
}

auto windows_of_lines(TextInput data, const std::string& kind, const NameIndex& queries, const NameIndex& targets,
    const NamedArrays& texts, int strands) {
    Windows out(texts.view(), WindowStrands(strands), kind[0] == 'p');
    const std::string_view text(begin_of(data), data.size());
    {
        nb::gil_scoped_release release;
        parse_candidates(text, kind[0], queries, targets, out);
    }
    return to_python(std::move(out));
}

// The number of a record's query: by its name, or by that with the mate's number, which names lose in records.
int32_t query_of(const BamRecord& record, const NameIndex& queries) {
    const std::string name(record.name());
    if (const int32_t found = queries.find(name); found >= 0) return found;
    int32_t of_mates[2];
    for (const int mate : {0, 1}) {
        const bool other = record.is(kFlagPaired) && mate != int(record.is(kFlagSecond));
        of_mates[mate] = other ? -1 : queries.find(name + (mate ? "/2" : "/1"));
    }
    if ((of_mates[0] < 0) == (of_mates[1] < 0))
        throw std::invalid_argument((of_mates[0] < 0 ? "no query is named '" : "two queries are named '") + name +
                                    "', '" + name + "/1' or '" + name + "/2'");
    return std::max(of_mates[0], of_mates[1]);
}

auto windows_of_records(Input<uint8_t> data, Input<uint8_t> contig_names, Input<int64_t> contig_offsets,
    const NameIndex& queries, const NameIndex& targets, const NamedArrays& texts, int strands) {
    Windows out(texts.view(), WindowStrands(strands), true);
    {
        nb::gil_scoped_release release;
        const auto* names = reinterpret_cast<const char*>(contig_names.data());
        for (BamRecords rest(data.data(), data.size()); rest.more();) {
            const BamRecord record = rest.next();
            if (record.is(kFlagUnmapped) || record.operations() == 0) continue;
            const auto contig = size_t(record.contig());
            if (contig + 1 >= contig_offsets.size()) throw std::invalid_argument("a BAM record is of no contig");
            const int64_t* offset = contig_offsets.data() + contig;
            const std::string_view name(names + offset[0], size_t(offset[1] - offset[0]));
            const int32_t target = targets.find(name);
            if (target < 0) throw std::invalid_argument("no target is named '" + shown(name) + "'");
            const BamCigar cigar(record);
            const int64_t begin = record.position();
            out.add(query_of(record, queries), target, begin, begin + record.span(), cigar.clipped_bases(false),
                cigar.clipped_bases(true), record.is(kFlagReverse));
        }
    }
    return to_python(std::move(out));
}

auto windows_of(Input<int32_t> query, Input<int32_t> target, Input<int64_t> begin, Input<int64_t> end,
    const NamedArrays& texts, int strands) {
    const size_t n = query.size();
    if (target.size() != n || begin.size() != n || end.size() != n)
        throw nb::value_error("the candidates' arrays differ in length");
    const NamedTexts view = texts.view();
    for (size_t i = 0; i < n; i++)
        if (size_t(query.data()[i]) >= view.queries || size_t(target.data()[i]) >= view.targets)
            throw nb::value_error("a pair names no query or target");
    Windows out(view, WindowStrands(strands), false);
    {
        nb::gil_scoped_release release;
        out.reserve(n);
        for (size_t i = 0; i < n; i++)
            out.add(query.data()[i], target.data()[i], begin.data()[i], end.data()[i], 0, 0, 0);
    }
    return to_python(std::move(out));
}

// The better pair of each candidate, forward for ties, and which candidates have a hit.
auto choose_pairs(Input<int32_t> distance, Input<int64_t> first, size_t candidates, bool all) {
    const bool single = first.size() == 0;
    if (single ? distance.size() != candidates
               : first.size() != candidates + 1 || size_t(first.data()[candidates]) != distance.size())
        throw nb::value_error("the pairs are not those of the candidates");
    std::vector<int64_t> kept, chosen;
    int64_t hits = 0;
    {
        nb::gil_scoped_release release;
        const int32_t* d = distance.data();
        if (all) kept.reserve(candidates);
        for (size_t i = 0; i < candidates; i++) {
            size_t pair = single ? i : size_t(first.data()[i]);
            if (!single && pair + 1 < size_t(first.data()[i + 1]) && d[pair + 1] >= 0 &&
                (d[pair] < 0 || d[pair + 1] < d[pair]))
                pair++;
            hits += d[pair] >= 0;
            if (!all && d[pair] < 0) continue;
            kept.push_back(int64_t(i));
            chosen.push_back(int64_t(pair));
        }
    }
    return tuple_of(to_numpy(std::move(kept)), to_numpy(std::move(chosen)), hits);
}

}  // namespace

void bind_candidates(nb::module_& m) {
    nb::class_<NameIndex>(m, "NameIndex", "Names to their numbers.")
        .def(nb::init<Input<uint8_t>, Input<int64_t>>(), nb::arg("names"), nb::arg("offsets"))
        .def("find", [](const NameIndex& self, const std::string& name) { return self.find(name); })
        .def_prop_ro("repeated", &NameIndex::repeated);
    m.def("last_group_border", &group_border, nb::arg("data"), nb::arg("column"),
        "Bytes before the last run of whole lines with the same text in a column (0 when there is but one run).");
    nb::class_<NamedArrays>(m, "NamedTexts", "What candidates name: queries, their limits, and where targets are.")
        .def(
            "__init__",
            [](NamedArrays* self, Input<uint8_t> bases, Input<int64_t> offsets, Input<int32_t> limits,
                Input<int64_t> targets) { new (self) NamedArrays{bases, offsets, limits, targets}; },
            nb::arg("bases"), nb::arg("offsets"), nb::arg("limits"), nb::arg("contig_offsets"));
    m.def("windows_of_lines", &windows_of_lines, nb::arg("data"), nb::arg("kind"), nb::arg("queries"),
        nb::arg("targets"), nb::arg("texts"), nb::arg("strands"),
        "Lines of kind 't' (TSV), 'b' (BED6) or 'p' (PAF) to (query, target int32 (n,); first int64 (n + 1,), each "
        "candidate's first pair, empty where all have one; local int32, begin, end uint32, strand uint8 of each pair; "
        "bases, offsets, limits of the queries that occur; clipped, cells). strands: 0 plus, 1 minus, 2 both, 3 as the "
        "lines say. Raises ValueError('LINE_OFFSET\\tWHAT').");
    m.def("windows_of", &windows_of, nb::arg("query"), nb::arg("target"), nb::arg("begin"), nb::arg("end"),
        nb::arg("texts"), nb::arg("strands"), "The same of candidates in columns, on the forward strand.");
    m.def("windows_of_records", &windows_of_records, nb::arg("records"), nb::arg("contig_names"),
        nb::arg("contig_offsets"), nb::arg("queries"), nb::arg("targets"), nb::arg("texts"), nb::arg("strands"),
        "The same of the alignments of BAM records. Raises ValueError where a name is not known.");
    m.def("choose_pairs", &choose_pairs, nb::arg("distance"), nb::arg("first"), nb::arg("candidates"), nb::arg("all"),
        "(kept, pairs int64, hits): the candidates within their limit, or all of them, and of each the better strand.");
}

}  // namespace gpualign
