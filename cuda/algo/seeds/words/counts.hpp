// Counts for as many things as a word has bits: plane i holds bit i of their counts. A full adder of planes is five bit
// operations. With three rows of bits for four things
//
//   row 1: 1 0 1 1    row 2: 1 0 0 1    row 3: 1 0 0 0    plane 0: 1 0 1 0    plane 1: 1 0 0 1    counts: 3 0 1 2
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {
namespace words {

// What a word of bits can do; the CPU has wider ones (gpualign/native/seeds/words/bits.hpp).
template <class Word> struct BitWord;
template <> struct BitWord<uint64_t> {
    static constexpr uint32_t kParts = 1;  // of 64 bits
    GPUALIGN_HD static uint64_t load(const uint64_t* at) { return *at; }
    GPUALIGN_HD static uint64_t part(uint64_t word, uint32_t) { return word; }
    GPUALIGN_HD static bool any(uint64_t word) { return word != 0; }
};

// Calls found(i) for each bit that is set, in order.
template <class Word, class Found> GPUALIGN_HD void each_bit(const Word& word, const Found& found) {
    for (uint32_t i = 0; i < BitWord<Word>::kParts; i++)
        for (uint64_t left = BitWord<Word>::part(word, i); left; left &= left - 1)
            found(i * 64 + uint32_t(trailing_zeros(left)));
}

// Counts of less than 2^Levels.
template <class Word, int Levels> struct Counts {
    static constexpr uint32_t kRows = 32;  // that are added at once
    Word planes[Levels]{};

    // Adds row(0) to row(31).
    template <class Row> GPUALIGN_HD void add(const Row& row) {
        Word carry = added<5>(row, 0);
        GPUALIGN_UNROLL
        for (int i = 5; i < Levels; i++) {
            const Word both = planes[i] & carry;
            planes[i] ^= carry;
            carry = both;
        }
    }

    // The things that count at least this.
    GPUALIGN_HD Word at_least(uint32_t count) const {
        Word more{}, equal = ~Word{};
        GPUALIGN_UNROLL
        for (int i = Levels - 1; i >= 0; i--) {
            if (count >> i & 1) {
                equal &= planes[i];
            } else {
                more |= equal & planes[i];
                equal &= ~planes[i];
            }
        }
        return more | equal;
    }

    // The highest count, and the things that have it.
    GPUALIGN_HD uint32_t highest(Word& which) const {
        uint32_t count = 0;
        which = ~Word{};
        GPUALIGN_UNROLL
        for (int i = Levels - 1; i >= 0; i--) {
            const Word with = which & planes[i];
            if (BitWord<Word>::any(with)) which = with, count |= 1u << i;
        }
        return count;
    }

    // The count of one of them.
    GPUALIGN_HD uint32_t of(uint32_t bit) const {
        uint32_t count = 0;
        for (int i = 0; i < Levels; i++)
            count |= uint32_t(BitWord<Word>::part(planes[i], bit / 64) >> bit % 64 & 1) << i;
        return count;
    }

private:
    // Adds 2^level rows from the first on; returns what is carried to the plane `level`.
    template <int level, class Row> GPUALIGN_HD Word added(const Row& row, uint32_t first) {
        if constexpr (level == 0) {
            return row(first);
        } else {
            const Word a = added<level - 1>(row, first), b = added<level - 1>(row, first + (1u << (level - 1)));
            Word& plane = planes[level - 1];
            const Word either = plane ^ a, carry = (plane & a) | (either & b);
            plane = either ^ b;
            return carry;
        }
    }
};

}  // namespace words
}  // namespace gpualign
