// BAM records in memory (SAM specification, section 4.2), and the numbering of templates. Free of Python.
#pragma once
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "algo/map/sam_codes.hpp"

namespace gpualign {

// A record, beginning with its size field.
class BamRecord {
public:
    static constexpr size_t kFixedBytes = 36, kFlagAt = 18;  // bytes before the name; offset of the flag

    explicit BamRecord(const uint8_t* bytes) : bytes_(bytes) {}

    const uint8_t* begin() const { return bytes_; }
    size_t size() const { return 4 + size_t(at<uint32_t>(0)); }
    int32_t contig() const { return at<int32_t>(4); }
    int32_t position() const { return at<int32_t>(8); }
    uint8_t mapq() const { return bytes_[13]; }
    uint16_t flag() const { return at<uint16_t>(kFlagAt); }
    size_t length() const { return at<uint32_t>(20); }
    int32_t mate_contig() const { return at<int32_t>(24); }
    int32_t mate_position() const { return at<int32_t>(28); }
    int32_t template_length() const { return at<int32_t>(32); }

    bool is(uint16_t flags) const { return flag() & flags; }
    bool primary() const { return !is(kFlagSecondary | kFlagSupplementary); }
    bool named() const { return name_bytes() > 0; }  // the length includes the terminating zero
    std::string_view name() const { return {reinterpret_cast<const char*>(bytes_ + kFixedBytes), name_bytes() - 1}; }

    size_t operations() const { return at<uint16_t>(16); }
    uint32_t operation(size_t i) const { return at<uint32_t>(kFixedBytes + name_bytes() + 4 * i); }
    // Two bases per byte; a quality per byte, 0xff if there are none; tags up to the end.
    const uint8_t* bases() const { return bytes_ + kFixedBytes + name_bytes() + 4 * operations(); }
    const uint8_t* qualities() const { return bases() + (length() + 1) / 2; }
    const uint8_t* tags() const { return qualities() + length(); }
    const uint8_t* end() const { return bytes_ + size(); }

    // Whether bases at an end of the read are missing from the record.
    bool hard_clipped() const {
        const size_t n = operations();
        return n != 0 && ((operation(0) & 15) == kCigarH || (operation(n - 1) & 15) == kCigarH);
    }

    // Whether the CIGAR field holds the placeholder for operations in the tag CG.
    bool long_cigar() const {
        return operations() == 2 && operation(0) == (uint32_t(length()) << 4 | kCigarS) &&
               (operation(1) & 15) == kCigarN;
    }

    // Reference bases that the CIGAR covers.
    int64_t span() const {
        int64_t bases = 0;
        for (size_t i = 0; i < operations(); i++)
            if (kOnReference >> (operation(i) & 15) & 1) bases += operation(i) >> 4;
        return bases;
    }

private:
    static constexpr uint32_t kOnReference =
        1 << kCigarM | 1 << kCigarD | 1 << kCigarN | 1 << kCigarEqual | 1 << kCigarX;

    size_t name_bytes() const { return bytes_[12]; }
    template <class T> T at(size_t offset) const {
        T value;
        std::memcpy(&value, bytes_ + offset, sizeof value);
        return value;
    }

    const uint8_t* bytes_;
};

// Iterates over consecutive records.
class BamRecords {
public:
    BamRecords(const uint8_t* begin, size_t size) : at_(begin), end_(begin + size) {}

    bool more() const { return at_ < end_; }
    // Throws std::invalid_argument if no complete record is left.
    BamRecord next() {
        const BamRecord record(at_);
        const size_t left = size_t(end_ - at_);
        if (left < BamRecord::kFixedBytes || record.size() > left || !record.named() || record.tags() > record.end())
            throw std::invalid_argument("a BAM record is cut short");
        at_ += record.size();
        return record;
    }

private:
    const uint8_t *at_, *end_;
};

// The name that the mates of a pair share: some aligners keep /1 and /2.
inline std::string_view template_name(const BamRecord& record) {
    std::string_view name = record.name();
    const size_t n = name.size();
    if (record.is(kFlagPaired) && n > 2 && name[n - 2] == '/' && (name[n - 1] == '1' || name[n - 1] == '2'))
        name.remove_suffix(2);
    return name;
}

// Numbers templates in input order; records of R2 follow those of R1, and the primary record of a read comes first.
// Names are not compared, as those of mates may differ.
class TemplateCounter {
public:
    // Number of the next record's template, from 0.
    int64_t operator()(const BamRecord& record) {
        if (record.primary()) {
            const uint16_t mate = record.flag() & (kFlagFirst | kFlagSecond);
            number_ += !(waits_ && mate == kFlagSecond);
            waits_ = mate == kFlagFirst;
        }
        if (number_ < 0) throw std::invalid_argument("records begin in the middle of a template");
        return number_;
    }
    int64_t count() const { return number_ + 1; }

private:
    int64_t number_ = -1;
    bool waits_ = false;  // R1 was seen, R2 is expected
};

}  // namespace gpualign
