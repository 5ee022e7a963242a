// Bindings of the device's mapper (cuda/map.cu): sizes, parameters, and conversion of its records.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "algo/map/choose_step.hpp"
#include "algo/map/find_step.hpp"
#include "algo/map/report_step.hpp"
#include "algo/map/slow_path/mapper.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "map/read_tie_break.hpp"
#include "map/words.hpp"
#include "text/read_arrays.hpp"
#include "text/record_arrays.hpp"

namespace gpualign {
namespace {

size_t map_shared_bytes(int words) {
    size_t bytes = 0;
    with_words(words, [&](auto w) { bytes = sizeof(MapShared<decltype(w)::value>); });
    return bytes;
}

size_t map_state_bytes(int words, uint32_t reads) {
    uint8_t* end = nullptr;
    with_words(words, [&](auto w) { ReadStates<decltype(w)::value>::at(nullptr, reads, end); });
    return size_t(reinterpret_cast<uintptr_t>(end));
}

uint64_t max_variant_seeds(int32_t longest, int32_t k, int32_t w, bool converted) {
    return std::max(uint64_t(longest), max_variants(longest, k, w, converted));
}

// Memory of the slow path for reads of up to `longest` bases, `max_seeds` seeds and `limit` edits: (bytes per
// template, per group of lanes, of these for one banded DP matrix, and the maximum for a DP matrix of a chain).
// `maximum`: limit on the third.
auto slow_path_bytes(uint32_t mates, uint32_t longest, uint32_t max_seeds, int32_t limit, uint32_t max_hits,
    uint32_t max_loci, uint32_t lanes, uint64_t maximum) {
    const int32_t length = int32_t(longest), margin = band_margin(length),
                  apart = short_read_chaining(1, 1, {}).max_difference;
    const auto needed = [&](int32_t band) {
        return lanes == 1 ? BandLayout<1, false>::all_bytes(length, band)
                          : BandLayout<32, false>::all_bytes(length, band);
    };
    const uint64_t of_chain = needed(apart + 2 * margin + 16);
    const uint64_t of_read = needed(std::max(window_band(kWidestWindow, length), 4 * limit + 1));
    const uint64_t band_bytes = std::min(maximum, (of_read + 63) / 64 * 64);
    uint8_t *state_end = nullptr, *end = nullptr;
    template_state(nullptr, mates, max_loci, state_end);
    slow_path_memory(nullptr, longest, max_seeds, max_hits, max_loci, band_bytes, lanes, end);
    return tuple_of(reinterpret_cast<uint64_t>(state_end), reinterpret_cast<uint64_t>(end), band_bytes, of_chain);
}

// Returns a ChainRules.
nb::bytes chaining_of(int32_t k, int32_t w, const nb::bytes& scores, const nb::bytes& introns) {
    const ChainRules rules =
        short_read_chaining(k, w, struct_of<AffineScores>(scores), struct_of<IntronRules>(introns));
    return nb::bytes(reinterpret_cast<const char*>(&rules), sizeof rules);
}

// Penalty of each insert size up to `longest`, in score units.
Output<int32_t> pair_penalties(double mean, double sd, int64_t longest) {
    const auto fixed = [](double bases) { return std::max(int64_t(1), int64_t(std::min(bases, 1e9) * 65536 + 0.5)); };
    std::vector<int32_t> penalties(size_t(longest) + 1);
    for (int64_t insert = 0; insert <= longest; insert++)
        penalties[size_t(insert)] = insert_penalty(insert, fixed(mean), fixed(sd));
    return to_numpy(std::move(penalties));
}

// Records that the device wrote in one batch: one per read, then overflow records.
class DeviceRecords {
public:
    DeviceRecords(const Input<uint8_t>& bytes, size_t reads)
        : records_(reinterpret_cast<const MapRecord*>(bytes.data())), reads_(reads),
          all_(bytes.size() / sizeof(MapRecord)) {
        if (all_ < reads) throw nb::value_error("the records are not those of the reads");
    }

    size_t reads() const { return reads_; }
    bool flagged(size_t read, uint16_t flag) const { return records_[read].flag & flag; }

    // Copies the records of a read.
    void copy(size_t read, RecordsBuilder& out) {
        const MapRecord& primary = records_[read];
        add(primary, out);
        check(primary.first_secondary, primary.secondary);
        for (uint32_t i = 0; i < primary.secondary; i++) add(further(primary.first_secondary + i), out);
    }

private:
    const MapRecord& further(size_t i) const { return records_[reads_ + i]; }
    void check(uint64_t first, uint64_t count) const {
        if (count && reads_ + first + count > all_) throw nb::value_error("a record lies beyond the last one");
    }

