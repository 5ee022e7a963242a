// What a run's summary and report count of a batch of records.
#include "bindings.hpp"
#include "text/record_arrays.hpp"

namespace gpualign {
namespace {

struct Histogram {
    std::vector<int64_t> bins;

    void add(size_t bin) {
        if (bin >= bins.size()) bins.resize(bin + 1);
        bins[bin]++;
    }
};

// (mapped, properly paired, secondary, supplementary, edits, edited bases, mapping qualities, distances, error rates): counts,
// and histograms over the reads by their primary record; error rates in `rate_bins` bins to 1.
nb::tuple count_records(const nb::tuple& alignments, Input<int64_t> read_offsets, int64_t rate_bins) {
    const RecordArrays arrays(alignments);
    if (read_offsets.size() != arrays.reads() + 1) throw nb::value_error("the records are not those of the reads");
    const RecordsView records = arrays.view();
    int64_t mapped = 0, proper = 0, secondary = 0, supplementary = 0, edits = 0, edited_bases = 0;
    Histogram qualities{std::vector<int64_t>(61)}, distances, rates;
    {
        nb::gil_scoped_release release;
        for (size_t read = 0; read < arrays.reads(); read++) {
            const size_t primary = records.primary(read);
            const int64_t length = read_offsets.data()[read + 1] - read_offsets.data()[read], distance = records.distance[primary];
            proper += (records.flag[primary] & kFlagProper) != 0;
            if (records.mapped(primary)) {
                mapped++;
                qualities.add(records.mapq[primary]);
            }
            if (distance >= 0 && length > 0) {
                edits += distance;
                edited_bases += length;
                distances.add(size_t(distance));
                rates.add(size_t(distance * rate_bins / length));
            }
        }
        const int64_t all = records.record_offsets[arrays.reads()];
        for (int64_t record = 0; record < all; record++) {
            secondary += (records.flag[record] & kFlagSecondary) != 0;
            supplementary += (records.flag[record] & kFlagSupplementary) != 0;
        }
    }
    return nb::make_tuple(mapped, proper, secondary, supplementary, edits, edited_bases, to_numpy(std::move(qualities.bins)),
                          to_numpy(std::move(distances.bins)), to_numpy(std::move(rates.bins)));
}

// How mates lie: map/pairs.py, ORIENTATIONS.
enum Orientation : int { kFacing, kFacingAway, kOneStrand };

// visit(outer distance), without the interpreter's lock, for each pair of uniquely aligned mates on one contig that lie so.
template <class Visit>
void visit_insert_sizes(const Input<uint8_t>& mates, const nb::tuple& alignments, int min_mapq, int orientation, Visit&& visit) {
    const RecordArrays arrays(alignments);
    if (mates.size() != arrays.reads()) throw nb::value_error("one mate number per read");
    const RecordsView records = arrays.view();
    nb::gil_scoped_release release;
    for (size_t read = 0; read + 1 < mates.size(); read++) {
        const size_t i = records.primary(read), j = records.primary(read + 1);
        if (mates.data()[read] != kFirstMate || !records.mapped(i) || records.contig[i] != records.contig[j]) continue;
        if (records.mapq[i] < min_mapq || records.mapq[j] < min_mapq) continue;
        const bool i_left = records.position[i] <= records.position[j];
        const bool left_reverse = records.reverse(i_left ? i : j), right_reverse = records.reverse(i_left ? j : i);
        if (left_reverse == right_reverse && i_left == left_reverse) continue;  // R1 is ahead of R2, which no library is like
        if (orientation == (left_reverse == right_reverse ? kOneStrand : left_reverse ? kFacingAway : kFacing))
            visit(std::max(records.end(i), records.end(j)) - std::min(records.position[i], records.position[j]));
    }
}

Output<int64_t> insert_sizes(Input<uint8_t> mates, const nb::tuple& alignments, int min_mapq, int orientation) {
    std::vector<int64_t> sizes;
    visit_insert_sizes(mates, alignments, min_mapq, orientation, [&](int64_t size) { sizes.push_back(size); });
    return to_numpy(std::move(sizes));
}

Output<int64_t> count_insert_sizes(Input<uint8_t> mates, const nb::tuple& alignments, int min_mapq, int orientation, int64_t longest,
                                   int64_t bin) {
    Histogram counts;
    visit_insert_sizes(mates, alignments, min_mapq, orientation, [&](int64_t size) {
        if (size <= longest) counts.add(size_t(size / bin));
    });
    return to_numpy(std::move(counts.bins));
}

}  // namespace

void bind_map_counts(nb::module_& m) {
    m.def("insert_sizes", &insert_sizes, nb::arg("mates"), nb::arg("alignments"), nb::arg("min_mapq"), nb::arg("orientation"),
          "int64: outer distances of pairs that lie so, whose mates are both mapped with at least that quality on one contig.");
    m.def("count_insert_sizes", &count_insert_sizes, nb::arg("mates"), nb::arg("alignments"), nb::arg("min_mapq"),
          nb::arg("orientation"), nb::arg("longest"), nb::arg("bin"), "int64: how many of them there are in bins, up to the longest.");
    m.def("count_records", &count_records, nb::arg("alignments"), nb::arg("read_offsets"), nb::arg("rate_bins"),
          "(mapped, properly paired, secondary, supplementary, edits, edited bases, mapping qualities, distances, error rates).");
}

}  // namespace gpualign
