// The number by which a read chooses among equally good alignments (algo/map/tie_break.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

#include "algo/map/tie_break.hpp"

namespace gpualign {

// Texts of reads: names or bases.
struct ReadTexts {
    const uint8_t* bytes;
    const int64_t* offsets;

    const uint8_t* begin(size_t read) const { return bytes + offsets[read]; }
    const uint8_t* end(size_t read) const { return bytes + offsets[read + 1]; }
};

// Of a name, or of the bases of a read without one.
inline uint32_t read_tie_break(const ReadTexts& names, const ReadTexts& bases, size_t read) {
    const ReadTexts& text = names.begin(read) == names.end(read) ? bases : names;
    return tie_break_hash(text.begin(read), text.end(read) - text.begin(read));
}

}  // namespace gpualign
