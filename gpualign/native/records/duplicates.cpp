// Bindings of duplicate marking.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>

#include <string>

#include "arrays.hpp"
#include "records/duplicate_finder.hpp"
#include "bindings.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

constexpr size_t kWords = sizeof(TemplateEnds) / sizeof(uint64_t), kCounts = sizeof(LibraryCounts) / sizeof(int64_t);
constexpr size_t kTagLength = 2, kUmiWords = sizeof(Umi) / sizeof(uint64_t);
constexpr size_t kRecordWords = sizeof(RecordEnds) / sizeof(uint64_t);

// What a record says by itself; where it begins is filled in later.
RecordEnds record_ends(const BamRecord& record, uint32_t number, const EndCollector& collector) {
    const TemplateRead read(record, hash_text(collector.read_group()));
    uint32_t flags = read.reads;
    if (record.primary() && !record.is(kFlagUnmapped)) flags |= RecordEnds::kMapped;
    if (collector.with_barcode()) flags |= RecordEnds::kWithBarcode;
    const uint64_t hash = hash_text(template_name(record), read.read_group),
                   other = mix(hash_text(template_name(record), hash));
    return {
        {0, kNoEnd, 0, 0, 0, number}, hash, (uint32_t(other) & ~RecordEnds::kFlags) | flags, read.position, read.mate};
}

// (ends, begins of their parts, UMIs, counts, templates): kWords numbers per template with a mapped read, grouped by
// DuplicateFinder::part_of; a UMI for each template; kCounts numbers per library. by_record: kRecordWords numbers per
// record, grouped by RecordEnds::part_of.
auto duplicate_ends(Input<uint8_t> records, const std::vector<nb::bytes>& read_groups,
    const std::vector<uint16_t>& libraries, uint16_t no_library, bool cells, bool by_read_group, bool by_strand,
    const std::string& barcode_tags, bool barcode_in_name, bool umis, bool duplex, bool by_name, bool by_record,
    bool first_is_best) {
    DuplicateRules rules;
    if (read_groups.size() != libraries.size()) throw nb::value_error("a library for each read group");
    for (size_t i = 0; i < read_groups.size(); i++)
        rules.libraries.emplace(std::string_view(read_groups[i].c_str(), read_groups[i].size()), libraries[i]);
    rules.no_library = no_library;
    rules.cells = cells;
    rules.by_read_group = by_read_group;
    rules.by_strand = by_strand;
    rules.barcode_in_name = barcode_in_name;
    rules.umis = umis, rules.duplex = duplex, rules.first_is_best = first_is_best;
    if (barcode_tags.size() % kTagLength) throw nb::value_error("tags have two characters");
    for (size_t i = 0; i < barcode_tags.size(); i += kTagLength)
        rules.barcode_tags.push_back(std::string_view(barcode_tags).substr(i, kTagLength));
    if (duplex && by_record) throw nb::value_error("strands need templates");
    EndCollector collector(rules);
    std::vector<TemplateEnds> ends;
    std::vector<RecordEnds> of_records;
    std::vector<uint32_t> begins;
    std::vector<Umi> of_templates;
    int64_t templates = 0;
    {
        nb::gil_scoped_release release;
        const auto add = [&](const BamRecord& record, int64_t number) {
            collector.add(record, number);
            if (by_record) of_records.push_back(record_ends(record, uint32_t(number), collector));
        };
        if (by_name) {
            templates = each_of_templates(records.data(), records.size(), add);
        } else {
            TemplateCounter by_flags;
            for (BamRecords left(records.data(), records.size()); left.more();) {
                const BamRecord record = left.next();
                add(record, by_record ? int64_t(of_records.size()) : by_flags(record));
            }
            templates = by_record ? int64_t(of_records.size()) : by_flags.count();
        }
        collector.finish();
        ends = collector.take();
        const std::vector<Umi> found = collector.take_umis();
        if (umis) of_templates.resize(size_t(templates));
        for (size_t i = 0; i < found.size(); i++) of_templates.at(ends.at(i).number) = found[i];
        if (by_record) {
            for (const TemplateEnds& of_record : ends) of_records.at(of_record.number).ends = of_record;
            begins = group_by_part(of_records, kHashParts, RecordEnds::part_of);
        } else {
            begins = group_by_part(ends, 2 * kHashParts, DuplicateFinder::part_of);
        }
    }
    std::vector<int64_t> counts;
    for (const LibraryCounts& library : collector.counts())
        counts.insert(counts.end(), {library.unpaired, library.pairs, library.secondary_or_supplementary,
                                        library.unmapped, library.without_barcode, library.without_strand});
    return tuple_of(by_record ? to_numpy_words(std::move(of_records)) : to_numpy_words(std::move(ends)),
        to_numpy(std::move(begins)), to_numpy_words(std::move(of_templates)), to_numpy(std::move(counts)), templates);
}

// What a finder reads of an array, which stays alive.
template <class Item> std::shared_ptr<const Item> kept_items(const Input<uint64_t>& words) {
    if (words.size() % (sizeof(Item) / sizeof(uint64_t))) throw nb::value_error("no ends of templates or records");
    return {std::make_shared<Input<uint64_t>>(words), reinterpret_cast<const Item*>(words.data())};
}

using Batch = std::tuple<Input<uint64_t>, Input<uint32_t>, Input<uint64_t>, Input<int64_t>, int64_t>;

