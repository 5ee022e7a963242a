// The loci of a read: windows searched by Myers' algorithm, of one locus found twice the better; the mate's help.
//
// A locus is one integer, so that sorting puts the best first: distance (10 bits) | end on the reference (33) | strand (1)
// | seed hits missing (20). Of equal distances the leftmost comes first, then the forward strand.
#pragma once
#include "algo/map/furthest_reaching.hpp"
#include "algo/common/myers_striped.hpp"

namespace gpualign {

GPUALIGN_HD uint64_t make_locus(uint32_t distance, int64_t end, bool reverse, uint32_t seed_hits) {
    return uint64_t(distance) << 54 | uint64_t(end) << 21 | uint64_t(reverse) << 20 | (0xFFFFF - seed_hits);
}
GPUALIGN_HD uint32_t locus_distance(uint64_t locus) { return uint32_t(locus >> 54); }
GPUALIGN_HD int64_t locus_end(uint64_t locus) { return int64_t(locus >> 21 & ((uint64_t(1) << 33) - 1)); }
GPUALIGN_HD bool locus_reverse(uint64_t locus) { return locus >> 20 & 1; }
GPUALIGN_HD uint32_t locus_seed_hits(uint64_t locus) { return 0xFFFFF - uint32_t(locus & 0xFFFFF); }
GPUALIGN_HD uint32_t locus_contig(const MapTarget& target, uint64_t locus) { return contig_of(target, locus_end(locus) - 1); }

// What is known of a read once its windows have been searched.
struct FoundRead {
    uint32_t loci;
    uint32_t failed;     // most seed hits of a candidate that is beyond the limit
    uint32_t near_hits;  // most seed hits a long gap apart, where the best locus has so many edits that it matters
    bool hits_truncated;            // hits were left out
    bool any_hits;
    bool too_many;       // more hits than there is room for

