// Binding of the mapper.
#include <nanobind/stl/optional.h>

#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "map/known_introns.hpp"
#include "map/mapper.hpp"
#include "text/read_arrays.hpp"
#include "text/record_arrays.hpp"
#include "seeds/index/reference_arrays.hpp"

namespace gpualign {
namespace {

auto map_reads(const ReferenceArrays& reference, Input<uint32_t> offsets, Input<uint64_t> entries, int k, int w,
    int bucket_bits, const Arrays& batch, bool paired, std::optional<Input<uint8_t>> conversions,
    const nb::bytes& rules, const nb::bytes& long_reads, const nb::bytes& introns, Input<int64_t> begins,
    Input<int64_t> ends, Input<int32_t> penalties, double error_rate, bool full) {
    const ReferenceView view = reference.view();
    const IndexView index{offsets.data(), entries.data(), {k, bucket_bits}};
    MapperParams params;
    params.rules = struct_of<MapRules>(rules);
    params.rules.penalties = penalties.data();
    params.seeding = {k, w, params.rules.max_hits, params.rules.max_candidates, full};
    params.error_rate = error_rate;
    params.long_reads = struct_of<ChainRules>(long_reads);
    params.introns = struct_of<IntronRules>(introns);
    params.known = known_introns(begins, ends);
    if (int64_t(penalties.size()) <= params.rules.pairs.max + 1) throw nb::value_error("one penalty per insert size");
    const ReadArrays arrays(batch);
    const ReadsView given = arrays.view();
    const size_t reads = arrays.reads();
    const uint8_t* mates = paired ? given.mates : nullptr;
    if (conversions && conversions->size() != reads) throw nb::value_error("one conversion per read");
    const auto* conversion = conversions ? reinterpret_cast<const Conversion*>(conversions->data()) : nullptr;
    RecordsBuilder records;
    {
        nb::gil_scoped_release release;
        records.reserve(reads);
        Mapper mapper(index, view, params);
        mapper.map({given.bases, given.base_offsets}, given.qualities, {given.names, given.name_offsets}, mates,
            conversion, reads, records);
        if (conversion) records.set_conversion_flags(conversion);
        if (mates) records.set_pair_flags(mates);
    }
    return records.arrays();
}

}  // namespace

void bind_map(nb::module_& m) {
    m.attr("LONGEST_CHAINED") = kLongestChained;
    m.def("map_reads", &map_reads, nb::arg("reference"), nb::arg("offsets"), nb::arg("entries"), nb::arg("k"),
        nb::arg("w"), nb::arg("bucket_bits"), nb::arg("batch"), nb::kw_only(), nb::arg("paired"),
        nb::arg("conversions").none(), nb::arg("rules"), nb::arg("long_reads"), nb::arg("introns"), nb::arg("begins"),
        nb::arg("ends"), nb::arg("penalties"), nb::arg("error_rate"), nb::arg("full"),
        "The records of each read: the fields of Alignments. `paired`: mates are mapped together; `rules`: a MapRules; "
        "`long_reads`: a ChainRules; `introns`: an IntronRules; `begins`, `ends`: KnownSite of the known introns, "
        "int64 "
        "(3 n,).");
    m.attr("LONGEST_END_TO_END") = kLongestEndToEnd;
}

}  // namespace gpualign
