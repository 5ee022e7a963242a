// Bindings around the device's mapper (cuda/algo/map/template.hpp): its arguments, its records made whole, and, for the tests, the
// same algorithm on one lane.
#include <nanobind/stl/optional.h>

#include <optional>

#include "algo/map/template.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "map/arguments.hpp"
#include "text/record_arrays.hpp"

namespace gpualign {
namespace {

// Calls visit with the number of words of the longest read as a constant.
template <class Visit>
void with_words(int words, Visit&& visit) {
    switch (words) {
        case 5: return visit(std::integral_constant<int, 5>());
        case 8: return visit(std::integral_constant<int, 8>());
        case 12: return visit(std::integral_constant<int, 12>());
        case 16: return visit(std::integral_constant<int, 16>());
        default: throw nb::value_error("words must be 5, 8, 12 or 16");
    }
}

size_t map_shared_bytes(int words) {
    size_t bytes = 0;
    with_words(words, [&](auto w) { bytes = sizeof(MapShared<decltype(w)::value>); });
    return bytes;
}

size_t map_workspace_bytes(uint32_t hits, uint32_t loci, uint32_t trace) { return MapWorkspace::bytes(hits, loci, trace); }

// A batch whose addresses are the host's.
void map_on_one_lane(const nb::bytes& bytes, int words) {
    MapBatch batch;
    if (bytes.size() != sizeof batch) throw nb::value_error("not a batch");
    std::memcpy(&batch, bytes.c_str(), sizeof batch);
    nb::gil_scoped_release release;
    with_words(words, [&](auto w) {
        constexpr int kWords = decltype(w)::value;
        const OneLane group;
        MapShared<kWords> shared;
        const MapWorkspace workspace =
            MapWorkspace::at(batch.workspace, batch.workspace_hits, batch.workspace_loci, batch.workspace_trace);
        MapTemplate<kWords, OneLane> mapper(group, batch, workspace, shared);
        for (uint32_t t = 0; t < batch.template_count; t++) mapper.map(t);
    });
}

// Score units that each insert size up to the longest costs.
Output<int32_t> pair_penalties(double mean, double sd, int64_t longest) {
    const auto fixed = [](double bases) { return std::max(int64_t(1), int64_t(std::min(bases, 1e9) * 65536 + 0.5)); };
    std::vector<int32_t> penalties(size_t(longest) + 1);
    for (int64_t insert = 0; insert <= longest; insert++) penalties[size_t(insert)] = insert_penalty(insert, fixed(mean), fixed(sd));
    return to_numpy(std::move(penalties));
}

class DeviceRecords {
public:
    explicit DeviceRecords(RecordsBuilder& out) : out_(out) {}

    void add(const MapRecord& record) {
        Alignment a;
        cigar_.clear();
        a.flag = record.flag;
        if (!(record.flag & kFlagUnmapped)) {
            a.mapq = record.mapq;
            a.contig = int32_t(record.contig);
            a.position = record.position;
            a.score = record.score;
            a.distance = record.distance;
            cigar_.assign(record.cigar, record.cigar + record.operations);
        }
        out_.add(a, cigar_);
    }

