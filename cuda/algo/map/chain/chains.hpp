// Anchors to chains: the sets of co-linear anchors that score best.
//
// Li 2018 (minimap2), section 2.1: f(i) = max(max_j f(j) + new(j, i) - gap(j, i), k), where `new` counts the bases that
// anchor i adds to a chain that ends in anchor j, and `gap` grows with the difference of the two distances between the
// anchors: linearly, and with half its logarithm. All of the last kLookBack anchors are tried, side by side (as in mm2-fast,
// Kalikar et al. 2022), so that no result depends on an order of tries. Before a repeat whose other copies have more anchors than
// that the best anchors of kFar classes of diagonals stay, so that a chain has a gap there and does not end.
//
// Anchors further apart than a chain's gaps make clusters, of which a repeat has thousands: a lane chains a cluster of a few anchors,
// and all lanes together a larger one.
#pragma once
#include "algo/map/chain/anchors.hpp"
#include "algo/map/chain/gaps.hpp"

namespace gpualign {

constexpr uint32_t kLookBack = 64;
constexpr uint32_t kFar = 16, kFarDiagonals = 64;  // classes, and neighbouring diagonals that are in one
constexpr int32_t kJumpsSuboptimal = 4;  // times as many suboptimal chains of one that may be cut: of each piece some

// What each anchor of a read needs until its chains are known; `capacity` is a power of two.
struct ChainNodes {
    uint64_t *anchors, *keys, *chained;
    ReadInterval* intervals;
    int32_t *score, *predecessor;
    uint32_t* marks;    // of each: Mark

    // A cluster begins here; it has many anchors; a better chain goes on from here, so that none ends; the anchor is in a chain, or would
    // be were that good enough; it has been the end of one.
    enum Mark : uint32_t { kBegins = 1, kOfMany = 2, kGoesOn = 4, kTaken = 8, kSeen = 16 };
};
constexpr uint32_t kAnchorWords = 6;  // of 64 bits

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

// A chain that ends in an anchor after one that ends so far before it, on the reference and on the read; 0: they do not join.
GPUALIGN_HD int32_t joined_score(const ChainRules& rules, int32_t rate, int32_t on_reference, int32_t on_query, int32_t score, bool known,
                                 int32_t max_nearer) {
    const int32_t nearer = min(on_reference, on_query), further = max(on_reference, on_query);
    const int32_t apart = int32_t(uint32_t(further) - uint32_t(nearer));  // may not fit where they do not join
    const bool joins = known & (nearer > 0) & (nearer <= max_nearer) & (apart <= rules.max_difference);
    const int32_t joined = score + max(min(nearer, rules.k), 0) * kChainUnit - chain_gap_cost(max(min(apart, rules.max_difference), 0), rate);
    return joined & -int32_t(joins);  // without branches, so that the CPU has vectors of it
}

// The last kLookBack anchors and the best ones before them, spread over the lanes.
template <class Group>
class LookBack {
public:
    static constexpr uint32_t kLast = kLookBack / Group::kLanes, kPerLane = kLast + (kFar + Group::kLanes - 1) / Group::kLanes;

    GPUALIGN_HD explicit LookBack(const Group& group) : group_(group) {
        for (uint32_t p = 0; p < kPerLane; p++) set(p, -1, 0, 0, 0);  // all are scored before it is asked which there are
    }

