// Bindings of duplicate marking.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>

#include <string>

#include "arrays.hpp"
#include "bam/duplicate_finder.hpp"
#include "bindings.hpp"

namespace gpualign {
namespace {

constexpr size_t kWords = sizeof(TemplateEnds) / sizeof(uint64_t), kCounts = sizeof(LibraryCounts) / sizeof(int64_t);
constexpr size_t kTagLength = 2;

// (ends, counts, templates): kWords numbers per template with a mapped read; kCounts per library.
auto duplicate_ends(Input<uint8_t> records, const std::vector<std::string>& read_groups,
    const std::vector<uint16_t>& libraries, uint16_t no_library, bool cells, bool by_read_group,
    const std::string& barcode_tags, bool barcode_in_name) {
    DuplicateRules rules;
    if (read_groups.size() != libraries.size()) throw nb::value_error("a library for each read group");
    for (size_t i = 0; i < read_groups.size(); i++) rules.libraries.emplace(read_groups[i], libraries[i]);
    rules.no_library = no_library;
    rules.cells = cells;
    rules.by_read_group = by_read_group;
    rules.barcode_in_name = barcode_in_name;
    if (barcode_tags.size() % kTagLength) throw nb::value_error("tags have two characters");
    for (size_t i = 0; i < barcode_tags.size(); i += kTagLength)
        rules.barcode_tags.push_back(std::string_view(barcode_tags).substr(i, kTagLength));
    EndCollector collector(rules);
    {
        nb::gil_scoped_release release;
        for (BamRecords left(records.data(), records.size()); left.more();) collector.add(left.next());
        collector.finish();
    }
    std::vector<int64_t> counts;
    for (const LibraryCounts& library : collector.counts())
        counts.insert(counts.end(), {library.unpaired, library.pairs, library.secondary_or_supplementary,
                                        library.unmapped, library.without_barcode});
    return tuple_of(to_numpy_words(collector.take()), to_numpy(std::move(counts)), collector.templates());
}

void add(DuplicateFinder& finder, const std::tuple<Input<uint64_t>, Input<int64_t>, int64_t>& batch) {
    const auto& [ends, counts, templates] = batch;
    if (ends.size() % kWords || counts.size() > kCounts * finder.libraries())
        throw nb::value_error("no ends of templates");
    {
        nb::gil_scoped_release release;
        finder.add(reinterpret_cast<const TemplateEnds*>(ends.data()), ends.size() / kWords, templates);
    }
    for (size_t i = 0; i < counts.size() / kCounts; i++) {
        LibraryCounts& total = finder.counts(i);
        const int64_t* more = counts.data() + kCounts * i;
        total.unpaired += more[0], total.pairs += more[1];
        total.secondary_or_supplementary += more[2], total.unmapped += more[3], total.without_barcode += more[4];
    }
}

Output<uint8_t> finish(DuplicateFinder& finder, int threads) {
    {
        nb::gil_scoped_release release;
        finder.finish(threads);
    }
    return to_numpy(std::move(finder.status()));
}

// A row per library: its counts, then those of its duplicates.
auto library_counts(DuplicateFinder& finder) {
    std::vector<std::array<int64_t, 7>> rows;
    for (size_t i = 0; i < finder.libraries(); i++) {
        const LibraryCounts& all = finder.counts(i);
        const DuplicateCounts& duplicates = finder.duplicates()[i];
        rows.push_back({all.unpaired, all.pairs, all.secondary_or_supplementary, all.unmapped, duplicates.unpaired,
            duplicates.pairs, duplicates.optical_pairs});
    }
    return rows;
}

int64_t without_barcode(DuplicateFinder& finder) {
    int64_t total = 0;
    for (size_t i = 0; i < finder.libraries(); i++) total += finder.counts(i).without_barcode;
    return total;
}

}  // namespace

void bind_duplicates(nb::module_& m) {
    m.def("duplicate_ends", &duplicate_ends, nb::arg("records"), nb::arg("read_groups"), nb::arg("libraries"),
        nb::arg("no_library"), nb::arg("cells"), nb::arg("by_read_group"), nb::arg("barcode_tags"),
        nb::arg("barcode_in_name"),
        "What a DuplicateFinder wants of a batch of BAM records, uint8, all of a template adjacent: (ends, counts, "
        "templates). "
        "Raises ValueError where they are damaged.");
    nb::class_<DuplicateFinder>(m, "DuplicateFinder", "Finds the duplicates of a run.")
        .def(nb::init<size_t, uint32_t>(), nb::arg("libraries"), nb::arg("optical_distance"))
        .def("add", &add, nb::arg("batch"), "Takes what duplicate_ends made of the next batch.")
        .def("finish", &finish, nb::arg("threads"),
            "uint8 for each template: 0: no duplicate, 1: a duplicate from the library's preparation, 2: an optical "
            "one.")
        .def("library_counts", &library_counts,
            "For each library: (unpaired reads, pairs, secondary or supplementary records, unmapped reads, duplicate "
            "unpaired "
            "reads, duplicate pairs, optical ones of these).")
        .def("without_barcode", &without_barcode,
            "Templates with a mapped read that have no barcode, or not all that were asked for.")
        .def("set_sizes", &DuplicateFinder::set_sizes,
            "Sets of equal pairs by size, three dicts: all, optical duplicates with the one copied, without optical "
            "duplicates.");
}

}  // namespace gpualign
