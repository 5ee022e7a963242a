// Binding of the mapper of long reads.
#include "arrays.hpp"
#include "bindings.hpp"
#include "map/chain_mapper.hpp"
#include "map/known_introns.hpp"
#include "map/read_tie_break.hpp"
#include "text/read_arrays.hpp"
#include "text/record_arrays.hpp"
#include "seeds/index/reference_arrays.hpp"
#include "align/edit/myers_profiles.hpp"

namespace gpualign {
namespace {

void add_read(const std::vector<ChainRecord>& found, int max_secondary, RecordsBuilder& records) {
    if (found.empty()) records.add(Alignment(), {});
    for (const ChainRecord& r : found) {
        if (r.kind == ChainKind::secondary && max_secondary-- <= 0) break;
        const int kind = r.kind == ChainKind::secondary       ? kFlagSecondary
                         : r.kind == ChainKind::supplementary ? kFlagSupplementary
                                                              : 0;
        const uint16_t flag = uint16_t(kind | (r.reverse ? kFlagReverse : 0) | r.transcript);
        records.add({flag, r.mapq, int32_t(r.contig), r.position, r.score, -1}, r.cigar);
    }
    records.end_read();
}

// Bases per block of reads: enough to fill vectors, few enough to bound memory.
constexpr int64_t kBlockBases = 1 << 19;

auto map_long_reads(const ReferenceArrays& reference, Input<uint32_t> offsets, Input<uint64_t> entries, int k, int,
    int bucket_bits, const Arrays& batch, const nb::bytes& rules, Input<int64_t> begins, Input<int64_t> ends,
    int max_secondary) {
    const ReferenceView view = reference.view();
    const IndexView index{offsets.data(), entries.data(), {k, bucket_bits}};
    const ChainRules params = struct_of<ChainRules>(rules);
    const KnownIntrons known = known_introns(begins, ends);
    const ReadArrays arrays(batch);
    const ReadsView given = arrays.view();
    const size_t reads = arrays.reads();
    const int64_t* at = given.base_offsets;
    const ReadTexts of_names{given.names, given.name_offsets}, of_bases{given.bases, at};
    RecordsBuilder records;
    {
        nb::gil_scoped_release release;
        ChainMapper mapper(index, view, params, known);
        std::vector<uint8_t> codes;
        std::vector<ChainRequest> queries;
        std::vector<std::vector<ChainRecord>> found;
        for (size_t from = 0, to; from < reads; from = to) {
            to = from + 1;
            while (to < reads && at[to + 1] - at[from] <= kBlockBases) to++;
            codes.resize(2 * size_t(at[to] - at[from]));
            queries.clear();
            for (size_t r = from; r < to; r++) {
                const size_t length = size_t(at[r + 1] - at[r]);
                uint8_t* forward = codes.data() + 2 * (at[r] - at[from]);
                encode_both_strands(of_bases.begin(r), length, forward);
                queries.push_back({forward, forward + length, int32_t(length), params.max_hits, params.max_suboptimal,
                    read_tie_break(of_names, of_bases, r)});
            }
            mapper.map(queries.data(), queries.size(), found);
            for (const auto& of_read : found) add_read(of_read, max_secondary, records);
        }
    }
    return records.arrays();
}

}  // namespace

void bind_long_reads(nb::module_& m) {
    m.def("map_long_reads", &map_long_reads, nb::arg("reference"), nb::arg("offsets"), nb::arg("entries"), nb::arg("k"),
        nb::arg("w"), nb::arg("bucket_bits"), nb::arg("batch"), nb::kw_only(), nb::arg("rules"), nb::arg("begins"),
        nb::arg("ends"), nb::arg("max_secondary"),
        "The fields of Alignments of reads mapped by chaining. `rules`: a ChainRules; `begins`, `ends`: KnownSite of "
        "the "
        "known introns, int64 (3 n,).");
}

}  // namespace gpualign
