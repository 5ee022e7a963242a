// Sorts BAM records: batches that are sorted in memory, and any range of their merge. Free of Python.
//
// A batch is sorted by the thread that makes its records. Ranges of the merge are independent, so that threads share
// them; concatenated, they are the sorted records, wherever batches and ranges are cut.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "common/digit_sorter.hpp"
#include "records/duplicate_marks.hpp"
#include "records/named_templates.hpp"
#include "records/record_order.hpp"
#include "text/text.hpp"

namespace gpualign {

// Sort key of a record, and where it lies in its batch.
struct SortKey {
    uint64_t high;      // coordinate, hash of the name, or the begin of what records are sorted by
    uint64_t low;       // its next part; in other orders the number in the input
    uint32_t offset;    // of the record; the next key's record follows it
    uint32_t template_number;
};
static_assert(sizeof(SortKey) == 24);

// A record with its key.
struct SortItem {
    Key128 key;
    const uint8_t* record;  // null in bounds: before all others of its key
    uint32_t size, template_number;

    bool before(const SortItem& other, RecordOrder order) const {
        if (!(key == other.key)) {
            // hashes of names: those of equal ones may differ in nothing but the number
            if (order == RecordOrder::kTemplate && key.high == other.key.high && record && other.record)
                if (const int names = order_of_equal_keys(order, BamRecord(record), BamRecord(other.record)))
                    return names < 0;
            return key < other.key;
        }
        if (!by_record(order)) return false;
        if (!record || !other.record) return !record && other.record;
        return order_of_equal_keys(order, BamRecord(record), BamRecord(other.record)) < 0;
    }
};

// Sorts items by radix on a prefix of the key, then ties by comparison.
class ItemSorter {
public:
    using Place = DigitSorter<uint32_t>::Place;

    const std::vector<Place>& operator()(const std::vector<SortItem>& items, RecordOrder order) {
        uint64_t least = ~uint64_t(0), largest = 0;
        for (const SortItem& item : items) {
            const uint64_t high = item.key.high;
            least = std::min(least, high);
            if (!is_last(high, order)) largest = std::max(largest, high);
        }
        if (largest < least) largest = least;
        // records without a position come right after the others, to save digits
        const uint64_t width = largest - least + (order == RecordOrder::kCoordinate ? 2 : 0);
        int shift = 0;
        while (width >> shift > UINT32_MAX) shift++;
        const auto narrow = [&](size_t i) {
            const uint64_t high = items[i].key.high;
            const uint64_t at = is_last(high, order) && high > largest ? largest + 1 + (high & 1) : high;
            return uint32_t((at - least) >> shift);
        };
        std::vector<Place>& places = sorter_(items.size(), uint32_t(width >> shift), narrow);
        const auto before = [&](const Place& a, const Place& b) {
            return items[a.index].before(items[b.index], order);
        };
        for (size_t begin = 0, end; begin < places.size(); begin = end) {
            bool in_order = true;
            for (end = begin + 1; end < places.size() && places[end].value == places[begin].value; end++)
                in_order = in_order && !before(places[end], places[end - 1]);
            if (!in_order) std::stable_sort(places.begin() + ptrdiff_t(begin), places.begin() + ptrdiff_t(end), before);
        }
        return places;
    }

private:
    static bool is_last(uint64_t high, RecordOrder order) {
        return order == RecordOrder::kCoordinate && high >> 1 == kNoContig >> 1;
    }

