// Orders of BAM records: keys of 128 bits that sort as they do, and what decides between equal keys. Free of Python.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "records/record.hpp"
#include "records/tags.hpp"
#include "records/template_coordinate.hpp"

namespace gpualign {

// Orders of records, under the names that Python has for them (gpualign/records/record_sorter.py).
enum class RecordOrder { kInput, kCoordinate, kTemplate, kNatural, kLexicographic, kPicard, kTemplateCoordinate };

// Whether records decide where their keys are equal, and not their numbers: orders by name among others.
inline bool by_record(RecordOrder order) { return order >= RecordOrder::kNatural; }
// Whether the tags of a record decide as well.
inline bool by_tags(RecordOrder order) { return order >= RecordOrder::kPicard; }

constexpr uint64_t kNoContig = uint64_t(0x7fffffff) << 33;  // coordinate of records without contig and position

// The order of samtools sort: contig, position, strand; records without a contig last.
inline uint64_t coordinate_of(const BamRecord& record) {
    const uint64_t contig = uint64_t(uint32_t(record.contig()) & 0x7fffffff),
                   position = uint64_t(int64_t(record.position()) + 1);
    return contig << 33 | position << 1 | uint64_t(record.is(kFlagReverse));
}

inline uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
    return x ^ (x >> 32);
}

inline uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
    uint64_t hash = mix(seed + text.size() + 1);
    for (size_t i = 0; i < text.size(); i += 8) {
        uint64_t word = 0;
        std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
        hash = mix(hash ^ word);
    }
    return hash;
}

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// samtools' natural order: runs of digits compare as numbers; of equal numbers the one with more zeros is first.
inline int natural_order(std::string_view a, std::string_view b) {
    const auto digit = [](std::string_view text, size_t i) { return i < text.size() && is_digit(text[i]); };
    size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (!is_digit(a[i]) || !is_digit(b[j])) {
            if (a[i] != b[j]) return int(uint8_t(a[i])) - int(uint8_t(b[j]));
            i++, j++;
            continue;
        }
        while (i < a.size() && a[i] == '0') i++;
        while (j < b.size() && b[j] == '0') j++;
        int differ = 0;
        for (; digit(a, i) && digit(b, j); i++, j++)
            if (!differ) differ = int(a[i]) - int(b[j]);
        if (digit(a, i)) return 1;
        if (digit(b, j)) return -1;
        if (differ) return differ;
        if (i != j) return i < j ? 1 : -1;
    }
    return i < a.size() ? 1 : j < b.size() ? -1 : 0;
}

inline int name_order(RecordOrder order, std::string_view a, std::string_view b) {
    return order == RecordOrder::kNatural ? natural_order(a, b) : a.compare(b);
}

// Picard's order of records of one name: pairs before others, R1 before R2, forward before reverse, secondary after
// others, supplementary after others, and by the tag HI.
inline int picard_order(const BamRecord& a, const BamRecord& b) {
    const auto compare = [](int64_t x, int64_t y) { return x < y ? -1 : x > y; };
    if (a.is(kFlagPaired) != b.is(kFlagPaired)) return a.is(kFlagPaired) ? -1 : 1;
    if (a.is(kFlagPaired)) {
        if (a.is(kFlagFirst) && b.is(kFlagSecond)) return -1;
        if (a.is(kFlagSecond) && b.is(kFlagFirst)) return 1;
    }
    for (const uint16_t flag : {kFlagReverse, kFlagSecondary, kFlagSupplementary})
        if (a.is(flag) != b.is(flag)) return b.is(flag) ? -1 : 1;
    const auto hit = [](const BamRecord& record) { return tag_integer(record, "HI", INT64_MIN); };
    return compare(hit(a), hit(b));
}

