// Anchors to chains: the sets of co-linear anchors that score best.
//
// Li 2018 (minimap2), section 2.1: f(i) = max(max_j f(j) + new(j, i) - gap(j, i), k), where `new` counts the bases that
// anchor i adds to a chain that ends in anchor j, and `gap` grows with the difference of the two distances between the
// anchors: linearly, and with half its logarithm. All of the last kLookBack anchors are tried, side by side (as in mm2-fast,
// Kalikar et al. 2022), so that no result depends on an order of tries.
#pragma once
#include "algo/map/chain/anchors.hpp"
#include "algo/map/chain/gaps.hpp"

namespace gpualign {

constexpr uint32_t kLookBack = 64;
constexpr int32_t kJumpsSuboptimal = 4;  // times as many suboptimal chains of one that may be cut: of each piece some

// What each anchor of a read needs until its chains are known; `capacity` is a power of two.
struct ChainNodes {
    uint64_t *anchors, *keys, *chained;
    ReadStretch* stretches;
    int32_t *score, *predecessor;
    uint32_t *ends;     // 1: a better chain goes on from here, 2: taken
};
constexpr uint32_t kAnchorWords = 6;  // of 64 bits

GPUALIGN_HD ChainNodes nodes_at(uint64_t* words, uint32_t capacity) {
    ChainNodes nodes;
    nodes.anchors = words;
    nodes.keys = words + capacity;
    nodes.chained = words + 2 * uint64_t(capacity);
    nodes.stretches = reinterpret_cast<ReadStretch*>(words + 3 * uint64_t(capacity));
    nodes.score = reinterpret_cast<int32_t*>(words + 4 * uint64_t(capacity));
    nodes.predecessor = nodes.score + capacity;
    nodes.ends = reinterpret_cast<uint32_t*>(words + 5 * uint64_t(capacity));
    return nodes;
}

// The last kLookBack anchors, spread over the lanes.
template <class Group>
class LookBack {
public:
    static constexpr uint32_t kPerLane = kLookBack / Group::kLanes;

    GPUALIGN_HD explicit LookBack(const Group& group) : group_(group) {
        for (uint32_t p = 0; p < kPerLane; p++) run_[p] = -1;
    }

    // The best chain that ends in an anchor, and its last anchor but that one; of equal ones the nearest.
    GPUALIGN_HD void best(const ChainRules& rules, int32_t run, uint32_t reference, int32_t query, int32_t& best, int32_t& predecessor) {
        const int32_t alone = rules.k * kChainUnit, k = rules.k, rate = chain_gap_rate(k);
        const int32_t max_gap = rules.max_gap, max_difference = rules.max_difference;
        int32_t scores[kPerLane];
        for (uint32_t p = 0; p < kPerLane; p++) {  // without branches, so that the CPU has vectors of it
            const int32_t on_reference = int32_t(reference - reference_[p]), on_query = query - query_[p];
            const int32_t nearer = min(on_reference, on_query), further = max(on_reference, on_query), apart = further - nearer;
            const bool joins = (run_[p] == run) & (nearer > 0) & (further <= max_gap) & (apart <= max_difference);
            const int32_t score = score_[p] + max(min(nearer, k), 0) * kChainUnit - chain_gap_cost(min(apart, max_difference), rate);
            scores[p] = score & -int32_t(joins);
        }
        int32_t mine = alone;
        for (uint32_t p = 0; p < kPerLane; p++) mine = max(mine, scores[p]);
        best = group_.largest(mine);
        predecessor = -1;
        if (best == alone) return;
        int32_t nearest = -1;
        for (uint32_t p = 0; p < kPerLane; p++) nearest = max(nearest, scores[p] == best ? index_[p] : -1);
        predecessor = group_.largest(nearest);
    }

