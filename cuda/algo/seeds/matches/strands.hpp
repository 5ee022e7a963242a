// The text of both strands of query records, or of the reverse ones, made from their packed forward strands.
//
// The forward strands are a text of their own (mem.hpp, TextView): a break, then each record and a break. In the text
// of both strands a record's forward strand is followed by its reverse one, so positions there follow from those here:
// with b the first base of a record and n that of the next, its strands begin at 2 b - 1 and b + n - 1.
#pragma once
#include "algo/seeds/matches/mem.hpp"

namespace gpualign {

constexpr int kStrandBlock = 64;  // positions that are made at once

// A strand of a record in a text; a break follows it.
struct TextBlock {
    uint64_t begin;
    uint32_t length;
    uint32_t record;
    bool reverse;
};

// Layout of a text's strands; `begins` holds the first base of each record in the forward text, and the position after
// its last break.
struct StrandLayout {
    const uint32_t* begins;
    uint32_t records;
    bool forward, reverse;

    GPUALIGN_HD uint32_t blocks() const { return both() ? 2 * records : records; }
    GPUALIGN_HD uint64_t length() const { return both() ? 2 * uint64_t(begins[records]) - 1 : begins[records]; }

    GPUALIGN_HD TextBlock block(uint32_t i) const {
        const uint32_t record = both() ? i / 2 : i;
        const uint64_t begin = begins[record], next = begins[record + 1];
        const bool turned = both() ? i & 1 : reverse;
        return {!both()  ? begin
                : turned ? begin + next - 1
                         : 2 * begin - 1,
            uint32_t(next - begin - 1), record, turned};
    }

    // The block that contains a position, including a block's closing break.
    GPUALIGN_HD uint32_t block_at(uint64_t position) const {
        uint32_t begin = 0, end = records;
        while (end - begin > 1) {
            const uint32_t middle = begin + (end - begin) / 2;
            if ((both() ? 2 * uint64_t(begins[middle]) - 1 : begins[middle]) <= position) begin = middle;
            else end = middle;
        }
        return both() ? 2 * begin + (block(2 * begin + 1).begin <= position) : begin;
    }

private:
    GPUALIGN_HD bool both() const { return forward && reverse; }
};

// Encoded bases and breaks of kStrandBlock positions.
struct StrandWords {
    uint64_t codes[2] = {0, 0};
    uint64_t breaks = 0;

    GPUALIGN_HD void put(int at, uint64_t more_codes, uint64_t more_breaks) {
        const int shift = 2 * (at % kBasesPerWord);
        codes[at / kBasesPerWord] |= more_codes << shift;
        if (at < kBasesPerWord && shift) codes[1] |= more_codes >> (64 - shift);
        breaks |= more_breaks << at;
    }
};

// The text's positions from kStrandBlock * number on. `block` is the one that holds the first of them, and becomes the
// one that holds the next ones'.
GPUALIGN_HD StrandWords strand_words(
    const TextView& forward, const StrandLayout& layout, uint64_t number, uint32_t& block) {
    StrandWords words;
    const uint64_t origin = number * kStrandBlock, length = layout.length();
    const uint64_t end = origin + kStrandBlock < length ? origin + kStrandBlock : length;
    uint64_t at = origin;
    if (at == 0) words.put(int(at++), 0, 1);
    while (at < end) {
        const TextBlock of = layout.block(block);
        const uint64_t begin = layout.begins[of.record], stop = of.begin + of.length;
        if (at == stop) words.put(int(at - origin), 0, 1);
        if (at >= stop) {
            if (++at < length) block++;
            continue;
        }
        const uint64_t rest = (stop < end ? stop : end) - at;
        const int n = rest < uint64_t(kBasesPerWord) ? int(rest) : kBasesPerWord;
        const uint64_t from = begin + (of.reverse ? stop - at - uint64_t(n) : at - of.begin);
        uint64_t codes = packed_window(forward.words, from);
        uint64_t breaks = break_window(forward.breaks, from) & ((uint64_t(1) << n) - 1);
        if (of.reverse) {
            codes = reverse_complement(codes) >> (64 - 2 * n);
            uint64_t turned = 0;
            for (; breaks; breaks &= breaks - 1) turned |= uint64_t(1) << (n - 1 - int(trailing_zeros(breaks)));
            breaks = turned;
        } else if (n < kBasesPerWord) {
            codes &= (uint64_t(1) << 2 * n) - 1;
        }
        words.put(int(at - origin), codes, breaks);
        at += uint64_t(n);
    }
    return words;
}

}  // namespace gpualign
