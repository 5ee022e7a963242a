// Choice of the chains to align: the best of each interval of the read, and suboptimal ones that come close.
#pragma once
#include "algo/map/chain/chains.hpp"

namespace gpualign {

// Intervals of the read's forward strand that a chain covers. A long gap between anchors is not covered: another chain
// there, an inversion for example, counts as the best of its own interval.
template <class Group>
GPUALIGN_HOST_DEVICE void cover_read(const Group& group, const ChainRules& rules, const uint64_t* chained,
    int32_t length, ReadInterval* intervals, AnchorChain& chain) {
    InTurn<Group, uint64_t> anchors(group, chained + chain.first, chain.last - chain.first);
    int32_t n = 0, covered = 0;
    int64_t diagonal = 0;
    bool jumps = false;
    ReadInterval* cover = intervals + chain.first;
    ReadInterval last{0, 0};
    const auto close = [&] {
        if (group.lane() == 0) cover[n] = last;
        covered += last.end - last.begin;
        n++;
    };
    for (uint32_t a = 0; a < chain.last - chain.first; a++) {
        const uint64_t anchor = anchors[a];
        const int32_t begin = anchor_query(anchor), end = begin + rules.k;
        const int64_t moved = anchor_reference(anchor) - begin - diagonal;
        jumps |= a && (moved < 0 ? -moved : moved) > rules.query_gap;
        diagonal += moved;
        if (a && begin - last.end > rules.query_gap) close();
        if (!a || begin - last.end > rules.query_gap) last.begin = begin;
        last.end = end;
    }
    close();
    group.sync();
    if (group.lane() != 0) return;
    chain.intervals = n;
    chain.covered = covered;
    chain.jumps = jumps && rules.min_anchors > 1 && !has_introns(rules);
    if (!chain.reverse) return;
    for (int32_t i = 0, j = n - 1; i <= j; i++, j--) {
        const ReadInterval low = cover[i], high = cover[j];
        cover[i] = {length - high.end, length - high.begin};
        cover[j] = {length - low.end, length - low.begin};
    }
}

// Calls cover_read for all chains: with all lanes for chains of many anchors, a lane each for the others.
template <class Group>
GPUALIGN_HOST_DEVICE void cover_reads(const Group& group, const ChainRules& rules, int32_t length,
    const ChainNodes& nodes, uint32_t count, AnchorChain* chains) {
    const auto many = [&](const AnchorChain& chain) { return chain.last - chain.first > 2 * Group::kLanes; };
    for (uint32_t c = group.lane(); c < count; c += Group::kLanes)
        if (!many(chains[c])) cover_read(OneLane(), rules, nodes.chained, length, nodes.intervals, chains[c]);
    group.sync();
    for (uint32_t base = 0; base < count; base += Group::kLanes) {
        const uint32_t c = base + group.lane();
        for (uint32_t left = group.ballot(c < count && many(chains[c])); left; left &= left - 1)
            cover_read(group, rules, nodes.chained, length, nodes.intervals, chains[base + first_lane(left)]);
    }
    group.sync();
}

GPUALIGN_HD int32_t shared_bases(const ReadInterval& a, const ReadInterval& b) {
    const int32_t shared = min(a.end, b.end) - max(a.begin, b.begin);
    return shared > 0 ? shared : 0;
}

GPUALIGN_HD int32_t common_bases(const ReadInterval* intervals, const AnchorChain& a, const AnchorChain& b) {
    int32_t common = 0;
    const ReadInterval *one = intervals + a.first, *two = intervals + b.first;
    for (int32_t i = 0, j = 0; i < a.intervals && j < b.intervals;) {
        common += shared_bases(one[i], two[j]);
        if (one[i].end < two[j].end) i++;
        else j++;
    }
    return common;
}

// Whether a chain scores close to a better one. If the better chain may be cut, only its score within the common bases
// counts.
GPUALIGN_HD bool comes_near(
    const ChainRules& rules, const AnchorChain& chain, const AnchorChain& better, int32_t common) {
    const int64_t score =
        better.jumps ? int64_t(better.score) * min(common, better.covered) / better.covered : better.score;
    return int64_t(chain.score) * 100 >= int64_t(rules.suboptimal_percent) * score;
}

// Marks the best chains of each interval of the read, and the suboptimal ones that come close; `order` is reduced to
// them and keeps its order. A lane takes a chain.
template <class Group> class ChainChoice {
public:
    GPUALIGN_HD ChainChoice(const Group& group, const ChainRules& rules, int32_t max_suboptimal,
        const ChainNodes& nodes, uint32_t* order, AnchorChain* chains)
        : group_(group), rules_(rules), max_suboptimal_(max_suboptimal), nodes_(nodes), order_(order), chains_(chains) {
    }

    // Returns their number. `scatter` as for the order of the chains.
    GPUALIGN_HOST_DEVICE uint32_t run(const FoundChains& all, uint32_t n, uint32_t scatter, int32_t length) {
        uint32_t better = all.count;  // than a single anchor
        while (all.singles && better && chains_[order_[better - 1]].score <= rules_.k) better--;
        uint32_t chosen = choose(0, better, 0);
        if constexpr (Group::kLanes == 1) chosen = choose(better, add_singles(all, n, scatter, length, better), chosen);
        return chosen;
    }

    // Adds the single anchors that are not rejected to the chains, and orders them among those from `better` on, which
    // score as much; returns the number of chains. Called by one lane.
    GPUALIGN_HOST_DEVICE uint32_t add_singles(
        const FoundChains& all, uint32_t n, uint32_t scatter, int32_t length, uint32_t better) {
        uint64_t* const singles = nodes_.keys + n - all.singles;
        uint64_t* const keys = singles - (all.count - better);
        for (uint32_t c = all.count; c-- > better;) keys[c - better] = nodes_.keys[c] << 32 | order_[c];
        uint32_t count = all.count;
        for (uint32_t s = 0; s < all.singles; s++) {
            const uint32_t i = uint32_t(singles[s]);
            const uint64_t anchor = nodes_.anchors[i];
            const bool reverse = anchor_reverse(anchor);
            const int32_t begin = reverse ? length - rules_.k - anchor_query(anchor) : anchor_query(anchor);
            if (rejects({begin, begin + rules_.k})) continue;
            chains_[count] = {rules_.k, i, i + 1, 1, rules_.k, 0, 0, reverse, 0, 0};
            nodes_.chained[i] = anchor;
            nodes_.intervals[i] = {begin, begin + rules_.k};
            keys[count - better] = uint64_t(i ^ scatter) << 32 | count;
            count++;
        }
        sort_many_keys(group_, keys, count - better);
        for (uint32_t c = better; c < count; c++) order_[c] = uint32_t(keys[c - better]);
        return count;
    }

private:
    // Marks those of the chains [from, to); returns the number of all so far.
    GPUALIGN_HOST_DEVICE uint32_t choose(uint32_t from, uint32_t to, uint32_t chosen) {
        for (uint32_t base = from; base < to; base += Group::kLanes) {
            const uint32_t c = base + group_.lane(), number = c < to ? order_[c] : 0;
            const bool is_chain = c < to;
            int32_t common = 0;
            const uint32_t parent = find_parent(is_chain, number, common);
            const bool is_best = is_chain && parent == number;
            const bool taken = accept(is_chain && !is_best, number, parent, common) || is_best;
            const uint32_t mask = group_.ballot(taken);
            group_.sync();  // all lanes have read `order`
            if (taken) {
                chains_[number].secondary = parent != number;
                order_[chosen + group_.before(mask)] = number;
            }
            chosen += count_bits(mask);
            group_.sync();
        }
        return chosen;
    }

    // Whether a single anchor shares the interval of a better chain that it does not come near; called by one lane.
    GPUALIGN_HD bool rejects(const ReadInterval& anchor) const {
        for (uint32_t b = 0; b < bests_; b++) {
            AnchorChain& best = chains_[uint32_t(nodes_.keys[b])];
            int32_t common = 0;
            for (int32_t i = 0; i < best.intervals; i++)
                common += shared_bases(nodes_.intervals[best.first + uint32_t(i)], anchor);
            if (2 * common <= rules_.k) continue;
            if (100 * rules_.k >= rules_.suboptimal_percent * best.score) return false;
            best.unaligned = max(best.unaligned, rules_.k);
            return true;
        }
        return false;
    }

    // Two chains belong to one interval if their common bases are more than half of the shorter one.
    GPUALIGN_HD bool shares(uint32_t number, uint32_t best, int32_t& common) const {
        common = common_bases(nodes_.intervals, chains_[number], chains_[best]);
        return 2 * common > min(chains_[number].covered, chains_[best].covered);
    }

    // The first best chain whose interval a lane's chain shares, and their common bases; its own number if it is the
    // best of its interval.
    GPUALIGN_HD uint32_t find_parent(bool is_chain, uint32_t number, int32_t& common) {
        uint64_t* bests = nodes_.keys;  // reuses the keys, which have been read
        bool alone = is_chain;
        uint32_t parent = number;
        for (uint32_t b = 0; b < bests_ && group_.ballot(alone); b++)
            if (alone && shares(number, uint32_t(bests[b]), common)) {
                parent = uint32_t(bests[b]);
                alone = false;
            }
        for (uint32_t left = group_.ballot(alone); left;
            left = group_.ballot(
                alone)) {  // the first remaining chain is another best one, and may be the parent of others
            const uint32_t lane = first_lane(left), best = group_.from(number, lane);
            if (group_.lane() == 0) bests[bests_] = best;
            bests_++;
            if (group_.lane() == lane) alone = false;
            else if (alone && shares(number, best, common)) {
                parent = best;
                alone = false;
            }
        }
        group_.sync();
        return parent;
    }

    // Whether a lane's suboptimal chain is aligned; within an interval the lanes count in order.
    GPUALIGN_HD bool accept(bool waits, uint32_t number, uint32_t parent, int32_t common) {
        bool accepted = false;
        const int32_t score = chains_[number].score;
        for (uint32_t left = group_.ballot(waits); left;) {
            const uint32_t one = group_.from(parent, first_lane(left));
            AnchorChain& best = chains_[one];
            const bool mine = waits && parent == one;
            const bool near = mine && comes_near(rules_, chains_[number], best, common);
            const uint32_t before = group_.before(group_.ballot(near));
            const int32_t aligned = best.aligned,
                          most = best.jumps ? kJumpsSuboptimal * max_suboptimal_ : max_suboptimal_;
            accepted = accepted || (near && aligned + int32_t(before) < most);
            const int32_t added = int32_t(count_bits(group_.ballot(mine && accepted)));
            const int32_t missed = group_.largest(mine && !accepted ? score : 0);
            group_.sync();
            if (group_.lane() == 0) {
                best.aligned += added;
                best.unaligned = max(best.unaligned, missed);
            }
            group_.sync();
            left &= ~group_.ballot(mine);
        }
        return accepted;
    }

    const Group& group_;
    const ChainRules& rules_;
    const int32_t max_suboptimal_;
    const ChainNodes& nodes_;
    uint32_t* order_;
    AnchorChain* chains_;
    uint32_t bests_ = 0;
};

}  // namespace gpualign