    DigitSorter<uint32_t> sorter_;
};

// The item at index i of a sorted order; prefetches the record of a later one.
inline const SortItem& item_ahead(
    const std::vector<SortItem>& items, const std::vector<ItemSorter::Place>& places, size_t i) {
    constexpr size_t kAhead = 8, kCacheLine = 64;
    if (i + kAhead < places.size()) {
        const SortItem& item = items[places[i + kAhead].index];
        for (uint32_t at = 0; at < item.size; at += kCacheLine) __builtin_prefetch(item.record + at);
    }
    return items[places[i].index];
}

// What tells templates apart, whose records are adjacent, or each record counts as one (as Python names it).
enum class TemplateNumbers { kNone, kByFlags, kByName, kByRecord };

// How a batch's records are numbered and sorted.
struct BatchOrder {
    RecordOrder order = RecordOrder::kInput;
    TemplateNumbers templates = TemplateNumbers::kNone;
    const uint64_t* numbers = nullptr;  // of the records in the input; null: their places in the batch
    size_t count = 0;                   // of these
    std::string_view prefix;            // see NameKeys and TemplateCoordinateKeys
};

// Makes items in the order of the batch. Returns the number of templates.
inline int64_t batch_items(const uint8_t* records, size_t size, const BatchOrder& given, std::vector<SortItem>& items) {
    const bool by_template_coordinate = given.order == RecordOrder::kTemplateCoordinate;
    const NameKeys name_keys(given.order, given.prefix);
    const TemplateCoordinateKeys template_keys(by_template_coordinate ? given.prefix : std::string_view());
    TemplateCounter by_flags;
    std::vector<uint32_t> numbers;
    const int64_t named = given.templates == TemplateNumbers::kByName ? template_numbers(records, size, numbers) : 0;
    for (BamRecords rest(records, size); rest.more();) {
        const BamRecord record = rest.next();
        if (given.numbers && items.size() >= given.count) throw std::invalid_argument("fewer numbers than records");
        const uint64_t number = given.numbers ? given.numbers[items.size()] : items.size();
        Key128 key{0, number};
        if (given.order == RecordOrder::kInput && given.numbers) key = {number, 0};
        if (given.order == RecordOrder::kCoordinate) key.high = coordinate_of(record);
        if (given.order == RecordOrder::kTemplate) key.high = hash_text(template_name(record));
        if (by_template_coordinate) {
            const auto [high, low] = template_keys(record);
            key = {high, low};
        } else if (by_record(given.order)) {
            key = name_keys(record.name());
        }
        int64_t of_template = 0;
        if (given.templates == TemplateNumbers::kByName) of_template = numbers[items.size()];
        if (given.templates == TemplateNumbers::kByRecord) of_template = int64_t(items.size());
        if (given.templates == TemplateNumbers::kByFlags) of_template = by_flags(record);
        items.push_back({key, record.begin(), uint32_t(record.size()), uint32_t(of_template)});
    }
    return given.templates == TemplateNumbers::kByRecord ? int64_t(items.size()) : named + by_flags.count();
}

// Calls visit(key, its record, bytes up to the next one) for keys about `apart` bytes of records apart, beginning with
// the first. `size`: of all records.
template <class Visit>
void sample_keys(const SortKey* keys, size_t count, const uint8_t* records, size_t size, uint64_t apart, Visit visit) {
    for (size_t from = 0, next; from < count; from = next) {
        const auto begin = keys[from].offset;
        next = from + 1;
        while (next < count && keys[next].offset - begin < apart) next++;
        visit(keys[from], records + begin, (next < count ? keys[next].offset : size) - begin);
    }
}

// A block of a run on disk: keys, then their records, padded to kAlignment.
struct RunBlock {
    Key128 first, last;
    uint64_t key_bytes, size;  // of the keys, and in total

    static constexpr size_t kAlignment = alignof(SortKey);
};

// Batches of sorted records, in the order of the input.
class SortedBatches {
public:
    explicit SortedBatches(RecordOrder order) : order_(order) {}

    RecordOrder order() const { return order_; }

    // Adds a batch, which follows the others in the input; the memory must outlive the merge. `first_number` and
    // `first_template` are added to those of the keys.
    void add(
        const uint8_t* records, const SortKey* keys, size_t count, uint64_t first_number, uint64_t first_template) {
        if (count) pieces_.push_back({records, keys, count, first_number, uint32_t(first_template), order_});
    }
    void add_all(const SortedBatches& other) {
        pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end());
    }

