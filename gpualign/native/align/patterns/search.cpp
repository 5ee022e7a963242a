// search on the CPU: approximate occurrences of patterns in texts.
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "seeds/index/reference_arrays.hpp"
#include "align/patterns/hits.hpp"
#include "align/patterns/target_records.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

// Patterns ready to be searched for.
class SearchIndex {
public:
    SearchIndex(Input<uint8_t> symbols, Input<int64_t> offsets, Input<int32_t> limits, Input<uint8_t> fixed,
        int alphabet, int strands, bool all_ends, int max_bulges, int max_ambiguous, double overhang, double text)
        : patterns_(checked(symbols, offsets, limits, fixed), offsets.data(), offsets.size() - 1, limits.data(),
              fixed.data(), {SearchAlphabet(alphabet), strands, all_ends, max_bulges, max_ambiguous, overhang}),
          tables_(patterns_, text) {}

    const SearchPatterns& patterns() const { return patterns_; }
    const SearchTables& tables() const { return tables_; }

    // Segments of the patterns without seeds, in words of 64 rows, those of up to 32 rows first; longer ones are left
    // out.
    std::vector<SearchSegment> dense(bool narrow) const {
        std::vector<SearchSegment> out;
        for (int s : tables_.dense()) {
            const SearchPattern& pattern = patterns_.strand(s);
            if (pattern.rows() > 64 || (pattern.rows() <= 32) != narrow) continue;
            out.push_back(SearchTables::segment_of(pattern, s, 0, pattern.rows(), pattern.limit, 0));
        }
        return out;
    }
    // Whether a device can look for any.
    bool fits_device() const {
        if (!patterns_.dna()) return false;
        if (tables_.has_seeds()) return true;
        const std::vector<int>& dense = tables_.dense();
        return std::any_of(dense.begin(), dense.end(), [&](int s) { return patterns_.strand(s).rows() <= 64; });
    }

private:
    static const uint8_t* checked(const Input<uint8_t>& symbols, const Input<int64_t>& offsets,
        const Input<int32_t>& limits, const Input<uint8_t>& fixed) {
        if (offsets.size() < 1 || limits.size() != offsets.size() - 1 || fixed.size() != symbols.size() ||
            offsets.data()[0] != 0 || uint64_t(offsets.data()[limits.size()]) != symbols.size())
            throw nb::value_error("the patterns' arrays differ in length");
        for (size_t i = 0; i + 1 < offsets.size(); i++)
            if (offsets.data()[i] > offsets.data()[i + 1] || limits.data()[i] < 0)
                throw nb::value_error("a pattern is not valid");
        return symbols.data();
    }

    SearchPatterns patterns_;
    SearchTables tables_;
};

auto hits_of(SearchHits&& hits) {
    return tuple_of(to_numpy(std::move(hits.pattern)), to_numpy(std::move(hits.minus)),
        to_numpy(std::move(hits.sequence)), to_numpy(std::move(hits.start)), to_numpy(std::move(hits.end)),
        to_numpy(std::move(hits.pattern_start)), to_numpy(std::move(hits.pattern_end)),
        to_numpy(std::move(hits.distance)), to_numpy(std::move(hits.operations)),
        to_numpy(std::move(hits.operation_ends)));
}

std::vector<SearchShare> shares_of(
    const SearchText& text, const Input<int64_t>& begin, const Input<int64_t>& end, const Input<uint8_t>& open) {
    if (begin.size() != text.sequences || end.size() != text.sequences || open.size() != text.sequences)
        throw nb::value_error("the shares' arrays differ in length");
    std::vector<SearchShare> shares;
    for (size_t s = 0; s < text.sequences; s++)
        shares.push_back({begin.data()[s], end.data()[s], bool(open.data()[s] & 1), bool(open.data()[s] & 2)});
    return shares;
}

SearchHits found_in(const SearchIndex& index, const SearchText& text, const std::vector<SearchShare>& shares,
    const std::optional<Input<uint64_t>>& events, size_t most) {
    std::vector<SearchPlace> places;
    constexpr size_t kPlacesPerHit = 32;  // at most: a place has 16 bytes, and most are near another one
    SearchScan scan(index.patterns(), index.tables(), text, places, kPlacesPerHit * most);
    if (events) {
        for (size_t i = 0; i < events->size(); i++) {
            SearchEvent event;
            std::memcpy(&event, events->data() + i, sizeof event);
            scan.take(event);
        }
        scan.beside_device();
    } else {
        scan.run();
    }
    SearchHits hits;
    HitFinder(index.patterns(), text, shares, most).run(places, hits);
    return hits;
}

auto search_bases(const SearchIndex& index, const ReferenceArrays& reference, Input<int64_t> offsets,
    Input<int64_t> begin, Input<int64_t> end, Input<uint8_t> open, size_t most, std::optional<Input<uint64_t>> events) {
    SearchText text;
    text.packed = reference.view();
    text.offsets = offsets.data();
    text.sequences = offsets.size() - 1;
    if (uint64_t(offsets.data()[text.sequences]) > text.packed.bases)
        throw nb::value_error("the text ends before its sequences");
    const std::vector<SearchShare> shares = shares_of(text, begin, end, open);
    SearchHits hits;
    {
        nb::gil_scoped_release release;
        hits = found_in(index, text, shares, events, most);
    }
    return hits_of(std::move(hits));
}

