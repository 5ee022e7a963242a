// Puts templates together from records that lie anywhere in the input, by their names. Free of Python.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "bam/template_ends.hpp"
#include "index/builder.hpp"

namespace gpualign {

// A list that grows without copying.
template <class Item> class BlockList {
public:
    void push(const Item& item) {
        if (size_ % kBlock == 0) blocks_.emplace_back(new Item[kBlock]);
        blocks_.back()[size_++ % kBlock] = item;
    }
    size_t size() const { return size_; }
    // Moves the items out.
    std::vector<Item> take() {
        std::vector<Item> all;
        all.reserve(size_);
        for (auto& block : blocks_) {
            all.insert(all.end(), block.get(), block.get() + std::min(kBlock, size_ - all.size()));
            block.reset();
        }
        blocks_.clear();
        size_ = 0;
        return all;
    }
    template <class Visit> void each(Visit&& visit) const {
        for (size_t i = 0; i < size_; i++) visit(blocks_[i / kBlock][i % kBlock]);
    }

private:
    static constexpr size_t kBlock = 256;
    std::vector<std::unique_ptr<Item[]>> blocks_;
    size_t size_ = 0;
};

using EndsList = BlockList<TemplateEnds>;

// Sorts items whose hashes are equal where they belong together: by buckets of the hash, whose highest `used` bits are
// the same for all, and by less(a, b) in each bucket.
template <class Item, class Hash, class Less>
std::vector<Item> sorted_in_buckets(const std::vector<Item>& items, int used, Hash&& hash, Less&& less) {
    int bits = 1;
    while (bits < 24 && size_t(1) << bits < items.size()) bits++;
    const auto bucket = [&](const Item& item) { return size_t(hash(item) << used >> (64 - bits)); };
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

// What is to be known of a record.
struct RecordEnds {
    TemplateEnds ends;  // of a mapped primary record, as if it were single; of others the number counts alone
    uint64_t name;      // hash of its template's
    uint32_t more;      // more bits of that, and the flags below
    uint32_t unused = 0;

    // Bits of `more`: which reads the primary record is of (R1, R2, both bits for neither), 0 of other records.
    static constexpr uint32_t kReads = 3, kMapped = 4, kWithBarcode = 8, kFlags = 15;

    bool of_template(const RecordEnds& other) const { return name == other.name && !((more ^ other.more) & ~kFlags); }
};
static_assert(sizeof(RecordEnds) == 56, "memory for a record");

class TemplateJoin {
public:
    TemplateJoin() : parts_(kParts) {}

    void add(const RecordEnds* records, size_t count, uint32_t first) {
        for (size_t i = 0; i < count; i++) {
            RecordEnds given = records[i];
            given.ends.number += first;
            parts_[given.name >> (64 - kPartBits)].push(given);
        }
        size_ += count;
    }

    bool empty() const { return size_ == 0; }

    // Calls found(ends, source) for each template with a mapped read, whose number is that of its first record; source:
    // number of the record with its barcode. Adds to the counts of libraries, which took each read for a single one.
    template <class Found> void finish(int threads, std::vector<LibraryCounts>& counts, Found&& found) {
        std::mutex lock;
        parallel_for(threads, kParts, [&](size_t part, int) {
            std::vector<Joined> templates;
            std::vector<Member> members;
            std::vector<LibraryCounts> more(counts.size());
            join(by_template(parts_[part].take()), templates, members, more);
            const std::lock_guard guard(lock);
            for (const Joined& joined : templates) found(joined.ends, joined.source);
            members_.insert(members_.end(), members.begin(), members.end());
            for (size_t i = 0; i < counts.size(); i++) {
                counts[i].unpaired += more[i].unpaired, counts[i].pairs += more[i].pairs;
                counts[i].without_barcode += more[i].without_barcode;
            }
        });
        size_ = 0;
    }

    // Gives each record its template's value.
    template <class Value> void spread(std::vector<Value>& values) const {
        if (!values.empty())
            for (const Member& member : members_) values[member.record] = values[member.of_template];
    }

private:
    static constexpr size_t kPartBits = 8, kParts = size_t(1) << kPartBits;

    // A record that is not the first of its template.
    struct Member {
        uint32_t record, of_template;
    };

    struct Joined {
        TemplateEnds ends;
        uint32_t source;
    };

    // Records of a template next to each other, in input order.
    static std::vector<RecordEnds> by_template(const std::vector<RecordEnds>& records) {
        const auto hash = [](const RecordEnds& record) { return record.name; };
        const auto less = [](const RecordEnds& a, const RecordEnds& b) {
            const uint32_t more_of_a = a.more & ~RecordEnds::kFlags, more_of_b = b.more & ~RecordEnds::kFlags;
            return std::tie(a.name, more_of_a, a.ends.number) < std::tie(b.name, more_of_b, b.ends.number);
        };
        return sorted_in_buckets(records, kPartBits, hash, less);
    }

    static void join(const std::vector<RecordEnds>& records, std::vector<Joined>& templates,
        std::vector<Member>& members, std::vector<LibraryCounts>& counts) {
        for (size_t begin = 0, end; begin < records.size(); begin = end) {
            const RecordEnds* reads[2] = {};
            uint32_t seen = 0;
            for (end = begin; end < records.size() && records[end].of_template(records[begin]); end++) {
                const uint32_t which = records[end].more & RecordEnds::kReads;
                if (which & seen) break;  // another template of that name
                seen |= which;
                if (end > begin) members.push_back({records[end].ends.number, records[begin].ends.number});
                if (records[end].more & RecordEnds::kMapped) reads[reads[0] ? 1 : 0] = &records[end];
            }
            if (!reads[0]) continue;
            const RecordEnds& source = reads[1] && !(reads[0]->more & RecordEnds::kWithBarcode) ? *reads[1] : *reads[0];
            templates.push_back({reads[1] ? pair(*reads[0], *reads[1], counts) : reads[0]->ends, source.ends.number});
            templates.back().ends.number = records[begin].ends.number;
        }
    }

    static TemplateEnds pair(const RecordEnds& a, const RecordEnds& b, std::vector<LibraryCounts>& counts) {
        const bool barcodes[2] = {(a.more & RecordEnds::kWithBarcode) != 0, (b.more & RecordEnds::kWithBarcode) != 0};
        LibraryCounts& of_library = counts[a.ends.library()];
        of_library.unpaired -= 1, of_library.pairs += 1;
        counts[b.ends.library()].unpaired -= 1;
        of_library.without_barcode -= (!barcodes[0] + !barcodes[1]) - (!barcodes[0] && !barcodes[1]);
        const bool a_is_first = (a.more & RecordEnds::kReads) == 1;
        return EndCollector::joined(a.ends, b.ends, a_is_first, barcodes[0] ? a.ends.group : b.ends.group);
    }

    std::vector<BlockList<RecordEnds>> parts_;
    std::vector<Member> members_;
    size_t size_ = 0;
};

}  // namespace gpualign
