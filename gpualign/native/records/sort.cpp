// Bindings of sorting BAM records.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "records/sorted_batches.hpp"
#include "bindings.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

constexpr size_t kWords = sizeof(SortKey) / sizeof(uint64_t);  // words per key

using Place = std::tuple<uint64_t, uint64_t, nb::bytes>;  // a key and, in orders by name, a record's begin
// Status of templates, whether duplicates are left out, or tagged; counts, molecules and strands.
using Marks = std::tuple<Input<uint8_t>, bool, bool, std::optional<Input<uint32_t>>, std::optional<Input<uint32_t>>,
    std::optional<Input<uint8_t>>>;
using Pieces = std::vector<std::pair<Input<uint8_t>, Input<uint64_t>>>;  // records and keys of each run

auto sort_bam_records(Input<uint8_t> records, int order, int templates, const std::optional<Input<uint64_t>>& numbers,
    const nb::bytes& prefix, bool keep) {
    std::vector<SortItem> items;
    std::vector<SortKey> keys;
    Text sorted;
    int64_t count = 0;
    const std::string_view shared(prefix.c_str(), prefix.size());
    {
        nb::gil_scoped_release release;
        if (records.size() > UINT32_MAX) throw std::invalid_argument("a batch of more than 4 GiB of records");
        const BatchOrder given{RecordOrder(order), TemplateNumbers(templates), numbers ? numbers->data() : nullptr,
            numbers ? numbers->size() : 0, shared};
        count = batch_items(records.data(), records.size(), given, items);
        ItemSorter sorter;
        const auto& places = sorter(items, given.order);
        keys.reserve(items.size());
        for (size_t i = 0; keep && i < places.size(); i++) keep = places[i].index == i;
        if (!keep) sorted.reserve(records.size() + Text::kSpare);
        uint32_t offset = 0;
        for (size_t i = 0; i < places.size(); i++) {
            const SortItem& item = item_ahead(items, places, i);
            keys.push_back({item.key.high, item.key.low, offset, item.template_number});
            if (!keep) sorted.put(reinterpret_cast<const char*>(item.record), item.size);
            offset += item.size;
        }
    }
    auto records_in_order = keep ? std::nullopt : std::optional(to_numpy(std::move(sorted)));
    return tuple_of(records_in_order, to_numpy_words(std::move(keys)), count);
}

nb::bytes shared_name_prefix(Input<uint8_t> records) {
    const std::string prefix = NameKeys::shared_prefix(records.data(), records.size());
    return nb::bytes(prefix.data(), prefix.size());
}

void add_to(SortedBatches& batches, const uint8_t* records, size_t size, const uint64_t* words, size_t count,
    uint64_t first_number, uint64_t first_template) {
    const auto* keys = reinterpret_cast<const SortKey*>(words);
    if (count % kWords) throw nb::value_error("keys are cut short");
    count /= kWords;
    for (size_t i = 0; i < count; i++) {
        const uint64_t begin = keys[i].offset, end = i + 1 < count ? keys[i + 1].offset : size;
        if (end > size || begin + BamRecord::kFixedBytes > end ||
            (i + 1 == count && BamRecord(records + begin).size() > end - begin))
            throw nb::value_error("a key's record is not there");
    }
    batches.add(records, keys, count, first_number, first_template);
}

// Adds blocks of runs on disk; `sizes`: bytes of keys and total bytes of each.
void add_blocks(SortedBatches& batches, const Input<uint8_t>& blocks, const Input<uint64_t>& sizes) {
    const uint8_t* at = blocks.data();
    for (size_t i = 0; i + 1 < sizes.size(); i += 2) {
        const uint64_t key_bytes = sizes.data()[i], size = sizes.data()[i + 1];
        if (key_bytes > size || size > size_t(blocks.data() + blocks.size() - at))
            throw nb::value_error("a block is cut short");
        add_to(batches, at + key_bytes, size - key_bytes, reinterpret_cast<const uint64_t*>(at),
            key_bytes / sizeof(uint64_t), 0, 0);
        at += size;
    }
}

// Keys with the bytes up to the next one, and in orders by record the begins of their records, to cut a merge by.
class Samples {
public:
    explicit Samples(int order) : order_(RecordOrder(order)) {}

    void add(Key128 key, const uint8_t* record, uint64_t bytes) {
        std::string head;
        const BamRecord whole(record);
        const uint8_t* end = by_tags(order_) ? whole.end() : whole.bases();
        if (by_record(order_)) head.assign(reinterpret_cast<const char*>(record), size_t(end - record));
        samples_.push_back({key, bytes, std::move(head)});
    }
    void add_all(const Samples& other) {
        samples_.insert(samples_.end(), other.samples_.begin(), other.samples_.end());
    }

