// Items in parts by a hash, so that equal ones meet: batches come grouped by part, and threads go through the parts one
// by one. Free of Python.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace gpualign {

constexpr int kHashPartBits = 8;
constexpr size_t kHashParts = size_t(1) << kHashPartBits;

inline size_t hash_part(uint64_t hash) { return size_t(hash >> (64 - kHashPartBits)); }

// Groups items by part(item) < parts; those of a part stay in order. Returns where each part begins, and the end.
template <class Item, class Part>
std::vector<uint32_t> group_by_part(std::vector<Item>& items, size_t parts, Part&& part) {
    std::vector<uint16_t> of(items.size());
    std::vector<uint32_t> begins(parts + 1);
    for (size_t i = 0; i < items.size(); i++) begins[(of[i] = uint16_t(part(items[i]))) + 1]++;
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<uint32_t> next = begins;
    std::vector<Item> grouped(items.size());
    for (size_t i = 0; i < items.size(); i++) grouped[next[of[i]]++] = items[i];
    items = std::move(grouped);
    return begins;
}

// Grouped batches of items that have numbers; numbered_from(first) adds to one. The items are not copied.
template <class Item> class GroupedBatches {
public:
    explicit GroupedBatches(size_t parts) : parts_(parts) {}

    // begins: as group_by_part returns it. first: what is to be added to the numbers. Throws std::invalid_argument.
    void add(std::shared_ptr<const Item> items, size_t count, std::vector<uint32_t> begins, uint32_t first) {
        if (begins.size() != parts_ + 1 || begins[0] != 0 || begins[parts_] != count ||
            !std::is_sorted(begins.begin(), begins.end()))
            throw std::invalid_argument("items are not grouped by part");
        batches_.push_back({std::move(items), std::move(begins), first});
    }
    void add(std::vector<Item>&& items, std::vector<uint32_t> begins, uint32_t first) {
        const auto kept = std::make_shared<const std::vector<Item>>(std::move(items));
        add(std::shared_ptr<const Item>(kept, kept->data()), kept->size(), std::move(begins), first);
    }

    void clear() { batches_.clear(); }
    size_t size(size_t part) const {
        size_t size = 0;
        for (const Batch& batch : batches_) size += batch.begins[part + 1] - batch.begins[part];
        return size;
    }
    // The items of a part, in the order of their numbers.
    std::vector<Item> of(size_t part) const {
        std::vector<Item> items;
        items.reserve(size(part));
        for (const Batch& batch : batches_)
            for (uint32_t i = batch.begins[part]; i < batch.begins[part + 1]; i++)
                items.push_back(batch.items.get()[i].numbered_from(batch.first));
        return items;
    }

private:
    struct Batch {
        std::shared_ptr<const Item> items;
        std::vector<uint32_t> begins;
        uint32_t first;
    };

    size_t parts_;
    std::vector<Batch> batches_;
};

// Sorts items of a part whose hashes are equal where they belong together: by buckets of the hash, and by less(a, b) in
// each bucket.
template <class Item, class Hash, class Less>
std::vector<Item> sorted_in_buckets(const std::vector<Item>& items, Hash&& hash, Less&& less) {
    int bits = 1;
    while (bits < 24 && size_t(1) << bits < items.size()) bits++;
    const auto bucket = [&](const Item& item) { return size_t(hash(item) << kHashPartBits >> (64 - bits)); };
    std::vector<uint32_t> ends((size_t(1) << bits) + 1);
    for (const Item& item : items) ends[bucket(item) + 1]++;
    for (size_t i = 1; i < ends.size(); i++) ends[i] += ends[i - 1];
    std::vector<Item> sorted(items.size());
    for (const Item& item : items) sorted[ends[bucket(item)]++] = item;
    size_t begin = 0;
    for (size_t i = 0; i + 1 < ends.size(); begin = ends[i++])
        if (ends[i] > begin + 1)
            std::sort(sorted.begin() + ptrdiff_t(begin), sorted.begin() + ptrdiff_t(ends[i]), less);
    return sorted;
}

}  // namespace gpualign
