// From anchors to chains: sets of co-linear anchors with the best scores.
//
// Li 2018 (minimap2), section 2.1: f(i) = max(max_j f(j) + new(j, i) - gap(j, i), k), where `new` counts the bases
// that anchor i adds to a chain ending in anchor j, and `gap` grows with the difference of the two distances between
// the anchors: linearly, plus half its logarithm. The last kLookBack anchors are all tried, in parallel (as in
// mm2-fast, Kalikar et al. 2022), so that no result depends on the order of tries. A repeat may put more anchors than
// that between two parts of a chain, so the best earlier anchors of kFar classes of diagonals are tried as well: the
// chain then has a gap there and does not end.
//
// Anchors further apart than a chain's gaps form clusters, of which a repeat has thousands: a lane chains a cluster of
// a few anchors, all lanes together a larger one.
#pragma once
#include "algo/map/chain/anchors.hpp"
#include "algo/map/chain/gaps.hpp"
#include "algo/map/chain/introns.hpp"

namespace gpualign {

constexpr uint32_t kLookBack = 64;
constexpr uint32_t kFar = 16, kFarDiagonals = 64;  // classes, and neighbouring diagonals per class
constexpr int32_t kJumpsSuboptimal =
    4;  // factor on the suboptimal chains of a chain that may be cut, so that each piece has some

// Arrays over the anchors of a read while it is chained; `capacity` is a power of two.
struct ChainNodes {
    uint64_t *anchors, *keys, *chained;
    ReadInterval* intervals;
    int32_t *score, *predecessor;
    uint32_t* marks;    // Mark bits of each anchor

