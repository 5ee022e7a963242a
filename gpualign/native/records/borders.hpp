// Where a stream of records, BAM or SAM, may be cut. Free of Python.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "records/record.hpp"

namespace gpualign {

// Follows a stream of BAM records that comes in pieces.
class RecordBorders {
public:
    // templates: no records of one name that follow each other are cut apart; contigs: number of those in the header.
    RecordBorders(bool templates, uint32_t contigs) : templates_(templates), contigs_(contigs) {}

    // Looks at the next piece. Throws std::invalid_argument if a record's size is impossible, or its contig unknown.
    void feed(const uint8_t* data, size_t size) {
        for (size_t at = 0; at < size;) {
            if (left_ > 0) {
                const size_t skipped = size_t(std::min<uint64_t>(left_, size - at));
                left_ -= skipped, at += skipped;
                continue;
            }
            const size_t needed =
                head_.size() < BamRecord::kFixedBytes ? BamRecord::kFixedBytes : head_bytes(head_data());
            if (head_.empty() && size - at >= BamRecord::kFixedBytes && size - at >= head_bytes(data + at)) {
                begin(BamRecord(data + at), offset_ + at);
                left_ = BamRecord(data + at).size();
                for (size_t line = at; line < at + left_ && line + kAhead < size; line += kLine)
                    __builtin_prefetch(data + line + kAhead);
                continue;
            }
            // the record's begin is in two pieces
            const size_t taken = std::min(needed - head_.size(), size - at);
            head_.append(reinterpret_cast<const char*>(data + at), taken);
            at += taken;
            if (head_.size() < BamRecord::kFixedBytes || head_.size() < head_bytes(head_data())) continue;
            const BamRecord record(head_data());
            begin(record, offset_ + at - head_.size());
            left_ = record.size() - head_.size();
            head_.clear();
        }
        offset_ += size;
    }

    // Offset in the stream of the last border that is known.
    uint64_t border() const { return border_; }
    // Whether a record is not over yet.
    bool inside() const { return left_ > 0 || !head_.empty(); }
    uint64_t records() const { return records_; }

private:
    // The next record is known only once this one has been read, so nothing would be read ahead: a core waits for
    // memory most of the time then. Bytes, and those of a cache line.
    static constexpr size_t kAhead = 2048, kLine = 64;

    static size_t head_bytes(const uint8_t* record) { return BamRecord::kFixedBytes + record[12]; }
    const uint8_t* head_data() const { return reinterpret_cast<const uint8_t*>(head_.data()); }

    void begin(const BamRecord& record, uint64_t offset) {
        if (record.size() < BamRecord::kFixedBytes + record.begin()[12] || !record.named())
            throw std::invalid_argument("a BAM record is cut short");
        if (!known(record.contig()) || !known(record.mate_contig()))
            throw std::invalid_argument("a record of a contig that the header does not have");
        if (templates_) {
            const std::string_view name = template_name(record);
            if (name == name_) {
                records_++;
                return;
            }
            name_ = name;
        }
        border_ = offset, records_++;
    }

    bool known(int32_t contig) const { return uint32_t(contig) + 1 <= contigs_; }  // -1: none

    bool templates_;
    uint32_t contigs_;
    uint64_t offset_ = 0, border_ = 0, left_ = 0, records_ = 0;
    std::string head_, name_;
};

// Bytes of whole lines at the beginning of SAM text, or up to the last change of names; 0 if there is none. from_line:
// the text begins with a line.
inline size_t sam_border(std::string_view text, bool from_line, bool templates) {
    size_t end = text.rfind('\n');
    if (end == std::string_view::npos) return 0;
    end++;
    if (!templates) return end;
    const size_t first = from_line ? 0 : text.find('\n') + 1;
    const auto line_before = [&](size_t at) {  // where the line begins that ends at `at`
        const size_t before = at < 2 ? std::string_view::npos : text.rfind('\n', at - 2);
        return before == std::string_view::npos ? 0 : before + 1;
    };
    const auto name_at = [&](size_t at) {
        std::string_view name = text.substr(at, text.find('\t', at) - at);
        const size_t n = name.size();
        if (n > 2 && name[n - 2] == '/' && (name[n - 1] == '1' || name[n - 1] == '2')) name.remove_suffix(2);
        return name;
    };
    for (size_t line = line_before(end); line > first;) {
        const size_t before = line_before(line);
        if (name_at(before) != name_at(line)) return line;
        line = before;
    }
    return 0;
}

}  // namespace gpualign
