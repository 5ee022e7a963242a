// Puts templates together from records that lie anywhere in the input, by their names. Free of Python.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "common/parallel_for.hpp"
#include "records/hash_parts.hpp"
#include "records/named_templates.hpp"
#include "records/template_ends.hpp"

namespace gpualign {

// What is to be known of a record.
struct RecordEnds {
    TemplateEnds ends;  // of a mapped primary record, as if it were single; of others the number counts alone
    uint64_t name;      // hash of its template's name, and of its read group
    uint32_t more;      // more bits of that, and the flags below
    uint16_t position, mate;  // as in TemplateRead

    // Bits of `more`: TemplateRead::reads, and others.
    static constexpr uint32_t kReads = 3, kMapped = 4, kWithBarcode = 8, kFlags = 15;

    bool of_name(const RecordEnds& other) const { return name == other.name && !((more ^ other.more) & ~kFlags); }
    TemplateRead read() const { return {0, position, mate, uint8_t(more & kReads)}; }
    RecordEnds numbered_from(uint32_t first) const {
        RecordEnds record = *this;
        record.ends.number += first;
        return record;
    }
    static size_t part_of(const RecordEnds& record) { return hash_part(record.name); }
};
static_assert(sizeof(RecordEnds) == 56, "memory for a record");

class TemplateJoin {
public:
    TemplateJoin() : records_(kHashParts) {}

    // records: grouped by RecordEnds::part_of. Throws std::invalid_argument.
    void add(std::shared_ptr<const RecordEnds> records, size_t count, std::vector<uint32_t> begins, uint32_t first) {
        records_.add(std::move(records), count, std::move(begins), first);
        size_ = size_t(first) + count;
    }

    bool empty() const { return size_ == 0; }

    // Calls found(templates, sources) for those of each part that have a mapped read, from any thread; a template's
    // number is that of its first record, its source the number of the record with its barcode. Adds to the counts of
    // libraries, which took each read for a single one. by_read: as for EndCollector::joined. Throws
    // std::invalid_argument.
    template <class Found> void finish(int threads, bool by_read, std::vector<LibraryCounts>& counts, Found&& found) {
        std::mutex lock;
        members_.resize(kHashParts);
        parallel_for(threads, kHashParts, [&](size_t part, int) {
            std::vector<TemplateEnds> templates;
            std::vector<uint32_t> sources;
            std::vector<LibraryCounts> more(counts.size());
            const std::vector<RecordEnds> records = records_.of(part);
            for (const RecordEnds& record : records)
                if (record.ends.number >= size_ ||
                    ((record.more & RecordEnds::kMapped) && record.ends.library() >= counts.size()))
                    throw std::invalid_argument("no ends of records");
            join(by_name(records), by_read, templates, sources, members_[part], more);
            found(std::move(templates), sources);
            const std::lock_guard guard(lock);
            for (size_t i = 0; i < counts.size(); i++) {
                counts[i].unpaired += more[i].unpaired, counts[i].pairs += more[i].pairs;
                counts[i].without_barcode += more[i].without_barcode;
            }
        });
        records_.clear();
    }

    // Gives each record its template's value.
    template <class Value> void spread(int threads, std::vector<Value>& values) const {
        if (values.empty()) return;
        parallel_for(threads, members_.size(), [&](size_t part, int) {
            for (const Member& member : members_[part]) values[member.record] = values[member.of_template];
        });
    }

private:
    // A record that is not the first of its template.
    struct Member {
        uint32_t record, of_template;
    };

    // Records of a name next to each other, in input order.
    static std::vector<RecordEnds> by_name(const std::vector<RecordEnds>& records) {
        const auto hash = [](const RecordEnds& record) { return record.name; };
        const auto less = [](const RecordEnds& a, const RecordEnds& b) {
            const uint32_t more_of_a = a.more & ~RecordEnds::kFlags, more_of_b = b.more & ~RecordEnds::kFlags;
            return std::tie(a.name, more_of_a, a.ends.number) < std::tie(b.name, more_of_b, b.ends.number);
        };
        return sorted_in_buckets(records, hash, less);
    }

    static void join(const std::vector<RecordEnds>& records, bool by_read, std::vector<TemplateEnds>& templates,
        std::vector<uint32_t>& sources, std::vector<Member>& members, std::vector<LibraryCounts>& counts) {
        TemplateDivider divide;
        std::vector<TemplateRead> of_name;
        std::vector<Template> found;
        for (size_t begin = 0, end; begin < records.size(); begin = end) {
            of_name.clear();
            for (end = begin; end < records.size() && records[end].of_name(records[begin]); end++)
                of_name.push_back(records[end].read());
            const std::vector<uint32_t>& of = divide(of_name);
            found.assign(divide.count(), {});
            for (size_t i = begin; i < end; i++) {
                Template& its = found[of[i - begin]];
                if (its.first) members.push_back({records[i].ends.number, its.first->ends.number});
                else its.first = &records[i];
                if (records[i].more & RecordEnds::kMapped) its.reads[its.reads[0] ? 1 : 0] = &records[i];
            }
            for (const Template& its : found) {
                if (!its.reads[0]) continue;
                const RecordEnds &a = *its.reads[0], &b = its.reads[1] ? *its.reads[1] : a;
                templates.push_back(its.reads[1] ? pair(a, b, by_read, counts) : a.ends);
                templates.back().number = its.first->ends.number;
                sources.push_back((a.more & RecordEnds::kWithBarcode ? a : b).ends.number);
            }
        }
    }

    // Records of a template: the first, and the mapped primary ones; null: there is none.
    struct Template {
        const RecordEnds *first = nullptr, *reads[2] = {};
    };

    static TemplateEnds pair(
        const RecordEnds& a, const RecordEnds& b, bool by_read, std::vector<LibraryCounts>& counts) {
        const bool barcodes[2] = {(a.more & RecordEnds::kWithBarcode) != 0, (b.more & RecordEnds::kWithBarcode) != 0};
        LibraryCounts& of_library = counts[a.ends.library()];
        of_library.unpaired -= 1, of_library.pairs += 1;
        counts[b.ends.library()].unpaired -= 1;
        of_library.without_barcode -= (!barcodes[0] + !barcodes[1]) - (!barcodes[0] && !barcodes[1]);
        const bool a_is_first = (a.more & RecordEnds::kReads) == 1;
        return EndCollector::joined(a.ends, b.ends, a_is_first, barcodes[0] ? a.ends.group : b.ends.group, by_read);
    }

    GroupedBatches<RecordEnds> records_;
    std::vector<std::vector<Member>> members_;  // of each part
    size_t size_ = 0;
};

}  // namespace gpualign
