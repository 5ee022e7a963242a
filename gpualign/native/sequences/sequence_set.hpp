// Sequences of symbols one after the other.
#pragma once
#include <algorithm>
#include <cstdint>

namespace gpualign {

struct SequenceSet {
    const uint8_t* codes;
    const int64_t* offsets;
    int identical;  // codes below this equal themselves
    bool codes_match;  // other codes match some symbols; else nothing

    const uint8_t* begin(int32_t i) const { return codes + offsets[i]; }
    int32_t length(int32_t i) const { return int32_t(offsets[i + 1] - offsets[i]); }
    // Symbols that may match without being equal.
    int32_t ambiguous(int32_t i) const {
        if (!codes_match) return 0;
        return int32_t(
            std::count_if(begin(i), codes + offsets[i + 1], [&](uint8_t code) { return code >= identical; }));
    }
};

}  // namespace gpualign