    // The best chain that ends in an anchor, and its last anchor but that one; of equal ones the nearest.
    GPUALIGN_HD void best(const ChainRules& rules, uint32_t reference, int32_t query, int32_t& best, int32_t& predecessor) {
        const int32_t alone = rules.k * kChainUnit, rate = chain_gap_rate(rules.k);
        int32_t scores[kPerLane], mine = alone, nearest = -1;
        const auto score = [&](uint32_t from, uint32_t to, int32_t max_nearer) {
            for (uint32_t p = from; p < to; p++)
                scores[p] = joined_score(rules, rate, int32_t(reference - reference_[p]), query - query_[p], score_[p], index_[p] >= 0, max_nearer);
            for (uint32_t p = from; p < to; p++) mine = max(mine, scores[p]);
        };
        const auto find_nearest = [&](uint32_t from, uint32_t to) {
            for (uint32_t p = from; p < to; p++) nearest = max(nearest, scores[p] == best ? index_[p] : -1);
        };
        score(0, kLast, rules.max_gap);
        const bool far = best_far_ + alone > mine;  // what no far one exceeds
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
    // Calls visit(p), with a p that the compiler knows where there are few, so that the arrays can be registers.
    template <class Visit>
    static GPUALIGN_HD void visit(uint32_t p, Visit&& visit) {
        if (Group::kLanes == 1) return visit(p);
        GPUALIGN_UNROLL
        for (uint32_t q = 0; q < kPerLane; q++)
            if (q == p) visit(q);
    }
    // An anchor of a long read whose slot a new one takes stays if it is the best one so far of its class, or the only one near enough.
    GPUALIGN_HD void keep(const ChainRules& rules, uint32_t owner, uint32_t p, uint32_t reference) {
        if (rules.min_anchors == 1) return;
        const int32_t index = group_.from(index_[p], owner);
        if (index < 0) return;
        const uint32_t at = group_.from(reference_[p], owner);
        const int32_t query = group_.from(query_[p], owner), score = group_.from(score_[p], owner);
        const uint32_t of = ((at - uint32_t(query)) / kFarDiagonals * 0x9E3779B1u >> 16) % kFar;
        if (of % Group::kLanes != group_.lane()) return;
        visit(kLast + of / Group::kLanes, [&](uint32_t far) {
            if (index_[far] < 0 || score >= score_[far] || int32_t(reference - reference_[far]) > rules.query_gap + rules.max_difference)
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
    int32_t best_far_ = -(1 << 30);  // of what this lane has kept of those before
};

// The anchors [from, to): scores of the best chains that end there, their predecessors, and marks where a better chain goes on.
template <class Group>
GPUALIGN_HOST_DEVICE void score_anchors(const Group& group, const ChainRules& rules, const ChainNodes& nodes, uint32_t from, uint32_t to) {
    LookBack<Group> last(group);
    InTurn<Group, uint64_t> anchors(group, nodes.anchors + from, to - from);
    int32_t my_best = 0, my_predecessor = 0;  // of the anchor that is this lane's, until all lanes have one
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
        if (predecessor >= 0 && nodes.score[predecessor] < nodes.score[i]) nodes.marks[predecessor] |= ChainNodes::kGoesOn;
    }
    group.sync();
}

// The same of a few by one lane.
GPUALIGN_HOST_DEVICE void score_few_anchors(const ChainRules& rules, const ChainNodes& nodes, uint32_t from, uint32_t to) {
    const int32_t alone = rules.k * kChainUnit, rate = chain_gap_rate(rules.k);
    for (uint32_t i = from; i < to; i++) {
        const uint64_t anchor = nodes.anchors[i];
        int32_t best = alone, predecessor = -1;
        for (uint32_t j = i; j-- > from;) {  // of equal ones the nearest
            const int32_t on_reference = int32_t(anchor_reference(anchor) - anchor_reference(nodes.anchors[j]));
            const int32_t score = joined_score(rules, rate, on_reference, anchor_query(anchor) - anchor_query(nodes.anchors[j]), nodes.score[j], true,
                                               rules.max_gap);
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

// A chain's first anchor comes after this one, -1 for none; what the chain adds to those that are taken.
struct ChainBegin {
    int32_t after, score;
};

// Walks from ends of chains back. Each lane keeps every kLanes-th anchor, as many at once as there are lanes.
template <class Group>
class Backtracker {
public:
    static constexpr uint32_t kTaken = ChainNodes::kTaken;

    GPUALIGN_HD Backtracker(const Group& group, const ChainNodes& nodes, uint32_t n) : group_(group), nodes_(nodes), n_(n) {}

    // Where a chain that leads to an anchor that is taken begins: where it adds most, as in minimap2, as a gap may cost more than
    // what is behind it is worth.
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

    // Writes those after that anchor from chained[used] on, the last one first.
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
    // Others have taken anchors.
    GPUALIGN_HD void forget() { loaded_ = ~0u; }

private:
    // Returns the lane that has anchor i.
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

template <class Group>
GPUALIGN_HD void turn_around(const Group& group, uint64_t* keys, uint32_t n) {
    group.sync();
    for (uint32_t i = group.lane(); i < n / 2; i += Group::kLanes) {
        const uint64_t other = keys[i];
        keys[i] = keys[n - 1 - i];
        keys[n - 1 - i] = other;
    }
    group.sync();
}

}  // namespace gpualign
