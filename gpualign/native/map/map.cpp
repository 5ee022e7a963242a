// Bindings of the mapper.
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "map/arguments.hpp"
#include "map/mapper.hpp"
#include "text/record_arrays.hpp"
#include "index/reference_arrays.hpp"

namespace gpualign {
namespace {

nb::tuple map_reads(const ReferenceArrays& reference, Input<uint32_t> offsets, Input<uint64_t> entries, int k, int w,
                    int bucket_bits, Input<uint8_t> bases, Input<int64_t> read_offsets, std::optional<Input<uint8_t>> mates,
                    const nb::dict& params, const nb::dict& chaining, const nb::dict& pairs) {
    const ReferenceView view = reference.view();
    const IndexView index{offsets.data(), entries.data(), {k, bucket_bits}};
    const MapParams map_params = map_params_of(k, w, view.bases, params, chaining, pairs);
    const size_t reads = read_offsets.size() - 1;
    if (mates && mates->size() != reads) throw nb::value_error("one mate number per read");
    RecordsBuilder records;
    {
        nb::gil_scoped_release release;
        records.reserve(reads);
        Mapper mapper(index, view, map_params);
        mapper.map(bases.data(), read_offsets.data(), mates ? mates->data() : nullptr, reads, records);
        if (mates) records.set_pair_flags(mates->data());
    }
    return records.arrays();
}

// Affine alignment of each pattern against the text of its diagonals; for the tests and for other front ends.
nb::tuple align_affine(const ReferenceArrays& reference, Input<uint8_t> bases, Input<int64_t> offsets, Input<int64_t> diagonal,
                       int band, nb::tuple scores) {
    const ReferenceView view = reference.view();
    const size_t n = offsets.size() - 1;
    if (diagonal.size() != n || band < 1) throw nb::value_error("one diagonal per pattern and a band of at least 1");
    std::vector<uint8_t> codes(bases.size());
    for (size_t i = 0; i < codes.size(); i++) codes[i] = base_code(bases.data()[i]);
    std::vector<AffineTask> tasks(n);
    for (size_t i = 0; i < n; i++)
        tasks[i] = {codes.data() + offsets.data()[i], int32_t(offsets.data()[i + 1] - offsets.data()[i]), band, diagonal.data()[i],
                    0, int64_t(view.bases)};
    std::vector<AffineResult> results;
    AffineBatch(view, scores_of(scores)).run(tasks, results);
    std::vector<int32_t> score;
    std::vector<int64_t> begin, cigar_offsets{0};
    std::vector<uint32_t> cigar;
    for (const AffineResult& r : results) {
        score.push_back(r.score);
        begin.push_back(r.begin);
        cigar.insert(cigar.end(), r.cigar.begin(), r.cigar.end());
        cigar_offsets.push_back(int64_t(cigar.size()));
    }
    return nb::make_tuple(to_numpy(std::move(score)), to_numpy(std::move(begin)), to_numpy(std::move(cigar)),
                          to_numpy(std::move(cigar_offsets)));
}

// CIGARs as Python strings, "*" where there is none.
nb::list cigar_texts(Input<uint32_t> operations, Input<int64_t> offsets) {
    nb::list texts;
    std::string text;
    for (size_t record = 0; record + 1 < offsets.size(); record++) {
        text.clear();
        for (int64_t o = offsets.data()[record]; o < offsets.data()[record + 1]; o++) {
            text += std::to_string(operations.data()[o] >> 4);
            text += "MIDNSHP=X"[operations.data()[o] & 15];
        }
        if (text.empty()) text = "*";
        texts.append(nb::str(text.data(), text.size()));
    }
    return texts;
}

}  // namespace

void bind_map(nb::module_& m) {
    m.def("map_reads", &map_reads, nb::arg("reference"), nb::arg("offsets"), nb::arg("entries"), nb::arg("k"), nb::arg("w"),
          nb::arg("bucket_bits"), nb::arg("bases"), nb::arg("read_offsets"), nb::kw_only(), nb::arg("mates").none(), nb::arg("params"),
          nb::arg("chaining"), nb::arg("pairs"), "The records of each read: the fields of records.Alignments.");
    m.def("cigar_texts", &cigar_texts, nb::arg("operations"), nb::arg("offsets"), "[str, ...]: a CIGAR a record.");
    m.attr("LONGEST_WHOLE") = kLongestWhole;
    m.def("align_affine", &align_affine, nb::arg("reference"), nb::arg("bases"), nb::arg("offsets"), nb::arg("diagonal"),
          nb::arg("band"), nb::arg("scores"), "(score, begin, cigar, cigar_offsets) of patterns against diagonals "
          "[diagonal, diagonal + band) of the reference taken as one contig; scores are (match, mismatch, open, extend, clip).");
}

}  // namespace gpualign
