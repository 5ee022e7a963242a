// Mate rescue: a mate is searched for, without seeds, where the other mate implies that it lies.
#pragma once
#include "algo/map/chain/short_reads.hpp"
#include "algo/map/exact_pieces.hpp"
#include "algo/map/loci.hpp"
#include "algo/map/mapping_quality.hpp"
#include "algo/map/mixed_loci.hpp"

namespace gpualign {

// Whether a locus of a mate that has been found by its seeds is the best one near it.
template <class Loci> GPUALIGN_HD bool is_best_near(const MapRules& rules, const Loci& mate, uint32_t i) {
    const int32_t edits = max(0, mate.distance(i) - mate.ambiguous);
    return edits == 0 || (!mate.hits_truncated && others_are_seen(mate.length, edits, rules.k, rules.w));
}

// Calls add(contig, reverse, begin, end) for the windows of a mate implied by some of the best loci of the other one,
// `anchors`; of a bisulfite read also those with one edit more. Anchors that already pair with a locus of the mate are
// skipped, unless the mate is short, or a bisulfite read whose locus may not be the best there: it may have others
// nearby that no seed shows.
template <class Group, class Loci, class Add>
GPUALIGN_HD void for_each_mate_window(const Group& group, const MapRules& rules, const Loci& anchors, const Loci& mate,
    bool anchor_is_first, uint32_t tie_break, Add&& add) {
    const PairLibrary& pairs = rules.pairs;
    const bool converted = anchors.bases.converted();
    const uint32_t most = converted ? kMaxConvertedAnchors : kMaxAnchors;
    uint32_t best = equally_good(anchors);
    while (converted && best < most && best < anchors.count &&
           anchors.score(0) - anchors.score(best) <= edit_of(rules.scores))
        best++;
    const uint32_t first = best > most ? tie_break_below(tie_break, TieBreakFor::anchors, best) : 0;
    for (uint32_t n = 0; n < best && n < most; n++) {
        const uint32_t i = first + n < best ? first + n : first + n - best;
        bool fits = false;
        const uint32_t others = mate.length < kShortMate ? 0 : mate.count;
        for (uint32_t j = group.lane(); j < others && j < kMaxPairedLoci && !fits; j += Group::kLanes)
            fits = (anchor_is_first ? insert_size(pairs, anchors, i, mate, j)
                                    : insert_size(pairs, mate, j, anchors, i)) >= 0 &&
                   (!converted || is_best_near(rules, mate, j));
        if (group.ballot(fits)) continue;
        const MateWindow w = mate_window(pairs, anchors.begin(i) + anchors.introns(i),
            anchors.end(i) - anchors.introns(i), anchors.reverse(i), anchor_is_first);
        add(anchors.contig(i), w.reverse, w.begin - mate.limit, w.end + mate.limit);
    }
}

// Whether a mate is searched for near the other one's loci, within `limit` edits.
GPUALIGN_HD bool is_looked_for(const MapRules& rules, int32_t length, int32_t limit) {
    return length && limit >= 0 && !maps_as_long(rules, length);
}

// A window, and the read's best end in it.
struct SearchedWindow {
    int64_t begin, after;
    uint32_t contig;
    bool reverse;
    int32_t distance;
    int64_t end;
};

// Mate rescue takes each step for all `Mates`: those of a pair on a device (MatesOfPair), of many pairs on the CPU,
// where windows and bands share vectors (native/map/mates_of_block.hpp). Windows are clear()ed, add()ed and searched by
// search(), which adds the loci within their limits; replace_windows(visit(mate, w)) lets other ones take their place.
template <class Group, class Mates, class Mate>
GPUALIGN_HD void add_mate_windows(
    const Group& group, const MapRules& rules, Mates& mates, const Mate& mate, int32_t limit) {
    if (!is_looked_for(rules, mates.read(mate).length, limit)) return;
    const auto other = mates.other(mate);
    const bool second = mates.is_second(mate);
    for_each_mate_window(group, rules, mates.loci(other), mates.loci(mate), second,
        mates.read(second ? other : mate).tie_break, [&](uint32_t contig, bool reverse, int64_t begin, int64_t end) {
            mates.add(mate, contig, reverse, begin, end, limit);
        });
}

// Rescues mates near each best locus of the other mate; short ones also on both sides of what is found, as a search
// reports one locus per window, and they may have several.
template <class Group, class Mates>
GPUALIGN_HD_CALL void rescue_mates(const Group& group, const MapRules& rules, Mates& mates) {
    const auto limit_near = [&](const auto& read) { return limit_near_mate(read.length, read.limit, rules.pairs.max); };
    mates.clear();
    mates.for_each([&](auto mate) { add_mate_windows(group, rules, mates, mate, limit_near(mates.read(mate))); });
    mates.search();
    mates.replace_windows([&](auto mate, auto w) {
        const auto& read = mates.read(mate);
        if (read.length >= kShortMate) return;
        const SearchedWindow found = mates.window(w);
        if (found.distance > limit_near(read)) return;
        const int64_t before = found.end - read.limit - 1, behind = found.end - read.length + read.limit + 1;
        mates.add(mate, found.contig, found.reverse, found.begin, before, read.limit);
        mates.add(mate, found.contig, found.reverse, behind, found.after, read.limit);
    });
    mates.search();
}

// Rescues mates without a locus: where they fit within twice the limit, or anywhere in the window, they are aligned
// with clipped ends, as a chain would be. measure() finds distances up to twice the windows' limits.
template <class Group, class Mates>
GPUALIGN_HD_CALL void rescue_clipped_mates(const Group& group, const MapRules& rules, Mates& mates) {
    mates.clear();
    mates.for_each([&](auto mate) {
        const auto& read = mates.read(mate);
        if (wants_clipped_mate(rules, mates.loci(mate).count, read.length, read.limit))
            add_mate_windows(group, rules, mates, mate, read.limit);
    });
    mates.measure();
    mates.replace_windows([&](auto mate, auto w) {
        const auto& read = mates.read(mate);
        const SearchedWindow found = mates.window(w);
        const MateBand on =
            clipped_mate_band(read.length, 2 * read.limit, found.begin, found.after, found.distance, found.end);
        if (on.band) mates.align(mate, found, on);
    });
    mates.keep_aligned();
}

// The mates of a pair, 0 and 1, whose windows are in the workspace of a group. A Finder has
// read(mate), loci(mate), counter() of the windows, workspace(), pieces() for may_be_within, or null, and search(mate,
// from, to, limit, best), which adds the loci of the windows [from, to); `best`, or null, receives the best of each.
template <class Group, class Finder> class MatesOfPair {
public:
    GPUALIGN_HD MatesOfPair(const Group& group, const MapTarget& target, Finder& finder)
        : group_(group), target_(target), finder_(finder), workspace_(finder.workspace()) {}

    template <class Visit> GPUALIGN_HD void for_each(Visit&& visit) {
        for (int mate = 1; mate >= 0; mate--) {
            from_[mate] = windows();
            visit(mate);
            to_[mate] = windows();
        }
    }
    GPUALIGN_HD int other(int mate) const { return 1 - mate; }
    GPUALIGN_HD bool is_second(int mate) const { return mate == 1; }
    GPUALIGN_HD const MapRead& read(int mate) const { return finder_.read(mate); }
    GPUALIGN_HD auto loci(int mate) const { return finder_.loci(mate); }

    GPUALIGN_HD void clear() {
        if (group_.lane() == 0) *finder_.counter() = 0;
        group_.sync();
    }
    GPUALIGN_HD void add(int mate, uint32_t contig, bool reverse, int64_t begin, int64_t end, int32_t limit) {
        limit_[mate] = limit;
        if (group_.lane() == 0)
            add_window(group_, target_, workspace_, finder_.counter(), contig, reverse, 0, 0, begin, end);
    }
    template <class Visit> GPUALIGN_HD void replace_windows(Visit&& visit) {
        for (int mate = 0; mate < 2; mate++) {
            const uint32_t from = from_[mate], to = to_[mate];
            from_[mate] = windows();
            for (uint32_t w = from; w < to; w++) visit(mate, w);
            to_[mate] = windows();
        }
    }
    GPUALIGN_HD SearchedWindow window(uint32_t w) const {
        const WindowBest best = unpacked(workspace_.hits[w]);
        const int64_t begin = workspace_.window_begin[w];
        return {begin, begin + (workspace_.window_columns[w] & ~kClippedWindow), contig_of(target_, begin),
            candidate_reverse(workspace_.candidates[w]), int32_t(best.distance), begin + best.end};
    }
    GPUALIGN_HD_CALL void search() {
        for (int mate = 0; mate < 2; mate++) {
            const bool is_short = finder_.read(mate).length < kShortMate;
            if (finder_.pieces() && !is_short) leave_windows_out(mate);
            if (from_[mate] < to_[mate])
                finder_.search(mate, from_[mate], to_[mate], limit_[mate], is_short ? workspace_.hits : nullptr);
        }
    }

protected:
    GPUALIGN_HD uint32_t windows() {
        group_.sync();
        const uint32_t all = *finder_.counter();
        group_.sync();
        return all;
    }

    // Leaves out the windows that cannot have the mate.
    GPUALIGN_HD void leave_windows_out(int mate) {
        const MapRead read = finder_.read(mate);
        uint32_t kept = from_[mate];
        for (uint32_t c = from_[mate]; c < to_[mate]; c++) {
            const uint64_t candidate = workspace_.candidates[c];
            const uint32_t window = candidate_window(candidate);
            if (!may_be_within(group_, read, candidate_reverse(candidate), target_, workspace_.window_begin[window],
                    workspace_.window_columns[window] & ~kClippedWindow, limit_[mate], finder_.pieces()))
                continue;
            if (group_.lane() == 0) workspace_.candidates[kept] = candidate;
            kept++;
            group_.sync();
        }
        to_[mate] = kept;
    }

    const Group& group_;
    const MapTarget& target_;
    Finder& finder_;
    const MapWorkspace& workspace_;
    uint32_t from_[2] = {0, 0}, to_[2] = {0, 0};  // windows of each mate
    int32_t limit_[2] = {0, 0};
};

}  // namespace gpualign