void add(DuplicateFinder& finder, const Batch& batch, bool by_record) {
    const auto& [ends, part_begins, umis, counts, templates] = batch;
    if (counts.size() > kCounts * finder.libraries()) throw nb::value_error("counts of more libraries");
    if (finder.with_umis() && umis.size() != size_t(templates) * kUmiWords)
        throw nb::value_error("a UMI for each template");
    const auto* of_templates = reinterpret_cast<const Umi*>(umis.data());
    std::vector<uint32_t> begins(part_begins.data(), part_begins.data() + part_begins.size());
    if (by_record) {
        const size_t count = ends.size() / kRecordWords;
        if (int64_t(count) != templates) throw nb::value_error("not all records");
        finder.add_records(kept_items<RecordEnds>(ends), count, std::move(begins), of_templates);
    } else {
        finder.add(kept_items<TemplateEnds>(ends), ends.size() / kWords, std::move(begins), of_templates, templates);
    }
    for (size_t i = 0; i < counts.size() / kCounts; i++) {
        LibraryCounts& total = finder.counts(i);
        const int64_t* more = counts.data() + kCounts * i;
        total.unpaired += more[0], total.pairs += more[1];
        total.secondary_or_supplementary += more[2], total.unmapped += more[3], total.without_barcode += more[4];
        total.without_strand += more[5];
    }
}

auto prepare_templates(
    Input<uint8_t> records, bool mate_tags, const std::string& dropped, const nb::bytes& added, bool incomplete) {
    if (dropped.size() % kTagLength) throw nb::value_error("tags have two characters");
    TemplatePreparer prepare(mate_tags, dropped, {added.c_str(), added.size()});
    bool changed = true;
    {
        nb::gil_scoped_release release;
        changed = incomplete || prepare.changes(records.data(), records.size());
        if (changed) prepare(records.data(), records.size());
    }
    auto prepared = changed ? std::optional(to_numpy(prepare.release())) : std::nullopt;
    return tuple_of(prepared, to_numpy(prepare.take_incomplete()));
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

// (templates without a barcode, those of a duplex whose UMI does not have two parts)
auto without(DuplicateFinder& finder) {
    int64_t barcode = 0, strand = 0;
    for (size_t i = 0; i < finder.libraries(); i++)
        barcode += finder.counts(i).without_barcode, strand += finder.counts(i).without_strand;
    return tuple_of(barcode, strand);
}

}  // namespace

void bind_duplicates(nb::module_& m) {
    m.def("duplicate_ends", &duplicate_ends, nb::arg("records"), nb::arg("read_groups"), nb::arg("libraries"),
        nb::arg("no_library"), nb::arg("cells"), nb::arg("by_read_group"), nb::arg("by_strand"),
        nb::arg("barcode_tags"), nb::arg("barcode_in_name"), nb::arg("umis"), nb::arg("duplex"), nb::arg("by_name"),
        nb::arg("by_record"), nb::arg("first_is_best"),
        "What a DuplicateFinder wants of a batch of BAM records, uint8, all of a template adjacent: (ends, begins of "
        "their parts, UMIs, counts, templates). by_record: templates are anywhere in the input, and each record is "
        "numbered. Raises ValueError where they are damaged.");
    m.def("prepare_templates", &prepare_templates, nb::arg("records"), nb::arg("mate_tags"), nb::arg("dropped"),
        nb::arg("added"), nb::arg("incomplete"),
        "Records of any program, those of a template adjacent, without flags of duplicates and without the tags that "
        "are dropped, two characters each: (records, or None where they are such already, uint64: hashes of the names "
        "of templates that lack a read, where incomplete ones are wanted). mate_tags: with MC, MQ and ms. added: tags "
        "that all records get, as BAM.");
    nb::class_<DuplicateFinder>(m, "DuplicateFinder", "Finds the duplicates of a run.")
        .def(nb::init<size_t, uint32_t, int, bool, bool>(), nb::arg("libraries"), nb::arg("optical_distance"),
            nb::arg("umi_distance"), nb::arg("far_errors"), nb::arg("sets"))
        .def("add", &add, nb::arg("batch"), nb::arg("by_record"), "Takes what duplicate_ends made of the next batch.")
        .def("finish", &finish, nb::arg("threads"),
            "uint8 for each template: 0: no duplicate, 1: a duplicate from the library's preparation, 2: an optical "
            "one.")
        .def(
            "sizes", [](DuplicateFinder& finder) { return to_numpy(std::move(finder.sizes())); },
            "uint32: of each template that is kept, the templates of its set, itself included; 0 of others.")
        .def(
            "molecules", [](DuplicateFinder& finder) { return to_numpy(finder.molecules()); },
            "uint32: the number of each template's molecule, in the order of their first templates; 2^32 - 1 of "
            "unmapped ones.")
        .def(
            "strands", [](DuplicateFinder& finder) { return to_numpy(finder.strands()); },
            "uint8: A or B for the strand of each template of a duplex, 0 if it is unknown.")
        .def("library_counts", &library_counts,
            "For each library: (unpaired reads, pairs, secondary or supplementary records, unmapped reads, duplicate "
            "unpaired reads, duplicate pairs, optical ones of these).")
        .def("without", &without,
            "Of the templates with a mapped read (those that have no barcode, or not all that were asked for; those of "
            "a duplex whose UMI does not have two parts).")
        .def("set_sizes", &DuplicateFinder::set_sizes,
            "Sets of equal pairs by size, three dicts: all, optical duplicates with the one copied, without optical "
            "duplicates.");
}

}  // namespace gpualign
