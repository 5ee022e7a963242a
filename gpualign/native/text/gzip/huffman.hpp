// Decoding tables for deflate's Huffman codes (RFC 1951, section 3.2), with up to three short literals per look-up.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace gpualign::gzip {

constexpr int kLongestCode = 15;

// Meaning of the next bits of a stream: up to three literals, a length or distance, or a second table.
struct Entry {
    enum Kind : uint32_t { value, table, end, invalid };

    static Entry literal(uint32_t byte, uint32_t bits) { return {bits | 1u << 6 | byte << 8}; }
    static Entry other(Kind kind, uint32_t base, uint32_t code_bits, uint32_t extra_bits = 0) {
        return {(code_bits + extra_bits) | code_bits << 8 | kind << 12 | base << 16};
    }

    uint32_t bits() const { return word & 63; }  // total
    uint32_t literals() const { return word >> 6 & 3; }
    uint32_t three() const { return word >> 8; }  // the first literal in the lowest byte
    uint32_t code_bits() const { return word >> 8 & 15; }  // bits of the code; for a table: index bits
    Kind kind() const { return Kind(word >> 12 & 3); }
    uint32_t base() const { return word >> 16; }
    // The value, given the bits of `held`.
    uint32_t of(uint64_t held) const {
        return base() + uint32_t((held & ((uint64_t(1) << bits()) - 1)) >> code_bits());
    }

    Entry after(Entry next) const {  // joins two or three literals
        return {bits() + next.bits() + ((literals() + next.literals()) << 6) +
                ((three() | next.three() << 8 * literals()) << 8)};
    }

    uint32_t word;
};

inline Entry length_entry(uint32_t symbol, uint32_t bits) {
    constexpr uint16_t bases[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99,
        115, 131, 163, 195, 227, 258};
    if (symbol < 256) return Entry::literal(symbol, bits);
    if (symbol == 256) return Entry::other(Entry::end, 0, bits);
    const uint32_t i = symbol - 257;
    if (i > 28) return Entry::other(Entry::invalid, 0, bits);
    return Entry::other(Entry::value, bases[i], bits, i < 8 || i == 28 ? 0 : i / 4 - 1);
}

inline Entry distance_entry(uint32_t symbol, uint32_t bits) {
    if (symbol > 29) return Entry::other(Entry::invalid, 0, bits);
    const uint32_t extra = symbol < 4 ? 0 : symbol / 2 - 1;
    return Entry::other(Entry::value, symbol < 4 ? 1 + symbol : 1 + ((2 + symbol % 2) << extra), bits, extra);
}

inline Entry plain_entry(uint32_t symbol, uint32_t bits) { return Entry::other(Entry::value, symbol, bits); }

inline uint32_t reversed(uint32_t code, int bits) {
    uint32_t result = 0;
    for (int i = 0; i < bits; i++) result |= (code >> i & 1) << (bits - 1 - i);
    return result;
}

// The first table is indexed by `kRoot` bits; longer codes continue in a second one.
template <int kRoot, size_t kSize> class CodeTable {
public:
    static constexpr uint64_t kMask = (uint64_t(1) << kRoot) - 1;

    // Builds the table from the code lengths, 0 for unused symbols; false if they are not a prefix code. An incomplete
    // code is allowed only with at most one symbol.
    template <class MakeEntry> bool build(const uint8_t* lengths, uint32_t symbols, MakeEntry make) {
        std::array<uint32_t, kLongestCode + 2> count{}, code{};
        for (uint32_t s = 0; s < symbols; s++) count[lengths[s]]++;
        const uint32_t used = symbols - count[0];
        count[0] = 0;
        uint32_t left = 1;  // strings of a length without a shorter code as prefix
        for (int bits = 1; bits <= kLongestCode; bits++) {
            code[bits + 1] = (code[bits] + count[bits]) << 1;
            if (2 * left < count[bits]) return false;
            left = 2 * left - count[bits];
        }
        if (left && (used > 1 || count[1] != used)) return false;
        if (left) entries_.fill(Entry::other(Entry::invalid, 0, 1));
        if (!place_longer(lengths, symbols, code)) return false;
        for (uint32_t s = 0; s < symbols; s++) {
            const uint32_t bits = lengths[s];
            if (!bits) continue;
            const uint32_t string = reversed(code[bits]++, int(bits));
            Entry* at = entries_.data();
            uint32_t first = string, step = 1u << bits, size = 1u << kRoot;
            if (bits > kRoot) {
                const Entry table = at[string & kMask];
                at += table.base();
                first >>= kRoot, step >>= kRoot, size = 1u << table.code_bits();
            }
            for (uint32_t i = first; i < size; i += step) at[i] = make(s, bits);
        }
        return true;
    }

    // Joins literals with those that follow them, as far as their bits fit the first table.
    void join_literals() {
        std::array<Entry, size_t(1) << kRoot> single;
        for (uint32_t i = 0; i < single.size(); i++) single[i] = entries_[i];
        for (uint32_t i = 0; i < single.size(); i++)
            for (int more = 0; more < 2 && entries_[i].literals() == uint32_t(more) + 1; more++) {
                const Entry next = single[i >> entries_[i].bits()];
                if (next.literals() && entries_[i].bits() + next.bits() <= kRoot) entries_[i] = entries_[i].after(next);
            }
    }

    Entry first(uint64_t held) const { return entries_[held & kMask]; }
    Entry longer(Entry table, uint64_t held) const {
        return entries_[table.base() + (held >> kRoot & ((uint64_t(1) << table.code_bits()) - 1))];
    }

private:
    // Allocates second tables for codes longer than kRoot, each sized for its longest code.
    bool place_longer(const uint8_t* lengths, uint32_t symbols, std::array<uint32_t, kLongestCode + 2> code) {
        std::array<uint8_t, size_t(1) << kRoot> longest{};
        bool any = false;
        for (uint32_t s = 0; s < symbols; s++) {
            const uint32_t bits = lengths[s];
            if (!bits) continue;
            const uint32_t string = reversed(code[bits]++, int(bits));
            if (bits <= kRoot) continue;
            any = true;
            uint8_t& most = longest[string & kMask];
            if (most < bits - kRoot) most = uint8_t(bits - kRoot);
        }
        if (!any) return true;
        size_t used = size_t(1) << kRoot;
        for (uint32_t i = 0; i < longest.size(); i++) {
            if (!longest[i]) continue;
            if (used + (size_t(1) << longest[i]) > kSize)
                return false;  // impossible for a prefix code of so many symbols
            entries_[i] = Entry::other(Entry::table, uint32_t(used), longest[i]);
            used += size_t(1) << longest[i];
        }
        return true;
    }

    std::array<Entry, kSize> entries_;
};

}  // namespace gpualign::gzip
