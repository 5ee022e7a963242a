// Mates looked for where the other mate says that they should lie, which needs no seed.
#pragma once
#include "algo/map/chain/short_reads.hpp"
#include "algo/map/loci.hpp"
#include "algo/map/mapping_quality.hpp"

namespace gpualign {

// add(contig, reverse, begin, end) for the windows of a mate, seen from a few of the best loci of the other one, `anchors`: those
// without a locus of the mate, of a short one all, as it has others there that no seed shows.
template <class Group, class Loci, class Add>
GPUALIGN_HD void for_each_mate_window(const Group& group, const PairLibrary& pairs, const Loci& anchors, const Loci& mate,
                                      bool anchor_is_first, uint32_t tie_break, Add&& add) {
    const uint32_t best = equally_good(anchors);
    const uint32_t first = best > kMaxAnchors ? tie_break_below(tie_break, TieBreakFor::anchors, best) : 0;
    for (uint32_t n = 0; n < best && n < kMaxAnchors; n++) {
        const uint32_t i = first + n < best ? first + n : first + n - best;
        bool fits = false;
        const uint32_t others = mate.length < kShortMate ? 0 : mate.count;
        for (uint32_t j = group.lane(); j < others && j < kMaxPairedLoci && !fits; j += Group::kLanes)
            fits = (anchor_is_first ? insert_size(pairs, anchors, i, mate, j) : insert_size(pairs, mate, j, anchors, i)) >= 0;
        if (group.ballot(fits)) continue;
        const MateWindow w = mate_window(pairs, anchors.begin(i), anchors.end(i), anchors.reverse(i), anchor_is_first);
        add(anchors.contig(i), w.reverse, w.begin - mate.limit, w.end + mate.limit);
    }
}

// add(begin, end) for what is left of the window [begin, after) on both sides of its best locus, which ends at `end`: a window gives
// only one locus, the first of equal ones, and a short mate has others.
template <class Add>
GPUALIGN_HD void for_each_side(int64_t begin, int64_t after, int64_t end, int32_t length, int32_t limit, Add&& add) {
    add(begin, end - limit - 1);
    add(end - length + limit + 1, after);
}

// Whether a mate is looked for near the other one's loci, within so many edits.
GPUALIGN_HD bool is_looked_for(const MapRules& rules, int32_t length, int32_t limit) {
    return length && limit >= 0 && !maps_as_long(rules, length);
}

// Both mates of a pair, a group's lanes together. A Finder has the mates' loci, and windows to look for more in: read(mate),
// loci(mate) as pairing wants them, counter() of the windows, workspace(), and search(mate, from, to, limit, best), which adds what
// the windows [from, to) have within the limit; `best`, or null, takes what is best in each.
template <class Group, class Finder>
class MateRescue {
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
    // Windows for a mate within so many edits; returns how many there are now.
    GPUALIGN_HD uint32_t add_windows(int mate, int32_t limit) {
        const MapRead& read = finder_.read(mate);
        if (is_looked_for(rules_, read.length, limit))
            for_each_mate_window(group_, rules_.pairs, finder_.loci(1 - mate), finder_.loci(mate), mate == 1, finder_.read(0).tie_break,
                                 [&](uint32_t contig, bool reverse, int64_t begin, int64_t end) { add(contig, reverse, begin, end); });
        return windows();
    }

private:
    GPUALIGN_HD int32_t limit_near(const MapRead& read) const {
        return limit_near_mate(read.length, read.limit, rules_.pairs.max);
    }
    GPUALIGN_HD void add(uint32_t contig, bool reverse, int64_t begin, int64_t end) {
        if (group_.lane() == 0) add_window(group_, target_, workspace_, finder_.counter(), contig, reverse, 0, 0, begin, end);
    }
    GPUALIGN_HD uint32_t windows() {
        group_.sync();
        const uint32_t all = *finder_.counter();
        group_.sync();
        return all;
    }

    // The windows [from, to) of a mate, and what a short one finds near their best loci.
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
