// The places of a read: windows searched by Myers' algorithm, of one place found twice the better; the mate's help.
//
// A place is one integer, so that sorting puts the best first: distance (10 bits) | end on the reference (33) | strand (1)
// | seed hits missing (20). Of equal distances the leftmost comes first, then the forward strand.
#pragma once
#include "algo/map/furthest_reaching.hpp"
#include "algo/common/myers_striped.hpp"

namespace gpualign {

GPUALIGN_HD uint64_t make_place(uint32_t distance, int64_t end, bool reverse, uint32_t votes) {
    return uint64_t(distance) << 54 | uint64_t(end) << 21 | uint64_t(reverse) << 20 | (0xFFFFF - votes);
}
GPUALIGN_HD uint32_t place_distance(uint64_t place) { return uint32_t(place >> 54); }
GPUALIGN_HD int64_t place_end(uint64_t place) { return int64_t(place >> 21 & ((uint64_t(1) << 33) - 1)); }
GPUALIGN_HD bool place_reverse(uint64_t place) { return place >> 20 & 1; }
GPUALIGN_HD uint32_t place_votes(uint64_t place) { return 0xFFFFF - uint32_t(place & 0xFFFFF); }
GPUALIGN_HD uint32_t place_contig(const MapTarget& target, uint64_t place) { return contig_of(target, place_end(place) - 1); }

// What is known of a read once its windows have been searched.
struct FoundRead {
    uint32_t places;
    uint32_t failed;     // most seed hits of a candidate that is beyond the limit
    uint32_t near_hits;  // most seed hits a long gap apart, where the best place has so many edits that it matters
    bool cut;            // hits were left out
    bool any_hits;
    bool too_many;       // more hits than there is room for