    GPUALIGN_HD void add(int32_t index, int32_t run, uint32_t reference, int32_t query, int32_t score) {
        const uint32_t slot = uint32_t(index) % kLookBack;
        if (slot % Group::kLanes != group_.lane()) return;
        if (Group::kLanes == 1) return set(slot, index, run, reference, query, score);
        GPUALIGN_UNROLL  // so that the arrays can be registers
        for (uint32_t p = 0; p < kPerLane; p++)
            if (p == slot / Group::kLanes) set(p, index, run, reference, query, score);
    }

private:
    GPUALIGN_HD void set(uint32_t p, int32_t index, int32_t run, uint32_t reference, int32_t query, int32_t score) {
        run_[p] = run;
        reference_[p] = reference;
        query_[p] = query;
        score_[p] = score;
        index_[p] = index;
    }

    const Group& group_;
    uint32_t reference_[kPerLane];
    int32_t run_[kPerLane], query_[kPerLane], score_[kPerLane], index_[kPerLane];
};

// Scores of all anchors, their predecessors, and whether a better chain goes on from them.
template <class Group, class Text>
GPUALIGN_HOST_DEVICE void score_anchors(const Group& group, const ChainRules& rules, const Text& text, const ChainNodes& nodes, uint32_t n) {
    LookBack<Group> last(group);
    InTurn<Group, uint64_t> anchors(group, nodes.anchors, n);
    int64_t contig_end = 0;
    int32_t run = -1;  // anchors of one strand of one contig
    int32_t my_best = 0, my_predecessor = 0;  // of the anchor that is this lane's, until all lanes have one
    bool strand = false;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t anchor = anchors[i];
        const int64_t reference = anchor_reference(anchor);
        if (i == 0 || anchor_reverse(anchor) != strand || reference >= contig_end) {
            strand = anchor_reverse(anchor);
            contig_end = text.contig_begin(text.contig_of(reference) + 1);
            run++;
        }
        int32_t best, predecessor;
        last.best(rules, run, uint32_t(reference), anchor_query(anchor), best, predecessor);
        last.add(int32_t(i), run, uint32_t(reference), anchor_query(anchor), best);
        if (i % Group::kLanes == group.lane()) {
            my_best = best;
            my_predecessor = predecessor;
        }
        if (i % Group::kLanes + 1 < Group::kLanes && i + 1 < n) continue;
        const uint32_t mine = i / Group::kLanes * Group::kLanes + group.lane();
        if (mine > i) continue;
        nodes.score[mine] = my_best;
        nodes.predecessor[mine] = my_predecessor;
        nodes.ends[mine] = 0;
    }
    group.sync();
    for (uint32_t i = group.lane(); i < n; i += Group::kLanes) {
        const int32_t predecessor = nodes.predecessor[i];
        if (predecessor >= 0 && nodes.score[predecessor] < nodes.score[i]) nodes.ends[predecessor] = 1;
    }
    group.sync();
}

// The anchors at which a chain may end, best first; their keys are written to nodes.keys.
template <class Group>
GPUALIGN_HOST_DEVICE uint32_t find_chain_ends(const Group& group, const ChainRules& rules, const ChainNodes& nodes, uint32_t n) {
    uint32_t ends = 0;
    for (uint32_t base = 0; base < n; base += Group::kLanes) {
        const uint32_t i = base + group.lane();
        const bool is_end = i < n && !nodes.ends[i] && nodes.score[i] >= rules.min_chain_score * kChainUnit;
        const uint32_t mask = group.ballot(is_end);
        if (is_end) nodes.keys[ends + group.before(mask)] = uint64_t(~uint32_t(nodes.score[i])) << 32 | i;
        ends += count_bits(mask);
    }
    group.sync();
    sort_many_keys(group, nodes.keys, ends);
    return ends;
}

// A chain's first anchor comes after this one, -1 for none; what the chain adds to those that are taken.
struct ChainBegin {
    int32_t after, score;
};

