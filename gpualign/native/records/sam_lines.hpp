// Formats BAM records as SAM lines (SAM specification, sections 1.4 and 4.2), as htslib does. Free of Python.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "records/tags.hpp"
#include "map/alignment.hpp"
#include "algo/text/columns.hpp"
#include "text/text.hpp"

namespace gpualign {

class SamLines {
public:
    SamLines(const ContigNames& contigs, size_t count) : contigs_(contigs), count_(count) {}

    // Reserves space for about so many bytes.
    void reserve(size_t bytes) { out_.reserve(bytes); }

    // Appends a line.
    void record(const BamRecord& record) {
        out_.reserve(kFixedBytes + record.size() + kOperationBytes * record.operations() + 2 * record.length());
        out_.put(record.name().data(), record.name().size());
        number(record.flag());
        contig(record.contig());
        number(int64_t(record.position()) + 1);
        number(record.mapq());
        cigar(record);
        if (record.mate_contig() >= 0 && record.mate_contig() == record.contig()) out_.put("\t=");
        else contig(record.mate_contig());
        number(int64_t(record.mate_position()) + 1);
        number(record.template_length());
        bases(record);
        qualities(record);
        for (const uint8_t* at = record.tags(); at < record.end();) at = tag(at, record);
        out_.put('\n');
    }

    const Text& text() const { return out_; }
    Text release() { return std::move(out_); }

    static constexpr char kBases[] = "=ACMGRSVTWYHKDBN";

    // The SAM type of a BAM tag.
    static char shown_type(char type) { return tag_number_bytes(uint8_t(type)) && type != 'f' ? 'i' : type; }

    // Appends the tags that pass `wanted`, each after a tab.
    template <class Wanted> void tags(const BamRecord& record, Wanted&& wanted) {
        for (const uint8_t* at = record.tags(); at < record.end();) {
            const uint8_t* end = tag_end(at, record.end());
            if (wanted(at)) tag(at, record);
            at = end;
        }
    }

private:
    static constexpr size_t kFixedBytes = 256, kOperationBytes = 12;
    static constexpr char kOperations[] = "MIDNSHP=X";

    [[noreturn]] static void refuse() {
        throw std::invalid_argument("a tag of a BAM record is cut short, or of an unknown type");
    }

    void number(int64_t value) {
        out_.put('\t');
        out_.number(value);
    }

    void contig(int32_t id) {
        if (id < 0) return out_.put("\t*");
        if (size_t(id) >= count_) throw std::invalid_argument("a record of a contig that the header has not");
        const auto size = size_t(contigs_.size(id));
        out_.reserve(size + kFixedBytes);
        out_.put('\t');
        out_.put(contigs_.text(id), size);
    }

    void cigar(const BamRecord& record) {
        out_.put('\t');
        const BamCigar cigar(record);
        if (cigar.size() == 0) return out_.put('*');
        out_.reserve(kFixedBytes + kOperationBytes * cigar.size());
        for (size_t i = 0; i < cigar.size(); i++) {
            out_.number(cigar[i] >> 4);
            out_.put(kOperations[std::min<uint32_t>(cigar[i] & 15, 8)]);
        }
    }

    static bool is_long_cigar(const uint8_t* tag) { return std::memcmp(tag, "CGBI", 4) == 0; }

    void bases(const BamRecord& record) {
        const size_t n = record.length();
        out_.reserve(2 * n + kFixedBytes);
        out_.put('\t');
        if (n == 0) return out_.put('*');
        const uint8_t* packed = record.bases();
        char* characters = out_.extend(n);
        for (size_t i = 0; i < n; i++) characters[i] = kBases[packed[i / 2] >> (i % 2 ? 0 : 4) & 15];
    }
    void qualities(const BamRecord& record) {
        const size_t n = record.length();
        const uint8_t* given = record.qualities();
        out_.put('\t');
        if (n == 0 || given[0] == 0xff) return out_.put('*');
        char* characters = out_.extend(n);
        for (size_t i = 0; i < n; i++) characters[i] = char(given[i] + 33);
    }

    // Appends a tag, except for CG; returns the next one.
    const uint8_t* tag(const uint8_t* at, const BamRecord& record) {
        const uint8_t* end = tag_end(at, record.end());
        if (record.long_cigar() && is_long_cigar(at)) return end;
        const char type = char(at[2]);
        out_.reserve(kFixedBytes + size_t(end - at));
        out_.put('\t');
        out_.put(reinterpret_cast<const char*>(at), 2);
        out_.put(':');
        out_.put(shown_type(type));
        out_.put(':');
        const uint8_t* value = at + 3;
        if (type == 'Z' || type == 'H') out_.put(reinterpret_cast<const char*>(value), size_t(end - value) - 1);
        else if (type == 'A') out_.put(char(*value));
        else if (type == 'B') array(value);
        else element(value, type);
        return end;
    }
    void array(const uint8_t* at) {
        const char type = char(*at);
        const auto count = read<uint32_t>(at + 1);
        out_.reserve(kFixedBytes + kLongestNumber * size_t(count));
        out_.put(type);
        at += 5;
        for (uint32_t i = 0; i < count; i++, at += tag_number_bytes(uint8_t(type))) {
            out_.put(',');
            element(at, type);
        }
    }
    void element(const uint8_t* at, char type) {
        switch (type) {
            case 'c': return out_.number(read<int8_t>(at));
            case 'C': return out_.number(*at);
            case 's': return out_.number(read<int16_t>(at));
            case 'S': return out_.number(read<uint16_t>(at));
            case 'i': return out_.number(read<int32_t>(at));
            case 'I': return out_.number(read<uint32_t>(at));
            default: break;
        }
        char text[kLongestNumber];
        const int size = std::snprintf(text, sizeof text, "%g", double(read<float>(at)));
        out_.put(text, size_t(size));
    }

    static constexpr size_t kLongestNumber = 32;

    template <class T> static T read(const uint8_t* at) {
        T value;
        std::memcpy(&value, at, sizeof value);
        return value;
    }

    ContigNames contigs_;
    size_t count_;
    Text out_;
};

}  // namespace gpualign