    void add(const MapRecord& record, RecordsBuilder& out) {
        Alignment a;
        cigar_.clear();
        a.flag = record.flag & uint16_t(~MapRecord::kWideCigar);
        if (!(record.flag & kFlagUnmapped)) {
            a.mapq = uint8_t(record.mapq);
            a.flag = uint16_t(a.flag | transcript_of_mapq(record.mapq));
            a.contig = int32_t(record.contig);
            a.position = record.position;
            a.score = record.score;
            const bool wide = record.flag & MapRecord::kWideCigar;
            a.distance = wide ? int32_t(uint32_t(record.operations) << 16 | record.distance)
                         : record.distance == MapRecord::kNoDistance ? -1
                                                                     : int32_t(record.distance);
            take_cigar(record);
        }
        out.add(a, cigar_);
    }

    void take_cigar(const MapRecord& record) {
        if (record.flag & MapRecord::kWideCigar) {
            check(record.long_cigar, 1);
            const uint32_t* operations = reinterpret_cast<const uint32_t*>(&further(record.long_cigar));
            check(record.long_cigar,
                ((*operations + uint64_t(1)) * sizeof(uint32_t) + sizeof(MapRecord) - 1) / sizeof(MapRecord));
            cigar_.assign(operations + 1, operations + 1 + *operations);
        } else {
            cigar_.assign(
                record.cigar, record.cigar + std::min(uint32_t(record.operations), MapRecord::kMaxOperations));
        }
    }

