// Bindings of mapping by chaining on a device: memory sizes, and conversion of its records.
#include <nanobind/stl/map.h>
#include <cstring>
#include <string>

#include "algo/map/chain/steps.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "text/record_arrays.hpp"

namespace gpualign {
namespace {

template <class Item> size_t item_bytes(Arena<Item> ChainBatch::*) { return sizeof(Item); }

// {arena of ChainBatch: bytes of an item}
std::map<std::string, size_t> chain_item_bytes() {
    using Batch = ChainBatch;
    return {{"hashes", item_bytes(&Batch::hashes)}, {"seeds", item_bytes(&Batch::seeds)},
        {"anchors", item_bytes(&Batch::anchors)}, {"candidates", item_bytes(&Batch::candidates)},
        {"chains", item_bytes(&Batch::chains)}, {"points", item_bytes(&Batch::points)}, {"tasks", sizeof(BandTask)},
        {"runs", item_bytes(&Batch::runs)}, {"cigars", item_bytes(&Batch::cigars)},
        {"alignments", item_bytes(&Batch::alignments)}, {"ranked", item_bytes(&Batch::ranked)},
        {"outputs", item_bytes(&Batch::outputs)}, {"output_cigars", item_bytes(&Batch::output_cigars)}};
}

// Converts the device's records into the fields of Alignments.
auto chain_alignments(Input<uint8_t> state, Input<uint8_t> outputs, Input<uint32_t> cigars) {
    const size_t reads = state.size() / sizeof(ChainRead), count = outputs.size() / sizeof(ChainOutput);
    const ChainRead* states = reinterpret_cast<const ChainRead*>(state.data());
    const ChainOutput* records = reinterpret_cast<const ChainOutput*>(outputs.data());
    for (size_t r = 0; r < reads; r++)
        if (states[r].outputs && uint64_t(states[r].first_output) + states[r].outputs > count)
            throw nb::value_error("a record is missing");
    for (size_t i = 0; i < count; i++)
        if (uint64_t(records[i].cigar) + records[i].operations > cigars.size())
            throw nb::value_error("a CIGAR is missing");
    RecordsBuilder builder;
    {
        nb::gil_scoped_release release;
        builder.reserve(reads);
        Cigar cigar;
        for (size_t r = 0; r < reads; r++) {
            if (!states[r].outputs) builder.add(Alignment(), {});
            for (uint32_t i = 0; i < states[r].outputs; i++) {
                const ChainOutput& record = records[states[r].first_output + i];
                cigar.assign(cigars.data() + record.cigar, cigars.data() + record.cigar + record.operations);
                builder.add(
                    {record.flag, record.mapq, int32_t(record.contig), int64_t(record.position), record.score, -1},
                    cigar);
            }
            builder.end_read();
        }
    }
    return builder.arrays();
}

}  // namespace

void bind_chain_device(nb::module_& m) {
    m.def("chain_item_bytes", &chain_item_bytes, "{arena of ChainBatch: bytes of an item}");
    m.def("chain_alignments", &chain_alignments, nb::arg("state"), nb::arg("outputs"), nb::arg("cigars"),
        "A device's records: the fields of Alignments.");
}

}  // namespace gpualign
