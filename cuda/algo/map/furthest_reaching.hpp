// O(ND) verification of a read with few edits and a single candidate: the furthest-reaching rows of each diagonal with
// 0, 1, 2, ... edits (Ukkonen 1985, Information and Control 64:100; Myers 1986, Algorithmica 1:251), a lane per
// diagonal. It replaces the search of the window for most reads.
//
// A read with e edits has e + 1 pieces without, the longest of which has at least w + k - 1 bases if e is small: its
// minimizers are also minimizers of the reference, so one of the read's seeds is on its diagonal, provided that all
// hits were followed. If there are no other hits around the candidate's, every path with at most e edits in its window
// crosses a diagonal of its seeds and stays within e of them: the lowest distance on these diagonals is that of the
// whole window, and its leftmost end is there.
#pragma once
#include "algo/map/candidates.hpp"

namespace gpualign {

// Maximum number of edits that leave a piece of the read with a minimizer of the reference; negative if there is none.
GPUALIGN_HD int32_t edits_with_seed(int32_t length, const MapRules& rules) {
    const int32_t shorter = rules.w + rules.k - 2;  // longest piece without a minimizer
    return length > shorter ? (length - shorter - 1) / (shorter + 1) : -1;
}

// Whether hits on the candidate's strand lie within `margin` diagonals of its own, [first, last].
template <class Group>
GPUALIGN_HD bool other_hits(const Group& group, const uint64_t* hits, uint32_t count, bool reverse, int64_t first,
    int64_t last, int64_t margin) {
    bool others = false;
    for (uint32_t h = group.lane(); h < count; h += Group::kLanes) {
        if (hit_reverse(hits[h]) != reverse) continue;
        const int64_t diagonal = hit_diagonal(hits[h]);
        others = others || (diagonal < first && diagonal >= first - margin) ||
                 (diagonal > last && diagonal <= last + margin);
    }
    return group.ballot(others) != 0;
}

struct ReachedLocus {
    uint32_t distance;
    int64_t end;
};

// The read's locus in the window of its only candidate, if it has few edits there.
template <int Words, class Group>
GPUALIGN_HD bool furthest_reaching(const Group& group, const MapRead& read, const MapTarget& target,
    const MapRules& rules, const MapWorkspace& workspace, const uint64_t* hits, uint32_t count,
    MapShared<Words>& shared, ReachedLocus& locus) {
    const uint64_t candidate = workspace.candidates[0];
    const uint32_t columns = workspace.window_columns[candidate_window(candidate)];
    const int32_t maximum = min(edits_with_seed(read.length, rules), read.limit);
    if ((columns & kClippedWindow) || !read.clean || maximum < 0) return false;
    const bool reverse = candidate_reverse(candidate);
    const int64_t first = candidate_diagonal(candidate);
    const int32_t seed_diagonals = int32_t(columns) - read.length - 2 * read.limit;  // number minus one
    if (other_hits(group, hits, count, reverse, first, first + seed_diagonals, read.limit + maximum)) return false;

    const uint64_t from = uint64_t(first - maximum);
    const int32_t diagonals = seed_diagonals + 2 * maximum + 1, skew = int32_t(from % kBasesPerWord);
    const int32_t words =
        (skew + diagonals + read.length - 2) / kBasesPerWord + 2;  // including the word after the last base's
    bool all_acgt = true;
    for (int32_t w = int32_t(group.lane()); w < words; w += int32_t(Group::kLanes)) {
        shared.text[w] = target.text[from / kBasesPerWord + uint64_t(w)];
        all_acgt = all_acgt && (w + 1 == words || target.acgt_mask[from / kBasesPerWord + uint64_t(w)] == ~0u);
    }
    group.sync();
    if (group.ballot(!all_acgt)) return false;

    int32_t *reached = shared.reach, *reaches = shared.reach + MapShared<Words>::kRows;
    for (int32_t edits = 0; edits <= maximum; edits++) {
        for (int32_t base = 0; base < diagonals; base += int32_t(Group::kLanes)) {
            const int32_t d = base + int32_t(group.lane());
            int32_t row = d < diagonals ? 0 : read.length;
            if (edits && d < diagonals) {  // a substitution, an insertion, a deletion
                row = reached[d] + 1;
                if (d + 1 < diagonals) row = max(row, reached[d + 1] + 1);
                if (d) row = max(row, reached[d - 1]);
            }
            while (row < read.length) {
                const uint64_t text = packed_window(shared.text, uint64_t(skew + d + row));
                const uint64_t differ = read.differing(row, reverse, text);
                row += trailing_zeros(differ) / 2;
                if (differ) break;
            }
            if (d < diagonals) reaches[d] = row;
            const uint32_t whole = group.ballot(d < diagonals && row >= read.length);
            if (whole) {
                const int32_t diagonal = base + int32_t(first_lane(whole));
                locus = {uint32_t(edits), int64_t(from) + diagonal + read.length};
                return true;
            }
        }
        group.sync();
        int32_t* const last = reached;
        reached = reaches;
        reaches = last;
    }
    return false;
}

}  // namespace gpualign
