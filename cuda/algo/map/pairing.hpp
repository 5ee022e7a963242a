// At which locus a read is reported, and with which mapping quality; mates of a pair together.
#pragma once
#include "algo/map/tie_break.hpp"
#include "algo/map/locus.hpp"
#include "algo/map/mapping_quality.hpp"
#include "algo/map/weighed_choice.hpp"

namespace gpualign {

// Combines the lanes' suboptimal alignments.
template <class Group> GPUALIGN_HD Suboptimal together(const Group& group, const Suboptimal& mine) {
    const int32_t far = 1 << 30;
    const int32_t minimum = -group.largest(mine.minimum < 0 ? -far : -mine.minimum);
    Suboptimal all;
    if (minimum == far) return all;
    all.minimum = minimum;
    all.count = group.sum(mine.minimum == minimum ? mine.count : 0);
    return all;
}

// Suboptimal loci of a read by itself.
template <class Group, class Loci> GPUALIGN_HD Suboptimal suboptimal_alone(const Group& group, const Loci& loci) {
    Suboptimal suboptimal;
    if (loci.count < 2) return suboptimal;
    for (uint32_t i = 1 + group.lane(); i < loci.count; i += Group::kLanes)
        suboptimal.add(loci.score(0) - loci.score(i));
    return together(group, suboptimal);
}

// Suboptimal end-to-end loci next to a chosen local alignment, whose own quality considers only other chains.
template <class Group, class Loci>
GPUALIGN_HD Suboptimal suboptimal_end_to_end(const Group& group, const Loci& loci, uint32_t chosen) {
    Suboptimal suboptimal;
    for (uint32_t i = group.lane(); i < loci.count; i += Group::kLanes)
        if (!loci.local(i)) suboptimal.add(loci.score(chosen) - loci.score(i));
    return together(group, suboptimal);
}

template <class Loci> GPUALIGN_HD Evidence evidence(const Loci& loci, uint32_t i) {
    const int32_t spoilt = loci.ambiguous > 0;  // ambiguous bases leave too few seeds to tell loci apart
    return {loci.length - loci.ambiguous, loci.hits_truncated, max(0, loci.distance(i) - loci.ambiguous),
        max(0, loci.seed_hits(i) - spoilt)};
}

// A choice with what the bases of a bisulfite read allow as its quality.
template <class Loci> GPUALIGN_HD MapChoice bounded(const Loci& loci, MapChoice choice) {
    if (loci.bases.converted()) choice.mapq = quality_of_converted(loci.bases, loci.length, choice.mapq);
    return choice;
}

template <class Group, class Loci>
GPUALIGN_HD MapChoice best_single(const Group& group, const MapRules& rules, const Loci& loci, uint32_t tie_break) {
    if (loci.count == 0) return {0, false, 0};
    const uint32_t best = equally_good(loci),
                   chosen = best > 1 ? tie_break_below(tie_break, TieBreakFor::locus, best) : 0;
    if (!loci.local(chosen)) {
        const Suboptimal suboptimal = suboptimal_alone(group, loci);
        const MapChoice choice{
            chosen, false, MappingQuality(rules, loci.bases.converted()).single(evidence(loci, chosen), suboptimal)};
        return suboptimal.minimum >= 0 && suboptimal.minimum <= edit_of(rules.scores)
                   ? weighed(group, rules.scores, loci, tie_break, choice)
                   : choice;
    }
    const Suboptimal whole = suboptimal_end_to_end(group, loci, chosen);
    const uint8_t quality = loci.local_quality(chosen);
    return {chosen, false,
        whole.minimum < 0 ? quality
                          : uint8_t(min(quality,
                                MappingQuality(rules, loci.bases.converted()).single(evidence(loci, chosen), whole)))};
}

// Chooses a locus for a read by itself.
template <class Group, class Loci>
GPUALIGN_HD MapChoice choose_single(const Group& group, const MapRules& rules, const Loci& loci, uint32_t tie_break) {
    return bounded(loci, best_single(group, rules, loci, tie_break));
}

// Chooses a locus for each mate of a pair.
template <class Group, class Loci> class Pairing {
public:
    GPUALIGN_HD Pairing(
        const Group& group, const MapRules& rules, const Loci& first, const Loci& second, uint32_t tie_break)
        : group_(group), rules_(rules), first_(first), second_(second),
          tie_break_(tie_break_for(tie_break, TieBreakFor::pair)), rows_(at_most(first.count)),
          columns_(at_most(second.count)) {}

    // Chooses a proper pair if it scores as much as the mates' best loci without pairing. Both have loci.
    GPUALIGN_HD bool choose(MapChoice& first, MapChoice& second) const {
        int32_t best = 0;
        const uint32_t combination = best_combination(best);
        if (combination == ~0u || best < apart()) return false;
        const uint32_t i = combination / columns_, j = combination % columns_;
        const int64_t bits = bits_of(first_, i, bits_of(second_, j, MappingQuality::kManyBits));
        // suboptimal are pairs, or unpaired choices, with a mate at another locus
        Suboptimal of_first = unpaired(first_, i, best), of_second = unpaired(second_, j, best);
        // of bisulfite reads also those that base qualities do not weigh
        const bool converted = first_.bases.converted();
        Suboptimal rest_of_first = of_first, rest_of_second = of_second;
        const auto lowest = [](const Suboptimal& one, const Suboptimal& two) {
            return one.minimum < 0 || two.minimum < 0 ? kAnyLoss : max(one.minimum, two.minimum);
        };
        const auto least = [&] {
            int32_t loss = lowest(of_first, of_second);
            if (converted) loss = max(loss, lowest(rest_of_first, rest_of_second));
            return best - loss;
        };
        for_each_pair(least, [&](uint32_t row, uint32_t column, int32_t score) {
            const int32_t loss = best - score;
            if (row != i) of_first.add(loss);
            if (column != j) of_second.add(loss);
            if (!converted || loss <= edit_of(rules_.scores)) return;
            if (row != i) rest_of_first.add(loss);
            if (column != j) rest_of_second.add(loss);
        });
        const bool same_bases = are_same_bases(i, j);
        if (same_bases) {
            add_implied(first_, i, of_first);
            add_implied(second_, j, of_second);
            if (converted) {
                add_implied(first_, i, rest_of_first);
                add_implied(second_, j, rest_of_second);
            }
        }
        of_first = together(group_, of_first);
        of_second = together(group_, of_second);
        const uint8_t most = same_bases ? max(surest(first_, i), surest(second_, j)) : MappingQuality::kMax;
        first = choose_mate(first_, i, second_, j, of_first, of_first.minimum, bits, most);
        second = choose_mate(second_, j, first_, i, of_second, of_second.minimum, bits, most);
        const auto far = [&](const Suboptimal& of) { return of.minimum < 0 || of.minimum > edit_of(rules_.scores); };
        if (!far(of_first) || !far(of_second)) {
            PairChoice most_of = {first, second};
            if (converted) {
                const Suboptimal rest[2] = {together(group_, rest_of_first), together(group_, rest_of_second)};
                most_of = {choose_mate(first_, i, second_, j, rest[0], of_first.minimum, bits, most),
                    choose_mate(second_, j, first_, i, rest[1], of_second.minimum, bits, most)};
            }
            const PairChoice both = weighed(group_, rules_, first_, second_, rows_, columns_,
                tie_break_for(tie_break_, TieBreakFor::quality), best, {first, second}, most_of);
            first = both.first;
            second = both.second;
        }
        if (same_bases) first.mapq = second.mapq = min(first.mapq, second.mapq);
        return true;
    }

private:
    static constexpr uint32_t kCombinations = kMaxPairedLoci * kMaxPairedLoci - 1;  // mask

    static GPUALIGN_HD uint32_t at_most(uint32_t n) { return n < kMaxPairedLoci ? n : kMaxPairedLoci; }

    // Calls visit(i, j, score) for the proper pairs of this lane, but for those that cannot score least(), which may
    // rise meanwhile.
    template <class Least, class Visit> GPUALIGN_HD void for_each_pair(Least&& least, Visit&& visit) const {
        uint32_t i = group_.lane() / columns_, j = group_.lane() % columns_;
        while (i < rows_) {
            const int32_t score = first_.score(i) + second_.score(j);
            if (score >= least()) {
                const int64_t insert = insert_size(rules_.pairs, first_, i, second_, j);
                if (insert >= 0) visit(i, j, score - rules_.penalties[insert]);
            } else if (Group::kLanes == 1) {  // the loci are sorted: the others of this row score no more
                if (j == 0) return;
                j = columns_ - 1;
            }
            i += Group::kLanes / columns_;
            j += Group::kLanes % columns_;
            if (j >= columns_) j -= columns_, i++;
        }
    }
    static constexpr int32_t kAnyLoss = 1 << 30, kAnyScore = -(1 << 30);

    GPUALIGN_HD int32_t apart() const { return first_.score(0) + second_.score(0) - rules_.pairs.unpaired_penalty; }

    // The combination with the best score, ties by the tie-break hash; ~0 if there is no proper pair.
    GPUALIGN_HD uint32_t best_combination(int32_t& best) const {
        uint64_t mine = 0;  // score, offset to be positive | tie-break | combination
        const auto least = [&] { return mine ? score_of(mine) : kAnyScore; };
        for_each_pair(least, [&](uint32_t i, uint32_t j, int32_t score) {
            const uint32_t combination = i * columns_ + j, random = mix_bits(tie_break_ ^ combination) & ~kCombinations;
            const uint64_t key = uint64_t(int64_t(score) + (int64_t(1) << 31)) << 32 | random | combination;
            mine = key > mine ? key : mine;
        });
        mine = group_.largest(mine);
        if (mine == 0) return ~0u;
        best = score_of(mine);
        return uint32_t(mine) & kCombinations;
    }
    static GPUALIGN_HD int32_t score_of(uint64_t key) { return int32_t(int64_t(key >> 32) - (int64_t(1) << 31)); }

    // This lane's choices without pairing that have a mate at another locus than the chosen one.
    GPUALIGN_HD Suboptimal unpaired(const Loci& mate, uint32_t chosen, int32_t best) const {
        Suboptimal suboptimal;
        for (uint32_t i = group_.lane(); i < at_most(mate.count); i += Group::kLanes)
            if (i != chosen) suboptimal.add(best - (apart() - (mate.score(0) - mate.score(i))));
        return suboptimal;
    }

    // One mate of the best pair.
    GPUALIGN_HD MapChoice choose_mate(const Loci& mine, uint32_t chosen, const Loci& others, uint32_t other,
        const Suboptimal& suboptimal, int32_t nearest, int64_t bits, uint8_t most) const {
        Suboptimal alone;
        if (chosen == 0) alone = suboptimal_alone(group_, mine);
        const Evidence of_other = evidence(others, other), evident = with_mate(evidence(mine, chosen), of_other);
        const auto quality = [&](const Evidence& of) {
            return MappingQuality(rules_, mine.bases.converted())
                .paired(of, of_other, chosen == 0 ? &alone : nullptr, suboptimal, nearest, bits, most);
        };
        const uint8_t own = quality(evident);
        // In three letters one mate of many pairs has frequent k-mers only. If the other mate has rare ones, the pair
        // is where that one is.
        if (own >= MappingQuality::kNearMate || !mine.bases.converted() || mine.local(chosen) ||
            !MappingQuality::tells_more(of_other, evident))
            return {chosen, true, own};
        Evidence near = evident;
        near.seed_hits = of_other.seed_hits;
        near.hits_truncated = of_other.hits_truncated;
        return {chosen, true, uint8_t(max(own, min(quality(near), MappingQuality::kNearMate)))};
    }

    // Whether both mates of a pair are the same bases, as their insert is no longer than a read. Then they are right or
    // wrong together, and tell no more than the better one does by itself.
    GPUALIGN_HD bool are_same_bases(uint32_t i, uint32_t j) const {
        const int64_t insert = insert_size(rules_.pairs, first_, i, second_, j);
        return insert <= max(first_.length, second_.length) + max(first_.limit, second_.limit);
    }
    // If both mates are reverse complements of each other, every other locus of one implies a pair there, although the
    // other mate's locus may not have been found: twice this mate's loss at the locus bounds the loss of that pair.
    GPUALIGN_HD void add_implied(const Loci& mate, uint32_t chosen, Suboptimal& suboptimal) const {
        for (uint32_t i = group_.lane(); i < at_most(mate.count); i += Group::kLanes)
            if (i != chosen) suboptimal.add(2 * (mate.length * rules_.scores.match - mate.score(i)));
    }
    GPUALIGN_HD uint8_t surest(const Loci& mate, uint32_t i) const {
        if (mate.local(i)) return mate.local_quality(i);
        const Evidence own = evidence(mate, i);
        return surest_quality(own.length, own.distance, own.hits_truncated, rules_.k, rules_.w);
    }

    // Information of a pair beyond what it takes to find its less informative mate near the other one by chance.
    GPUALIGN_HD int64_t bits_of(const Loci& mate, uint32_t i, int64_t maximum) const {
        if (mate.length >= kShortMate || mate.local(i)) return maximum;
        const int64_t bits = bits_near_mate(mate.length, mate.limit, mate.distance(i), rules_.pairs.max);
        return bits < maximum ? bits : maximum;
    }

    const Group& group_;
    const MapRules& rules_;
    const Loci &first_, &second_;
    const uint32_t tie_break_;
    const uint32_t rows_, columns_;
};

template <class Group, class Loci>
GPUALIGN_HD void choose_pair(const Group& group, const MapRules& rules, const Loci& first, const Loci& second,
    uint32_t tie_break, MapChoice* choices) {
    if (first.count && second.count &&
        Pairing<Group, Loci>(group, rules, first, second, tie_break).choose(choices[0], choices[1])) {
        choices[0] = bounded(first, choices[0]);
        choices[1] = bounded(second, choices[1]);
        return;
    }
    choices[0] = choose_single(group, rules, first, tie_break);
    choices[1] = choose_single(group, rules, second, tie_break);
}

// The first locus from `from` on that is reported as secondary to the chosen one; loci.count if there is none.
template <class Loci>
GPUALIGN_HD uint32_t next_secondary(const MapRules& rules, const Loci& loci, uint32_t chosen, uint32_t from) {
    while (from < loci.count && (from == chosen || loci.distance(from) - loci.distance(chosen) > rules.strata)) from++;
    return from;
}

// Calls visit(locus) for the secondary loci, at most rules.max_secondary; returns their number.
template <class Loci, class Visit>
GPUALIGN_HD uint32_t for_each_secondary(const MapRules& rules, const Loci& loci, uint32_t chosen, Visit&& visit) {
    uint32_t count = 0;
    for (uint32_t p = 0; count < uint32_t(rules.max_secondary); p++, count++) {
        p = next_secondary(rules, loci, chosen, p);
        if (p >= loci.count) break;
        visit(p);
    }
    return count;
}

}  // namespace gpualign
