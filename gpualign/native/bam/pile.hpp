// BAM records in order: sorted pieces, and any range of their merge. No Python here.
//
// A piece is sorted where its records are made, by any thread. Ranges of the merge are independent of each other, so that
// threads share them; put together, they are the whole in order, whatever the pieces and wherever the ranges are cut.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "bam/record.hpp"
#include "text/text.hpp"

namespace gpualign {

// By what a record is sorted, and where it lies in its piece.
struct SortKey {
    uint64_t coordinate;  // contig, position and strand; the same for all where the order is that of the input
    uint64_t number;      // of the template, in input order
    uint32_t offset, size;
};
static_assert(sizeof(SortKey) == 24);

constexpr uint64_t kNoContig = uint64_t(0x7fffffff) << 33;  // the coordinate of records without contig and position

// As samtools sort: contig, position, strand; records without a contig at the end.
inline uint64_t coordinate_of(const BamRecord& record) {
    const uint64_t contig = uint64_t(uint32_t(record.contig()) & 0x7fffffff), position = uint64_t(int64_t(record.position()) + 1);
    return contig << 33 | position << 1 | uint64_t(record.is(kFlagReverse));
}

// Puts items in order by digits of 11 bits; those of equal coordinates stay as they are.
template <class Coordinate>
class DigitSorter {
public:
    struct Place {
        Coordinate coordinate;
        uint32_t index;
    };

    // Which of `count` items comes first, second and so on, by coordinate(item), which is at most `maximum`.
    template <class CoordinateOf>
    const std::vector<Place>& operator()(size_t count, Coordinate maximum, CoordinateOf coordinate) {
        places_.resize(count);
        other_.resize(count);
        for (size_t i = 0; i < count; i++) places_[i] = {coordinate(i), uint32_t(i)};
        for (int shift = 0; shift < int(8 * sizeof(Coordinate)) && maximum >> shift; shift += kBits) sort_by_digit(shift);
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

// Keys of records in input order; where `by_coordinate`, sorted. Returns the number of templates.
inline int64_t make_sort_keys(const uint8_t* records, size_t size, bool by_coordinate, std::vector<SortKey>& keys) {
    TemplateCounter number;
    std::vector<SortKey> given;
    uint64_t last = 0;  // coordinate, but for those without a position
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
    // records without a position come after all others, or as they are: then there are fewer digits
    const auto near = [&](size_t i) { return std::min(given[i].coordinate, last + 1 + (given[i].coordinate & 1)); };
    keys.reserve(given.size());
    for (const auto& place : sorter(given.size(), last + 2, near)) keys.push_back(given[place.index]);
    return number.count();
}

// What is known of templates at the end: whether they are duplicates.
struct DuplicateMarks {
    enum Mark : uint8_t { kNone = 0, kLibrary = 1, kOptical = 2 };

    const uint8_t* of_template = nullptr;  // a Mark each; none: nothing is marked
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

// visit(key, bytes up to the next one) for keys about `apart` bytes of records apart, the first one among them.
template <class Visit>
void sample_keys(const SortKey* keys, size_t count, uint64_t apart, Visit visit) {
    size_t from = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += keys[i].size;
        if (sum < apart && i + 1 < count) continue;
        visit(keys[from], sum);
        from = i + 1, sum = 0;
    }
}

// A place in the order.
struct Bound {
    uint64_t coordinate, number;
};

// A block of a run: keys, then the records that they are of, to a multiple of kAlignment.
struct RunBlock {
    Bound first, last;
    uint64_t key_bytes, size;  // of the keys, and of all

    static constexpr size_t kAlignment = alignof(SortKey);
};

class RecordPile {
public:
    // Records sorted by `keys`; in the input they follow those that are there. They lie in memory as long as they are in the
    // pile. `first`: number of the first template.
    void add(const uint8_t* records, const SortKey* keys, size_t count, uint64_t first) {
        if (count) pieces_.push_back({records, keys, count, first});
    }
    void add_all(const RecordPile& other) { pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end()); }

    // Of a record in a range, and by what it is put in order: its coordinate beyond the least, and which of the items it is.
    struct Item {
        uint64_t coordinate, number;
        const uint8_t* record;
        uint32_t size;
    };
    struct Scratch {
        std::vector<Item> items;
        DigitSorter<uint32_t> sorter;
    };

    // Appends the records from `low` to before `high` in order to `out`.
    void merge(Bound low, Bound high, const DuplicateMarks& marks, Scratch& scratch, Text& out) const {
        const uint64_t bytes = gather(low, high, scratch);
        const auto& places = in_order(scratch);
        out.reserve(Text::kSpare + bytes + (marks.of_template ? DuplicateMarks::kTagBytes * places.size() : 0));
        for (size_t i = 0; i < places.size(); i++) copy(item_ahead(scratch.items, places, i), marks, out);
    }

    // The same as blocks of about `block_bytes` of records.
    void merge(Bound low, Bound high, size_t block_bytes, Scratch& scratch, Text& out, std::vector<RunBlock>& blocks) const {
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
            blocks.push_back({{first.coordinate, first.number}, {last.coordinate, last.number}, key_bytes, out.size() - at});
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
                return key.coordinate < at.coordinate || (key.coordinate == at.coordinate && key.number + first < at.number);
            });
        }
    };

    // The items from `low` to before `high`, and bytes of their records.
    uint64_t gather(Bound low, Bound high, Scratch& scratch) const {
        scratch.items.clear();
        uint64_t bytes = 0;
        for (const Piece& piece : pieces_) {
            const SortKey *end = piece.bound(high), *key = piece.bound(low);
            for (; key < end; key++) {
                scratch.items.push_back({key->coordinate, key->number + piece.first, piece.records + key->offset, key->size});
                bytes += key->size;
            }
        }
        return bytes;
    }

    // Items of equal coordinate stay as they are: pieces follow each other in input order, and so do such records in a piece.
    static const std::vector<DigitSorter<uint32_t>::Place>& in_order(Scratch& scratch) {
        std::vector<Item>& items = scratch.items;
        const auto less = [](const Item& a, const Item& b) { return a.coordinate < b.coordinate; };
        const auto [least, largest] = std::minmax_element(items.begin(), items.end(), less);
        const uint64_t base = items.empty() ? 0 : least->coordinate, width = items.empty() ? 0 : largest->coordinate - base;
        const bool narrow = width <= UINT32_MAX;  // but from the last contig to records without one
        if (!narrow) std::stable_sort(items.begin(), items.end(), less);
        return scratch.sorter(items.size(), narrow ? uint32_t(width) : 0, [&](size_t i) { return narrow ? uint32_t(items[i].coordinate - base) : 0; });
    }

    // The one at place i; one that comes soon is on its way to the cache.
    static const Item& item_ahead(const std::vector<Item>& items, const std::vector<DigitSorter<uint32_t>::Place>& places, size_t i) {
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
