// Which of many sequences has most of 32 random words of a query, 100 times (SINTAX; Edgar 2016, bioRxiv 074161).
//
// Sequences stand in groups of 64 that are similar. A draw's words are counted for groups first, 64 of them or more at
// once: no sequence has more of the words than its group. Only groups that reach the best sequence so far, which comes
// from the group with most words, are counted sequence by sequence.
#pragma once
#include "abi/words.hpp"
#include "algo/common/dna.hpp"
#include "algo/common/group.hpp"
#include "algo/common/ranks.hpp"
#include "algo/seeds/words/counts.hpp"

namespace gpualign {
namespace words {

constexpr uint32_t kWordBases = 8, kAllWords = 1 << 2 * kWordBases, kBitmapWords = kAllWords / 64;
constexpr uint32_t kGroupSequences = 64;
constexpr uint32_t kDraws = 100, kDrawn = 32, kLevels = 6;

// The sequence that has most words of a draw: their number, and the sequence's in the order of preference, or -1.
struct Best {
    uint32_t count;
    int32_t order;
};

// The words of a draw, each once; the others are kAllWords, which no sequence has.
struct Draw {
    uint32_t words[kDrawn];
};

// Number i of those that follow from a seed (splitmix64).
GPUALIGN_HD uint64_t random_number(uint64_t seed, uint32_t i) {
    uint64_t z = seed + (uint64_t(i) + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

// A draw, with repetition, of `count` different words; of their reverse complements if `minus`.
GPUALIGN_HD Draw draw_words(const uint16_t* words, uint32_t count, uint64_t seed, uint32_t number, bool minus) {
    Draw draw;
    GPUALIGN_UNROLL
    for (uint32_t i = 0; i < kDrawn; i++) {
        const uint32_t at = uint32_t((random_number(seed, number * kDrawn + i) >> 32) * count >> 32);
        const uint64_t word = words[at];
        draw.words[i] = minus ? uint32_t(reverse_complement(word) >> (64 - 2 * kWordBases)) : uint32_t(word);
    }
    bool again[kDrawn];
    GPUALIGN_UNROLL
    for (uint32_t i = 0; i < kDrawn; i++) {
        again[i] = false;
        GPUALIGN_UNROLL
        for (uint32_t j = 0; j < i; j++) again[i] |= draw.words[j] == draw.words[i];
    }
    GPUALIGN_UNROLL
    for (uint32_t i = 0; i < kDrawn; i++)
        if (again[i]) draw.words[i] = kAllWords;
    return draw;
}

// How many words of a draw each group has, 64 groups times `at` and those after it.
template <class Word>
GPUALIGN_HD Counts<Word, kLevels> counts_of_groups(const WordGroups& index, const Draw& draw, uint32_t at) {
    Counts<Word, kLevels> counts;
    counts.add(
        [&](uint32_t i) { return BitWord<Word>::load(index.rows + uint64_t(draw.words[i]) * index.row_words + at); });
    return counts;
}

// The group with most words of a draw, the first of equal ones.
template <class Word> GPUALIGN_HD uint32_t nearest_group(const WordGroups& index, const Draw& draw, uint32_t& most) {
    uint32_t nearest = 0;
    most = 0;
    for (uint32_t at = 0; at < index.row_words; at += BitWord<Word>::kParts) {
        Word which;
        const uint32_t count = counts_of_groups<Word>(index, draw, at).highest(which);
        if (count <= most) continue;
        most = count;
        uint32_t part = 0;
        while (!BitWord<Word>::part(which, part)) part++;
        nearest = (at + part) * 64 + uint32_t(trailing_zeros(BitWord<Word>::part(which, part)));
    }
    return nearest;
}

// Which sequences of a group have a word.
GPUALIGN_HD uint64_t sequences_with(const WordGroups& index, uint32_t group, uint32_t word) {
    if (word == kAllWords) return 0;
    const uint64_t first = uint64_t(group) * kBitmapWords;
    const uint64_t* const bits = index.bitmaps + first;
    return bits[word / 64] >> word % 64 & 1 ? index.masks[rank_of(bits, index.ranks + first, word)] : 0;
}

// The best so far, or a better sequence of a group.
GPUALIGN_HD void take_best_of(const WordGroups& index, const Draw& draw, uint32_t group, Best& best) {
    Counts<uint64_t, kLevels> counts;
    counts.add([&](uint32_t i) { return sequences_with(index, group, draw.words[i]); });
    uint64_t which;
    const uint32_t count = counts.highest(which);
    if (count < best.count) return;
    const int32_t order = index.orders[uint64_t(group) * kGroupSequences + uint32_t(trailing_zeros(which))];
    if (count > best.count || order < best.order) best = {count, order};
}

// The best of all sequences that have more than `floor` words of a draw.
template <class Word> GPUALIGN_HD Best best_of_draw(const WordGroups& index, const Draw& draw, uint32_t floor) {
    Best best{floor, -1};
    uint32_t most;
    const uint32_t nearest = nearest_group<Word>(index, draw, most);
    if (most <= floor) return best;
    take_best_of(index, draw, nearest, best);
    for (uint32_t at = 0; at < index.row_words; at += BitWord<Word>::kParts) {
        const Word reached = counts_of_groups<Word>(index, draw, at).at_least(best.count + (best.order < 0));
        if (BitWord<Word>::any(reached))
            each_bit(reached, [&](uint32_t bit) {
                const uint32_t group = at * 64 + bit;
                if (group != nearest) take_best_of(index, draw, group, best);
            });
    }
    return best;
}

// The draws of a query, shared out to lanes.
template <class Word, class Group> class QueryDraws {
public:
    GPUALIGN_HD QueryDraws(const Group& group, const WordDraws& batch, uint32_t query)
        : group_(group), batch_(batch), query_(query), first_(batch.firsts[query]),
          count_(batch.firsts[query + 1] - first_) {}

    // Writes the best sequence of each draw, on the strand whose best has more words; of equal ones more draws have to
    // have one, else the strand is plus. A single word says nothing, and fewer than 32 different ones are not drawn.
    GPUALIGN_HD void classify() {
        bool minus = false;
        Strand first{}, second{};
        if (count_ >= kDrawn) {
            minus = batch_.both && most_of_groups(true) > most_of_groups(false);  // a guess
            first = strand(minus, 1);
            // if the other one reaches it, it is counted too
            if (batch_.both && strand(!minus, first.highest > 1 ? first.highest - 1 : 1).found) {
                second = strand(!minus, 1);
                const bool better = second.highest != first.highest ? second.highest > first.highest
                                    : second.found != first.found   ? second.found > first.found
                                                                    : minus;
                if (better) first = second, minus = !minus;
            }
        }
        GPUALIGN_UNROLL
        for (uint32_t i = 0; i < kEach; i++)
            if (draw_of(i) < kDraws)
                batch_.best[uint64_t(query_) * kDraws + draw_of(i)] = count_ < kDrawn ? -1 : first.orders[i];
        if (group_.lane() == 0) batch_.minus[query_] = minus;
    }

private:
    static constexpr uint32_t kEach = (kDraws + Group::kLanes - 1) / Group::kLanes;

    struct Strand {
        uint32_t highest, found;  // words of the best sequence of all draws, and draws that have found one
        int32_t orders[kEach];
    };

    GPUALIGN_HD uint32_t draw_of(uint32_t i) const { return i * Group::kLanes + group_.lane(); }
    GPUALIGN_HD Draw draw(uint32_t number, bool minus) const {
        return draw_words(batch_.words + first_, count_, batch_.seeds[query_], number, minus);
    }

    // Words of some draws that one group has.
    GPUALIGN_HD uint32_t most_of_groups(bool minus) const {
        constexpr uint32_t some = 8;
        uint32_t sum = 0;
        for (uint32_t number = group_.lane(); number < some; number += Group::kLanes) {
            uint32_t most;
            nearest_group<Word>(batch_.index, draw(number, minus), most);
            sum += most;
        }
        return group_.sum(sum);
    }

    // The sequences of a strand that have more than `floor` words.
    GPUALIGN_HD_CALL Strand strand(bool minus, uint32_t floor) const {
        Strand result{};
        for (uint32_t i = 0; i < kEach; i++) {
            result.orders[i] = -1;
            if (draw_of(i) >= kDraws) continue;
            const Best best = best_of_draw<Word>(batch_.index, draw(draw_of(i), minus), floor);
            result.orders[i] = best.order;
            if (best.order < 0) continue;
            result.found++;
            if (best.count > result.highest) result.highest = best.count;
        }
        result.highest = uint32_t(group_.largest(int32_t(result.highest)));
        result.found = group_.sum(result.found);
        return result;
    }

    const Group& group_;
    const WordDraws& batch_;
    uint32_t query_, first_, count_;
};

}  // namespace words
}  // namespace gpualign