    const MapRecord* records_;
    size_t reads_, all_;
    Cigar cigar_;
};

// 1 for each read that the host maps.
Output<uint8_t> reads_on_host(Input<uint8_t> bytes, size_t reads) {
    const DeviceRecords records(bytes, reads);
    std::vector<uint8_t> on_host(reads);
    {
        nb::gil_scoped_release release;
        for (size_t read = 0; read < reads; read++) on_host[read] = records.flagged(read, MapRecord::kOnHost);
    }
    return to_numpy(std::move(on_host));
}

// Copies a batch to the staging buffers of a device: bases, qualities, offsets, tie-break hashes, and the first read
// of each template, then the number of reads. Returns the number of templates and, for each of `maximum`, the bases of
// the longest read of at most so many, or 1.
auto stage_reads(const Arrays& batch, bool paired, const std::vector<int64_t>& maximum, Mutable<uint8_t> to_bases,
    const std::optional<Mutable<uint8_t>>& to_qualities, Mutable<int64_t> to_offsets, Mutable<uint32_t> to_tie_breaks,
    Mutable<uint32_t> to_templates) {
    const ReadArrays arrays(batch);
    const ReadsView from = arrays.view();
    const size_t reads = arrays.reads(), bases = size_t(from.base_offsets[reads]);
    if (to_bases.size() != bases || to_offsets.size() != reads + 1 || to_tie_breaks.size() != reads ||
        to_templates.size() != reads + 1 || bool(from.qualities) != bool(to_qualities) ||
        (to_qualities && to_qualities->size() != bases))
        throw nb::value_error("the batch does not fit where it is to be staged");
    size_t templates = 0;
    std::vector<int64_t> longest(maximum.size(), 1);
    {
        nb::gil_scoped_release release;
        std::copy_n(from.bases, bases, to_bases.data());
        if (to_qualities) std::copy_n(from.qualities, bases, to_qualities->data());
        std::copy_n(from.base_offsets, reads + 1, to_offsets.data());
        const ReadTexts of_names{from.names, from.name_offsets}, of_bases{from.bases, from.base_offsets};
        for (size_t read = 0; read < reads; read++) {
            to_tie_breaks.data()[read] = read_tie_break(of_names, of_bases, read);
            if (!paired || !from.mates || from.mates[read] != kSecondMate)
                to_templates.data()[templates++] = uint32_t(read);
            for (size_t i = 0; i < maximum.size(); i++)
                if (from.length(read) <= maximum[i]) longest[i] = std::max(longest[i], from.length(read));
        }
        to_templates.data()[templates] = uint32_t(reads);
    }
    return tuple_of(templates, longest);
}

// Joins the device's records with those of the reads that the host mapped; without host records the device's cover all
// reads.
auto finish_records(const std::vector<std::tuple<Input<uint8_t>, size_t>>& outputs, std::optional<Input<uint8_t>> mates,
    std::optional<Input<uint8_t>> conversions, const std::optional<Arrays>& of_host) {
    std::vector<DeviceRecords> device;
    size_t reads = 0;
    for (const auto& [records, count] : outputs) {
        device.emplace_back(records, count);
        reads += device.back().reads();
    }
    if (mates && mates->size() != reads) throw nb::value_error("one mate number per read");
    if (conversions && conversions->size() != reads) throw nb::value_error("one conversion per read");
    std::optional<RecordArrays> host;
    if (of_host) host.emplace(*of_host);
    RecordsBuilder builder;
    {
        nb::gil_scoped_release release;
        builder.reserve(reads);
        size_t next = 0;  // of the host's reads
        for (DeviceRecords& records : device)
            for (size_t read = 0; read < records.reads(); read++) {
                if (!host || !records.flagged(read, MapRecord::kOnHost)) {
                    records.copy(read, builder);
                    builder.end_read();
                } else {
                    if (next == host->reads())
                        throw nb::value_error("the device left more reads to the host than it mapped");
                    builder.add_read(host->view(), next++);
                }
            }
        if (host && next != host->reads()) throw nb::value_error("the host mapped reads that were not left to it");
        if (conversions) builder.set_conversion_flags(reinterpret_cast<const Conversion*>(conversions->data()));
        if (mates) builder.set_pair_flags(mates->data());
    }
    return builder.arrays();
}

}  // namespace

void bind_map_device(nb::module_& m) {
    m.attr("MAP_RECORD_BYTES") = sizeof(MapRecord);
    m.attr("MAP_COUNTERS") = sizeof(MapCounters) / sizeof(uint32_t);
    m.attr("MAP_DEPTH") = kDepth;
    m.attr("WANTED_BAND_BYTES") = 1 << kWantedBandBits;
    m.def("map_shared_bytes", &map_shared_bytes, nb::arg("words"), "Shared memory of one warp.");
    m.def("map_workspace_bytes", &MapWorkspace::bytes, nb::arg("hits"), nb::arg("loci"), nb::arg("band"),
        "Memory of one warp.");
    m.def("band_bytes", &BandLayout<32, false>::all_bytes, nb::arg("rows"), nb::arg("band"),
        "Memory of a banded DP matrix on one warp.");
    m.def(
        "map_state_bytes", &map_state_bytes, nb::arg("words"), nb::arg("reads"), "State of the reads between kernels.");
    m.def("slow_path_bytes", &slow_path_bytes, nb::arg("mates"), nb::arg("longest"), nb::arg("max_seeds"),
        nb::arg("limit"), nb::arg("max_hits"), nb::arg("max_loci"), nb::arg("lanes"), nb::arg("maximum"),
        "(bytes per template, per group of lanes, of these for one banded DP matrix, at most for one of a chain).");
    m.def("max_variant_seeds", &max_variant_seeds, nb::arg("longest"), nb::arg("k"), nb::arg("w"), nb::arg("converted"),
        "Maximum number of seeds of a read and its one-substitution variants.");
    m.def("short_read_chaining", &chaining_of, nb::arg("k"), nb::arg("w"), nb::arg("scores"), nb::arg("introns"),
        "How short reads are chained: a ChainRules of cuda/abi/chains.hpp, given an AffineScores and an IntronRules.");
    m.def("bits_of_locus", &bits_of_locus, nb::arg("bases"),
        "Bits that name a position of a reference, 16 of them fractional.");
    m.def("pair_penalties", &pair_penalties, nb::arg("mean"), nb::arg("sd"), nb::arg("longest"),
        "int32 (longest + 1,): score units that each insert size costs.");
    m.def("reads_on_host", &reads_on_host, nb::arg("records"), nb::arg("reads"),
        "uint8 (n,): 1 for reads that the host maps.");
    m.def("stage_reads", &stage_reads, nb::arg("batch"), nb::arg("paired"), nb::arg("maximum"), nb::arg("to_bases"),
        nb::arg("to_qualities").none(), nb::arg("to_offsets"), nb::arg("to_tie_breaks"), nb::arg("to_templates"),
        "Copies a batch's bases, qualities and offsets (n + 1), tie-break hashes (n), and the first read of each "
        "template, pairs being one if `paired`, and their end (space for n + 1): (templates, bases of the longest read "
        "of at most each of so many).");
    m.def("finish_records", &finish_records, nb::kw_only(), nb::arg("outputs"), nb::arg("mates").none(),
        nb::arg("conversions").none(), nb::arg("of_host").none(), "The fields of Alignments.");
}

}  // namespace gpualign
