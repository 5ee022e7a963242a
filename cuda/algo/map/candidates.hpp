// From seed hits to candidates: windows of the reference to verify.
//
// A candidate is one integer, so that sorting puts the best first: missing seed hits (13 bits) | first diagonal (33) |
// strand (1) | window number (17). Windows are in MapWorkspace's window_begin and window_columns.
#pragma once
#include "algo/map/seeds.hpp"

namespace gpualign {

constexpr int kWindowBits = 17;
constexpr uint32_t kMaxWindows = 1 << kWindowBits;
constexpr uint32_t kMaxSeedHits = 0x1FFF;  // that are counted
constexpr uint32_t kClippedWindow = 1u << 31;  // a flag in a window's columns: it was clipped at an end of its contig
constexpr int64_t kCandidateBias = 1 << 24;  // a diagonal may be negative, by up to a read's length

// Sort key of candidates. Candidates of one cluster on two contigs may be equal; the left contig then has the lower
// window number.
GPUALIGN_HD uint64_t candidate_order(uint32_t seed_hits, int64_t diagonal, bool reverse) {
    return uint64_t(kMaxSeedHits - seed_hits) << 34 | uint64_t(diagonal + kCandidateBias) << 1 | uint64_t(reverse);
}
GPUALIGN_HD uint64_t make_candidate(uint32_t seed_hits, int64_t diagonal, bool reverse, uint32_t window) {
    return candidate_order(seed_hits, diagonal, reverse) << kWindowBits | window;
}
GPUALIGN_HD uint32_t candidate_seed_hits(uint64_t candidate) {
    return kMaxSeedHits - uint32_t(candidate >> (34 + kWindowBits));
}
GPUALIGN_HD uint64_t without_seed_hits(uint64_t candidate) {
    return candidate | uint64_t(kMaxSeedHits) << (34 + kWindowBits);
}
GPUALIGN_HD int64_t candidate_diagonal(uint64_t candidate) {
    return int64_t(candidate >> (kWindowBits + 1) & ((uint64_t(1) << 33) - 1)) - kCandidateBias;
}
GPUALIGN_HD bool candidate_reverse(uint64_t candidate) { return candidate >> kWindowBits & 1; }
GPUALIGN_HD uint32_t candidate_window(uint64_t candidate) { return candidate & (kMaxWindows - 1); }

// Adds the window [begin, end), clipped to the contig, unless it is empty.
template <class Group>
GPUALIGN_HD void add_window(const Group& group, const MapTarget& target, const MapWorkspace& workspace,
    uint32_t* counter, uint32_t contig, bool reverse, uint32_t seed_hits, int64_t diagonal, int64_t begin,
    int64_t end) {
    const int64_t whole = end - begin;
    clip_to_contig(target.contig_offsets, contig, begin, end);
    if (begin >= end) return;
    const uint32_t clipped = end - begin < whole ? kClippedWindow : 0;
    const uint32_t window = group.take(counter);
    workspace.window_begin[window] = uint32_t(begin);
    workspace.window_columns[window] = uint32_t(end - begin) | clipped;
    workspace.candidates[window] = make_candidate(seed_hits, diagonal, reverse, window);
}

// Calls emit(contig, seed hits, first diagonal, begin, end) for the candidates of the hits [from, to), one per contig,
// in order of their first hits; called by one lane. A path within the limit strays at most `limit` diagonals from a
// seed on it, so the window [begin, end) holds every path through any of the candidate's seeds.
template <class Emit>
GPUALIGN_HD void for_each_candidate(const MapTarget& target, int32_t length, int32_t limit, const uint64_t* hits,
    uint32_t from, uint32_t to, Emit&& emit) {
    const auto add = [&](uint32_t contig, uint32_t seed_hits, int64_t diagonal, int64_t last_diagonal) {
        emit(contig, seed_hits < kMaxSeedHits ? seed_hits : kMaxSeedHits, diagonal, diagonal - limit,
            last_diagonal + limit + length);
    };
    const int64_t lowest = hit_diagonal(hits[from]), highest = hit_diagonal(hits[to - 1]);
    const uint32_t usual = contig_of(target, hit_position(hits[from]));
    if (lowest >= target.contig_offsets[usual] && highest + length <= target.contig_offsets[usual + 1])
        return add(usual, to - from, lowest, highest);
    for (uint32_t first = from, others = 1; first < to && others; first++) {
        const uint32_t contig = contig_of(target, hit_position(hits[first]));
        bool seen = false;  // a contig is handled at its first hit
        for (uint32_t h = from; h < first && !seen; h++) seen = contig_of(target, hit_position(hits[h])) == contig;
        if (seen) continue;
        const int64_t left = target.contig_offsets[contig], right = target.contig_offsets[contig + 1];
        uint32_t seed_hits = 0;
        int64_t last_diagonal = 0;
        if (first == from) others = 0;
        for (uint32_t h = first; h < to; h++) {
            const int64_t position = hit_position(hits[h]);
            if (position < left || position >= right) {
                others = 1;
                continue;
            }
            seed_hits++;
            last_diagonal = hit_diagonal(hits[h]);
        }
        add(contig, seed_hits, hit_diagonal(hits[first]), last_diagonal);
    }
}

// Index of the first hit after `from` beyond a line, by galloping search; most often it is the next.
GPUALIGN_HD uint32_t first_beyond(const uint64_t* hits, uint32_t from, uint32_t count, uint64_t line) {
    uint32_t step = 1;
    while (from + step < count && hit_line(hits[from + step]) <= line) step *= 2;
    uint32_t low = from + step / 2, high = from + step < count ? from + step : count;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (hit_line(hits[middle]) <= line) low = middle;
        else high = middle;
    }
    return high;
}

