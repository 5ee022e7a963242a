// Where patterns may lie in a packed text: an exact filter, which loses nothing.
//
// A pattern is cut into pieces, piece i with e_i errors, so that the sum of e_i + 1 is k + 1: of k errors in all, at
// least one piece has at most its e_i (Navarro and Baeza-Yates 2001, Algorithmica 30:473, lemma 1). All words of text
// in which an alignment of a piece with so few errors can end are marked in a table. The text is looked up word by
// word, once for all patterns and both strands; what is marked is checked against a segment of the pattern: some pieces
// that stand together, which have by the same lemma at most sum (e_i + 1) - 1 errors.
#pragma once
#include "abi/search.hpp"
#include "algo/common/dna.hpp"
#include "algo/common/ranks.hpp"
#include "algo/align/patterns/column.hpp"

namespace gpualign {

GPUALIGN_HD uint64_t search_word_mask(int bases) { return (uint64_t(1) << (2 * bases)) - 1; }

GPUALIGN_HD bool is_marked(const SearchTable& table, uint64_t word) {
    return table.marked[word >> 6] >> (word & 63) & 1;
}

// Calls each(seed) for the seeds of a marked word.
template <class Each> GPUALIGN_HD void seeds_of(const SearchTable& table, uint64_t word, Each&& each) {
    const uint32_t rank = rank_of(table.marked, table.ranks, word);
    for (uint32_t i = table.firsts[rank], end = table.firsts[rank + 1]; i < end; i++) each(table.seeds[i]);
}

// Whether a segment, of which `rows` rows end at text position `end`, has an alignment within its limit there. Bases
// outside the text [0, bases) are left out.
GPUALIGN_HD bool segment_is_near(
    const SearchSegment& segment, const uint64_t* text, int64_t bases, int64_t end, int rows) {
    int64_t first = end - rows - segment.limit, last = end + (segment.rows - rows) + segment.limit;
    if (first < 0) first = 0;
    if (last > bases) last = bases;
    SearchColumn<uint64_t> column;
    column.start();
    int score = segment.rows;
    for (int64_t at = first; at < last;) {
        uint64_t window = packed_window(text, uint64_t(at));
        const int64_t stop = at + kBasesPerWord < last ? at + kBasesPerWord : last;
        for (; at < stop; at++, window >>= 2) {
            uint64_t up, down;
            column.step(segment.eq[window & 3], up, down);
            score += int(up >> 63) - int(down >> 63);
            if (score <= segment.limit) return true;
        }
    }
    return false;
}

}  // namespace gpualign
