// What the kernel of words takes (host side: gpualign/seeds/words/device.py); the CPU uses the same struct of groups.
#pragma once
#include <cstdint>

namespace gpualign {

// Which sequences have which words of 8 bases: sequences in groups of 64, those that are similar together.
struct WordGroups {
    const uint64_t* rows;     // of each word, and of none: a bit for each group, of which some sequence has it
    const uint64_t* bitmaps;  // of each group: a bit for each word
    const uint32_t* ranks;    // of each group: bits of all bitmaps before each 64 of its own
    const uint64_t* masks;    // of each set bit of the bitmaps: which of the group's sequences have the word
    const int32_t* orders;    // of each sequence, ascending in a group: its number in the order of preference
    uint32_t groups;
    uint32_t row_words;  // 64-bit words of a row, a multiple of 8
};

// Queries whose words are drawn.
struct WordDraws {
    WordGroups index;
    const uint16_t* words;  // the different words of the queries
    const uint32_t* firsts;  // of each query's words, and their end
    const uint64_t* seeds;   // of the queries' random numbers
    int32_t* best;  // of each draw of each query: the sequence that has most words, in order of preference, or -1
    uint8_t* minus;  // of each query: 1 if the words are those of the other strand
    uint32_t queries;
    uint32_t both;  // 1: both strands are tried
};

static_assert(sizeof(WordGroups) == 48 && sizeof(WordDraws) == 96, "as the host writes them");

}  // namespace gpualign