    // Whether chaining may know better: the read does not align end to end, or not well.
    GPUALIGN_HD bool wants_chaining(const uint64_t* list, const AffineScores& scores, int32_t limit) const {
        if (loci == 0) return any_hits;
        const int32_t distance = int32_t(locus_distance(list[0])), seed_hits = int32_t(locus_seed_hits(list[0]));
        return chaining_may_be_better(scores, limit, distance, seed_hits, int32_t(failed), int32_t(near_hits));
    }
};

// The profile of both strands as StripedColumn wants it, padding matching every base.
template <int Words, class Group>
GPUALIGN_HD void make_profile(const Group& group, const MapRead& read, uint32_t (*profile)[5][Words]) {
    const int32_t pad = 32 * Words - read.length;
    for (uint32_t i = group.lane(); i < 2 * Words; i += Group::kLanes) {
        const bool reverse = i >= uint32_t(Words);
        const int w = int(i) - (reverse ? Words : 0);
        const auto code = [&](int64_t row) { return read.code(int32_t(row), reverse); };
        const StripedPlanes<uint32_t> planes = striped_planes<uint32_t>(w, Words, pad, read.length, code);
        const uint32_t padding = ~striped_rows<uint32_t>(w, Words, pad);
        uint32_t(*bases)[Words] = profile[reverse];
        bases[0][w] = (planes.known & ~planes.low & ~planes.high) | padding;
        bases[1][w] = (planes.known & planes.low & ~planes.high) | padding;
        bases[2][w] = (planes.known & ~planes.low & planes.high) | padding;
        bases[3][w] = (planes.known & planes.low & planes.high) | padding;
        bases[4][w] = padding;
    }
    group.sync();
}

struct WindowBest {
    uint32_t distance, end;
};

// Called by one lane: the smallest distance of the read to a substring of the window, and the first end that has it.
template <int Words>
GPUALIGN_HD WindowBest search_window(const MapTarget& target, int32_t length, uint32_t begin, uint32_t columns,
                                     const uint32_t (*bases)[Words]) {
    StripedColumn<uint32_t, Words> column;
    uint32_t rows[Words];
    for (int w = 0; w < Words; w++) rows[w] = striped_rows<uint32_t>(w, Words, 32 * Words - length);
    column.start(rows);
    uint32_t score = uint32_t(length);
    WindowBest best{score, 0};
    for (uint32_t from = 0; from < columns; from += kBasesPerWord) {
        uint64_t text = packed_window(target.text, uint64_t(begin) + from);
        uint32_t acgt = acgt_window(target, uint64_t(begin) + from);
        const uint32_t count = columns - from < uint32_t(kBasesPerWord) ? columns - from : uint32_t(kBasesPerWord);
        for (uint32_t j = 0; j < count; j++, text >>= 2, acgt >>= 1) {
            const uint32_t* row = bases[acgt & 1 ? text & 3 : 4];
            uint32_t eq[Words], up, down;
            for (int w = 0; w < Words; w++) eq[w] = row[w];
            column.step(eq, 0, 0, up, down);
            score += (up >> 31) - (down >> 31);
            if (score < best.distance) best = {score, from + j + 1};
        }
    }
    return best;
}

// Adds the loci of the first `count` windows to `loci`, of which there are found.loci.
template <int Words, class Group>
GPUALIGN_HD void search_windows(const Group& group, const MapRead& read, const MapTarget& target, const MapWorkspace& workspace,
                                MapShared<Words>& shared, const uint64_t* candidates, uint32_t count, uint64_t* loci,
                                FoundRead& found) {
    make_profile<Words>(group, read, shared.profile);
    uint32_t failed = 0;
    for (uint32_t base = 0; base < count; base += Group::kLanes) {
        const uint32_t c = base + group.lane();
        bool within = false;
        uint64_t locus = 0;
        if (c < count) {
            const uint64_t candidate = candidates[c];
            const uint32_t begin = workspace.window_begin[candidate_window(candidate)];
            const uint32_t columns = workspace.window_columns[candidate_window(candidate)] & ~kClippedWindow;
            const bool reverse = candidate_reverse(candidate);
            const uint32_t seed_hits = candidate_seed_hits(candidate);
            const WindowBest best = search_window<Words>(target, read.length, begin, columns, shared.profile[reverse]);
            within = best.distance <= uint32_t(read.limit);
            if (within) locus = make_locus(best.distance, int64_t(begin) + best.end, reverse, seed_hits);
            else failed = seed_hits > failed ? seed_hits : failed;
        }
        const uint32_t mask = group.ballot(within);
        if (within) loci[found.loci + group.before(mask)] = locus;
        found.loci += count_bits(mask);
    }
    failed = group.largest(failed);
    found.failed = failed > found.failed ? failed : found.failed;
    group.sync();
}

// Best first; each locus that stays rules out those after it on its strand no further away than the limit.
template <class Group>
GPUALIGN_HD uint32_t settle_loci(const Group& group, int32_t limit, uint64_t* loci, uint32_t count) {
    if (count < 2) return count;
    constexpr uint64_t kRuledOut = ~uint64_t(0);
    sort_keys(group, loci, count);
    for (uint32_t p = 0; p + 1 < count; p++) {
        const uint64_t locus = loci[p];
        if (locus == kRuledOut) continue;
        for (uint32_t q = p + 1 + group.lane(); q < count; q += Group::kLanes) {
            const uint64_t other = loci[q];
            if (other == kRuledOut || locus_reverse(other) != locus_reverse(locus)) continue;
            const int64_t apart = locus_end(other) - locus_end(locus);
            if (apart >= -limit && apart <= limit) loci[q] = kRuledOut;
        }
        group.sync();
    }
    return keep_keys(group, loci, count, [](uint64_t locus) { return locus != kRuledOut; });
}

GPUALIGN_HD bool in_doubt(const uint64_t* loci, uint32_t count) {
    if (count == 0 || locus_seed_hits(loci[0]) < uint32_t(kManySeedHits)) return true;
    return count > 1 && locus_distance(loci[1]) - locus_distance(loci[0]) < uint32_t(kClearLead);
}

// Candidates of a read and their loci; `depth` times as many hits and candidates as the rules say.
template <int Words, class Group>
GPUALIGN_HD void find_loci_at(const Group& group, const MapRead& read, const MapTarget& target, const MapRules& rules,
                                const MapWorkspace& workspace, MapShared<Words>& shared, uint32_t seeds, uint32_t total, int32_t depth,
                                uint64_t* loci, FoundRead& found) {
    const uint32_t most = uint32_t(rules.max_hits * depth);
    found.hits_truncated = total > most;
    found.loci = 0;
    uint32_t count;
    const uint32_t chosen = choose_seeds(group, seeds, most, found.hits_truncated, shared, count);
    uint64_t* hits = power_of_two(count) <= uint32_t(MapShared<Words>::kRows) ? shared.hits : workspace.hits;
    if (hits == workspace.hits && count > workspace.max_hits) {
        found.too_many = true;
        return;
    }
    expand_hits(group, read, target, rules.k, chosen, count, shared, hits);
    sort_keys(group, hits, count);
    uint32_t candidates = cluster_hits(group, read, target, workspace, &shared.counter, hits, count);
    candidates = choose_candidates(group, workspace, candidates, uint32_t(rules.max_candidates * depth));
    ReachedLocus near;
    if (candidates == 1 && !found.hits_truncated &&
        furthest_reaching(group, read, target, rules, workspace, hits, count, shared, near)) {
        const uint64_t candidate = workspace.candidates[0];
        if (group.lane() == 0)
            loci[0] = make_locus(near.distance, near.end, candidate_reverse(candidate), candidate_seed_hits(candidate));
        found.loci = 1;
        group.sync();
        return;
    }
    search_windows(group, read, target, workspace, shared, workspace.candidates, candidates, loci, found);
    found.loci = settle_loci(group, read.limit, loci, found.loci);
    found.near_hits = 0;
    if (candidates > 1 && found.loci && long_gap_costs_less(rules.scores, read.limit, int32_t(locus_distance(loci[0]))))
        found.near_hits = max_near_hits(group, hits, count);
}

// The loci of a read by itself, best first.
template <int Words, class Group>
GPUALIGN_HD FoundRead find_loci(const Group& group, const MapRead& read, const MapTarget& target, const MapRules& rules,
                                  const MapWorkspace& workspace, MapShared<Words>& shared, uint64_t* loci) {
    FoundRead found{0, 0, 0, false, false, false};
    const uint32_t seeds = find_seeds(group, read, target, rules, shared);
    found.any_hits = seeds > 0;
    if (!found.any_hits) return found;
    const uint32_t total = count_hits(group, shared.seeds.count, seeds);
    for (int32_t depth = 1;; depth = kDepth) {
        find_loci_at(group, read, target, rules, workspace, shared, seeds, total, depth, loci, found);
        if (depth == kDepth || !found.hits_truncated || found.too_many || !in_doubt(loci, found.loci)) return found;
    }
}

// The mates' outer distance, -1 where they are no proper pair. `first`, `second`: loci of R1 and R2.
GPUALIGN_HD int64_t insert_size(const MapTarget& target, const PairLibrary& pairs, uint64_t first, int32_t first_length,
                                uint64_t second, int32_t second_length) {
    const int64_t end1 = locus_end(first), end2 = locus_end(second);
    const int64_t size = insert_size(pairs, end1 - first_length, end1, locus_reverse(first), end2 - second_length, end2,
                                           locus_reverse(second));
    return size >= 0 && locus_contig(target, first) == locus_contig(target, second) ? size : -1;
}

// Windows for a mate, seen from the best loci of the other mate that have none of its loci near them.
template <class Group>
GPUALIGN_HD void add_mate_windows(const Group& group, const MapTarget& target, const PairLibrary& pairs, const MapWorkspace& workspace,
                                  uint32_t* counter, const MapRead& anchor, const uint64_t* anchors, uint32_t anchor_count,
                                  const MapRead& mate, const uint64_t* others, uint32_t other_count, bool anchor_is_first) {
    for (uint32_t i = 0; i < anchor_count && i < kMaxAnchors; i++) {
        const uint64_t locus = anchors[i];
        if (locus_distance(locus) != locus_distance(anchors[0])) break;
        bool fits = false;
        for (uint32_t j = group.lane(); j < other_count && j < kMaxPairedLoci; j += Group::kLanes)
            fits |= (anchor_is_first ? insert_size(target, pairs, locus, anchor.length, others[j], mate.length)
                                     : insert_size(target, pairs, others[j], mate.length, locus, anchor.length)) >= 0;
        if (group.ballot(fits)) continue;
        const int64_t end = locus_end(locus);
        const MateWindow w = mate_window(pairs, end - anchor.length, end, locus_reverse(locus), anchor_is_first);
        if (group.lane() == 0)
            add_window(group, target, workspace, counter, locus_contig(target, locus), w.reverse, 0, 0, w.begin - mate.limit,
                       w.end + mate.limit);
    }
    group.sync();
}

// Looks for each mate where the other one says that it should lie, which needs no seed.
template <int Words, class Group>
GPUALIGN_HD void rescue_mates(const Group& group, const MapRead* reads, const MapTarget& target, const MapRules& rules,
                              const MapWorkspace& workspace, MapShared<Words>& shared, FoundRead* found) {
    uint32_t* counter = &shared.counter;
    if (group.lane() == 0) *counter = 0;
    group.sync();
    add_mate_windows(group, target, rules.pairs, workspace, counter, reads[0], workspace.loci[0], found[0].loci, reads[1],
                     workspace.loci[1], found[1].loci, true);
    const uint32_t of_second = *counter;
    group.sync();
    add_mate_windows(group, target, rules.pairs, workspace, counter, reads[1], workspace.loci[1], found[1].loci, reads[0],
                     workspace.loci[0], found[0].loci, false);
    const uint32_t all = *counter;
    group.sync();
    for (int end = 0; end < 2; end++) {
        const uint32_t from = end == 1 ? 0 : of_second, to = end == 1 ? of_second : all;
        if (from == to) continue;
        search_windows(group, reads[end], target, workspace, shared, workspace.candidates + from, to - from, workspace.loci[end],
                       found[end]);
        found[end].loci = settle_loci(group, reads[end].limit, workspace.loci[end], found[end].loci);
    }
}

}  // namespace gpualign