auto search_bytes(const SearchIndex& index, Input<uint8_t> symbols, Input<int64_t> offsets, Input<int64_t> begin,
    Input<int64_t> end, Input<uint8_t> open, size_t most) {
    SearchText text{};
    text.bytes = symbols.data();
    text.offsets = offsets.data();
    text.sequences = offsets.size() - 1;
    if (uint64_t(offsets.data()[text.sequences]) > symbols.size())
        throw nb::value_error("the text ends before its sequences");
    if (index.patterns().settings().alphabet == SearchAlphabet::protein) text.fold = 0xDF;
    const std::vector<SearchShare> shares = shares_of(text, begin, end, open);
    SearchHits hits;
    {
        nb::gil_scoped_release release;
        hits = found_in(index, text, shares, std::nullopt, most);
    }
    return hits_of(std::move(hits));
}

Output<uint8_t> interval_text(
    const ReferenceArrays& reference, Input<int64_t> begin, Input<int64_t> end, Input<uint8_t> minus) {
    SearchText text;
    text.packed = reference.view();
    std::vector<uint8_t> joined;
    if (end.size() != begin.size() || minus.size() != begin.size()) throw nb::value_error("arrays differ in length");
    for (size_t i = 0; i < begin.size(); i++)
        if (begin.data()[i] < 0 || begin.data()[i] > end.data()[i] || uint64_t(end.data()[i]) > text.packed.bases)
            throw nb::value_error("an interval does not lie in the text");
    {
        nb::gil_scoped_release release;
        for (size_t i = 0; i < begin.size(); i++) {
            const int64_t size = end.data()[i] - begin.data()[i];
            joined.resize(joined.size() + size_t(size));
            uint8_t* out = joined.data() + joined.size() - size;
            text.codes(begin.data()[i], end.data()[i], out);
            if (minus.data()[i]) {
                std::reverse(out, out + size);
                std::transform(out, out + size, out, complement_set);
            }
            for (int64_t at = 0; at < size; at++) out[at] = uint8_t(".ACMGRSVTWYHKDBN"[out[at]]);
        }
    }
    return to_numpy(std::move(joined));
}

using PackedTargets =
    std::optional<nb::typed<nb::tuple, Output<uint8_t>, Output<int64_t>, Output<int64_t>, PackedArrays>>;

// Errors are not reported here but by the parser of all commands.
PackedTargets pack_target_text(TextInput data, bool fastq, uint64_t within) {
    TargetRecords records(within);
    try {
        nb::gil_scoped_release release;
        parse_nucleotides(begin_of(data), begin_of(data) + data.size(), fastq, records);
    } catch (const std::exception&) {
        return std::nullopt;
    }
    return tuple_of(to_numpy(std::move(records.names)), to_numpy(std::move(records.name_offsets)),
        to_numpy(std::move(records.lengths)), to_numpy(std::move(records.packer)));
}

template <class Item> Output<uint64_t> words_of(const std::vector<Item>& items) {
    return to_numpy_words(std::vector<Item>(items));
}

}  // namespace

void bind_search(nb::module_& m) {
    nb::class_<SearchIndex>(m, "SearchIndex")
        .def(nb::init<Input<uint8_t>, Input<int64_t>, Input<int32_t>, Input<uint8_t>, int, int, bool, int, int, double,
                 double>(),
            nb::kw_only(), nb::arg("symbols"), nb::arg("offsets"), nb::arg("limits"), nb::arg("fixed"),
            nb::arg("alphabet"), nb::arg("strands"), nb::arg("all_ends"), nb::arg("max_bulges"),
            nb::arg("max_ambiguous"), nb::arg("overhang"), nb::arg("text"))
        .def_prop_ro(
            "bases",
            [](const SearchIndex& index) { return index.tables().has_seeds() ? index.tables().table().bases : 0; },
            "Of a word of the table; 0: no pattern has seeds.")
        .def_prop_ro(
            "stride", [](const SearchIndex& index) { return index.tables().table().stride; },
            "Bases from a word that is looked up to the next one.")
        .def_prop_ro("fits_device", &SearchIndex::fits_device)
        .def_prop_ro(
            "tables",
            [](const SearchIndex& index) {
                const SearchTables& t = index.tables();
                return tuple_of(to_numpy(std::vector<uint64_t>(t.marked())), to_numpy(std::vector<uint32_t>(t.ranks())),
                    to_numpy(std::vector<uint32_t>(t.firsts())), words_of(t.seeds()), words_of(t.segments()),
                    words_of(index.dense(true)), words_of(index.dense(false)));
            },
            "Arrays for a device: marked, ranks, firsts, seeds, segments, and segments of the patterns without seeds: "
            "of up to 32 rows, and of up to 64.");
    m.attr("SEARCH_PLATEAU") = kPlateau;
    m.def("search_bases", &search_bases, nb::arg("index"), nb::arg("reference"), nb::arg("offsets"), nb::arg("begin"),
        nb::arg("end"), nb::arg("open"), nb::arg("most"), nb::arg("events") = nb::none(),
        "Hits in packed sequences that begin in [begin, end) of theirs: pattern, minus, sequence, start, end, "
        "pattern_start, pattern_end, distance, CIGAR operations and their offsets. open: 1 where a sequence goes on "
        "before, 2 after it. events: what a device has found; without them the CPU scans.");
    m.def("search_bytes", &search_bytes, nb::arg("index"), nb::arg("symbols"), nb::arg("offsets"), nb::arg("begin"),
        nb::arg("end"), nb::arg("open"), nb::arg("most"), "The same in texts of any symbols.");
    m.def("interval_text", &interval_text, nb::arg("reference"), nb::arg("begin"), nb::arg("end"), nb::arg("minus"),
        "Bases of packed positions [begin, end), joined; those with minus are of the other strand.");
    m.def("pack_target_text", &pack_target_text, nb::arg("data"), nb::arg("fastq"), nb::arg("within"),
        "(names, name_offsets, lengths, (words, run_starts, run_ends, run_bases)) of whole FASTA/FASTQ records; None "
        "where they are malformed. within: pack only so many bases of either end of each; 0: all.");
}

}  // namespace gpualign
