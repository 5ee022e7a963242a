// Block headers (RFC 1951, section 3.2.3), and a test for where a block may begin.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "text/gzip/bits.hpp"
#include "text/gzip/huffman.hpp"

namespace gpualign::gzip {

// The Huffman codes of a block.
class BlockCodes {
public:
    static constexpr size_t kHeaderBytes = 600;  // maximum

    void set_fixed() {
        std::array<uint8_t, 288> lengths;
        for (uint32_t s = 0; s < 288; s++) lengths[s] = s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8;
        std::array<uint8_t, 32> distances;
        distances.fill(5);
        set(lengths.data(), 288, distances.data(), 32);
    }

    // Reads the code lengths of a dynamic block, after its type; false if they are invalid.
    bool read(BitReader& in) {
        constexpr uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
        in.refill();
        const uint32_t literals = in.get(5) + 257, distances = in.get(5) + 1, codes = in.get(4) + 4;
        if (literals > 286 || distances > 30) return false;
        std::array<uint8_t, 19> of_lengths{};
        for (uint32_t i = 0; i < codes; i++) {
            in.refill();
            of_lengths[order[i]] = uint8_t(in.get(3));
        }
        if (!lengths_.build(of_lengths.data(), 19, plain_entry)) return false;
        std::array<uint8_t, 286 + 30 + 138> lengths{};
        for (uint32_t i = 0; i < literals + distances;) {
            in.refill();
            const Entry entry = lengths_.first(in.held);
            if (entry.kind() != Entry::value) return false;
            in.take(entry.bits());
            const uint32_t symbol = entry.base();
            if (symbol < 16) {
                lengths[i++] = uint8_t(symbol);
                continue;
            }
            if (symbol == 16 && i == 0) return false;
            const uint8_t again = symbol == 16 ? lengths[i - 1] : uint8_t(0);
            for (uint32_t n = symbol == 16 ? 3 + in.get(2) : symbol == 17 ? 3 + in.get(3) : 11 + in.get(7); n; n--)
                lengths[i++] = again;
            if (i > literals + distances) return false;
        }
        return lengths[256] != 0 && set(lengths.data(), literals, lengths.data() + literals, distances);
    }

    CodeTable<11, 4096> symbols;
    CodeTable<10, 2048> distances;

private:
    bool set(const uint8_t* of_symbols, uint32_t n, const uint8_t* of_distances, uint32_t m) {
        if (!symbols.build(of_symbols, n, length_entry) || !distances.build(of_distances, m, distance_entry))
            return false;
        symbols.join_literals();
        return true;
    }

    CodeTable<7, 128> lengths_;
};

// Whether the bits can be the header of a non-final dynamic block, judged up to its first code.
inline bool may_begin(const BitReader& in, uint64_t bit) {
    const uint64_t head = in.at(bit);
    if ((head & 7) != 4 || (head >> 3 & 31) > 29 || (head >> 8 & 31) > 29) return false;
    const uint32_t codes = uint32_t(head >> 13 & 15) + 4;
    uint64_t lengths = in.at(bit + 17);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < codes; i++, lengths >>= 3) taken += (lengths & 7) ? 128u >> (lengths & 7) : 0;
    return taken == 128;
}

}  // namespace gpualign::gzip
