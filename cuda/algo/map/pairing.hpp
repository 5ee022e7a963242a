// Which of its places a read is reported at, and what speaks against it: of a pair the best two together.
#pragma once
#include "algo/map/loci.hpp"

namespace gpualign {

// What other choices lose against the chosen one, in score units: the least, and how many lose that little.
struct Rivalry {
    int32_t least = MapRecord::kNone;
    uint32_t count = 0;

    GPUALIGN_HD void add(int32_t loss) {
        if (least < 0 || loss < least) {
            least = loss;
            count = 1;
        } else if (loss == least) {
            count++;
        }
    }
};

// Of all lanes together.
template <class Group>
GPUALIGN_HD Rivalry together(const Group& group, const Rivalry& mine) {
    const int32_t far = 1 << 30;
    const int32_t least = -group.largest(mine.least < 0 ? -far : -mine.least);
    Rivalry all;
    if (least == far) return all;
    all.least = least;
    all.count = group.sum(mine.least == least ? mine.count : 0);
    return all;
}

// A record to be: which place, and its rivals.
struct MapChoice {
    uint32_t place;
    bool proper, best;  // best: of the read's own places
    Rivalry pair, alone;
};

// What the places of a read but the best one lose.
template <class Group>
GPUALIGN_HD Rivalry rivals_alone(const Group& group, const uint64_t* places, uint32_t count, int32_t edit) {
    Rivalry rivals;
    if (count < 2) return rivals;
    for (uint32_t i = 1 + group.lane(); i < count; i += Group::kLanes)
        rivals.add(int32_t(place_distance(places[i]) - place_distance(places[0])) * edit);
    return together(group, rivals);
}

template <class Group>
GPUALIGN_HD MapChoice choose_single(const Group& group, const uint64_t* places, uint32_t count, int32_t edit) {
    return {0, false, true, Rivalry(), rivals_alone(group, places, count, edit)};
}

// Both ends of a pair as the chooser sees them.
struct PairedPlaces {
    const MapTarget& target;
    const MapRules& rules;
    const uint64_t *first, *second;
    int32_t first_length, second_length;
    uint32_t first_count, second_count;  // at most kMostPairedPlaces

    GPUALIGN_HD int32_t edit() const { return rules.scores.match + rules.scores.mismatch; }
    GPUALIGN_HD int32_t score(uint64_t place, int32_t length) const {
        return length * rules.scores.match - int32_t(place_distance(place)) * edit();
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
GPUALIGN_HD uint32_t best_combination(const Group& group, const PairedPlaces& places, int32_t& best) {
    uint64_t mine = 0;  // score, made positive | how far from the end
    for (uint32_t c = group.lane(); c < places.combinations(); c += Group::kLanes) {
        int32_t score;
        if (!places.score_of(c, score)) continue;
        const uint64_t key = uint64_t(int64_t(score) + (int64_t(1) << 31)) << 32 | uint32_t(~c);
        mine = key > mine ? key : mine;
    }
    mine = group.largest(mine);
    if (mine == 0) return ~0u;
    best = int32_t(int64_t(mine >> 32) - (int64_t(1) << 31));
    return ~uint32_t(mine);
}

// One end of the best pair. Its rivals are the pairs, or the choices without a pair, that put this end elsewhere.
template <class Group>
GPUALIGN_HD MapChoice choose_end(const Group& group, const PairedPlaces& places, uint32_t chosen, int32_t best, bool first,
                                 const uint64_t* mine, uint32_t count) {
    Rivalry rivals;
    for (uint32_t c = group.lane(); c < places.combinations(); c += Group::kLanes) {
        int32_t score;
        const uint32_t place = first ? c / places.second_count : c % places.second_count;
        if (place != chosen && places.score_of(c, score)) rivals.add(best - score);
    }
    for (uint32_t i = group.lane(); i < count && i < kMostPairedPlaces; i += Group::kLanes) {
        if (i == chosen) continue;
        const int32_t worse = int32_t(place_distance(mine[i]) - place_distance(mine[0])) * places.edit();
        rivals.add(best - (places.apart() - worse));
    }
    MapChoice choice{chosen, true, chosen == 0, together(group, rivals), Rivalry()};
    if (choice.best) choice.alone = rivals_alone(group, mine, count, places.edit());
    return choice;
}

// Both ends: as a proper pair where that is worth as much as each end's best place without.
template <class Group>
GPUALIGN_HD void choose_pair(const Group& group, const MapRead* reads, const MapTarget& target, const MapRules& rules,
                             const MapRoom& room, const FoundRead* found, MapChoice* choices) {
    const int32_t edit = rules.scores.match + rules.scores.mismatch;
    for (int end = 0; end < 2; end++) choices[end] = choose_single(group, room.places[end], found[end].places, edit);
    if (found[0].places == 0 || found[1].places == 0) return;
    const auto most = [](uint32_t n) { return n < kMostPairedPlaces ? n : kMostPairedPlaces; };
    const PairedPlaces places{target, rules, room.places[0], room.places[1], reads[0].length, reads[1].length,
                              most(found[0].places), most(found[1].places)};
    int32_t best = 0;
    const uint32_t combination = best_combination(group, places, best);
    if (combination == ~0u || best < places.apart()) return;
    choices[0] = choose_end(group, places, combination / places.second_count, best, true, room.places[0], found[0].places);
    choices[1] = choose_end(group, places, combination % places.second_count, best, false, room.places[1], found[1].places);
}

}  // namespace gpualign
