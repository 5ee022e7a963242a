// Bindings of the mapper.
#include "arrays.hpp"
#include "bindings.hpp"
#include "mapper.hpp"
#include "reference_arrays.hpp"

namespace gpualign {
namespace {

AffineScores scores_of(const nb::tuple& scores) {
    const auto at = [&](size_t i) { return nb::cast<int>(scores[i]); };
    return {at(0), at(1), at(2), at(3), at(4)};
}

nb::tuple map_reads(const ReferenceArrays& reference, Input<uint32_t> offsets, Input<uint64_t> entries, int k, int w,
                    int bucket_bits, Input<uint8_t> letters, Input<int64_t> read_offsets, double error_rate, int most_hits,
                    int most_candidates, nb::tuple scores) {
    const ReferenceView view = reference.view();
    const IndexView index{offsets.data(), entries.data(), {k, bucket_bits}};
    const MapParams params{{k, w, most_hits, most_candidates}, error_rate,
                           scores_of(scores)};
    const size_t reads = read_offsets.size() - 1;
    std::vector<uint16_t> flag(reads);
    std::vector<uint8_t> mapq(reads);
    std::vector<int32_t> contig(reads), score(reads), distance(reads), second(reads);
    std::vector<int64_t> position(reads), cigar_offsets{0};
    std::vector<uint32_t> cigars;
    {
        nb::gil_scoped_release release;
        cigar_offsets.reserve(reads + 1);
        Mapper mapper(index, view, params);
        size_t r = 0;
        mapper.map(letters.data(), read_offsets.data(), reads, [&](const Alignment& a, const std::vector<uint32_t>& cigar) {
            flag[r] = a.flag;
            mapq[r] = a.mapq;
            contig[r] = a.contig;
            position[r] = a.position;
            score[r] = a.score;
            distance[r] = a.distance;
            second[r] = a.second_distance;
            cigars.insert(cigars.end(), cigar.begin(), cigar.end());
            cigar_offsets.push_back(int64_t(cigars.size()));
            r++;
        });
    }
    return nb::make_tuple(to_numpy(std::move(flag)), to_numpy(std::move(contig)), to_numpy(std::move(position)),
                          to_numpy(std::move(mapq)), to_numpy(std::move(score)), to_numpy(std::move(distance)),
                          to_numpy(std::move(second)), to_numpy(std::move(cigars)), to_numpy(std::move(cigar_offsets)));
}

// Affine alignment of each pattern against the text of its diagonals; for the tests and for other front ends.
nb::tuple align_affine(const ReferenceArrays& reference, Input<uint8_t> letters, Input<int64_t> offsets, Input<int64_t> diagonal,
                       int band, nb::tuple scores) {
    const ReferenceView view = reference.view();
    const size_t n = offsets.size() - 1;
    if (diagonal.size() != n || band < 1) throw nb::value_error("one diagonal per pattern and a band of at least 1");
    std::vector<uint8_t> codes(letters.size());
    for (size_t i = 0; i < codes.size(); i++) codes[i] = base_code(letters.data()[i]);
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

}  // namespace

void bind_map(nb::module_& m) {
    m.def("map_reads", &map_reads, nb::arg("reference"), nb::arg("offsets"), nb::arg("entries"), nb::arg("k"), nb::arg("w"),
          nb::arg("bucket_bits"), nb::arg("letters"), nb::arg("read_offsets"), nb::arg("error_rate"), nb::arg("most_hits"),
          nb::arg("most_candidates"), nb::arg("scores"),
          "(flag, contig, position, mapq, score, distance, second_distance, cigar, cigar_offsets) of each read.");
    m.def("align_affine", &align_affine, nb::arg("reference"), nb::arg("letters"), nb::arg("offsets"), nb::arg("diagonal"),
          nb::arg("band"), nb::arg("scores"), "(score, begin, cigar, cigar_offsets) of patterns against diagonals "
          "[diagonal, diagonal + band) of the reference taken as one contig; scores are (match, mismatch, open, extend, clip).");
}

}  // namespace gpualign