    // Whether chaining may know better: no place explains the read as a whole, or none well.
    GPUALIGN_HD bool wants_chaining(const uint64_t* list, const AffineScores& scores, int32_t limit) const {
        if (places == 0) return any_hits;
        const int32_t distance = int32_t(place_distance(list[0])), votes = int32_t(place_votes(list[0]));
        return chaining_may_be_better(scores, limit, distance, votes, int32_t(failed), int32_t(near_hits));
    }
};

// The profile of both strands as StripedColumn wants it, padding matching every letter.
template <int Words, class Group>
GPUALIGN_HD void make_profile(const Group& group, const MapRead& read, uint32_t (*profile)[5][Words]) {
    const int32_t pad = 32 * Words - read.length;
    for (uint32_t i = group.lane(); i < 2 * Words; i += Group::kLanes) {
        const bool reverse = i >= uint32_t(Words);
        const int w = int(i) - (reverse ? Words : 0);
        const auto code = [&](int64_t row) { return read.code(int32_t(row), reverse); };
        const StripedPlanes<uint32_t> planes = striped_planes<uint32_t>(w, Words, pad, read.length, code);
        const uint32_t padding = ~striped_rows<uint32_t>(w, Words, pad);
        uint32_t(*letters)[Words] = profile[reverse];
        letters[0][w] = (planes.known & ~planes.low & ~planes.high) | padding;
        letters[1][w] = (planes.known & planes.low & ~planes.high) | padding;
        letters[2][w] = (planes.known & ~planes.low & planes.high) | padding;
        letters[3][w] = (planes.known & planes.low & planes.high) | padding;
        letters[4][w] = padding;
    }
    group.sync();
}

struct WindowBest {
    uint32_t distance, end;
};

// Called by one lane: the smallest distance of the read to a substring of the window, and the first end that has it.
template <int Words>
GPUALIGN_HD WindowBest search_window(const MapTarget& target, int32_t length, uint32_t begin, uint32_t columns,
                                     const uint32_t (*letters)[Words]) {
    StripedColumn<uint32_t, Words> column;
    uint32_t rows[Words];
    for (int w = 0; w < Words; w++) rows[w] = striped_rows<uint32_t>(w, Words, 32 * Words - length);
    column.start(rows);
    uint32_t score = uint32_t(length);
    WindowBest best{score, 0};
    for (uint32_t from = 0; from < columns; from += kBasesPerWord) {
        uint64_t text = packed_window(target.text, uint64_t(begin) + from);
        uint32_t known = acgt_window(target, uint64_t(begin) + from);
        const uint32_t count = columns - from < uint32_t(kBasesPerWord) ? columns - from : uint32_t(kBasesPerWord);
        for (uint32_t j = 0; j < count; j++, text >>= 2, known >>= 1) {
            const uint32_t* row = letters[known & 1 ? text & 3 : 4];
            uint32_t eq[Words], up, down;
            for (int w = 0; w < Words; w++) eq[w] = row[w];
            column.step(eq, 0, 0, up, down);
            score += (up >> 31) - (down >> 31);
            if (score < best.distance) best = {score, from + j + 1};
        }
    }
    return best;
}

// Adds the places of the first `count` windows to `places`, of which there are found.places.
template <int Words, class Group>
GPUALIGN_HD void search_windows(const Group& group, const MapRead& read, const MapTarget& target, const MapRoom& room,
                                MapShared<Words>& shared, const uint64_t* candidates, uint32_t count, uint64_t* places,
                                FoundRead& found) {
    make_profile<Words>(group, read, shared.profile);
    uint32_t failed = 0;
    for (uint32_t base = 0; base < count; base += Group::kLanes) {
        const uint32_t c = base + group.lane();
        bool within = false;
        uint64_t place = 0;
        if (c < count) {
            const uint64_t candidate = candidates[c];
            const uint32_t begin = room.window_begin[candidate_window(candidate)];
            const uint32_t columns = room.window_columns[candidate_window(candidate)] & ~kClippedWindow;
            const bool reverse = candidate_reverse(candidate);
            const uint32_t votes = candidate_votes(candidate);
            const WindowBest best = search_window<Words>(target, read.length, begin, columns, shared.profile[reverse]);
            within = best.distance <= uint32_t(read.limit);
            if (within) place = make_place(best.distance, int64_t(begin) + best.end, reverse, votes);
            else failed = votes > failed ? votes : failed;
        }
        const uint32_t mask = group.ballot(within);
        if (within) places[found.places + group.before(mask)] = place;
        found.places += count_bits(mask);
    }
    failed = group.largest(failed);
    found.failed = failed > found.failed ? failed : found.failed;
    group.sync();
}

// Best first; each place that stays rules out those behind it on its strand no further away than the limit.
template <class Group>
GPUALIGN_HD uint32_t settle_places(const Group& group, int32_t limit, uint64_t* places, uint32_t count) {
    if (count < 2) return count;
    constexpr uint64_t kRuledOut = ~uint64_t(0);
    sort_keys(group, places, count);
    for (uint32_t p = 0; p + 1 < count; p++) {
        const uint64_t place = places[p];
        if (place == kRuledOut) continue;
        for (uint32_t q = p + 1 + group.lane(); q < count; q += Group::kLanes) {
            const uint64_t other = places[q];
            if (other == kRuledOut || place_reverse(other) != place_reverse(place)) continue;
            const int64_t apart = place_end(other) - place_end(place);
            if (apart >= -limit && apart <= limit) places[q] = kRuledOut;
        }
        group.sync();
    }
    return keep_keys(group, places, count, [](uint64_t place) { return place != kRuledOut; });
}

GPUALIGN_HD bool in_doubt(const uint64_t* places, uint32_t count) {
    if (count == 0 || place_votes(places[0]) < uint32_t(kManyVotes)) return true;
    return count > 1 && place_distance(places[1]) - place_distance(places[0]) < uint32_t(kClearLead);
}

// Candidates of a read and their places; `depth` times as many hits and candidates as the rules say.
template <int Words, class Group>
GPUALIGN_HD void find_places_at(const Group& group, const MapRead& read, const MapTarget& target, const MapRules& rules,
                                const MapRoom& room, MapShared<Words>& shared, uint32_t seeds, uint32_t total, int32_t depth,
                                uint64_t* places, FoundRead& found) {
    const uint32_t most = uint32_t(rules.max_hits * depth);
    found.cut = total > most;
    found.places = 0;
    uint32_t count;
    const uint32_t chosen = choose_seeds(group, seeds, most, found.cut, shared, count);
    uint64_t* hits = power_of_two(count) <= uint32_t(MapShared<Words>::kRows) ? shared.hits : room.hits;
    if (hits == room.hits && count > room.max_hits) {
        found.too_many = true;
        return;
    }
    expand_hits(group, read, target, rules.k, chosen, count, shared, hits);
    sort_keys(group, hits, count);
    uint32_t candidates = cluster_hits(group, read, target, room, &shared.counter, hits, count);
    candidates = choose_candidates(group, room, candidates, uint32_t(rules.max_candidates * depth));
    NearPlace near;
    if (candidates == 1 && !found.cut && find_near(group, read, target, rules, room, hits, count, shared, near)) {
        const uint64_t candidate = room.candidates[0];
        if (group.lane() == 0)
            places[0] = make_place(near.distance, near.end, candidate_reverse(candidate), candidate_votes(candidate));
        found.places = 1;
        group.sync();
        return;
    }
    search_windows(group, read, target, room, shared, room.candidates, candidates, places, found);
    found.places = settle_places(group, read.limit, places, found.places);
    found.near_hits = 0;
    if (candidates > 1 && found.places && long_gap_costs_less(rules.scores, read.limit, int32_t(place_distance(places[0]))))
        found.near_hits = most_near_hits(group, hits, count);
}

// The places of a read by itself, best first.
template <int Words, class Group>
GPUALIGN_HD FoundRead find_places(const Group& group, const MapRead& read, const MapTarget& target, const MapRules& rules,
                                  const MapRoom& room, MapShared<Words>& shared, uint64_t* places) {
    FoundRead found{0, 0, 0, false, false, false};
    const uint32_t seeds = find_seeds(group, read, target, rules, shared);
    found.any_hits = seeds > 0;
    if (!found.any_hits) return found;
    const uint32_t total = count_hits(group, shared.seeds.count, seeds);
    for (int32_t depth = 1;; depth = kDepth) {
        find_places_at(group, read, target, rules, room, shared, seeds, total, depth, places, found);
        if (depth == kDepth || !found.cut || found.too_many || !in_doubt(places, found.places)) return found;
    }
}

// The two ends' outer distance, -1 where they are no proper pair. `first`, `second`: by their places in the pair.
GPUALIGN_HD int64_t insert_size(const MapTarget& target, const PairLibrary& pairs, uint64_t first, int32_t first_length,
                                uint64_t second, int32_t second_length) {
    const int64_t end1 = place_end(first), end2 = place_end(second);
    const int64_t size = insert_size(pairs, end1 - first_length, end1, place_reverse(first), end2 - second_length, end2,
                                           place_reverse(second));
    return size >= 0 && place_contig(target, first) == place_contig(target, second) ? size : -1;
}

// Windows for an end of a pair, seen from the best places of the other end that have none of its places beside them.
template <class Group>
GPUALIGN_HD void add_mate_windows(const Group& group, const MapTarget& target, const PairLibrary& pairs, const MapRoom& room,
                                  uint32_t* counter, const MapRead& anchor, const uint64_t* anchors, uint32_t anchor_count,
                                  const MapRead& mate, const uint64_t* others, uint32_t other_count, bool anchor_is_first) {
    for (uint32_t i = 0; i < anchor_count && i < kMostAnchors; i++) {
        const uint64_t place = anchors[i];
        if (place_distance(place) != place_distance(anchors[0])) break;
        bool fits = false;
        for (uint32_t j = group.lane(); j < other_count && j < kMostPairedPlaces; j += Group::kLanes)
            fits |= (anchor_is_first ? insert_size(target, pairs, place, anchor.length, others[j], mate.length)
                                     : insert_size(target, pairs, others[j], mate.length, place, anchor.length)) >= 0;
        if (group.ballot(fits)) continue;
        const int64_t end = place_end(place);
        const MateWindow w = mate_window(pairs, end - anchor.length, end, place_reverse(place), anchor_is_first);
        if (group.lane() == 0)
            add_window(group, target, room, counter, place_contig(target, place), w.reverse, 0, 0, w.begin - mate.limit,
                       w.end + mate.limit);
    }
    group.sync();
}

// Looks for each end where the other one says that it should lie, which needs no seed.
template <int Words, class Group>
GPUALIGN_HD void rescue_mates(const Group& group, const MapRead* reads, const MapTarget& target, const MapRules& rules,
                              const MapRoom& room, MapShared<Words>& shared, FoundRead* found) {
    uint32_t* counter = &shared.counter;
    if (group.lane() == 0) *counter = 0;
    group.sync();
    add_mate_windows(group, target, rules.pairs, room, counter, reads[0], room.places[0], found[0].places, reads[1],
                     room.places[1], found[1].places, true);
    const uint32_t of_second = *counter;
    group.sync();
    add_mate_windows(group, target, rules.pairs, room, counter, reads[1], room.places[1], found[1].places, reads[0],
                     room.places[0], found[0].places, false);
    const uint32_t all = *counter;
    group.sync();
    for (int end = 0; end < 2; end++) {
        const uint32_t from = end == 1 ? 0 : of_second, to = end == 1 ? of_second : all;
        if (from == to) continue;
        search_windows(group, reads[end], target, room, shared, room.candidates + from, to - from, room.places[end],
                       found[end]);
        found[end].places = settle_places(group, reads[end].limit, room.places[end], found[end].places);
    }
}

}  // namespace gpualign
