// Statistics of a batch of records, for a run's summary and report.
#include <algorithm>

#include "algo/text/columns.hpp"
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

// (mapped, properly paired, secondary, supplementary, edits, edited bases, mapping qualities, distances, error rates):
// counts, then histograms over primary records; error rates in `rate_bins` bins from 0 to 1.
auto count_records(const Arrays& alignments, Input<int64_t> read_offsets, int64_t rate_bins) {
    const RecordArrays arrays(alignments);
    if (read_offsets.size() != arrays.reads() + 1) throw nb::value_error("the records are not those of the reads");
    const RecordsView records = arrays.view();
    int64_t mapped = 0, proper = 0, secondary = 0, supplementary = 0, edits = 0, edited_bases = 0;
    Histogram qualities{std::vector<int64_t>(61)}, distances, rates;
    {
        nb::gil_scoped_release release;
        for (size_t read = 0; read < arrays.reads(); read++) {
            const size_t primary = records.primary(read);
            const int64_t length = read_offsets.data()[read + 1] - read_offsets.data()[read],
                          distance = records.distance[primary];
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
    return tuple_of(mapped, proper, secondary, supplementary, edits, edited_bases, to_numpy(std::move(qualities.bins)),
        to_numpy(std::move(distances.bins)), to_numpy(std::move(rates.bins)));
}

// The first three as ORIENTATIONS of gpualign/map/pairs.py; no library has the other two.
enum PairOrientation : uint8_t { kFacing, kFacingAway, kOneStrand, kFirstAhead, kTwoContigs };

struct PairFacts {
    PairOrientation orientation;
    int64_t size;       // outer distance; 0 on two contigs
    bool read_through;  // a mate extends beyond the 5' end of the other
};

// Bases [begin, end) of the reference that the whole read would cover, clipped bases included.
struct ReadSpan {
    int64_t begin, end;
    bool reverse;

    ReadSpan(const RecordsView& records, uint64_t r) : reverse(records.reverse(r)) {
        const uint32_t *first = records.cigar_begin(r), *last = records.cigar_end(r);
        begin = records.position[r] - (first == last ? 0 : clipped_bases(*first));
        end = records.end(r) + (first == last ? 0 : clipped_bases(last[-1]));
    }
};

// Uses the 5' ends, which are the ends of the fragment if mates face each other, whatever is clipped.
PairFacts pair_facts(const ReadSpan& first, const ReadSpan& second) {
    if (first.reverse == second.reverse) {
        const bool first_ahead = first.reverse ? first.end <= second.end : first.begin > second.begin;
        const bool first_left = first_ahead == first.reverse;
        return {first_ahead ? kFirstAhead : kOneStrand,
            first_left ? second.end - first.begin : first.end - second.begin, false};
    }
    const ReadSpan &forward = first.reverse ? second : first, &reverse = first.reverse ? first : second;
    if (forward.begin >= reverse.end) return {kFacingAway, forward.end - reverse.begin, false};
    return {kFacing, reverse.end - forward.begin, forward.end > reverse.end || reverse.begin < forward.begin};
}

// Calls visit(facts), without the GIL, for each pair with both mates mapped with at least min_mapq.
template <class Visit>
void visit_pairs(const Input<uint8_t>& mates, const Arrays& alignments, int min_mapq, Visit&& visit) {
    const RecordArrays arrays(alignments);
    if (mates.size() != arrays.reads()) throw nb::value_error("one mate number per read");
    const RecordsView records = arrays.view();
    nb::gil_scoped_release release;
    for (size_t read = 0; read + 1 < mates.size(); read++) {
        const size_t i = records.primary(read), j = records.primary(read + 1);
        if (mates.data()[read] != kFirstMate || !records.mapped(i) || !records.mapped(j)) continue;
        if (records.mapq[i] < min_mapq || records.mapq[j] < min_mapq) continue;
        visit(records.contig[i] == records.contig[j] ? pair_facts(ReadSpan(records, i), ReadSpan(records, j))
                                                     : PairFacts{kTwoContigs, 0, false});
    }
}

auto insert_sizes(Input<uint8_t> mates, const Arrays& alignments, int min_mapq) {
    std::vector<uint8_t> orientations, read_through;
    std::vector<int64_t> sizes;
    visit_pairs(mates, alignments, min_mapq, [&](const PairFacts& pair) {
        orientations.push_back(pair.orientation);
        sizes.push_back(pair.size);
        read_through.push_back(pair.read_through);
    });
    return tuple_of(to_numpy(std::move(orientations)), to_numpy(std::move(sizes)), to_numpy(std::move(read_through)));
}

Output<int64_t> count_insert_sizes(
    Input<uint8_t> mates, const Arrays& alignments, int min_mapq, int orientation, int64_t longest, int64_t bin) {
    Histogram counts;
    visit_pairs(mates, alignments, min_mapq, [&](const PairFacts& pair) {
        if (pair.orientation == orientation && pair.size <= longest) counts.add(size_t(pair.size / bin));
    });
    return to_numpy(std::move(counts.bins));
}

// Counts names with characters that SAM does not allow.
int64_t count_invalid_names(Input<uint8_t> names, Input<int64_t> offsets) {
    int64_t count = 0;
    nb::gil_scoped_release release;
    for (size_t read = 0; read + 1 < offsets.size(); read++)
        count +=
            !std::all_of(names.data() + offsets.data()[read], names.data() + offsets.data()[read + 1], is_in_sam_names);
    return count;
}

}  // namespace

void bind_map_counts(nb::module_& m) {
    m.def("count_invalid_names", &count_invalid_names, nb::arg("names"), nb::arg("name_offsets"),
        "How many names have characters that SAM does not allow, which records have _ for.");
    m.def("insert_sizes", &insert_sizes, nb::arg("mates"), nb::arg("alignments"), nb::arg("min_mapq"),
        "Of the pairs whose mates are both mapped with at least that quality, (uint8: orientations by the 5' ends, 0 "
        "to 2 as ORIENTATIONS, 3 R1 ahead of R2 on one strand, 4 on two contigs; int64: insert sizes; uint8: a mate "
        "goes beyond the other's 5' end).");
    m.def("count_insert_sizes", &count_insert_sizes, nb::arg("mates"), nb::arg("alignments"), nb::arg("min_mapq"),
        nb::arg("orientation"), nb::arg("longest"), nb::arg("bin"),
        "int64: how many pairs of that orientation there are by insert size, in bins up to the longest.");
    m.def("count_records", &count_records, nb::arg("alignments"), nb::arg("read_offsets"), nb::arg("rate_bins"),
        "(mapped, properly paired, secondary, supplementary, edits, edited bases, mapping qualities, distances, error "
        "rates).");
}

}  // namespace gpualign
