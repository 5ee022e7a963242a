// The targets of search: packed bases, or bytes; several sequences one after the other.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "seeds/index/reference.hpp"
#include "align/patterns/patterns.hpp"

namespace gpualign {

struct SearchText {
    ReferenceView packed;            // of bases
    const uint8_t* bytes = nullptr;  // of other symbols
    const int64_t* offsets = nullptr;
    size_t sequences = 0;
    uint8_t fold = 0xFF;  // what is left of a byte: of proteins all but the case

    int64_t length(size_t sequence) const { return offsets[sequence + 1] - offsets[sequence]; }
    size_t sequence_of(int64_t position) const {
        return size_t(std::upper_bound(offsets, offsets + sequences + 1, position) - offsets) - 1;
    }

    // The symbols [begin, end), positions in the whole text.
    void codes(int64_t begin, int64_t end, uint8_t* out) const {
        if (bytes) {
            for (int64_t i = begin; i < end; i++)
                out[i - begin] = uint8_t(bytes[i] & (bytes[i] >= 'a' && bytes[i] <= 'z' ? fold : 0xFF));
            return;
        }
        packed.codes(uint64_t(begin), uint64_t(end), out);
        for (int64_t i = 0; i < end - begin; i++) out[i] = uint8_t(1u << out[i] & 15u);
        for (size_t run = packed.first_run(uint64_t(begin)); run < packed.runs && packed.run_starts[run] < end; run++) {
            const int64_t from = std::max<int64_t>(begin, packed.run_starts[run]),
                          to = std::min<int64_t>(end, packed.run_ends[run]);
            std::fill(out + (from - begin), out + (to - begin), kBaseSets.of[packed.run_bases[run]]);
        }
    }

    // Symbols [begin, end) of a sequence as a strand reads it: the reverse complement's own positions.
    void read(size_t sequence, bool minus, int64_t begin, int64_t end, std::vector<uint8_t>& out) const {
        out.resize(size_t(end - begin));
        const int64_t first = minus ? offsets[sequence + 1] - end : offsets[sequence] + begin;
        codes(first, first + (end - begin), out.data());
        if (!minus) return;
        std::reverse(out.begin(), out.end());
        for (uint8_t& set : out) set = complement_set(set);
    }
};

}  // namespace gpualign
