// Makes records of any program ready to be marked: fields that mates know of each other, and nothing left of an
// earlier marking. Free of Python.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "records/duplicate_marks.hpp"
#include "records/named_templates.hpp"
#include "records/tags.hpp"
#include "text/text.hpp"

namespace gpualign {

constexpr uint8_t kScoredQuality = 15;  // the least that counts

inline uint32_t sum_of_qualities(const BamRecord& record) {
    const uint8_t* qualities = record.qualities();
    const size_t length = record.length();
    if (length == 0 || qualities[0] == 0xff) return 0;
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i++)  // without branches, which qualities mispredict
        sum += qualities[i] & -uint32_t(qualities[i] >= kScoredQuality);
    return sum;
}

class TemplatePreparer {
public:
    // mate_tags: add MC, MQ and ms where they are missing, as samtools fixmate does. dropped: tags to leave out, two
    // characters each. added: tags that all records get.
    TemplatePreparer(bool mate_tags, std::string_view dropped, std::string_view added)
        : mate_tags_(mate_tags), dropped_(dropped), added_(added) {}

    // Whether any record would change. Throws std::invalid_argument if they are damaged.
    bool changes(const uint8_t* records, size_t size) const {
        if (mate_tags_ || !added_.empty()) return true;
        for (BamRecords rest(records, size); rest.more();) {
            const BamRecord record = rest.next();
            if (record.is(kFlagDuplicate)) return true;
            for (const uint8_t *at = record.tags(), *end = record.end(); at < end; at = tag_end(at, end))
                if (is_dropped({reinterpret_cast<const char*>(at), 2})) return true;
        }
        return false;
    }

    // Appends all records, those of each name adjacent. Throws std::invalid_argument if they are damaged.
    void operator()(const uint8_t* records, size_t size) {
        out_.reserve(size + size / 4 + Text::kSpare);
        NamedTemplates templates;
        const auto append = [&](const auto&... run) { append_run(run...); };
        for (BamRecords rest(records, size); rest.more();) templates.add(rest.next(), append);
        templates.finish(append);
    }

    Text release() { return std::move(out_); }
    // Hashes of name and read group of templates that lack a read, by their flags; each once for a run of a name.
    std::vector<uint64_t> take_incomplete() { return std::move(incomplete_); }

private:
    // What is known of a template; null: it has no such record.
    struct Primaries {
        const BamRecord *any = nullptr, *mates[2] = {};

        bool pair() const { return mates[0] && mates[1]; }
        bool incomplete() const { return !any || (any->is(kFlagPaired) && !pair()); }
    };

    // Appends the records of a name; `of`: the template of each.
    void append_run(const std::vector<BamRecord>& records, const std::vector<uint32_t>& of, uint32_t count) {
        const auto before = ptrdiff_t(incomplete_.size());
        primaries_.assign(count, {});
        for (size_t i = 0; i < records.size(); i++) {
            const BamRecord& record = records[i];
            if (!record.primary()) continue;
            Primaries& found = primaries_[of[i]];
            found.any = &record;
            if (record.is(kFlagPaired) && record.is(kFlagFirst | kFlagSecond))
                found.mates[record.is(kFlagSecond)] = &record;
        }
        for (size_t i = 0; i < records.size(); i++) {
            const BamRecord& record = records[i];
            const Primaries& found = primaries_[of[i]];
            if (found.incomplete()) note_incomplete(record, before);
            append(record,
                mate_tags_ && found.pair() && record.primary() ? found.mates[!record.is(kFlagSecond)] : nullptr);
        }
    }

    void note_incomplete(const BamRecord& record, ptrdiff_t of_run) {
        const uint64_t hash = hash_text(template_name(record), read_group_hash(record));
        if (std::find(incomplete_.begin() + of_run, incomplete_.end(), hash) == incomplete_.end())
            incomplete_.push_back(hash);
    }

    void append(const BamRecord& record, const BamRecord* mate) {
        const size_t begin = out_.size();
        const uint8_t *end = record.end(), *from = record.begin();
        bool with_cigar = false, with_quality = false, with_score = false;
        for (const uint8_t *at = record.tags(), *next; at < end; at = next) {
            next = tag_end(at, end);
            const std::string_view name(reinterpret_cast<const char*>(at), 2);
            with_cigar |= name == "MC", with_quality |= name == "MQ", with_score |= name == "ms";
            if (!is_dropped(name)) continue;
            put(from, at);
            from = next;
        }
        put(from, end);
        out_.put(added_.data(), added_.size());
        if (mate) {
            const bool mapped = !mate->is(kFlagUnmapped);
            if (!with_quality && mapped) put_number("MQ", mate->mapq());
            if (!with_cigar && mapped) put_cigar(*mate);
            if (!with_score) put_number("ms", sum_of_qualities(*mate));
        }
        const auto flag = uint16_t(record.flag() & ~kFlagDuplicate);
        const auto size = uint32_t(out_.size() - begin - 4);
        std::memcpy(out_.at(begin), &size, sizeof size);
        std::memcpy(out_.at(begin + BamRecord::kFlagAt), &flag, sizeof flag);
    }

    bool is_dropped(std::string_view name) const {
        for (size_t i = 0; i < dropped_.size(); i += 2)
            if (dropped_[i] == name[0] && dropped_[i + 1] == name[1]) return true;
        return false;
    }

    void put(const uint8_t* begin, const uint8_t* end) {
        out_.put(reinterpret_cast<const char*>(begin), size_t(end - begin));
    }
    void put_number(const char* name, uint32_t value) { put_integer_tag(out_, name, value); }
    void put_cigar(const BamRecord& mate) {
        const BamCigar cigar(mate);
        out_.reserve(4 + Text::kSpare);
        out_.put("MCZ");
        for (size_t i = 0; i < cigar.size(); i++) {
            out_.number(cigar[i] >> 4);
            out_.put("MIDNSHP=X"[std::min<uint32_t>(cigar[i] & 15, 8)]);
        }
        if (cigar.size() == 0) out_.put('*');
        out_.put('\0');
    }

    bool mate_tags_;
    std::string_view dropped_, added_;
    std::vector<Primaries> primaries_;
    std::vector<uint64_t> incomplete_;
    Text out_;
};

}  // namespace gpualign