// Calls visit(from, to), from one lane each, for the clusters of sorted hits: from the left, the hits whose diagonals
// are at most `limit` from the first one's; no path within the limit meets hits further apart.
template <class Group, class Visit>
GPUALIGN_HD void for_each_cluster(
    const Group& group, const uint64_t* hits, uint32_t count, int32_t limit, Visit&& visit) {
    for (uint32_t i = group.lane(); i < count; i += Group::kLanes) {
        if (i > 0 && hit_line(hits[i]) - hit_line(hits[i - 1]) <= uint64_t(limit)) continue;
        // a gap wider than the limit precedes hit i, so clusters begin here
        uint32_t from = i;
        do {
            const uint32_t to = first_beyond(hits, from, count, hit_line(hits[from]) + uint64_t(limit));
            visit(from, to);
            from = to;
        } while (from < count && hit_line(hits[from]) - hit_line(hits[from - 1]) <= uint64_t(limit));
        if (Group::kLanes == 1) i = from - 1;
    }
}

// Appends the candidates of sorted hits to the first `before` ones of the workspace; returns their number.
template <class Group>
GPUALIGN_HD uint32_t find_candidates(const Group& group, const MapRead& read, const MapTarget& target,
    const MapWorkspace& workspace, uint32_t* counter, const uint64_t* hits, uint32_t count, uint32_t before = 0) {
    if (group.lane() == 0) *counter = before;
    group.sync();
    for_each_cluster(group, hits, count, read.limit, [&](uint32_t from, uint32_t to) {
        for_each_candidate(target, read.length, read.limit, hits, from, to,
            [&](uint32_t contig, uint32_t seed_hits, int64_t diagonal, int64_t begin, int64_t end) {
                add_window(group, target, workspace, counter, contig, hit_reverse(hits[from]), seed_hits, diagonal,
                    begin, end);
            });
    });
    group.sync();
    return *counter;
}

// Maximum number of sorted hits within a long gap of each other.
template <class Group> GPUALIGN_HD uint32_t max_near_hits(const Group& group, const uint64_t* hits, uint32_t count) {
    uint32_t maximum = 0;
    for (uint32_t i = group.lane(); i < count; i += Group::kLanes) {
        const uint32_t beyond = first_beyond(hits, i, count, hit_line(hits[i]) + kLongGap);
        maximum = beyond - i > maximum ? beyond - i : maximum;
    }
    return group.largest(maximum);
}

// A heuristic, for speed: each edit spoils the seeds that cover it, so loci with far fewer seed hits than the best one
// need more edits.
GPUALIGN_HD bool worth_verifying(uint32_t seed_hits, uint32_t maximum) {
    return seed_hits * uint32_t(kSeedHitShare) >= maximum;
}

// Tie-break among too many candidates: those with equally many seed hits are ordered by a bijective hash of diagonal
// and strand.
constexpr uint64_t kCandidateLoci = (uint64_t(1) << 34) - 1;  // bits of diagonal and strand
GPUALIGN_HD uint64_t times_locus(uint64_t order, uint64_t factor) {
    return (order & ~kCandidateLoci) | ((order & kCandidateLoci) * factor & kCandidateLoci);
}
GPUALIGN_HD uint64_t tie_break_order(uint64_t order, uint32_t tie_break) {
    return times_locus(order, 0x9E3779B97F4A7C15u) ^ uint64_t(tie_break_for(tie_break, TieBreakFor::candidates)) << 2;
}
GPUALIGN_HD uint64_t candidate_order_of(uint64_t order, uint32_t tie_break) {
    return times_locus(order ^ uint64_t(tie_break_for(tie_break, TieBreakFor::candidates)) << 2, 0xF1DE83E19937733Du);
}

