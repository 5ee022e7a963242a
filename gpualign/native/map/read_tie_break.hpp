// Tie-break hash of a read (algo/map/tie_break.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

#include "algo/map/tie_break.hpp"

namespace gpualign {

// Names or bases of reads.
struct ReadTexts {
    const uint8_t* bytes;
    const int64_t* offsets;

    const uint8_t* begin(size_t read) const { return bytes + offsets[read]; }
    const uint8_t* end(size_t read) const { return bytes + offsets[read + 1]; }
};

// Hash of the name, or of the bases of a read without a name.
inline uint32_t read_tie_break(const ReadTexts& names, const ReadTexts& bases, size_t read) {
    const ReadTexts& text = names.begin(read) == names.end(read) ? bases : names;
    return tie_break_hash(text.begin(read), text.end(read) - text.begin(read));
}

}  // namespace gpualign
