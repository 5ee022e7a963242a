// Templates of records of any program, by name and read group. Free of Python.
//
// Lanes that were merged may use a name in several read groups, or again in one. Then mates are reads of one group that
// name each other's position in RNEXT and PNEXT, or else its n-th R1 and n-th R2.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "records/record_order.hpp"
#include "records/tags.hpp"

namespace gpualign {

// What tells to which template of its name a record belongs.
struct TemplateRead {
    uint64_t read_group;  // hash
    uint16_t position, mate;  // hashes of where the record begins, and of where its mate does; 0: unknown
    uint8_t reads;  // 1: R1, 2: R2, 3: a primary record of neither, 0: not primary

    TemplateRead(const BamRecord& record, uint64_t group)
        : read_group(group), position(hash(record.contig(), record.position())),
          mate(hash(record.mate_contig(), record.mate_position())), reads(0) {
        if (!record.primary()) return;
        const unsigned read = record.is(kFlagPaired) ? record.flag() / kFlagFirst & 3 : 0;
        reads = uint8_t(read ? read : 3);
    }
    TemplateRead(uint64_t group, uint16_t position, uint16_t mate, uint8_t reads)
        : read_group(group), position(position), mate(mate), reads(reads) {}

    bool has_mate() const { return reads == 1 || reads == 2; }

private:
    static uint16_t hash(int32_t contig, int32_t position) {
        if (contig < 0) return 0;
        return uint16_t(1 + mix(uint64_t(uint32_t(contig)) << 32 | uint32_t(position)) % UINT16_MAX);
    }
};

inline uint64_t read_group_hash(const BamRecord& record) { return hash_text(find_tag(record, "RG")); }

// Divides records of one name into templates.
class TemplateDivider {
public:
    // Returns the template of each read, numbered from 0 in the order of their first records.
    const std::vector<uint32_t>& operator()(const std::vector<TemplateRead>& reads) {
        of_.assign(reads.size(), 0);
        count_ = reads.empty() ? 0 : 1;
        if (is_one_template(reads)) return of_;
        std::iota(of_.begin(), of_.end(), 0);  // at first the read itself, then the first one of the template
        matched_.assign(reads.size(), false);
        join_mates(reads, true);
        join_mates(reads, false);
        join_others(reads);
        renumber();
        return of_;
    }
    uint32_t count() const { return count_; }

private:
    static constexpr uint32_t kNone = ~uint32_t(0);

    static bool is_one_template(const std::vector<TemplateRead>& reads) {
        unsigned seen = 0;
        for (const TemplateRead& read : reads) {
            if (read.read_group != reads[0].read_group || (read.reads & seen)) return false;
            seen |= read.reads;
        }
        return true;
    }

    // Joins those that wait for each other, in their order: of a read group, and of the same two positions if they
    // count.
    void join_mates(const std::vector<TemplateRead>& reads, bool by_position) {
        struct Queue {
            std::vector<uint32_t> reads;
            size_t next = 0;
        };
        std::unordered_map<uint64_t, std::array<Queue, 2>> waiting;
        for (uint32_t i = 0; i < reads.size(); i++) {
            const TemplateRead& read = reads[i];
            if (!read.has_mate() || matched_[i] || (by_position && !(read.position && read.mate))) continue;
            const bool second = read.reads == 2;
            const uint64_t first_at = second ? read.mate : read.position,
                           second_at = second ? read.position : read.mate;
            auto& queues = waiting[mix(read.read_group + (by_position ? first_at << 16 | second_at : 0))];
            if (Queue& mates = queues[!second]; mates.next < mates.reads.size()) {
                of_[i] = mates.reads[mates.next++];
                matched_[i] = matched_[of_[i]] = true;
            } else {
                queues[second].reads.push_back(i);
            }
        }
    }