    // Places between which there are about `size` bytes, in order; no records of a template are on both sides of one.
    std::vector<Place> cuts(uint64_t size) const {
        std::vector<const Sample*> sorted;
        for (const Sample& sample : samples_) sorted.push_back(&sample);
        std::stable_sort(sorted.begin(), sorted.end(),
            [&](const Sample* a, const Sample* b) { return a->item().before(b->item(), order_); });
        std::vector<Place> cuts;
        uint64_t bytes = 0;
        const Sample* last = nullptr;
        for (const Sample* sample : sorted) {
            if (bytes >= size) {
                if (!last || last->item().before(sample->item(), order_)) cuts.push_back(sample->place(order_));
                last = sample, bytes = 0;
            }
            bytes += sample->bytes;
        }
        return cuts;
    }

private:
    struct Sample {
        Key128 key;
        uint64_t bytes;
        std::string head;

        SortItem item() const {
            return {key, head.empty() ? nullptr : reinterpret_cast<const uint8_t*>(head.data()), 0, 0};
        }
        Place place(RecordOrder order) const {
            return {key.high, order == RecordOrder::kTemplate ? 0 : key.low, nb::bytes(head.data(), head.size())};
        }
    };

    RecordOrder order_;
    std::vector<Sample> samples_;
};

// Reusable output buffer of a range: allocating new memory costs more than the merge.
struct RangeBuffer {
    Text content;
    std::vector<uint64_t> numbers;
    SortedBatches::Scratch scratch;
};

// A SortedBatches that keeps its arrays alive.
class KeptBatches {
public:
    explicit KeptBatches(int order) : batches_(RecordOrder(order)), samples_(order) {}

    void add(Input<uint8_t> records, Input<uint64_t> keys, uint64_t first_number, uint64_t first_template) {
        {
            nb::gil_scoped_release release;
            if (by_record(batches_.order())) first_number = 0;
            add_to(batches_, records.data(), records.size(), keys.data(), keys.size(), first_number, first_template);
            const auto* sorted = reinterpret_cast<const SortKey*>(keys.data());
            sample_keys(sorted, keys.size() / kWords, records.data(), records.size(), kApart,
                [&](const SortKey& key, const uint8_t* record, uint64_t bytes) {
                    samples_.add({key.high, key.low + first_number}, record, bytes);
                });
            bytes_ += records.size() + 8 * keys.size();
        }
        kept_.emplace_back(std::move(records), std::move(keys));
    }
    void add_all(const KeptBatches& other) {
        batches_.add_all(other.batches_);
        samples_.add_all(other.samples_);
        bytes_ += other.bytes_;
        kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.end());
    }
    uint64_t bytes() const { return bytes_; }
    const Samples& samples() const { return samples_; }

    Output<uint8_t> merge(RangeBuffer& buffer, const Place& low, const Place& high, const Input<uint8_t>& blocks,
        const Input<uint64_t>& sizes, const std::optional<Marks>& marks, bool with_numbers) const {
        const DuplicateMarks given = marks ? of_templates(*marks) : DuplicateMarks();
        const SortItem from = bound(low), to = bound(high);
        {
            nb::gil_scoped_release release;
            const SortedBatches batches = with_blocks(blocks, sizes);
            batches.merge(from, to, given, buffer.scratch, emptied(buffer), with_numbers ? &buffer.numbers : nullptr);
        }
        return content(buffer);
    }

    auto blocks(RangeBuffer& buffer, const Place& low, const Place& high, const Input<uint8_t>& stored,
        const Input<uint64_t>& sizes, size_t block_bytes, Samples& samples) const {
        std::vector<RunBlock> found;
        const SortItem from = bound(low), to = bound(high);
        {
            nb::gil_scoped_release release;
            const SortedBatches batches = with_blocks(stored, sizes);
            std::vector<SortItem> begun;
            batches.merge(from, to, block_bytes, buffer.scratch, emptied(buffer), found,
                [&](const SortItem& first) { begun.push_back(first); });
            for (size_t i = 0; i < begun.size(); i++) samples.add(begun[i].key, begun[i].record, found[i].size);
        }
        return tuple_of(content(buffer), to_numpy_words(std::move(found)));
    }

