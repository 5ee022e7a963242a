// Sorts BAM records: runs that are sorted in memory, and any range of their merge. Free of Python.
//
// A run is sorted by the thread that makes its records. Ranges of the merge are independent, so that threads share
// them; concatenated, they are the sorted records, wherever runs and ranges are cut.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "bam/record.hpp"
#include "text/text.hpp"

namespace gpualign {

// Sort key of a record, and where it lies in its run.
struct SortKey {
    uint64_t coordinate;  // contig, position and strand; constant if the input order is kept
    uint64_t number;      // of the template, in input order
    uint32_t offset, size;
};
static_assert(sizeof(SortKey) == 24);

constexpr uint64_t kNoContig = uint64_t(0x7fffffff) << 33;  // coordinate of records without contig and position

// The order of samtools sort: contig, position, strand; records without a contig last.
inline uint64_t coordinate_of(const BamRecord& record) {
    const uint64_t contig = uint64_t(uint32_t(record.contig()) & 0x7fffffff),
                   position = uint64_t(int64_t(record.position()) + 1);
    return contig << 33 | position << 1 | uint64_t(record.is(kFlagReverse));
}

// Stable radix sort by digits of 11 bits.
template <class Coordinate> class DigitSorter {
public:
    struct Place {
        Coordinate coordinate;
        uint32_t index;
    };

    // Returns indices of the `count` items in order of coordinate(item), which is at most `maximum`.
    template <class CoordinateOf>
    const std::vector<Place>& operator()(size_t count, Coordinate maximum, CoordinateOf coordinate) {
        places_.resize(count);
        other_.resize(count);
        for (size_t i = 0; i < count; i++) places_[i] = {coordinate(i), uint32_t(i)};
        for (int shift = 0; shift < int(8 * sizeof(Coordinate)) && maximum >> shift; shift += kBits)
            sort_by_digit(shift);
        return places_;
    }

private:
    static constexpr int kBits = 11;

    void sort_by_digit(int shift) {
        constexpr uint32_t kDigits = 1 << kBits;
        const auto digit = [&](const Place& place) { return uint32_t(place.coordinate >> shift) & (kDigits - 1); };
        uint32_t begins[kDigits] = {}, sum = 0;
        for (const Place& place : places_) begins[digit(place)]++;
        for (uint32_t& begin : begins) sum += std::exchange(begin, sum);
        for (const Place& place : places_) other_[begins[digit(place)]++] = place;
        places_.swap(other_);
    }

    std::vector<Place> places_, other_;
};

// Makes sort keys in input order, or sorted if `by_coordinate`. Returns the number of templates.
inline int64_t make_sort_keys(const uint8_t* records, size_t size, bool by_coordinate, std::vector<SortKey>& keys) {
    TemplateCounter number;
    std::vector<SortKey> given;
    uint64_t last = 0;  // largest coordinate of a record with a position
    for (BamRecords rest(records, size); rest.more();) {
        const BamRecord record = rest.next();
        const auto offset = size_t(record.begin() - records);
        if (offset + record.size() > UINT32_MAX) throw std::invalid_argument("a batch of more than 4 GiB of records");
        const uint64_t coordinate = by_coordinate ? coordinate_of(record) : 0;
        if (coordinate >> 1 != kNoContig >> 1) last = std::max(last, coordinate);
        given.push_back({coordinate, uint64_t(number(record)), uint32_t(offset), uint32_t(record.size())});
    }
    if (!by_coordinate) {
        keys = std::move(given);
        return number.count();
    }
    DigitSorter<uint64_t> sorter;
    // records without a position come right after the others, to save digits
    const auto near = [&](size_t i) { return std::min(given[i].coordinate, last + 1 + (given[i].coordinate & 1)); };
    keys.reserve(given.size());
    for (const auto& place : sorter(given.size(), last + 2, near)) keys.push_back(given[place.index]);
    return number.count();
}

// Duplicate status of templates.
struct DuplicateMarks {
    enum Mark : uint8_t { kNone = 0, kLibrary = 1, kOptical = 2 };

    const uint8_t* of_template = nullptr;  // a Mark per template; null: nothing is marked
    size_t templates = 0;
    bool remove = false;

    static constexpr uint16_t kFlag = 0x400;
    static constexpr char kTags[][7] = {{'D', 'T', 'Z', 'L', 'B', 0, 0}, {'D', 'T', 'Z', 'S', 'Q', 0, 0}};
    static constexpr size_t kTagBytes = 6;

    uint8_t of(uint64_t number) const {
        if (!of_template) return kNone;
        if (number >= templates) throw std::invalid_argument("fewer marks than templates");
        return of_template[number];
    }
};

// Calls visit(key, bytes up to the next one) for keys about `apart` bytes of records apart, beginning with the first.
template <class Visit> void sample_keys(const SortKey* keys, size_t count, uint64_t apart, Visit visit) {
    size_t from = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += keys[i].size;
        if (sum < apart && i + 1 < count) continue;
        visit(keys[from], sum);
        from = i + 1, sum = 0;
    }
}

// A bound of a range.
struct Bound {
    uint64_t coordinate, number;
};

// A block of a run on disk: keys, then their records, padded to kAlignment.
struct RunBlock {
    Bound first, last;
    uint64_t key_bytes, size;  // of the keys, and in total

    static constexpr size_t kAlignment = alignof(SortKey);
};