    // Secondary and supplementary records belong to a read of their group whose mate is where theirs is, or else to the
    // first.
    void join_others(const std::vector<TemplateRead>& reads) {
        std::unordered_map<uint64_t, uint32_t> by_group, by_mate;
        const auto mate_key = [](const TemplateRead& read) { return mix(read.read_group + read.mate); };
        for (uint32_t i = 0; i < reads.size(); i++) {
            if (!reads[i].reads) continue;
            by_group.try_emplace(reads[i].read_group, of_[i]);
            by_mate.try_emplace(mate_key(reads[i]), of_[i]);
        }
        for (uint32_t i = 0; i < reads.size(); i++) {
            if (reads[i].reads) continue;
            const auto found = by_mate.find(mate_key(reads[i]));
            of_[i] =
                found != by_mate.end() ? found->second : by_group.try_emplace(reads[i].read_group, i).first->second;
        }
    }

    void renumber() {
        std::vector<uint32_t> numbers(of_.size(), kNone);
        count_ = 0;
        for (uint32_t& of : of_) {
            uint32_t& number = numbers[of];
            if (number == kNone) number = count_++;
            of = number;
        }
    }

    std::vector<uint32_t> of_;
    std::vector<bool> matched_;
    uint32_t count_ = 0;
};

// The templates of records, those of one name adjacent, numbered in input order.
class NamedTemplates {
public:
    // Adds the next record. If its name is another one than before, ends the run of records of that name first.
    // visit(records, templates, count): the records of a run, the template of each, and how many there are.
    template <class Visit> void add(const BamRecord& record, Visit&& visit) {
        const std::string_view name = template_name(record);
        if (!run_.empty() && name != name_) end_run(visit);
        name_ = name;
        run_.push_back(record);
        reads_.emplace_back(record, read_group_hash(record));
    }
    template <class Visit> void finish(Visit&& visit) {
        if (!run_.empty()) end_run(visit);
    }
    // Templates of the runs that have ended.
    int64_t count() const { return count_; }

private:
    template <class Visit> void end_run(Visit& visit) {
        const std::vector<uint32_t>& of = divide_(reads_);
        visit(run_, of, divide_.count());
        count_ += divide_.count();
        run_.clear(), reads_.clear();
    }

    std::string_view name_;
    std::vector<BamRecord> run_;
    std::vector<TemplateRead> reads_;
    TemplateDivider divide_;
    int64_t count_ = 0;
};

// Appends the number of each record's template, records of one name being adjacent; returns the number of templates.
// Throws std::invalid_argument if records are damaged.
inline int64_t template_numbers(const uint8_t* records, size_t size, std::vector<uint32_t>& numbers) {
    NamedTemplates templates;
    const auto number = [&](const auto&, const std::vector<uint32_t>& of, uint32_t) {
        for (const uint32_t i : of) numbers.push_back(uint32_t(templates.count()) + i);
    };
    for (BamRecords rest(records, size); rest.more();) templates.add(rest.next(), number);
    templates.finish(number);
    return templates.count();
}

// Calls visit(record, number of its template) for records, those of one name adjacent: template by template. Returns
// the number of templates. Throws std::invalid_argument if records are damaged.
template <class Visit> int64_t each_of_templates(const uint8_t* records, size_t size, Visit&& visit) {
    NamedTemplates templates;
    std::vector<uint32_t> places;
    const auto visit_run = [&](const auto& run, const std::vector<uint32_t>& of, uint32_t count) {
        places.resize(run.size());
        std::iota(places.begin(), places.end(), 0);
        if (count > 1)
            std::stable_sort(places.begin(), places.end(), [&](uint32_t a, uint32_t b) { return of[a] < of[b]; });
        for (const uint32_t i : places) visit(run[i], templates.count() + of[i]);
    };
    for (BamRecords rest(records, size); rest.more();) templates.add(rest.next(), visit_run);
    templates.finish(visit_run);
    return templates.count();
}

}  // namespace gpualign
