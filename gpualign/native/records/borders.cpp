// Bindings of what is to be known of records before they are taken apart.
#include "records/borders.hpp"

#include <unordered_map>

#include "arrays.hpp"
#include "records/named_templates.hpp"
#include "bindings.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

// (mates that are neighbours, pairs whose mates are not). Pairs with one mate in the batch do not count.
auto adjacent_mates(Input<uint8_t> records) {
    int64_t adjacent = 0, apart = 0, number = -1;
    std::unordered_map<uint64_t, int64_t> first;  // the template's run of records
    {
        nb::gil_scoped_release release;
        std::string_view last;
        for (BamRecords rest(records.data(), records.size()); rest.more();) {
            const BamRecord record = rest.next();
            const std::string_view name = template_name(record);
            if (number < 0 || name != last) number++, last = name;
            if (!record.is(kFlagPaired) || !record.primary()) continue;
            const auto [found, added] = first.emplace(hash_text(name, read_group_hash(record)), number);
            if (!added) (found->second == number ? adjacent : apart)++;
        }
    }
    return tuple_of(adjacent, apart);
}

}  // namespace

void bind_bam_borders(nb::module_& m) {
    nb::class_<RecordBorders>(m, "RecordBorders", "Where a stream of BAM records that comes in pieces may be cut.")
        .def(nb::init<bool, uint32_t>(), nb::arg("templates"), nb::arg("contigs"))
        .def(
            "feed",
            [](RecordBorders& borders, Input<uint8_t> piece) {
                nb::gil_scoped_release release;
                borders.feed(piece.data(), piece.size());
            },
            nb::arg("piece"),
            "Looks at the next piece. Raises ValueError where a record's size is impossible, or its contig unknown.")
        .def_prop_ro("border", &RecordBorders::border, "Offset in the stream of the last border that is known.")
        .def_prop_ro("inside", &RecordBorders::inside, "Whether a record is not over yet.")
        .def_prop_ro("records", &RecordBorders::records, "Records begun.");
    m.def(
        "sam_border",
        [](TextInput text, bool from_line, bool templates) {
            nb::gil_scoped_release release;
            return sam_border({begin_of(text), text.size()}, from_line, templates);
        },
        nb::arg("text"), nb::arg("from_line"), nb::arg("templates"),
        "Bytes of whole lines at the beginning, or up to the last change of names; 0 where there is none. from_line: "
        "the text begins with a line.");
    m.def("adjacent_mates", &adjacent_mates, nb::arg("records"),
        "(pairs whose mates are neighbours, pairs whose mates are not) in a batch.");
}

}  // namespace gpualign