// Order of records whose keys are equal; 0: that of the input.
inline int order_of_equal_keys(RecordOrder order, const BamRecord& a, const BamRecord& b) {
    if (order == RecordOrder::kTemplate) {
        const int names = template_name(a).compare(template_name(b));
        return names ? names : find_tag(a, "RG").compare(find_tag(b, "RG"));
    }
    if (!by_record(order)) return 0;
    if (order == RecordOrder::kTemplateCoordinate) return template_coordinate_order(a, b);
    if (const int names = name_order(order, a.name(), b.name())) return names;
    constexpr uint16_t kReadNumber = kFlagFirst | kFlagSecond;
    return order == RecordOrder::kPicard ? picard_order(a, b)
                                         : int(a.flag() & kReadNumber) - int(b.flag() & kReadNumber);
}

struct Key128 {
    uint64_t high, low;

    bool operator<(const Key128& other) const { return high != other.high ? high < other.high : low < other.low; }
    bool operator==(const Key128& other) const { return high == other.high && low == other.low; }
};

// Packs the begin of names after a prefix that most of them share, so that keys compare as names do, as far as they
// go.
class NameKeys {
public:
    NameKeys(RecordOrder order, std::string_view prefix) : order_(order), prefix_(prefix) {}

    // The prefix for names like these: what they share, without digits at its end, which may go on.
    static std::string shared_prefix(const uint8_t* records, size_t size) {
        std::string_view shared;
        bool first = true;
        for (BamRecords rest(records, size); rest.more(); first = false) {
            const std::string_view name = rest.next().name();
            if (first) shared = name;
            const auto end = std::mismatch(shared.begin(), shared.end(), name.begin(), name.end()).first;
            shared = shared.substr(0, size_t(end - shared.begin()));
        }
        while (!shared.empty() && is_digit(shared.back())) shared.remove_suffix(1);
        return std::string(shared);
    }

    Key128 operator()(std::string_view name) const {
        if (name.substr(0, prefix_.size()) != prefix_)
            return name_order(order_, name, prefix_) < 0 ? Key128{0, 0} : Key128{~uint64_t(0) - 1, ~uint64_t(0)};
        Bits bits;
        for (size_t i = prefix_.size(); i < name.size() && bits.left > 0;) {
            const auto code = std::min<unsigned>(uint8_t(name[i]), kLastCode);
            const bool number = is_digit(name[i]) && order_ == RecordOrder::kNatural;
            bits.put(number ? '0' : code, kCodeBits);
            if (code == kLastCode) break;  // stands for several characters
            if (!number) i++;
            else if (!put_number(bits, name, i)) break;
        }
        return bits.key;
    }

private:
    static constexpr int kCodeBits = 7, kLengthBits = 4, kZeroBits = 2;
    static constexpr unsigned kLastCode = 127, kMostDigits = 15, kMostZeros = 3;

    struct Bits {
        Key128 key{0, 0};
        int left = 127;  // no key is as large as that of names beyond the prefix

        // Appends the first bits of `value` that there is room for.
        void put(uint64_t value, int count) {
            if (count > left) value >>= count - left, count = left;
            left -= count;
            if (left >= 64) key.high |= value << (left - 64);
            else key.low |= value << left, key.high |= left ? value >> (64 - left) : 0;
        }
    };

    // Appends the number at `i`: how many digits, these, and how many zeros before them; false: nothing may follow.
    static bool put_number(Bits& bits, std::string_view name, size_t& i) {
        const size_t begin = i;
        while (i < name.size() && name[i] == '0') i++;
        const size_t zeros = i - begin, from = i;
        while (i < name.size() && is_digit(name[i])) i++;
        const size_t digits = i - from;
        bits.put(std::min<size_t>(digits, kMostDigits), kLengthBits);
        if (digits >= kMostDigits) return false;
        for (size_t at = from; at < i; at += 3) {
            const size_t n = std::min<size_t>(3, i - at);
            unsigned value = 0;
            for (size_t k = 0; k < n; k++) value = 10 * value + unsigned(name[at + k] - '0');
            bits.put(value, n == 3 ? 10 : n == 2 ? 7 : 4);
        }
        bits.put(kMostZeros - std::min<size_t>(zeros, kMostZeros), kZeroBits);
        return zeros < kMostZeros;
    }

    RecordOrder order_;
    std::string_view prefix_;
};

}  // namespace gpualign