// Walks from ends of chains back. Each lane keeps every kLanes-th anchor, as many at once as there are lanes.
template <class Group>
class Backtracker {
public:
    static constexpr uint32_t kTaken = 2;

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
                nodes_.ends[i] = state_;
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
            state_ = nodes_.ends[mine];
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

// From the best end backwards, at most to an anchor that is taken; such a chain counts for what it adds. No anchor is in two
// chains. Returns their number; the keys become (score, first anchor in the order of `scatter`), and that anchor's
// predecessor the chain's number.
template <class Group, class Text>
class ChainBacktracking {
public:
    GPUALIGN_HD ChainBacktracking(const Group& group, const ChainRules& rules, const Text& text, const ChainNodes& nodes, uint32_t n,
                                  uint32_t scatter, AnchorChain* chains)
        : group_(group), rules_(rules), text_(text), nodes_(nodes), scatter_(scatter), chains_(chains), backtracker_(group, nodes, n) {}

    GPUALIGN_HOST_DEVICE uint32_t run(uint32_t ends) {
        for (uint32_t e = 0; e < ends;) {
            const uint32_t alone = take_alone(e, ends);
            if (!alone) take_path(uint32_t(nodes_.keys[e]), e == 0);
            e += alone ? alone : 1;
        }
        group_.sync();
        return found_;
    }

private:
    // The next ends as far as they are chains of one anchor, a lane each; returns how many. In repeats there are thousands.
    GPUALIGN_HD uint32_t take_alone(uint32_t e, uint32_t ends) {
        const uint32_t mine = e + group_.lane();
        const uint32_t end = mine < ends ? uint32_t(nodes_.keys[mine]) : 0;
        const bool is_alone = mine < ends && nodes_.predecessor[end] < 0;
        const uint32_t others = ~group_.ballot(is_alone);
        const uint32_t alone = others ? first_lane(others) : 32;
        if (!alone) return 0;
        const bool in_turn = group_.lane() < alone;
        const bool kept = in_turn && !(nodes_.ends[end] & Backtracker<Group>::kTaken) && rules_.min_anchors <= 1;
        const uint32_t mask = group_.ballot(kept), number = group_.before(mask);
        group_.sync();  // all keys have been read
        if (in_turn) nodes_.ends[end] |= Backtracker<Group>::kTaken;
        if (kept) {
            nodes_.chained[used_ + number] = nodes_.anchors[end];
            add(found_ + number, end, end, nodes_.score[end] / kChainUnit, used_ + number, used_ + number + 1);
        }
        used_ += count_bits(mask);
        found_ += count_bits(mask);
        backtracker_.forget();
        group_.sync();
        return alone;
    }

    // Of the best end all is left to be taken.
    GPUALIGN_HD void take_path(uint32_t end, bool is_best) {
        const uint32_t first = used_;
        const ChainBegin from = is_best ? ChainBegin{-1, nodes_.score[end]} : backtracker_.find_begin(end, rules_.k * kChainUnit);
        uint32_t begin = end;
        backtracker_.take(end, from.after, used_, begin);
        const int32_t score = from.score / kChainUnit;
        if (score < rules_.min_chain_score || used_ - first < uint32_t(rules_.min_anchors)) {
            used_ = first;
            group_.sync();  // before other lanes write there
            return;
        }
        turn_around(group_, nodes_.chained + first, used_ - first);
        if (group_.lane() == 0) add(found_, begin, end, score, first, used_);
        found_++;
        group_.sync();
    }

    GPUALIGN_HD void add(uint32_t number, uint32_t begin, uint32_t end, int32_t score, uint32_t first, uint32_t last) {
        const uint64_t anchor = nodes_.anchors[end];
        chains_[number] = {score, first, last, text_.contig_of(anchor_reference(anchor)), 0, 0, 0, 0, anchor_reverse(anchor), 0, 0, 0};
        nodes_.keys[number] = uint64_t(~uint32_t(score)) << 32 | (begin ^ scatter_);
        nodes_.stretches[begin].begin = int32_t(number);
    }

    const Group& group_;
    const ChainRules& rules_;
    const Text& text_;
    const ChainNodes& nodes_;
    const uint32_t scatter_;
    AnchorChain* chains_;
    Backtracker<Group> backtracker_;
    uint32_t found_ = 0, used_ = 0;
};

}  // namespace gpualign