class RecordPile {
public:
    // Adds a run, which follows the others in the input; the memory must outlive the merge. `first`: number of its
    // first template.
    void add(const uint8_t* records, const SortKey* keys, size_t count, uint64_t first) {
        if (count) pieces_.push_back({records, keys, count, first});
    }
    void add_all(const RecordPile& other) { pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end()); }

    // A record of a range with its sort key.
    struct Item {
        uint64_t coordinate, number;
        const uint8_t* record;
        uint32_t size;
    };
    struct Scratch {
        std::vector<Item> items;
        DigitSorter<uint32_t> sorter;
    };

    // Appends the records from `low` to before `high` to `out`, in order.
    void merge(Bound low, Bound high, const DuplicateMarks& marks, Scratch& scratch, Text& out) const {
        const uint64_t bytes = gather(low, high, scratch);
        const auto& places = in_order(scratch);
        out.reserve(Text::kSpare + bytes + (marks.of_template ? DuplicateMarks::kTagBytes * places.size() : 0));
        for (size_t i = 0; i < places.size(); i++) copy(item_ahead(scratch.items, places, i), marks, out);
    }

    // Appends the records from `low` to before `high` as blocks of about `block_bytes`.
    void merge(
        Bound low, Bound high, size_t block_bytes, Scratch& scratch, Text& out, std::vector<RunBlock>& blocks) const {
        const uint64_t bytes = gather(low, high, scratch);
        const auto& places = in_order(scratch);
        out.reserve(Text::kSpare + bytes + (sizeof(SortKey) + RunBlock::kAlignment) * places.size());
        for (size_t begin = 0, end = 0; begin < places.size(); begin = end) {
            const size_t at = out.size();
            uint64_t size = 0;
            for (; end < places.size() && size < block_bytes; end++) {
                const Item& item = scratch.items[places[end].index];
                out.value(SortKey{item.coordinate, item.number, uint32_t(size), item.size});
                size += item.size;
            }
            const size_t key_bytes = out.size() - at;
            for (size_t i = begin; i < end; i++) copy(item_ahead(scratch.items, places, i), {}, out);
            while (out.size() % RunBlock::kAlignment) out.put('\0');
            const Item &first = scratch.items[places[begin].index], &last = scratch.items[places[end - 1].index];
            blocks.push_back(
                {{first.coordinate, first.number}, {last.coordinate, last.number}, key_bytes, out.size() - at});
        }
    }

private:
    static constexpr size_t kAhead = 8, kCacheLine = 64;

    struct Piece {
        const uint8_t* records;
        const SortKey* keys;
        size_t count;
        uint64_t first;

        const SortKey* bound(Bound at) const {
            return std::partition_point(keys, keys + count, [&](const SortKey& key) {
                return key.coordinate < at.coordinate ||
                       (key.coordinate == at.coordinate && key.number + first < at.number);
            });
        }
    };

    // Collects the items from `low` to before `high`; returns the bytes of their records.
    uint64_t gather(Bound low, Bound high, Scratch& scratch) const {
        scratch.items.clear();
        uint64_t bytes = 0;
        for (const Piece& piece : pieces_) {
            const SortKey *end = piece.bound(high), *key = piece.bound(low);
            for (; key < end; key++) {
                scratch.items.push_back(
                    {key->coordinate, key->number + piece.first, piece.records + key->offset, key->size});
                bytes += key->size;
            }
        }
        return bytes;
    }

    // The sort is stable, and runs, as well as equal records within a run, are in input order.
    static const std::vector<DigitSorter<uint32_t>::Place>& in_order(Scratch& scratch) {
        std::vector<Item>& items = scratch.items;
        const auto less = [](const Item& a, const Item& b) { return a.coordinate < b.coordinate; };
        const auto [least, largest] = std::minmax_element(items.begin(), items.end(), less);
        const uint64_t base = items.empty() ? 0 : least->coordinate,
                       width = items.empty() ? 0 : largest->coordinate - base;
        const bool narrow = width <= UINT32_MAX;  // all ranges except the one that ends with records without a contig
        if (!narrow) std::stable_sort(items.begin(), items.end(), less);
        return scratch.sorter(items.size(), narrow ? uint32_t(width) : 0,
            [&](size_t i) { return narrow ? uint32_t(items[i].coordinate - base) : 0; });
    }

    // Item at index i; prefetches the record of a later one.
    static const Item& item_ahead(
        const std::vector<Item>& items, const std::vector<DigitSorter<uint32_t>::Place>& places, size_t i) {
        if (i + kAhead < places.size()) {
            const Item& item = items[places[i + kAhead].index];
            for (uint32_t at = 0; at < item.size; at += kCacheLine) __builtin_prefetch(item.record + at);
        }
        return items[places[i].index];
    }

    static void copy(const Item& item, const DuplicateMarks& marks, Text& out) {
        const uint8_t mark = marks.of(item.number);
        if (mark && marks.remove) return;
        const size_t at = out.size();
        out.put(reinterpret_cast<const char*>(item.record), item.size);
        if (!mark) return;
        out.put(DuplicateMarks::kTags[mark - 1], DuplicateMarks::kTagBytes);
        char* copied = out.at(at);
        const auto size = uint32_t(out.size() - at - 4);
        const auto flag = uint16_t(BamRecord(item.record).flag() | DuplicateMarks::kFlag);
        std::memcpy(copied, &size, sizeof size);
        std::memcpy(copied + BamRecord::kFlagAt, &flag, sizeof flag);
    }

    std::vector<Piece> pieces_;
};

}  // namespace gpualign
