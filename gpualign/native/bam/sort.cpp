// BAM records out of order into order, piece by piece.
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

constexpr size_t kWords = sizeof(SortKey) / sizeof(uint64_t);  // of a key in an array

using Bound = std::pair<uint64_t, uint64_t>;                             // coordinate and number
using Pieces = std::vector<std::pair<Input<uint8_t>, Input<uint64_t>>>;  // records and keys

Output<uint64_t> to_numpy_words(std::vector<SortKey>&& keys) {
    auto* owned = new std::vector<SortKey>(std::move(keys));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<SortKey>*>(p); });
    return Output<uint64_t>(reinterpret_cast<uint64_t*>(owned->data()), {kWords * owned->size()}, owner);
}

nb::tuple sort_bam_records(Input<uint8_t> records, bool by_coordinate) {
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
    return nb::make_tuple(to_numpy(std::move(sorted)), to_numpy_words(std::move(keys)), templates);
}

void add_to(RecordPile& pile, const Input<uint8_t>& records, const Input<uint64_t>& words, uint64_t first) {
    const auto* keys = reinterpret_cast<const SortKey*>(words.data());
    const size_t count = words.size() / kWords;
    if (words.size() % kWords) throw nb::value_error("keys are cut short");
    for (size_t i = 0; i < count; i++)
        if (keys[i].size < BamRecord::kFixedBytes || uint64_t(keys[i].offset) + keys[i].size > records.size())
            throw nb::value_error("a key's record is not there");
    pile.add(records.data(), keys, count, first);
}

// Memory for a range of records, which the next range takes again: new memory costs more than what is done in it.
struct RangeBuffer {
    Text records;
    RecordPile::Scratch scratch;
};

// Pieces as arrays, which it keeps.
class Pile {
public:
    void add(Input<uint8_t> records, Input<uint64_t> keys, uint64_t first) {
        add_to(pile_, records, keys, first);
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

    nb::tuple merge(RangeBuffer& buffer, const Bound& low, const Bound& high, const Pieces& others,
                    const std::optional<Input<uint8_t>>& marks, bool remove, bool with_keys) const {
        Text& out = buffer.records;
        std::vector<SortKey> keys;
        DuplicateMarks given;
        if (marks) given = {marks->data(), marks->size(), remove};
        {
            nb::gil_scoped_release release;
            RecordPile pile;
            for (const auto& [records, words] : others) add_to(pile, records, words, 0);
            pile.add_all(pile_);
            out.clear();
            out.reserve(Text::kSpare);
            pile.merge({low.first, low.second}, {high.first, high.second}, given, buffer.scratch, out, with_keys ? &keys : nullptr);
        }
        const Output<uint8_t> records(reinterpret_cast<uint8_t*>(out.at(0)), {out.size()}, nb::find(buffer));
        return nb::make_tuple(records, to_numpy_words(std::move(keys)));
    }

private:
    static constexpr uint64_t kApart = 1 << 16;  // bytes of records between samples

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
        .def_prop_ro("bytes", &Pile::bytes)
        .def("add", &Pile::add, nb::arg("records"), nb::arg("keys"), nb::arg("first_template"),
             "A piece, whose templates are numbered from first_template on. Not while another thread merges.")
        .def("add_all", &Pile::add_all, nb::arg("other"), "The pieces of another pile, which keeps them, too.")
        .def("samples", &Pile::samples, "uint64 (3 n,): coordinate and template of some records, and the bytes up to the next one.")
        .def("merge", &Pile::merge, nb::arg("buffer"), nb::arg("low"), nb::arg("high"), nb::arg("others"), nb::arg("marks").none(), nb::arg("remove"),
             nb::arg("with_keys"),
             "Records from low to before high (coordinate, template), of these pieces and others, in order: (records, keys). marks: "
             "uint8 for each template, 1 and 2 for duplicates, which are flagged and tagged or, if so wished, left out. The records are "
             "in the buffer's memory, until it is used again.");
}

}  // namespace gpualign
