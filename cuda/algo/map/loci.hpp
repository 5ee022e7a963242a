// Loci of a read: windows around its seeds, searched with Myers' algorithm.
#pragma once
#include "algo/map/furthest_reaching.hpp"
#include "algo/map/locus.hpp"
#include "algo/align/edit/myers_striped.hpp"

namespace gpualign {

// Summary of a read after its windows have been searched.
struct FoundRead {
    uint32_t loci;
    uint32_t failed;     // maximum seed hits of a candidate beyond the limit
    uint32_t near_hits;  // maximum seed hits within a long gap, computed only if the best locus has many edits
    bool hits_truncated;            // some hits were not followed
    bool any_hits;
    bool too_many;       // more hits than the workspace holds, or than the fast path follows
};

// Builds the profile of both strands for StripedColumn; padding rows match every base.
template <int Words, class Group>
GPUALIGN_HD void make_profile(const Group& group, const MapRead& read, uint32_t (*profile)[5][Words]) {
    const int32_t pad = 32 * Words - read.length;
    for (uint32_t i = group.lane(); i < 2 * Words; i += Group::kLanes) {
        const bool reverse = i >= uint32_t(Words);
        const int w = int(i) - (reverse ? Words : 0);
        const auto code = [&](int64_t row) { return read.code(int32_t(row), reverse); };
        const StripedPlanes<uint32_t> planes = striped_planes<uint32_t>(w, Words, pad, read.length, code);
        const uint32_t padding = ~striped_rows<uint32_t>(w, Words, pad);
        uint32_t (*bases)[Words] = profile[reverse];
        bases[0][w] = (planes.known & ~planes.low & ~planes.high) | padding;
        bases[1][w] = (planes.known & planes.low & ~planes.high) | padding;
        bases[2][w] = (planes.known & ~planes.low & planes.high) | padding;
        bases[3][w] = (planes.known & planes.low & planes.high) | padding;
        bases[4][w] = padding;
        const Conversion conversion = read.conversion(reverse);
        if (conversion == Conversion::c_to_t) bases[1][w] |= bases[3][w];
        if (conversion == Conversion::g_to_a) bases[2][w] |= bases[0][w];
    }
    group.sync();
}

struct WindowBest {
    uint32_t distance, end;
};
GPUALIGN_HD uint64_t packed(const WindowBest& best) { return uint64_t(best.distance) << 32 | best.end; }
GPUALIGN_HD WindowBest unpacked(uint64_t best) { return {uint32_t(best >> 32), uint32_t(best)}; }

// What a lane searches: `columns` bases of the reference from `begin` on. Ends within the first `skipped` do not count.
struct WindowPart {
    uint32_t begin, columns, skipped;
    bool reverse;  // the strand of the read
};

// Minimum distance of the read to a substring of the part, and the first end that has it. Called by one lane.
template <int Words>
GPUALIGN_HD WindowBest search_part(
    const MapTarget& target, int32_t length, const WindowPart& part, const uint32_t (*profile)[5][Words]) {
    const uint32_t (*bases)[Words] = profile[part.reverse];
    StripedColumn<uint32_t, Words> column;
    uint32_t rows[Words];
    for (int w = 0; w < Words; w++) rows[w] = striped_rows<uint32_t>(w, Words, 32 * Words - length);
    column.start(rows);
    uint32_t score = uint32_t(length);
    WindowBest best{score, 0};
    for (uint32_t from = 0; from < part.columns; from += kBasesPerWord) {
        uint64_t text = packed_window(target.text, uint64_t(part.begin) + from);
        uint32_t acgt = acgt_window(target, uint64_t(part.begin) + from);
        const uint32_t left = part.columns - from, count = left < kBasesPerWord ? left : uint32_t(kBasesPerWord);
        for (uint32_t j = 0; j < count; j++, text >>= 2, acgt >>= 1) {
            const uint32_t* row = bases[acgt & 1 ? text & 3 : 4];
            uint32_t eq[Words], up, down;
            for (int w = 0; w < Words; w++) eq[w] = row[w];
            column.step(eq, 0, 0, up, down);
            score += (up >> 31) - (down >> 31);
            if (score < best.distance && from + j >= part.skipped) best = {score, from + j + 1};
        }
    }
    return best;
}

// Calls found(is window, index, best) for the windows [from, to), in one lane for each; the other lanes call it, too.
// search(part) finds the best of a part. Where there are fewer windows than lanes, several lanes share a window: each
// finds the best of its share of the ends. An alignment with up to `limit` edits spans at most length + limit bases of
// the reference, so each begins so many before its share; distances beyond the limit may come out too large.
template <class Group, class Search, class Found>
GPUALIGN_HD void for_each_window(const Group& group, const MapWorkspace& workspace, int32_t length, int32_t limit,
    uint32_t from, uint32_t to, Search&& search, Found&& found) {
    const uint32_t before = uint32_t(length + limit);
    for (uint32_t base = from; base < to;) {
        uint32_t lanes = Group::kLanes;  // of a window
        while (lanes > 1 && lanes * (to - base) > Group::kLanes) lanes /= 2;
        const uint32_t c = base + group.lane() / lanes, number = group.lane() % lanes;
        WindowBest best{uint32_t(length), 0};
        if (c < to) {
            const uint64_t candidate = workspace.candidates[c];
            const uint32_t window = candidate_window(candidate);
            const uint32_t columns = workspace.window_columns[window] & ~kClippedWindow,
                           share = (columns + lanes - 1) / lanes, first = number * share;
            const uint32_t start = first > before ? first - before : 0,
                           end = first + share < columns ? first + share : columns;
            if (first < end)
                best = search(
                    {workspace.window_begin[window] + start, end - start, first - start, candidate_reverse(candidate)});
            best.end += start;
        }
        uint64_t first_best = packed(best);
        for (uint32_t apart = lanes / 2; apart; apart /= 2) {
            const uint64_t other = group.from(first_best, (group.lane() + apart) % Group::kLanes);
            if (number < apart && other < first_best) first_best = other;
        }
        found(c < to && number == 0, c, unpacked(first_best));
        base += Group::kLanes / lanes;
    }
    group.sync();
}

// Searches the windows [from, to) and appends the loci within the limit to `loci`. `best_of`, or null, receives the
// best of each window.
template <int Words, class Group>
GPUALIGN_HD void search_windows(const Group& group, const MapRead& read, const MapTarget& target,
    const MapWorkspace& workspace, MapShared<Words>& shared, uint32_t from, uint32_t to, int32_t limit, uint64_t* loci,
    FoundRead& found, uint64_t* best_of = nullptr) {
    make_profile<Words>(group, read, shared.profile);
    uint32_t failed = 0;
    for_each_window(
        group, workspace, read.length, limit, from, to,
        [&](const WindowPart& part) { return search_part<Words>(target, read.length, part, shared.profile); },
        [&](bool is_window, uint32_t c, const WindowBest& best) {
            const uint64_t candidate = is_window ? workspace.candidates[c] : 0;
            const bool within = is_window && aligns_end_to_end(read.length, int32_t(best.distance), limit);
            if (best_of && is_window) best_of[c] = packed(best);
            if (is_window && !within && candidate_seed_hits(candidate) > failed)
                failed = candidate_seed_hits(candidate);
            const uint32_t mask = group.ballot(within);
            if (within)
                loci[found.loci + group.before(mask)] =
                    make_locus(best.distance, int64_t(workspace.window_begin[candidate_window(candidate)]) + best.end,
                        candidate_reverse(candidate), candidate_seed_hits(candidate));
            found.loci += count_bits(mask);
        });
    failed = group.largest(failed);
    found.failed = failed > found.failed ? failed : found.failed;
    group.sync();
}

// Sorted hits of a read.
struct SeedHits {
    uint64_t* list;
    uint32_t count;
};

// Finds the candidates of a read, or of its one-substitution variants, with `depth` times the usual limits on hits and
// candidates, and `part` of the hits of a seed as in follow_seeds; returns their number, 0 if the workspace is too
// small.
template <class Group, class Memory>
GPUALIGN_HD uint32_t candidates_at(const Group& group, const MapRead& read, const MapTarget& target,
    const MapRules& rules, const MapWorkspace& workspace, Memory& shared, uint32_t* counter, uint32_t seeds,
    uint32_t total, int32_t depth, bool part, bool of_variants, SeedHits& hits, FoundRead& found) {
    const uint32_t maximum = limit_at(rules.max_hits, depth);
    found.hits_truncated = total > maximum;
    found.loci = 0;
    const uint32_t chosen = choose_seeds(group, seeds, maximum, part, found.hits_truncated, shared, hits.count);
    hits.list = power_of_two(hits.count) <= Memory::kFewHits ? shared.hits : workspace.hits;
    const uint32_t max_candidates = candidate_limit(rules.max_candidates, depth, of_variants);
    const bool many = Memory::kFewHits == 0 && hits.count > kMaxWindows;  // the windows may not suffice
    found.too_many =
        hits.list == workspace.hits && (hits.count > workspace.max_hits || (many && max_candidates > kMaxWindows / 2));
    if (found.too_many) return 0;
    expand_hits(group, read, target, rules.k, chosen, hits.count, shared, hits.list);
    sort_keys(group, hits.list, hits.count);
    const WindowCandidates candidates{workspace.candidates};
    uint32_t count = 0;
    if constexpr (Memory::kFewHits == 0)
        if (many)
            count = choose_of_many(group, read, target, workspace, counter, hits.list, hits.count, max_candidates);
    if (!many) {
        count = find_candidates(group, read, target, workspace, counter, hits.list, hits.count);
        count = choose_candidates(group, candidates, read.tie_break, count, max_candidates);
    }
    if (part && found.hits_truncated) candidates.forget_seed_hits(group, count);
    return count;
}

// View of the loci found so far; `qualities` as in PackedBases.
GPUALIGN_HD PackedLoci packed_loci(const MapTarget& target, const MapRules& rules, const MapRead& read,
    const uint64_t* loci, const FoundRead& found, const uint8_t* qualities = nullptr) {
    return {target, rules.scores, loci, found.loci, read.length, read.limit, read.ambiguous, found.hits_truncated,
        {read, &target, qualities}};
}

// Finds candidates of a read and their loci.
template <int Words, class Group>
GPUALIGN_HD void find_loci_at(const Group& group, const MapRead& read, const MapTarget& target, const MapRules& rules,
    const MapWorkspace& workspace, MapShared<Words>& shared, uint32_t seeds, uint32_t total, int32_t depth,
    uint64_t* loci, FoundRead& found) {
    SeedHits hits;
    const uint32_t candidates = candidates_at(
        group, read, target, rules, workspace, shared, &shared.counter, seeds, total, depth, false, false, hits, found);
    if (found.too_many) return;
    ReachedLocus near;
    if (candidates == 1 && !found.hits_truncated &&
        furthest_reaching(group, read, target, rules, workspace, hits.list, hits.count, shared, near)) {
        const uint64_t candidate = workspace.candidates[0];
        if (group.lane() == 0)
            loci[0] = make_locus(near.distance, near.end, candidate_reverse(candidate), candidate_seed_hits(candidate));
        found.loci = 1;
        group.sync();
        return;
    }
    search_windows(group, read, target, workspace, shared, 0, candidates, read.limit, loci, found);
    found.loci = settle_loci(group, read.limit, loci, found.loci);
    found.near_hits = 0;
    if (near_hits_matter(rules.scores, packed_loci(target, rules, read, loci, found), candidates))
        found.near_hits = max_near_hits(group, hits.list, hits.count);
}

// Finds the loci of a read by itself, best first.
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
        const PackedLoci so_far = packed_loci(target, rules, read, loci, found);
        if (depth == kDepth || found.too_many || !wants_more_hits(so_far)) return found;
        if (wants_part_of_hits(so_far, int32_t(found.failed))) {  // few reads do: the slow path finds their loci
            found.too_many = true;
            return found;
        }
        if (leaves_hits_to_chaining(rules, so_far, int32_t(found.failed))) {
            found.hits_truncated = total > limit_at(rules.max_hits, kDepth);
            return found;
        }
    }
}

}  // namespace gpualign
