// At which of its loci a read is reported, and what speaks against it: of a pair the best two together.
#pragma once
#include "algo/map/loci.hpp"
#include "algo/map/suboptimal.hpp"

namespace gpualign {

// Of all lanes together.
template <class Group>
GPUALIGN_HD Suboptimal together(const Group& group, const Suboptimal& mine) {
    const int32_t far = 1 << 30;
    const int32_t least = -group.largest(mine.least < 0 ? -far : -mine.least);
    Suboptimal all;
    if (least == far) return all;
    all.least = least;
    all.count = group.sum(mine.least == least ? mine.count : 0);
    return all;
}

// A record to be: which locus, and what suboptimal ones lose.
struct MapChoice {
    uint32_t locus;
    bool proper, best;  // best: of the read's own loci
    Suboptimal pair, alone;
};

// What the loci of a read but the best one lose.
template <class Group>
GPUALIGN_HD Suboptimal suboptimal_alone(const Group& group, const uint64_t* loci, uint32_t count, int32_t edit) {
    Suboptimal suboptimal;
    if (count < 2) return suboptimal;
    for (uint32_t i = 1 + group.lane(); i < count; i += Group::kLanes)
        suboptimal.add(int32_t(locus_distance(loci[i]) - locus_distance(loci[0])) * edit);
    return together(group, suboptimal);
}

template <class Group>
GPUALIGN_HD MapChoice choose_single(const Group& group, const uint64_t* loci, uint32_t count, int32_t edit) {
    return {0, false, true, Suboptimal(), suboptimal_alone(group, loci, count, edit)};
}

// Both mates as the chooser sees them.
struct PairedLoci {
    const MapTarget& target;
    const MapRules& rules;
    const uint64_t *first, *second;
    int32_t first_length, second_length;
    uint32_t first_count, second_count;  // at most kMaxPairedLoci

    GPUALIGN_HD int32_t edit() const { return rules.scores.match + rules.scores.mismatch; }
    GPUALIGN_HD int32_t score(uint64_t locus, int32_t length) const {
        return length * rules.scores.match - int32_t(locus_distance(locus)) * edit();
    }
    GPUALIGN_HD uint32_t combinations() const { return first_count * second_count; }
    // Of combination c; false where the two are no proper pair.
    GPUALIGN_HD bool score_of(uint32_t c, int32_t& score_of_pair) const {
        const uint64_t a = first[c / second_count], b = second[c % second_count];
        const int64_t insert = insert_size(target, rules.pairs, a, first_length, b, second_length);
        if (insert < 0) return false;
        score_of_pair = score(a, first_length) + score(b, second_length) - rules.penalties[insert];
        return true;
    }
    GPUALIGN_HD int32_t apart() const {
        return score(first[0], first_length) + score(second[0], second_length) - rules.pairs.unpaired_penalty;
    }
};

// The combination with the best score, of equal ones the first; ~0 where none is a proper pair.
template <class Group>
GPUALIGN_HD uint32_t best_combination(const Group& group, const PairedLoci& loci, int32_t& best) {
    uint64_t mine = 0;  // score, made positive | how far from the end
    for (uint32_t c = group.lane(); c < loci.combinations(); c += Group::kLanes) {
        int32_t score;
        if (!loci.score_of(c, score)) continue;
        const uint64_t key = uint64_t(int64_t(score) + (int64_t(1) << 31)) << 32 | uint32_t(~c);
        mine = key > mine ? key : mine;
    }
    mine = group.largest(mine);
    if (mine == 0) return ~0u;
    best = int32_t(int64_t(mine >> 32) - (int64_t(1) << 31));
    return ~uint32_t(mine);
}

// One mate of the best pair. Suboptimal are the pairs, or the choices without a pair, that put this mate elsewhere.
template <class Group>
GPUALIGN_HD MapChoice choose_mate(const Group& group, const PairedLoci& loci, uint32_t chosen, int32_t best, bool first,
                                 const uint64_t* mine, uint32_t count) {
    Suboptimal suboptimal;
    for (uint32_t c = group.lane(); c < loci.combinations(); c += Group::kLanes) {
        int32_t score;
        const uint32_t locus = first ? c / loci.second_count : c % loci.second_count;
        if (locus != chosen && loci.score_of(c, score)) suboptimal.add(best - score);
    }
    for (uint32_t i = group.lane(); i < count && i < kMaxPairedLoci; i += Group::kLanes) {
        if (i == chosen) continue;
        const int32_t worse = int32_t(locus_distance(mine[i]) - locus_distance(mine[0])) * loci.edit();
        suboptimal.add(best - (loci.apart() - worse));
    }
    MapChoice choice{chosen, true, chosen == 0, together(group, suboptimal), Suboptimal()};
    if (choice.best) choice.alone = suboptimal_alone(group, mine, count, loci.edit());
    return choice;
}

// Both mates: as a proper pair where that is worth as much as each mate's best locus without.
template <class Group>
GPUALIGN_HD void choose_pair(const Group& group, const MapRead* reads, const MapTarget& target, const MapRules& rules,
                             const MapWorkspace& workspace, const FoundRead* found, MapChoice* choices) {
    const int32_t edit = rules.scores.match + rules.scores.mismatch;
    for (int end = 0; end < 2; end++) choices[end] = choose_single(group, workspace.loci[end], found[end].loci, edit);
    if (found[0].loci == 0 || found[1].loci == 0) return;
    const auto most = [](uint32_t n) { return n < kMaxPairedLoci ? n : kMaxPairedLoci; };
    const PairedLoci loci{target, rules, workspace.loci[0], workspace.loci[1], reads[0].length, reads[1].length,
                              most(found[0].loci), most(found[1].loci)};
    int32_t best = 0;
    const uint32_t combination = best_combination(group, loci, best);
    if (combination == ~0u || best < loci.apart()) return;
    choices[0] = choose_mate(group, loci, combination / loci.second_count, best, true, workspace.loci[0], found[0].loci);
    choices[1] = choose_mate(group, loci, combination % loci.second_count, best, false, workspace.loci[1], found[1].loci);
}

}  // namespace gpualign
