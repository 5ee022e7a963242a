// The tags of a BAM record (SAM specification, section 4.2.4), and its CIGAR, which may be one of them. No Python here.
#pragma once
#include <cstring>
#include <string_view>

#include "bam/record.hpp"

namespace gpualign {

// Bytes of one value of a type; 0 for those that are not of one size.
inline size_t tag_value_bytes(uint8_t type) {
    switch (type) {
        case 'A':
        case 'c':
        case 'C': return 1;
        case 's':
        case 'S': return 2;
        case 'i':
        case 'I':
        case 'f': return 4;
        default: return 0;
    }
}

// The bytes of a tag's value, without a closing zero; no data where the record has no such tag. Throws
// std::invalid_argument where the tags are damaged.
inline std::string_view find_tag(const BamRecord& record, std::string_view wanted) {
    const uint8_t *at = record.tags(), *const end = record.end();
    const auto damaged = [] { throw std::invalid_argument("a BAM record's tags are damaged"); };
    while (at < end) {
        if (end - at < 4) damaged();
        const bool found = std::memcmp(at, wanted.data(), 2) == 0;
        const uint8_t type = at[2];
        const uint8_t* value = at + 3;
        size_t bytes = tag_value_bytes(type), rest = 0;
        if (type == 'Z' || type == 'H') {
            const void* zero = std::memchr(value, 0, size_t(end - value));
            if (zero == nullptr) damaged();
            bytes = size_t(static_cast<const uint8_t*>(zero) - value);
            rest = 1;
        } else if (type == 'B') {
            if (end - value < 5) damaged();
            uint32_t count;
            std::memcpy(&count, value + 1, sizeof count);
            bytes = 5 + tag_value_bytes(value[0]) * size_t(count);
        }
        if (bytes + rest > size_t(end - value)) damaged();
        if (found) return {reinterpret_cast<const char*>(value), bytes};
        at = value + bytes + rest;
    }
    return {};
}

// The operations of a record; of a CIGAR that does not fit its field, those in the tag CG.
class Cigar {
public:
    explicit Cigar(const BamRecord& record) : words_(record.bases() - 4 * record.operations()), size_(record.operations()) {
        if (!record.long_cigar()) return;
        const std::string_view array = find_tag(record, "CG");
        if (array.size() < kArrayHead) return;
        words_ = reinterpret_cast<const uint8_t*>(array.data()) + kArrayHead;
        size_ = (array.size() - kArrayHead) / 4;
    }

    size_t size() const { return size_; }
    uint32_t operator[](size_t i) const {
        uint32_t word;
        std::memcpy(&word, words_ + 4 * i, sizeof word);
        return word;
    }

private:
    static constexpr size_t kArrayHead = 5;  // type and count

    const uint8_t* words_;
    size_t size_;
};

}  // namespace gpualign
