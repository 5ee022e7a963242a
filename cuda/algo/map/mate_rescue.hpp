// Mates looked for where the other mate says that they should lie, which needs no seed.
#pragma once
#include "algo/map/loci.hpp"
#include "algo/map/mapping_quality.hpp"

namespace gpualign {

// add(contig, reverse, begin, end) for the windows of a mate, seen from a few of the best loci of the other one, `anchors`: those
// without a locus of the mate, of a short one all, as it has others there that no seed shows.
template <class Group, class Loci, class Add>
GPUALIGN_HD void for_each_mate_window(const Group& group, const PairLibrary& pairs, const Loci& anchors, const Loci& mate,
                                      bool anchor_is_first, uint32_t draw, Add&& add) {
    const uint32_t best = equally_good(anchors);
    const uint32_t first = best > kMaxAnchors ? drawn_below(draw, DrawFor::anchors, best) : 0;
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

// Both mates of a pair on the device.
template <int Words, class Group>
class MateRescue {
public:
    GPUALIGN_HD MateRescue(const Group& group, const MapTarget& target, const MapRules& rules, const MapWorkspace& workspace,
                           MapShared<Words>& shared)
        : group_(group), target_(target), rules_(rules), workspace_(workspace), shared_(shared) {}

    GPUALIGN_HD_CALL void run(const MapRead* reads, FoundRead* found) {
        if (group_.lane() == 0) shared_.counter = 0;
        group_.sync();
        uint32_t after[2];
        for (int mate = 1; mate >= 0; mate--) after[mate] = add_windows(reads, found, mate);
        search(reads[0], workspace_.loci[0], found[0], after[1], after[0]);
        search(reads[1], workspace_.loci[1], found[1], 0, after[1]);
    }

private:
    // Returns how many windows there are now.
    GPUALIGN_HD uint32_t add_windows(const MapRead* reads, const FoundRead* found, int mate) {
        const MapRead& read = reads[mate];
        if (read.length && limit_near(read) >= 0) {
            const PackedLoci anchors = loci_of(reads[1 - mate], 1 - mate, found[1 - mate]), own = loci_of(read, mate, found[mate]);
            for_each_mate_window(group_, rules_.pairs, anchors, own, mate == 1, reads[0].draw,
                                 [&](uint32_t contig, bool reverse, int64_t begin, int64_t end) { add(contig, reverse, begin, end); });
        }
        return windows();
    }
    GPUALIGN_HD PackedLoci loci_of(const MapRead& read, int mate, const FoundRead& found) const {
        return {target_, rules_.scores, workspace_.loci[mate], found.loci, read.length, read.limit, read.unknown, found.hits_truncated};
    }
    GPUALIGN_HD int32_t limit_near(const MapRead& read) const {
        return limit_near_mate(read.length, read.limit, rules_.pairs.max);
    }
    GPUALIGN_HD void add(uint32_t contig, bool reverse, int64_t begin, int64_t end) {
        if (group_.lane() == 0)
            add_window(group_, target_, workspace_, &shared_.counter, contig, reverse, 0, 0, begin, end);
    }
    GPUALIGN_HD uint32_t windows() {
        group_.sync();
        const uint32_t all = shared_.counter;
        group_.sync();
        return all;
    }

    // The windows [from, to) of a mate, and what a short one finds near their best loci.
    GPUALIGN_HD_CALL void search(const MapRead& read, uint64_t* loci, FoundRead& found, uint32_t from, uint32_t to) {
        if (from == to) return;
        const bool is_short = read.length < kShortMate;
        const int32_t limit = limit_near(read);
        search_windows(group_, read, target_, workspace_, shared_, from, to, limit, loci, found, is_short ? workspace_.hits : nullptr);
        found.loci = settle_loci(group_, read.limit, loci, found.loci);
        if (!is_short) return;
        const uint32_t sides = windows();
        for (uint32_t w = from; w < to; w++) {
            const WindowBest best = unpacked(workspace_.hits[w]);
            if (best.distance <= uint32_t(limit)) add_sides(read, w, best.end);
        }
        const uint32_t all = windows();
        if (sides == all) return;
        search_windows(group_, read, target_, workspace_, shared_, sides, all, read.limit, loci, found);
        found.loci = settle_loci(group_, read.limit, loci, found.loci);
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
    const MapWorkspace& workspace_;
    MapShared<Words>& shared_;
};

}  // namespace gpualign