private:
    static constexpr uint64_t kApart = 1 << 16;  // bytes of records between samples

    static DuplicateMarks of_templates(const Marks& marks) {
        const auto& [status, remove, tag, counts, molecules, strands] = marks;
        DuplicateMarks given;
        given.templates = status.size(), given.of_template = status.data(), given.remove = remove, given.tag = tag;
        const auto of = [&](const auto& values) {
            if (values && values->size() != status.size()) throw nb::value_error("a value for each template");
            return values ? values->data() : nullptr;
        };
        given.counts = of(counts), given.molecules = of(molecules), given.strands = of(strands);
        return given;
    }

    // These batches after blocks of runs on disk, whose records came before.
    SortedBatches with_blocks(const Input<uint8_t>& blocks, const Input<uint64_t>& sizes) const {
        SortedBatches batches(batches_.order());
        add_blocks(batches, blocks, sizes);
        batches.add_all(batches_);
        return batches;
    }
    static SortItem bound(const Place& place) {
        const auto& [key, low, head] = place;
        return {{key, low}, head.size() ? reinterpret_cast<const uint8_t*>(head.c_str()) : nullptr, 0, 0};
    }
    static Text& emptied(RangeBuffer& buffer) {
        buffer.content.clear();
        buffer.numbers.clear();
        buffer.content.reserve(Text::kSpare);
        return buffer.content;
    }
    static Output<uint8_t> content(RangeBuffer& buffer) {
        return Output<uint8_t>(
            reinterpret_cast<uint8_t*>(buffer.content.at(0)), {buffer.content.size()}, nb::find(buffer));
    }

    SortedBatches batches_;
    Pieces kept_;
    Samples samples_;
    uint64_t bytes_ = 0;
};

}  // namespace

void bind_bam_sort(nb::module_& m) {
    m.def("sort_bam_records", &sort_bam_records, nb::arg("records"), nb::arg("order"), nb::arg("templates"),
        nb::arg("numbers").none(), nb::arg("prefix"), nb::arg("keep"),
        "Records of a batch in an order: (records, or None where they are kept as they are in order already, keys as "
        "uint64 (3 n,), number of templates). numbers: uint64, of the records in the input; None: their places in the "
        "batch. prefix: what most names begin with (shared_name_prefix).");
    m.def("shared_name_prefix", &shared_name_prefix, nb::arg("records"),
        "What all names of a batch begin with, but for digits at its end.");
    nb::class_<Samples>(m, "SortSamples", "Keys of some records, by which a merge is cut into ranges.")
        .def(nb::init<int>(), nb::arg("order"))
        .def("add_all", &Samples::add_all, nb::arg("other"), "Those of another one, too.")
        .def("cuts", &Samples::cuts, nb::arg("size"), "Places between which there are about so many bytes of records.");
    nb::class_<RangeBuffer>(m, "RangeBuffer", "Memory for one range of records after the other.")
        .def(nb::init<>())
        .def_prop_ro(
            "numbers",
            [](RangeBuffer& buffer) {
                return Output<uint64_t>(buffer.numbers.data(), {buffer.numbers.size()}, nb::find(buffer));
            },
            "uint64: of the records of the last range, where they were wanted.");
    nb::class_<KeptBatches>(
        m, "SortedBatches", "Batches of sorted records, any range of whose merge can be had, from any thread.")
        .def(nb::init<int>(), nb::arg("order"))
        .def_prop_ro("nbytes", &KeptBatches::bytes)
        .def_prop_ro("samples", &KeptBatches::samples, nb::rv_policy::reference_internal, "Keys of all batches.")
        .def("add", &KeptBatches::add, nb::arg("records"), nb::arg("keys"), nb::arg("first_number"),
            nb::arg("first_template"),
            "Adds a batch, whose records and templates are numbered from these on. Not while another thread merges.")
        .def("add_all", &KeptBatches::add_all, nb::arg("other"), "Adds those of another one, which keeps them.")
        .def("merge", &KeptBatches::merge, nb::arg("buffer"), nb::arg("low"), nb::arg("high"), nb::arg("blocks"),
            nb::arg("sizes"), nb::arg("marks").none(), nb::arg("numbers"),
            "Records from low to before high (see SortSamples), of these batches and of blocks of runs, in order. "
            "sizes: uint64 (2 n,), bytes of keys and of all of each block. marks: uint8 for each template, 1 and 2 for "
            "duplicates, which are flagged; whether they are left out, and whether they are tagged with DT; for the "
            "tags dc and MI uint32 for each template, and A or B for its strand, or None. numbers: keep those of the "
            "records. All is in the buffer's memory, until it is used again.")
        .def("blocks", &KeptBatches::blocks, nb::arg("buffer"), nb::arg("low"), nb::arg("high"), nb::arg("blocks"),
            nb::arg("sizes"), nb::arg("block_bytes"), nb::arg("samples"),
            "Records from low to before high, as for merge, in blocks of a run, of about so many bytes: (their content "
            "in the "
            "buffer's memory, uint64 (6 n,): keys of the first and of the last record, bytes of keys and of all of "
            "each). samples: gets their first keys.");
}

}  // namespace gpualign