    // First anchor of a cluster; in a large cluster; extended by a better chain, so that no chain ends here; in a
    // chain, or in one that was not good enough; already tried as a chain's end.
    enum Mark : uint32_t { kBegins = 1, kOfMany = 2, kGoesOn = 4, kTaken = 8, kSeen = 16 };
};
constexpr uint32_t kAnchorWords = 6;  // of 64 bits

// The chains of a read, from this candidate of the batch's arena on. On the CPU, those of one anchor that is alone in
// its cluster, as most are in a repeat, are not among them: the last keys are the indices of so many anchors.
struct FoundChains {
    uint32_t first, count, singles;
};

GPUALIGN_HD ChainNodes nodes_at(uint64_t* words, uint32_t capacity) {
    ChainNodes nodes;
    nodes.anchors = words;
    nodes.keys = words + capacity;
    nodes.chained = words + 2 * uint64_t(capacity);
    nodes.intervals = reinterpret_cast<ReadInterval*>(words + 3 * uint64_t(capacity));
    nodes.score = reinterpret_cast<int32_t*>(words + 4 * uint64_t(capacity));
    nodes.predecessor = nodes.score + capacity;
    nodes.marks = reinterpret_cast<uint32_t*>(words + 5 * uint64_t(capacity));
    return nodes;
}

// Score of a chain that ends in an anchor after one that ends the given distances before it; 0 if the two do not join.
// With introns a larger distance on the reference costs no more than its logarithm, as in minimap2.
template <bool Introns>
GPUALIGN_HD int32_t joined_score(const ChainRules& rules, int32_t rate, int32_t on_reference, int32_t on_query,
    int32_t score, bool known, int32_t max_nearer) {
    const int32_t nearer = min(on_reference, on_query), further = max(on_reference, on_query);
    const int32_t apart = int32_t(uint32_t(further) - uint32_t(nearer));  // may overflow if they do not join
    const bool intron = Introns & (on_reference > on_query);
    const int32_t most = intron ? rules.introns.longest : rules.max_difference;
    const bool joins = known & (nearer > 0) & (nearer <= max_nearer) & (apart <= most);
    const int32_t bounded = max(min(apart, most), 0);
    const int32_t cost = intron ? chain_intron_cost(bounded, rate) : chain_gap_cost(bounded, rate);
    const int32_t joined = score + max(min(nearer, rules.k), 0) * kChainUnit - cost;
    return joined & -int32_t(joins);  // branch-free, so that the CPU vectorises it
}

template <bool Value> struct Constant {
    static constexpr bool value = Value;
};

// The last kLookBack anchors and the best far ones, spread over the lanes.
template <class Group> class LookBack {
public:
    static constexpr uint32_t kLast = kLookBack / Group::kLanes,
                              kPerLane = kLast + (kFar + Group::kLanes - 1) / Group::kLanes;

    GPUALIGN_HD explicit LookBack(const Group& group) : group_(group) {
        for (uint32_t p = 0; p < kPerLane; p++) set(p, -1, 0, 0, 0);  // unset slots are scored, too
    }

    // Score of the best chain that ends in an anchor, and its predecessor; ties go to the nearest.
    GPUALIGN_HD void best(
        const ChainRules& rules, uint32_t reference, int32_t query, int32_t& best, int32_t& predecessor) {
        const int32_t alone = rules.k * kChainUnit, rate = chain_gap_rate(rules.k);
        int32_t scores[kPerLane], mine = alone, nearest = -1;
        const auto score_slots = [&](auto introns, uint32_t from, uint32_t to, int32_t max_nearer) {
            for (uint32_t p = from; p < to; p++)
                scores[p] = joined_score<decltype(introns)::value>(rules, rate, int32_t(reference - reference_[p]),
                    query - query_[p], score_[p], index_[p] >= 0, max_nearer);
        };
        const auto score = [&](uint32_t from, uint32_t to, int32_t max_nearer) {
            if (has_introns(rules)) score_slots(Constant<true>(), from, to, max_nearer);
            else score_slots(Constant<false>(), from, to, max_nearer);
            for (uint32_t p = from; p < to; p++) mine = max(mine, scores[p]);
        };
        const auto find_nearest = [&](uint32_t from, uint32_t to) {
            for (uint32_t p = from; p < to; p++) nearest = max(nearest, scores[p] == best ? index_[p] : -1);
        };
        score(0, kLast, rules.max_gap);
        const bool far = best_far_ + alone > mine;  // upper bound for the far anchors
        if (far) score(kLast, kPerLane, rules.query_gap);
        best = group_.largest(mine);
        predecessor = -1;
        if (best == alone) return;
        find_nearest(0, kLast);
        if (far) find_nearest(kLast, kPerLane);
        predecessor = group_.largest(nearest);
    }

    GPUALIGN_HD void add(const ChainRules& rules, int32_t index, uint32_t reference, int32_t query, int32_t score) {
        const uint32_t slot = uint32_t(index) % kLookBack, owner = slot % Group::kLanes;
        visit(slot / Group::kLanes, [&](uint32_t p) {
            keep(rules, owner, p, reference);
            if (owner == group_.lane()) set(p, index, reference, query, score);
        });
    }

private:
    // Calls visit(p) with p as a compile-time constant if there are few, so that the arrays stay in registers.
    template <class Visit> static GPUALIGN_HD void visit(uint32_t p, Visit&& visit) {
        if (Group::kLanes == 1) return visit(p);
        GPUALIGN_UNROLL
        for (uint32_t q = 0; q < kPerLane; q++)
            if (q == p) visit(q);
    }
    // The anchor of a long read that leaves its slot is kept if it is the best so far in its class, or if the class
    // has none within reach.
    GPUALIGN_HD void keep(const ChainRules& rules, uint32_t owner, uint32_t p, uint32_t reference) {
        if (rules.min_anchors == 1) return;
        const int32_t index = group_.from(index_[p], owner);
        if (index < 0) return;
        const uint32_t at = group_.from(reference_[p], owner);
        const int32_t query = group_.from(query_[p], owner), score = group_.from(score_[p], owner);
        const uint32_t of = ((at - uint32_t(query)) / kFarDiagonals * 0x9E3779B1u >> 16) % kFar;
        if (of % Group::kLanes != group_.lane()) return;
        visit(kLast + of / Group::kLanes, [&](uint32_t far) {
            if (index_[far] < 0 || score >= score_[far] ||
                int32_t(reference - reference_[far]) > rules.query_gap + longest_gap(rules))
                set(far, index, at, query, score);
        });
        best_far_ = max(best_far_, score);
    }
    GPUALIGN_HD void set(uint32_t p, int32_t index, uint32_t reference, int32_t query, int32_t score) {
        reference_[p] = reference;
        query_[p] = query;
        score_[p] = score;
        index_[p] = index;
    }

    const Group& group_;
    uint32_t reference_[kPerLane];
    int32_t query_[kPerLane], score_[kPerLane], index_[kPerLane];
    int32_t best_far_ = -(1 << 30);  // best of the far anchors that this lane has kept
};

// Scores the anchors [from, to), by all lanes: best chain that ends there, predecessor, and kGoesOn where a better
// chain extends it.
template <class Group>
GPUALIGN_HOST_DEVICE void score_anchors(
    const Group& group, const ChainRules& rules, const ChainNodes& nodes, uint32_t from, uint32_t to) {
    LookBack<Group> last(group);
    InTurn<Group, uint64_t> anchors(group, nodes.anchors + from, to - from);
    int32_t my_best = 0, my_predecessor = 0;  // of the anchor that this lane will write
    for (uint32_t i = 0; i < to - from; i++) {
        const uint64_t anchor = anchors[i];
        const uint32_t reference = uint32_t(anchor_reference(anchor));
        int32_t best, predecessor;
        last.best(rules, reference, anchor_query(anchor), best, predecessor);
        last.add(rules, int32_t(from + i), reference, anchor_query(anchor), best);
        if (i % Group::kLanes == group.lane()) {
            my_best = best;
            my_predecessor = predecessor;
        }
        if (i % Group::kLanes + 1 < Group::kLanes && from + i + 1 < to) continue;
        const uint32_t mine = i / Group::kLanes * Group::kLanes + group.lane();
        if (mine > i) continue;
        nodes.score[from + mine] = my_best;
        nodes.predecessor[from + mine] = my_predecessor;
        nodes.marks[from + mine] = uint32_t(ChainNodes::kOfMany) | (mine ? 0u : uint32_t(ChainNodes::kBegins));
    }
    group.sync();
    for (uint32_t i = from + group.lane(); i < to; i += Group::kLanes) {
        const int32_t predecessor = nodes.predecessor[i];
        if (predecessor >= 0 && nodes.score[predecessor] < nodes.score[i])
            nodes.marks[predecessor] |= ChainNodes::kGoesOn;
    }
    group.sync();
}

// Scores the few anchors [from, to), by one lane.
GPUALIGN_HOST_DEVICE void score_few_anchors(
    const ChainRules& rules, const ChainNodes& nodes, uint32_t from, uint32_t to) {
    const int32_t alone = rules.k * kChainUnit, rate = chain_gap_rate(rules.k);
    for (uint32_t i = from; i < to; i++) {
        const uint64_t anchor = nodes.anchors[i];
        int32_t best = alone, predecessor = -1;
        for (uint32_t j = i; j-- > from;) {  // ties go to the nearest
            const int32_t on_reference = int32_t(anchor_reference(anchor) - anchor_reference(nodes.anchors[j]));
            const int32_t on_query = anchor_query(anchor) - anchor_query(nodes.anchors[j]);
            const int32_t score =
                has_introns(rules)
                    ? joined_score<true>(rules, rate, on_reference, on_query, nodes.score[j], true, rules.max_gap)
                    : joined_score<false>(rules, rate, on_reference, on_query, nodes.score[j], true, rules.max_gap);
            if (score <= best) continue;
            best = score;
            predecessor = int32_t(j);
        }
        nodes.score[i] = best;
        nodes.predecessor[i] = predecessor;
        nodes.marks[i] = i == from ? uint32_t(ChainNodes::kBegins) : 0u;
        if (predecessor >= 0 && nodes.score[predecessor] < best) nodes.marks[predecessor] |= ChainNodes::kGoesOn;
    }
}

// Anchor before a chain's first one (-1: none), and the score of the chain's own part.
struct ChainBegin {
    int32_t after, score;
};

// Walks back along chains. A lane caches every kLanes-th anchor of a block of kLanes.
template <class Group> class Backtracker {
public:
    static constexpr uint32_t kTaken = ChainNodes::kTaken;

    GPUALIGN_HD Backtracker(const Group& group, const ChainNodes& nodes, uint32_t n)
        : group_(group), nodes_(nodes), n_(n) {}

    // Where a chain begins that leads into taken anchors: where it gains most, as in minimap2, since a gap may cost
    // more than the part before it scores.
    GPUALIGN_HD ChainBegin find_begin(uint32_t end, int32_t alone) {
        const int32_t whole = nodes_.score[end];
        ChainBegin begin{-1, whole};
        int32_t least = whole + 1;
        for (int32_t i = int32_t(end); i >= 0;) {
            const uint32_t source = load(uint32_t(i));
            const int32_t score = group_.from(score_, source), predecessor = group_.from(predecessor_, source);
            if (group_.from(state_, source) & kTaken) return score <= least ? ChainBegin{i, whole - score} : begin;
            if (score < least) {
                begin = {predecessor, whole - score + alone};
                least = score;
            }
            i = predecessor;
        }
        return {-1, whole};
    }

    // Takes the anchors after `after` and appends them to `chained`, last one first.
    GPUALIGN_HD void take(uint32_t end, int32_t after, uint32_t& used, uint32_t& begin) {
        for (int32_t i = int32_t(end); i != after;) {
            const uint32_t source = load(uint32_t(i));
            if (group_.lane() == source) {
                state_ |= kTaken;
                nodes_.marks[i] = state_;
                nodes_.chained[used] = anchor_;
            }
            used++;
            begin = uint32_t(i);
            i = group_.from(predecessor_, source);
        }
    }
    // Drops the cache, as other lanes have taken anchors.
    GPUALIGN_HD void forget() { loaded_ = ~0u; }

private:
    // Loads the block of anchor i; returns the lane that has it.
    GPUALIGN_HD uint32_t load(uint32_t i) {
        const uint32_t block = i / Group::kLanes;
        if (block != loaded_) {
            loaded_ = block;
            const uint32_t mine = min(block * Group::kLanes + group_.lane(), n_ - 1);
            anchor_ = nodes_.anchors[mine];
            predecessor_ = nodes_.predecessor[mine];
            score_ = nodes_.score[mine];
            state_ = nodes_.marks[mine];
        }
        return i % Group::kLanes;
    }
    static GPUALIGN_HD uint32_t min(uint32_t a, uint32_t b) { return a < b ? a : b; }

    const Group& group_;
    const ChainNodes& nodes_;
    const uint32_t n_;
    uint32_t loaded_ = ~0u, state_ = 0;
    int32_t predecessor_ = -1, score_ = 0;
    uint64_t anchor_ = 0;
};

template <class Group> GPUALIGN_HD void turn_around(const Group& group, uint64_t* keys, uint32_t n) {
    group.sync();
    for (uint32_t i = group.lane(); i < n / 2; i += Group::kLanes) {
        const uint64_t other = keys[i];
        keys[i] = keys[n - 1 - i];
        keys[n - 1 - i] = other;
    }
    group.sync();
}

}  // namespace gpualign
