// What a run's summary and report count of a batch of records.
#include "bindings.hpp"
#include "record_arrays.hpp"

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

}  // namespace

void bind_map_counts(nb::module_& m) {
    m.def("count_records", &count_records, nb::arg("alignments"), nb::arg("read_offsets"), nb::arg("rate_bins"),
          "(mapped, properly paired, secondary, supplementary, edits, edited bases, mapping qualities, distances, error rates).");
}

}  // namespace gpualign
