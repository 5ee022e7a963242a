// Choice among loci or pairs of which base qualities make one likelier than others with one edit less.
#pragma once
#include "algo/map/base_quality.hpp"
#include "algo/map/tie_break.hpp"
#include "algo/map/locus.hpp"

namespace gpualign {

// The locus to report, with its mapping quality.
struct MapChoice {
    uint32_t locus;
    bool proper;
    uint8_t mapq;
};
struct PairChoice {
    MapChoice first, second;
};

// Not inlined, as few reads need them.

// Among the end-to-end loci with at most one edit more than the best one.
template <class Group, class Loci>
GPUALIGN_HD_CALL MapChoice weighed(
    const Group& group, const AffineScores& scores, const Loci& loci, uint32_t tie_break, const MapChoice usual) {
    uint32_t near = 0;
    while (near < loci.count && near <= kMaxWeighed && loci.score(0) - loci.score(near) <= edit_of(scores)) near++;
    if (near < 2 || near > kMaxWeighed) return usual;
    const auto loss_of = [&](uint32_t i) { return loci.local(i) ? -1 : phred_loss(loci, i, scores); };
    int32_t least;
    const uint32_t chosen =
        least_loss(group, near, usual.locus, tie_break_for(tie_break, TieBreakFor::quality), loss_of, least);
    uint32_t others = 0;
    for (uint32_t i = group.lane(); i < near; i += Group::kLanes)
        if (i != chosen && !loci.local(i)) others += Weights::of(loss_of(i) - least);
    return {chosen, usual.proper, uint8_t(min(usual.mapq, Weights::quality(group.sum(others))))};
}

// Among the proper pairs that score at most one edit less than the usual one, whose score is `best`.
template <class Group, class Loci>
GPUALIGN_HD_CALL PairChoice weighed(const Group& group, const MapRules& rules, const Loci& first, const Loci& second,
    uint32_t rows, uint32_t columns, uint32_t tie_break, int32_t best, const PairChoice usual, const PairChoice& most) {
    constexpr int32_t kUnitLoss = 6;  // per unit of an insert-size penalty
    if (first.local(usual.first.locus) || second.local(usual.second.locus)) return usual;
    while (first.score(rows - 1) + second.score(0) < best - edit_of(rules.scores)) rows--;  // the loci are sorted
    const auto penalty_of = [&](uint32_t c) {
        const uint32_t i = c / columns, j = c % columns;
        const int64_t insert = first.local(i) || second.local(j) ? -1 : insert_size(rules.pairs, first, i, second, j);
        if (insert < 0) return -1;
        const int32_t penalty = rules.penalties[insert];
        return best - (first.score(i) + second.score(j) - penalty) <= edit_of(rules.scores) ? penalty : -1;
    };
    const auto loss_of = [&](uint32_t c) {
        const int32_t penalty = penalty_of(c);
        if (penalty < 0) return -1;
        return phred_loss(first, c / columns, rules.scores) + phred_loss(second, c % columns, rules.scores) +
               kUnitLoss * penalty;
    };
    uint32_t near = 0, others[2] = {0, 0};
    for (uint32_t c = group.lane(); c < rows * columns; c += Group::kLanes) near += penalty_of(c) >= 0;
    near = group.sum(near);
    if (near < 2 || near > kMaxWeighed) return usual;
    int32_t least;
    const uint32_t chosen =
        least_loss(group, rows * columns, usual.first.locus * columns + usual.second.locus, tie_break, loss_of, least);
    const uint32_t row = chosen / columns, column = chosen % columns;
    for (uint32_t c = group.lane(); c < rows * columns; c += Group::kLanes) {
        const int32_t loss = c == chosen ? -1 : loss_of(c);
        const uint32_t weight = loss < 0 ? 0 : Weights::of(loss - least);
        if (c / columns != row) others[0] += weight;
        if (c % columns != column) others[1] += weight;
    }
    return {{row, true, uint8_t(min(most.first.mapq, Weights::quality(group.sum(others[0]))))},
        {column, true, uint8_t(min(most.second.mapq, Weights::quality(group.sum(others[1]))))}};
}

}  // namespace gpualign