    struct Scratch {
        std::vector<SortItem> items;
        ItemSorter sorter;
    };

    // Appends the records from `low` to before `high` to `out`, in order, and their numbers to `numbers` where wanted.
    void merge(const SortItem& low, const SortItem& high, const DuplicateMarks& marks, Scratch& scratch, Text& out,
        std::vector<uint64_t>* numbers) const {
        const uint64_t bytes = gather(low, high, scratch);
        const auto& places = scratch.sorter(scratch.items, order_);
        out.reserve(Text::kSpare + bytes + marks.max_added_bytes() * places.size());
        for (size_t i = 0; i < places.size(); i++) {
            const SortItem& item = item_ahead(scratch.items, places, i);
            marks.copy(item.record, item.size, item.template_number, out);
            if (numbers) numbers->push_back(item.key.low);
        }
    }

    // Appends the records from `low` to before `high` as blocks of about `block_bytes`; calls begun(record) for the
    // first record of each.
    template <class Begun>
    void merge(const SortItem& low, const SortItem& high, size_t block_bytes, Scratch& scratch, Text& out,
        std::vector<RunBlock>& blocks, Begun begun) const {
        const uint64_t bytes = gather(low, high, scratch);
        const auto& places = scratch.sorter(scratch.items, order_);
        out.reserve(Text::kSpare + bytes + (sizeof(SortKey) + RunBlock::kAlignment) * places.size());
        for (size_t begin = 0, end = 0; begin < places.size(); begin = end) {
            const size_t at = out.size();
            uint64_t size = 0;
            for (; end < places.size() && size < block_bytes; end++) {
                const SortItem& item = scratch.items[places[end].index];
                out.reserve(sizeof(SortKey) + Text::kSpare);
                out.value(SortKey{item.key.high, item.key.low, uint32_t(size), item.template_number});
                size += item.size;
            }
            const size_t key_bytes = out.size() - at;
            for (size_t i = begin; i < end; i++) {
                const SortItem& item = item_ahead(scratch.items, places, i);
                out.put(reinterpret_cast<const char*>(item.record), item.size);
            }
            while (out.size() % RunBlock::kAlignment) out.put('\0');
            const SortItem &first = scratch.items[places[begin].index], &last = scratch.items[places[end - 1].index];
            blocks.push_back({first.key, last.key, key_bytes, out.size() - at});
            begun(first);
        }
    }

private:
    struct Piece {
        const uint8_t* records;
        const SortKey* keys;
        size_t count;
        uint64_t first_number;
        uint32_t first_template;
        RecordOrder order;

        SortItem item(const SortKey* key) const {
            const uint8_t* record = records + key->offset;
            const uint32_t size =
                key + 1 < keys + count ? key[1].offset - key->offset : uint32_t(BamRecord(record).size());
            return {{key->high, key->low + first_number}, record, size, key->template_number + first_template};
        }
        const SortKey* bound(const SortItem& at) const {
            size_t low = 0, high = count;
            while (low < high) {
                const size_t middle = (low + high) / 2;
                if (item(keys + middle).before(at, order)) low = middle + 1;
                else high = middle;
            }
            return keys + low;
        }
    };

    // Collects the items from `low` to before `high`; returns the bytes of their records.
    uint64_t gather(const SortItem& low, const SortItem& high, Scratch& scratch) const {
        scratch.items.clear();
        uint64_t bytes = 0;
        for (const Piece& piece : pieces_) {
            const SortKey *end = piece.bound(high), *key = piece.bound(low);
            for (; key < end; key++) {
                scratch.items.push_back(piece.item(key));
                bytes += scratch.items.back().size;
            }
        }
        return bytes;
    }

    RecordOrder order_;
    std::vector<Piece> pieces_;
};

}  // namespace gpualign