    // The records of a read that another mapper found.
    void copy(const RecordsView& found, size_t read) {
        for (int64_t r = found.record_offsets[read]; r < found.record_offsets[read + 1]; r++) {
            cigar_.assign(found.cigar_begin(size_t(r)), found.cigar_end(size_t(r)));
            out_.add({found.flag[r], found.mapq[r], found.contig[r], found.position[r], found.score[r], found.distance[r]}, cigar_);
        }
    }

private:
    RecordsBuilder& out_;
    Cigar cigar_;
};

// Whether the host maps each read.
Output<uint8_t> reads_on_host(Input<uint8_t> bytes, size_t per_read) {
    const MapRecord* records = reinterpret_cast<const MapRecord*>(bytes.data());
    std::vector<uint8_t> on_host(bytes.size() / (sizeof(MapRecord) * per_read));
    {
        nb::gil_scoped_release release;
        for (size_t read = 0; read < on_host.size(); read++)
            on_host[read] = (records[read * per_read].flag & MapRecord::kOnHost) != 0;
    }
    return to_numpy(std::move(on_host));
}

// Copies what the device wants of a batch to where that is staged: bases, offsets, and the first read of each template, a read by
// itself or a pair, and one past the last. Returns (templates, bases of the longest read that has at most `most`, or 1).
nb::tuple stage_reads(Input<uint8_t> bases, Input<int64_t> offsets, const std::optional<Input<uint8_t>>& mates, int64_t most,
                      Mutable<uint8_t> to_bases, Mutable<int64_t> to_offsets, Mutable<uint32_t> to_templates) {
    const size_t reads = offsets.size() - 1;
    if (mates && mates->size() != reads) throw nb::value_error("one mate number per read");
    if (to_bases.size() != bases.size() || to_offsets.size() != reads + 1 || to_templates.size() != reads + 1)
        throw nb::value_error("the batch does not fit where it is to be staged");
    size_t templates = 0;
    int64_t longest = 1;
    {
        nb::gil_scoped_release release;
        std::copy_n(bases.data(), bases.size(), to_bases.data());
        std::copy_n(offsets.data(), reads + 1, to_offsets.data());
        for (size_t read = 0; read < reads; read++) {
            if (!mates || mates->data()[read] != kSecondMate) to_templates.data()[templates++] = uint32_t(read);
            const int64_t length = offsets.data()[read + 1] - offsets.data()[read];
            if (length <= most) longest = std::max(longest, length);
        }
        to_templates.data()[templates] = uint32_t(reads);
    }
    return nb::make_tuple(templates, longest);
}

// The bases of the chosen reads, and which mates they are.
nb::tuple take_reads(Input<uint8_t> bases, Input<int64_t> offsets, const std::optional<Input<uint8_t>>& mates, Input<uint8_t> chosen) {
    if (chosen.size() + 1 != offsets.size() || (mates && mates->size() != chosen.size())) throw nb::value_error("one choice per read");
    std::vector<uint8_t> taken, taken_mates;
    std::vector<int64_t> ends{0};
    {
        nb::gil_scoped_release release;
        for (size_t read = 0; read < chosen.size(); read++) {
            if (!chosen.data()[read]) continue;
            taken.insert(taken.end(), bases.data() + offsets.data()[read], bases.data() + offsets.data()[read + 1]);
            ends.push_back(int64_t(taken.size()));
            if (mates) taken_mates.push_back(mates->data()[read]);
        }
    }
    const nb::object of_mates = mates ? nb::cast(to_numpy(std::move(taken_mates))) : nb::none();
    return nb::make_tuple(to_numpy(std::move(taken)), to_numpy(std::move(ends)), of_mates);
}

// What map_reads returns, out of the device's records and those of the reads that it left to the host.
nb::tuple finish_records(Input<uint8_t> bytes, size_t per_read, std::optional<Input<uint8_t>> mates, const nb::tuple& of_host) {
    const size_t reads = bytes.size() / (per_read * sizeof(MapRecord));
    if (mates && mates->size() != reads) throw nb::value_error("one mate number per read");
    const RecordArrays host(of_host);
    const RecordsView found = host.view();
    const MapRecord* records = reinterpret_cast<const MapRecord*>(bytes.data());
    RecordsBuilder builder;
    {
        nb::gil_scoped_release release;
        builder.reserve(reads);
        DeviceRecords out(builder);
        size_t next = 0;  // of the host's reads
        for (size_t read = 0; read < reads; read++) {
            const MapRecord* mine = records + read * per_read;
            if (mine->flag & MapRecord::kOnHost) {
                if (next == host.reads()) throw nb::value_error("the device left more reads to the host than it mapped");
                out.copy(found, next++);
            } else {
                for (size_t i = 0; i < per_read && !(mine[i].flag & MapRecord::kUnused); i++) out.add(mine[i]);
            }
            builder.end_read();
        }
        if (next != host.reads()) throw nb::value_error("the host mapped reads that were not left to it");
        if (mates) builder.set_pair_flags(mates->data());
    }
    return builder.arrays();
}

}  // namespace

void bind_map_device(nb::module_& m) {
    m.attr("MAP_RECORD_BYTES") = sizeof(MapRecord);
    m.attr("MAP_DEPTH") = kDepth;
    m.def("map_shared_bytes", &map_shared_bytes, nb::arg("words"), "Shared memory of one warp.");
    m.def("map_workspace_bytes", &map_workspace_bytes, nb::arg("hits"), nb::arg("loci"), nb::arg("trace"), "Memory of one warp.");
    m.def("map_on_one_lane", &map_on_one_lane, nb::arg("batch"), nb::arg("words"),
          "What the kernel does, on this thread and in this process's memory; for tests.");
    m.def("bits_of_locus", &bits_of_locus, nb::arg("bases"), "That name a position of a reference, 16 bits after the point.");
    m.def("pair_penalties", &pair_penalties, nb::arg("mean"), nb::arg("sd"), nb::arg("longest"),
          "int32 (longest + 1,): score units that each insert size costs.");
    m.def("reads_on_host", &reads_on_host, nb::arg("records"), nb::arg("per_read"), "uint8 (n,): 1 for reads that the device left.");
    m.def("stage_reads", &stage_reads, nb::arg("bases"), nb::arg("offsets"), nb::arg("mates").none(), nb::arg("most"),
          nb::arg("to_bases"), nb::arg("to_offsets"), nb::arg("to_templates"),
          "Copies a batch's bases and offsets (n + 1), and the first read of each template, pairs being one, and their end (room for "
          "n + 1): (templates, bases of the longest read of at most so many).");
    m.def("take_reads", &take_reads, nb::arg("bases"), nb::arg("offsets"), nb::arg("mates").none(), nb::arg("chosen"),
          "(bases, offsets, mates) of the reads whose choice is not 0.");
    m.def("finish_records", &finish_records, nb::kw_only(), nb::arg("records"), nb::arg("per_read"),
          nb::arg("mates").none(), nb::arg("of_host"), "The fields of results.Alignments.");
}

}  // namespace gpualign
