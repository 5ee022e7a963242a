// Binding of the mapper.
#include <nanobind/stl/optional.h>

#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "map/mapper.hpp"
#include "text/record_arrays.hpp"
#include "index/reference_arrays.hpp"

namespace gpualign {
namespace {

auto map_reads(const ReferenceArrays& reference, Input<uint32_t> offsets, Input<uint64_t> entries, int k, int w,
    int bucket_bits, Input<uint8_t> bases, Input<int64_t> read_offsets, Input<uint8_t> names,
    Input<int64_t> name_offsets, std::optional<Input<uint8_t>> qualities, std::optional<Input<uint8_t>> mates,
    std::optional<Input<uint8_t>> conversions, const nb::bytes& rules, const nb::bytes& long_reads,
    Input<int32_t> penalties, double error_rate, bool full) {
    const ReferenceView view = reference.view();
    const IndexView index{offsets.data(), entries.data(), {k, bucket_bits}};
    MapParams params;
    params.rules = struct_of<MapRules>(rules);
    params.rules.penalties = penalties.data();
    params.scores = params.rules.scores;
    params.local = params.rules.local;
    params.seeding = {k, w, params.rules.max_hits, params.rules.max_candidates, full};
    params.error_rate = error_rate;
    params.long_reads = struct_of<ChainRules>(long_reads);
    if (int64_t(penalties.size()) <= params.rules.pairs.max) throw nb::value_error("one penalty per insert size");
    const size_t reads = read_offsets.size() - 1;
    if (mates && mates->size() != reads) throw nb::value_error("one mate number per read");
    if (name_offsets.size() != reads + 1) throw nb::value_error("one name per read");
    if (qualities && qualities->size() != bases.size()) throw nb::value_error("one quality per base");
    if (conversions && conversions->size() != reads) throw nb::value_error("one conversion per read");
    const auto* conversion = conversions ? reinterpret_cast<const Conversion*>(conversions->data()) : nullptr;
    RecordsBuilder records;
    {
        nb::gil_scoped_release release;
        records.reserve(reads);
        Mapper mapper(index, view, params);
        mapper.map({bases.data(), read_offsets.data()}, qualities ? qualities->data() : nullptr,
            {names.data(), name_offsets.data()}, mates ? mates->data() : nullptr, conversion, reads, records);
        if (conversion) records.set_conversion_flags(conversion);
        if (mates) records.set_pair_flags(mates->data());
    }
    return records.arrays();
}

}  // namespace

void bind_map(nb::module_& m) {
    m.attr("LONGEST_CHAINED") = kLongestChained;
    m.def("map_reads", &map_reads, nb::arg("reference"), nb::arg("offsets"), nb::arg("entries"), nb::arg("k"),
        nb::arg("w"), nb::arg("bucket_bits"), nb::arg("bases"), nb::arg("read_offsets"), nb::arg("names"),
        nb::arg("name_offsets"), nb::kw_only(), nb::arg("qualities").none(), nb::arg("mates").none(),
        nb::arg("conversions").none() = nb::none(), nb::arg("rules"), nb::arg("long_reads"), nb::arg("penalties"),
        nb::arg("error_rate"), nb::arg("full"),
        "The records of each read: the fields of records.Alignments. `rules`: a MapRules; `long_reads`: a ChainRules.");
    m.attr("LONGEST_END_TO_END") = kLongestEndToEnd;
}

}  // namespace gpualign
