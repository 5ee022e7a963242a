// Tags of a BAM record (SAM specification, section 4.2.4), and its CIGAR, which may be in a tag. Free of Python.
#pragma once
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "records/record.hpp"

namespace gpualign {

// Size of a numeric type; 0 for other types.
inline size_t tag_number_bytes(uint8_t type) {
    switch (type) {
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

// End of the tag at `at`. Throws std::invalid_argument if it is damaged.
inline const uint8_t* tag_end(const uint8_t* at, const uint8_t* end) {
    const auto refuse = [] { throw std::invalid_argument("a BAM record's tags are damaged"); };
    if (end - at < 4) refuse();
    const uint8_t type = at[2], *value = at + 3;
    const auto left = size_t(end - value);
    size_t size = type == 'A' ? 1 : tag_number_bytes(type);
    if (type == 'Z' || type == 'H') {
        const void* zero = std::memchr(value, 0, left);
        if (!zero) refuse();
        size = size_t(static_cast<const uint8_t*>(zero) - value) + 1;
    } else if (type == 'B') {
        if (left < 5 || tag_number_bytes(*value) == 0) refuse();
        uint32_t count;
        std::memcpy(&count, value + 1, sizeof count);
        size = 5 + tag_number_bytes(*value) * size_t(count);
    }
    if (size == 0 || size > left) refuse();
    return value + size;
}

// Value of a tag, without its terminating zero; a null view if the record has no such tag. Throws
// std::invalid_argument if a tag before it is damaged.
inline std::string_view find_tag(const BamRecord& record, std::string_view wanted) {
    const uint8_t* const end = record.end();
    for (const uint8_t *at = record.tags(), *next; at < end; at = next) {
        next = tag_end(at, end);
        if (std::memcmp(at, wanted.data(), 2) != 0) continue;
        const bool closed = at[2] == 'Z' || at[2] == 'H';
        return {reinterpret_cast<const char*>(at + 3), size_t(next - at) - 3 - closed};
    }
    return {};
}

// Value of an integer tag; `missing` if the record has no such tag.
inline int64_t tag_integer(const BamRecord& record, std::string_view wanted, int64_t missing) {
    const std::string_view value = find_tag(record, wanted);
    if (value.data() == nullptr) return missing;
    const auto read = [&](auto number) {
        std::memcpy(&number, value.data(), sizeof number);
        return int64_t(number);
    };
    switch (value.data()[-1]) {
        case 'c': return read(int8_t());
        case 'C': return read(uint8_t());
        case 's': return read(int16_t());
        case 'S': return read(uint16_t());
        case 'i': return read(int32_t());
        case 'I': return read(uint32_t());
        default: return missing;
    }
}

// The CIGAR operations of a record, from the tag CG if they do not fit the field.
class BamCigar {
public:
    explicit BamCigar(const BamRecord& record)
        : words_(record.bases() - 4 * record.operations()), size_(record.operations()) {
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

    // Clipped bases, soft and hard, at the beginning of the operations, or at their end.
    int64_t clipped_bases(bool at_end) const {
        int64_t bases = 0;
        for (size_t i = 0; i < size_; i++) {
            const uint32_t word = (*this)[at_end ? size_ - 1 - i : i], operation = word & 15;
            if (operation != kCigarS && operation != kCigarH) break;
            bases += word >> 4;
        }
        return bases;
    }

private:
    static constexpr size_t kArrayHead = 5;  // type and count

    const uint8_t* words_;
    size_t size_;
};

}  // namespace gpualign