// A read's candidates in the workspace, as choose_candidates takes them.
struct WindowCandidates {
    uint64_t* list;

    GPUALIGN_HD uint32_t seed_hits(uint32_t i) const { return candidate_seed_hits(list[i]); }
    // Moves the candidates whose seed hits pass `wanted` to the front; returns their number.
    template <class Group, class Wanted>
    GPUALIGN_HD uint32_t keep(const Group& group, uint32_t count, Wanted&& wanted) const {
        return keep_keys(
            group, list, count, [&](uint64_t candidate) { return wanted(candidate_seed_hits(candidate)); });
    }
    // Sets the seed hits of the first ones to 0.
    template <class Group> GPUALIGN_HD void forget_seed_hits(const Group& group, uint32_t count) const {
        for (uint32_t i = group.lane(); i < count; i += Group::kLanes) list[i] = without_seed_hits(list[i]);
        group.sync();
    }
    // Moves the first ones in tie_break_order to the front.
    template <class Group>
    GPUALIGN_HD void scatter(const Group& group, uint32_t tie_break, uint32_t count, uint32_t first) const {
        const auto each = [&](uint32_t n, auto&& changed) {
            for (uint32_t i = group.lane(); i < n; i += Group::kLanes)
                list[i] = changed(list[i] >> kWindowBits, tie_break) << kWindowBits | candidate_window(list[i]);
            group.sync();
        };
        each(count, [](uint64_t order, uint32_t tie_break_for) { return tie_break_order(order, tie_break_for); });
        sort_keys(group, list, count);
        each(first, [](uint64_t order, uint32_t tie_break_for) { return candidate_order_of(order, tie_break_for); });
    }
};

template <class Group, class Candidates>
GPUALIGN_HD uint32_t max_seed_hits(const Group& group, const Candidates& candidates, uint32_t count) {
    uint32_t maximum = 0;
    for (uint32_t i = group.lane(); i < count; i += Group::kLanes) {
        const uint32_t seed_hits = candidates.seed_hits(i);
        maximum = seed_hits > maximum ? seed_hits : maximum;
    }
    return group.largest(maximum);
}

// Moves the candidates worth verifying to the front; returns their number. `Candidates` is like WindowCandidates.
template <class Group, class Candidates>
GPUALIGN_HD uint32_t choose_candidates(
    const Group& group, const Candidates& candidates, uint32_t tie_break, uint32_t count, uint32_t max_candidates) {
    const uint32_t maximum = max_seed_hits(group, candidates, count);
    count = candidates.keep(group, count, [&](uint32_t seed_hits) { return worth_verifying(seed_hits, maximum); });
    if (count <= max_candidates) return count;
    candidates.scatter(group, tie_break, count, max_candidates);
    return max_candidates;
}

// Moves the windows of the first candidates, at most kMaxWindows / 2, to the front.
template <class Group>
GPUALIGN_HD void move_windows(const Group& group, const MapWorkspace& workspace, uint32_t count) {
    uint32_t *const begin = workspace.window_begin + kMaxWindows, *const columns =
                                                                      workspace.window_columns + kMaxWindows;
    for (uint32_t i = group.lane(); i < count; i += Group::kLanes) {
        const uint32_t window = candidate_window(workspace.candidates[i]);
        begin[i] = workspace.window_begin[window];
        columns[i] = workspace.window_columns[window];
    }
    group.sync();
    for (uint32_t i = group.lane(); i < count; i += Group::kLanes) {
        workspace.window_begin[i] = begin[i];
        workspace.window_columns[i] = columns[i];
        workspace.candidates[i] = workspace.candidates[i] >> kWindowBits << kWindowBits | i;
    }
    group.sync();
}

// Candidates worth verifying if there may be more hits than windows: takes clusters in batches and keeps the best so
// far. `max_candidates` is at most kMaxWindows / 2; the workspace has space for the hits.
template <class Group>
GPUALIGN_HD_CALL uint32_t choose_of_many(const Group& group, const MapRead& read, const MapTarget& target,
    const MapWorkspace& workspace, uint32_t* counter, const uint64_t* hits, uint32_t count, uint32_t max_candidates) {
    constexpr uint32_t kHitsAtOnce = kMaxWindows / 4;
    uint32_t kept = 0;
    for (uint32_t from = 0, to = 0; from < count; from = to) {
        while (to < count && to - from < kHitsAtOnce)
            to = first_beyond(hits, to, count, hit_line(hits[to]) + uint64_t(read.limit));
        const uint32_t found = find_candidates(group, read, target, workspace, counter, hits + from, to - from, kept);
        kept = choose_candidates(group, WindowCandidates{workspace.candidates}, read.tie_break, found, max_candidates);
        move_windows(group, workspace, kept);
    }
    return kept;
}

}  // namespace gpualign
