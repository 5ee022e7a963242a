// Bindings of sorting BAM records.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bam/pile.hpp"
#include "bindings.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

constexpr size_t kWords = sizeof(SortKey) / sizeof(uint64_t);  // words per key

using Place = std::pair<uint64_t, uint64_t>;                             // coordinate and template number
using Pieces = std::vector<std::pair<Input<uint8_t>, Input<uint64_t>>>;  // records and keys of each run

auto sort_bam_records(Input<uint8_t> records, bool by_coordinate) {
    std::vector<SortKey> keys;
    Text sorted;
    int64_t templates = 0;
    {
        nb::gil_scoped_release release;
        templates = make_sort_keys(records.data(), records.size(), by_coordinate, keys);
        sorted.reserve(records.size() + Text::kSpare);
        for (SortKey& key : keys) {
            const size_t offset = sorted.size();
            sorted.put(reinterpret_cast<const char*>(records.data()) + key.offset, key.size);
            key.offset = uint32_t(offset);
        }
        keys.shrink_to_fit();
    }
    return tuple_of(to_numpy(std::move(sorted)), to_numpy_words(std::move(keys)), templates);
}

void add_to(
    RecordPile& pile, const uint8_t* records, size_t size, const uint64_t* words, size_t count, uint64_t first) {
    const auto* keys = reinterpret_cast<const SortKey*>(words);
    if (count % kWords) throw nb::value_error("keys are cut short");
    count /= kWords;
    for (size_t i = 0; i < count; i++)
        if (keys[i].size < BamRecord::kFixedBytes || uint64_t(keys[i].offset) + keys[i].size > size)
            throw nb::value_error("a key's record is not there");
    pile.add(records, keys, count, first);
}

// Adds blocks of runs on disk; `sizes`: bytes of keys and total bytes of each.
void add_blocks(RecordPile& pile, const Input<uint8_t>& blocks, const Input<uint64_t>& sizes) {
    const uint8_t* at = blocks.data();
    for (size_t i = 0; i + 1 < sizes.size(); i += 2) {
        const uint64_t key_bytes = sizes.data()[i], size = sizes.data()[i + 1];
        if (key_bytes > size || size > size_t(blocks.data() + blocks.size() - at))
            throw nb::value_error("a block is cut short");
        add_to(pile, at + key_bytes, size - key_bytes, reinterpret_cast<const uint64_t*>(at),
            key_bytes / sizeof(uint64_t), 0);
        at += size;
    }
}

// Reusable output buffer of a range: allocating new memory costs more than the merge.
struct RangeBuffer {
    Text content;
    RecordPile::Scratch scratch;
};

// A RecordPile that keeps its arrays alive.
class Pile {
public:
    void add(Input<uint8_t> records, Input<uint64_t> keys, uint64_t first) {
        add_to(pile_, records.data(), records.size(), keys.data(), keys.size(), first);
        const auto* sorted = reinterpret_cast<const SortKey*>(keys.data());
        sample_keys(sorted, keys.size() / kWords, kApart, [&](const SortKey& key, uint64_t bytes) {
            samples_.insert(samples_.end(), {key.coordinate, key.number + first, bytes});
        });
        bytes_ += records.size() + 8 * keys.size();
        kept_.emplace_back(std::move(records), std::move(keys));
    }
    void add_all(const Pile& other) {
        pile_.add_all(other.pile_);
        samples_.insert(samples_.end(), other.samples_.begin(), other.samples_.end());
        bytes_ += other.bytes_;
        kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.end());
    }
    uint64_t bytes() const { return bytes_; }

    Output<uint64_t> samples() const { return to_numpy(std::vector<uint64_t>(samples_)); }

    Output<uint8_t> merge(RangeBuffer& buffer, const Place& low, const Place& high, const Input<uint8_t>& blocks,
        const Input<uint64_t>& sizes, const std::optional<Input<uint8_t>>& marks, bool remove) const {
        DuplicateMarks given;
        if (marks) given = {marks->data(), marks->size(), remove};
        {
            nb::gil_scoped_release release;
            RecordPile pile;
            add_blocks(pile, blocks, sizes);
            pile.add_all(pile_);
            pile.merge(bound(low), bound(high), given, buffer.scratch, emptied(buffer));
        }
        return content(buffer);
    }

    auto blocks(RangeBuffer& buffer, const Place& low, const Place& high, size_t block_bytes) const {
        std::vector<RunBlock> found;
        {
            nb::gil_scoped_release release;
            pile_.merge(bound(low), bound(high), block_bytes, buffer.scratch, emptied(buffer), found);
        }
        return tuple_of(content(buffer), to_numpy_words(std::move(found)));
    }

private:
    static constexpr uint64_t kApart = 1 << 16;  // bytes of records between samples

    static Bound bound(const Place& place) { return {place.first, place.second}; }
    static Text& emptied(RangeBuffer& buffer) {
        buffer.content.clear();
        buffer.content.reserve(Text::kSpare);
        return buffer.content;
    }
    static Output<uint8_t> content(RangeBuffer& buffer) {
        return Output<uint8_t>(
            reinterpret_cast<uint8_t*>(buffer.content.at(0)), {buffer.content.size()}, nb::find(buffer));
    }

    RecordPile pile_;
    Pieces kept_;
    std::vector<uint64_t> samples_;
    uint64_t bytes_ = 0;
};

}  // namespace

void bind_bam_sort(nb::module_& m) {
    m.def("sort_bam_records", &sort_bam_records, nb::arg("records"), nb::arg("by_coordinate"),
        "Records of a batch by coordinate, or as they are: (records, keys as uint64 (3 n,), number of templates).");
    nb::class_<RangeBuffer>(m, "RangeBuffer", "Memory for one range of records after the other.").def(nb::init<>());
    nb::class_<Pile>(m, "RecordPile", "Sorted pieces of records, any range of whose merge can be had, from any thread.")
        .def(nb::init<>())
        .def_prop_ro("nbytes", &Pile::bytes)
        .def("add", &Pile::add, nb::arg("records"), nb::arg("keys"), nb::arg("first_template"),
            "A piece, whose templates are numbered from first_template on. Not while another thread merges.")
        .def("add_all", &Pile::add_all, nb::arg("other"), "The pieces of another pile, which keeps them, too.")
        .def("samples", &Pile::samples,
            "uint64 (3 n,): coordinate and template of some records, and the bytes up to the next one.")
        .def("merge", &Pile::merge, nb::arg("buffer"), nb::arg("low"), nb::arg("high"), nb::arg("blocks"),
            nb::arg("sizes"), nb::arg("marks").none(), nb::arg("remove"),
            "Records from low to before high (coordinate, template), of these pieces and of blocks of runs, in order. "
            "sizes: uint64 (2 n,), "
            "bytes of keys and of all of each block. marks: uint8 for each template, 1 and 2 for duplicates, which are "
            "flagged and tagged "
            "or, if so wished, left out. The records are in the buffer's memory, until it is used again.")
        .def("blocks", &Pile::blocks, nb::arg("buffer"), nb::arg("low"), nb::arg("high"), nb::arg("block_bytes"),
            "Records from low to before high in blocks of a run, of about so many bytes: (their content in the "
            "buffer's memory, "
            "uint64 (6 n,): coordinate and template of the first and of the last record, bytes of keys and of all of "
            "each).");
}

}  // namespace gpualign
