// Bindings of BAM indexes.
#include "records/index.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "bindings.hpp"

namespace gpualign {
namespace {

constexpr size_t kWords = sizeof(BamIndexBuilder::Span) / sizeof(uint64_t);

}  // namespace

void bind_bam_index(nb::module_& m) {
    nb::class_<BamIndexBuilder>(m, "BamIndexBuilder", "The .bai or .csi of records that are added in order.")
        .def(
            "__init__",
            [](BamIndexBuilder* self, Input<int64_t> lengths, bool csi, uint64_t start) {
                new (self) BamIndexBuilder({lengths.data(), lengths.data() + lengths.size()}, csi, start);
            },
            nb::arg("contig_lengths"), nb::arg("csi"), nb::arg("start"),
            "start: uncompressed bytes before the first record.")
        .def(
            "spans",
            [](const BamIndexBuilder& self, Input<uint8_t> records) {
                std::vector<BamIndexBuilder::Span> spans;
                {
                    nb::gil_scoped_release release;
                    spans = self.spans(records.data(), records.size());
                }
                return to_numpy_words(std::move(spans));
            },
            nb::arg("records"),
            "What `add` takes of BAM records, from any thread. Raises ValueError where they are not sorted.")
        .def(
            "add",
            [](BamIndexBuilder& self, Input<uint64_t> spans) {
                if (spans.size() % kWords) throw nb::value_error("spans are cut short");
                self.add(reinterpret_cast<const BamIndexBuilder::Span*>(spans.data()), spans.size() / kWords);
            },
            nb::arg("spans"), "Those of the next records. Raises ValueError where they are not sorted.")
        .def(
            "finish",
            [](BamIndexBuilder& self, Input<uint64_t> places, uint64_t step) {
                const std::string index = self.finish(places.data(), places.size(), step);
                return nb::bytes(index.data(), index.size());
            },
            nb::arg("places"), nb::arg("step"),
            "The index; .csi is still to be compressed. places: uint64, virtual offsets of every `step` bytes of the "
            "content, and where the last block with content ends.");
}

}  // namespace gpualign
