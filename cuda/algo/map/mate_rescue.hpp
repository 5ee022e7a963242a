// Mate rescue: a mate is searched for, without seeds, where the other mate implies that it lies.
#pragma once
#include "algo/map/chain/short_reads.hpp"
#include "algo/map/loci.hpp"
#include "algo/map/mapping_quality.hpp"

namespace gpualign {

// Calls add(contig, reverse, begin, end) for the windows of a mate implied by some of the best loci of the other one,
// `anchors`. Anchors that already pair with a locus of the mate are skipped, unless the mate is short: it may have
// others nearby that no seed shows.
template <class Group, class Loci, class Add>
GPUALIGN_HD void for_each_mate_window(const Group& group, const PairLibrary& pairs, const Loci& anchors,
    const Loci& mate, bool anchor_is_first, uint32_t tie_break, Add&& add) {
    const uint32_t best = equally_good(anchors);
    const uint32_t first = best > kMaxAnchors ? tie_break_below(tie_break, TieBreakFor::anchors, best) : 0;
    for (uint32_t n = 0; n < best && n < kMaxAnchors; n++) {
        const uint32_t i = first + n < best ? first + n : first + n - best;
        bool fits = false;
        const uint32_t others = mate.length < kShortMate ? 0 : mate.count;
        for (uint32_t j = group.lane(); j < others && j < kMaxPairedLoci && !fits; j += Group::kLanes)
            fits = (anchor_is_first ? insert_size(pairs, anchors, i, mate, j)
                                    : insert_size(pairs, mate, j, anchors, i)) >= 0;
        if (group.ballot(fits)) continue;
        const MateWindow w = mate_window(pairs, anchors.begin(i), anchors.end(i), anchors.reverse(i), anchor_is_first);
        add(anchors.contig(i), w.reverse, w.begin - mate.limit, w.end + mate.limit);
    }
}

// Calls add(begin, end) for the two parts of the window [begin, after) beside its best locus, which ends at `end`: a
// search reports one locus per window, and a short mate may have several.
template <class Add>
GPUALIGN_HD void for_each_side(int64_t begin, int64_t after, int64_t end, int32_t length, int32_t limit, Add&& add) {
    add(begin, end - limit - 1);
    add(end - length + limit + 1, after);
}

// Whether a mate is searched for near the other one's loci, within `limit` edits.
GPUALIGN_HD bool is_looked_for(const MapRules& rules, int32_t length, int32_t limit) {
    return length && limit >= 0 && !maps_as_long(rules, length);
}

// Rescues both mates of a pair, by all lanes of a group. A Finder holds the mates' loci and the windows: read(mate),
// loci(mate), counter() of the windows, workspace(), and search(mate, from, to, limit, best), which adds the loci of
// the windows [from, to) within the limit; `best`, or null, receives the best of each.
template <class Group, class Finder> class MateRescue {
public:
    GPUALIGN_HD MateRescue(const Group& group, const MapTarget& target, const MapRules& rules, Finder& finder)
        : group_(group), target_(target), rules_(rules), finder_(finder), workspace_(finder.workspace()) {}

    GPUALIGN_HD_CALL void run() {
        clear();
        uint32_t after[2];
        for (int mate = 1; mate >= 0; mate--) after[mate] = add_windows(mate, limit_near(finder_.read(mate)));
        search(0, after[1], after[0]);
        search(1, 0, after[1]);
    }

    GPUALIGN_HD void clear() {
        if (group_.lane() == 0) *finder_.counter() = 0;
        group_.sync();
    }
    // Adds windows for a mate; returns their number so far.
    GPUALIGN_HD uint32_t add_windows(int mate, int32_t limit) {
        const MapRead& read = finder_.read(mate);
        if (is_looked_for(rules_, read.length, limit))
            for_each_mate_window(group_, rules_.pairs, finder_.loci(1 - mate), finder_.loci(mate), mate == 1,
                finder_.read(0).tie_break,
                [&](uint32_t contig, bool reverse, int64_t begin, int64_t end) { add(contig, reverse, begin, end); });
        return windows();
    }

private:
    GPUALIGN_HD int32_t limit_near(const MapRead& read) const {
        return limit_near_mate(read.length, read.limit, rules_.pairs.max);
    }
    GPUALIGN_HD void add(uint32_t contig, bool reverse, int64_t begin, int64_t end) {
        if (group_.lane() == 0)
            add_window(group_, target_, workspace_, finder_.counter(), contig, reverse, 0, 0, begin, end);
    }
    GPUALIGN_HD uint32_t windows() {
        group_.sync();
        const uint32_t all = *finder_.counter();
        group_.sync();
        return all;
    }

    // Searches the windows [from, to) for a mate; for a short one also beside their best loci.
    GPUALIGN_HD_CALL void search(int mate, uint32_t from, uint32_t to) {
        if (from == to) return;
        const MapRead& read = finder_.read(mate);
        const bool is_short = read.length < kShortMate;
        const int32_t limit = limit_near(read);
        finder_.search(mate, from, to, limit, is_short ? workspace_.hits : nullptr);
        if (!is_short) return;
        const uint32_t sides = windows();
        for (uint32_t w = from; w < to; w++) {
            const WindowBest best = unpacked(workspace_.hits[w]);
            if (best.distance <= uint32_t(limit)) add_sides(read, w, best.end);
        }
        const uint32_t all = windows();
        if (sides < all) finder_.search(mate, sides, all, read.limit, nullptr);
    }

    GPUALIGN_HD void add_sides(const MapRead& read, uint32_t window, uint32_t end) {
        const int64_t begin = workspace_.window_begin[window];
        const int64_t after = begin + (workspace_.window_columns[window] & ~kClippedWindow);
        const uint32_t contig = contig_of(target_, begin);
        const bool reverse = candidate_reverse(workspace_.candidates[window]);
        for_each_side(begin, after, begin + end, read.length, read.limit,
            [&](int64_t from, int64_t to) { add(contig, reverse, from, to); });
    }

    const Group& group_;
    const MapTarget& target_;
    const MapRules& rules_;
    Finder& finder_;
    const MapWorkspace& workspace_;
};

}  // namespace gpualign
