// Finds all chains of a read, cluster by cluster.
#pragma once
#include "algo/map/chain/chains.hpp"

namespace gpualign {

constexpr uint32_t kFewAnchors = 16;  // largest cluster that a lane chains by itself

// Backtracks from the best end of each cluster, at most to an anchor that is taken; a chain's score is that of its own
// part. No anchor is in two chains. The chains of a cluster are in `chained` at the indices of its anchors.
template <class Group, class Text> class ChainFinder {
    using Mark = ChainNodes::Mark;

public:
    GPUALIGN_HD ChainFinder(
        const Group& group, const ChainRules& rules, const Text& text, const ChainNodes& nodes, uint32_t n)
        : group_(group), rules_(rules), text_(text), nodes_(nodes), n_(n), backtracker_(group, nodes, n) {}

    // Returns no chains if there is no space. Each key becomes (score, first anchor ^ scatter), and the `begin` of that
    // anchor's interval the chain's number.
    GPUALIGN_HOST_DEVICE FoundChains run(uint32_t scatter, const Arena<AnchorChain>& space) {
        find_clusters();
        const uint32_t ends = count_ends(), first = group_.from(group_.lane() == 0 ? take(space, ends) : 0u, 0);
        if (first == kNoItem) return {};
        chains_ = space.items + first;
        for (uint32_t base = 0; base < n_; base += Group::kLanes) {
            const uint32_t i = base + group_.lane(), marks = i < n_ ? nodes_.marks[i] : 0;
            const bool begins = marks & Mark::kBegins, is_large = begins && (marks & Mark::kOfMany);
            backtrack_few(i, begins && !is_large ? end_of_few(i) : i);
            for (uint32_t large = group_.ballot(is_large); large; large &= large - 1)
                backtrack_many(base + first_lane(large));
        }
        group_.sync();
        for (uint32_t c = group_.lane(); c < found_; c += Group::kLanes)
            nodes_.keys[c] =
                uint64_t(~uint32_t(chains_[c].score)) << 32 | (uint32_t(nodes_.intervals[c].end) ^ scatter);
        group_.sync();
        return {first, found_, singles_};
    }

private:
    // Whether no chain leads here from the anchor before.
    GPUALIGN_HD bool begins_cluster(uint32_t i) {
        if (i == 0) return true;
        const uint64_t before = nodes_.anchors[i - 1], anchor = nodes_.anchors[i];
        const int64_t from = anchor_reference(before), to = anchor_reference(anchor);
        if (anchor_reverse(before) != anchor_reverse(anchor) || to - from > rules_.max_gap + longest_gap(rules_))
            return true;
        if (from < contig_begin_ || from >= contig_end_) {
            const uint32_t contig = text_.contig_of(from);
            contig_begin_ = text_.contig_begin(contig);
            contig_end_ = text_.contig_begin(contig + 1);
        }
        return to >= contig_end_;
    }

    // Marks the clusters and scores their anchors.
    GPUALIGN_HOST_DEVICE void find_clusters() {
        for (uint32_t base = 0; base < n_; base += Group::kLanes) {
            const uint32_t i = base + group_.lane();
            const bool begins = i < n_ && begins_cluster(i);
            uint32_t to = i + 1;
            while (begins && to < n_ && to - i <= kFewAnchors && !begins_cluster(to)) to++;
            const bool is_large = begins && to - i > kFewAnchors;
            if (begins && !is_large) score_few_anchors(rules_, nodes_, i, to);
            for (uint32_t large = group_.ballot(is_large); large; large &= large - 1) {
                const uint32_t from = base + first_lane(large);
                to = first_of(from + 1, [&](uint32_t anchor) { return begins_cluster(anchor); });
                score_anchors(group_, rules_, nodes_, from, to);
            }
            if (Group::kLanes == 1) base = to - 1;
        }
        group_.sync();
    }
    // The first anchor from `from` on that satisfies the predicate, or n.
    template <class Is> GPUALIGN_HD uint32_t first_of(uint32_t from, Is&& is) const {
        for (uint32_t base = from; base < n_; base += Group::kLanes) {
            const uint32_t i = base + group_.lane(), found = group_.ballot(i < n_ && is(i));
            if (found) return base + first_lane(found);
        }
        return n_;
    }
    GPUALIGN_HD uint32_t end_of_few(uint32_t from) const {
        uint32_t to = from + 1;
        while (to < n_ && !(nodes_.marks[to] & Mark::kBegins)) to++;
        return to;
    }

    GPUALIGN_HD bool is_end(uint32_t i) const {
        return !(nodes_.marks[i] & (Mark::kGoesOn | Mark::kSeen)) &&
               nodes_.score[i] >= rules_.min_chain_score * kChainUnit;
    }
    // Counts the possible ends in all clusters; sets best_ to the best one.
    GPUALIGN_HD uint32_t count_ends() {
        uint32_t ends = 0;
        uint64_t best = 0;
        for (uint32_t base = 0; base < n_; base += Group::kLanes) {
            const uint32_t i = base + group_.lane();
            const bool end = i < n_ && is_end(i);
            ends += count_bits(group_.ballot(end));
            const uint64_t key = end ? uint64_t(nodes_.score[i]) << 32 | ~i : 0;
            best = key > best ? key : best;
        }
        best_ = ~uint32_t(group_.largest(best));
        return ends;
    }

    // The best end's chain is complete, as nothing has been taken yet.
    template <class Tracker> GPUALIGN_HD ChainBegin begin_of(Tracker& tracker, uint32_t end) const {
        return end == best_ ? ChainBegin{-1, nodes_.score[end]} : tracker.find_begin(end, rules_.k * kChainUnit);
    }
    GPUALIGN_HD bool is_chain(int32_t score, uint32_t anchors) const {
        return score >= rules_.min_chain_score && anchors >= uint32_t(rules_.min_anchors);
    }

    // Backtracks a small cluster [from, to) per lane: the lanes' best ends first, then their next ones.
    GPUALIGN_HOST_DEVICE void backtrack_few(uint32_t from, uint32_t to) {
        const OneLane lane;
        Backtracker<OneLane> tracker(lane, nodes_, n_);
        if (Group::kLanes == 1 && to == from + 1) {  // most clusters of a repeat
            if (is_chain(rules_.k, 1)) nodes_.keys[n_ - ++singles_] = from;
            return;
        }
        for (uint32_t used = from; true;) {
            uint32_t end = to;
            for (uint32_t i = from; i < to; i++)
                if (is_end(i) && (end == to || nodes_.score[i] > nodes_.score[end])) end = i;
            if (!group_.ballot(end != to)) return;
            uint32_t begin = end, last = used;
            int32_t score = 0;
            if (end != to) {
                nodes_.marks[end] |= Mark::kSeen;
                tracker.forget();
                const ChainBegin limit = begin_of(tracker, end);
                tracker.take(end, limit.after, last, begin);
                score = limit.score / kChainUnit;
            }
            const bool kept = end != to && is_chain(score, last - used);
            const uint32_t mask = group_.ballot(kept);
            if (kept) {
                turn_around(lane, nodes_.chained + used, last - used);
                add(found_ + group_.before(mask), begin, end, score, used, last);
                used = last;
            }
            found_ += count_bits(mask);
        }
    }

    // Backtracks a large cluster, best ends first.
    GPUALIGN_HOST_DEVICE void backtrack_many(uint32_t from) {
        group_.sync();
        const uint32_t to = first_of(from + 1, [&](uint32_t i) { return (nodes_.marks[i] & Mark::kBegins) != 0; });
        uint32_t ends = 0;
        for (uint32_t base = from; base < to; base += Group::kLanes) {
            const uint32_t i = base + group_.lane();
            const bool end = i < to && is_end(i);
            const uint32_t mask = group_.ballot(end);
            if (end) nodes_.keys[ends + group_.before(mask)] = uint64_t(~uint32_t(nodes_.score[i])) << 32 | i;
            ends += count_bits(mask);
        }
        group_.sync();
        sort_many_keys(group_, nodes_.keys, ends);
        backtracker_.forget();
        uint32_t used = from;
        for (uint32_t e = 0; e < ends;) {
            const uint32_t alone = take_alone(e, ends, used);
            if (!alone) take_path(uint32_t(nodes_.keys[e]), used);
            e += alone ? alone : 1;
        }
        group_.sync();
    }

    // Takes the next ends as far as they are single anchors, a lane each; returns how many.
    GPUALIGN_HD uint32_t take_alone(uint32_t e, uint32_t ends, uint32_t& used) {
        const uint32_t mine = e + group_.lane();
        const uint32_t end = mine < ends ? uint32_t(nodes_.keys[mine]) : 0;
        const bool is_alone = mine < ends && nodes_.predecessor[end] < 0;
        const uint32_t others = ~group_.ballot(is_alone);
        const uint32_t alone = others ? first_lane(others) : 32;
        if (!alone) return 0;
        const bool in_turn = group_.lane() < alone;
        const bool kept = in_turn && !(nodes_.marks[end] & Mark::kTaken) && rules_.min_anchors <= 1;
        const uint32_t mask = group_.ballot(kept), number = group_.before(mask);
        group_.sync();  // all lanes have read the marks
        if (in_turn) nodes_.marks[end] |= Mark::kTaken;
        if (kept) {
            nodes_.chained[used + number] = nodes_.anchors[end];
            add(found_ + number, end, end, nodes_.score[end] / kChainUnit, used + number, used + number + 1);
        }
        used += count_bits(mask);
        found_ += count_bits(mask);
        backtracker_.forget();
        group_.sync();
        return alone;
    }

    GPUALIGN_HD void take_path(uint32_t end, uint32_t& used) {
        const ChainBegin limit = begin_of(backtracker_, end);
        uint32_t begin = end, last = used;
        backtracker_.take(end, limit.after, last, begin);
        const int32_t score = limit.score / kChainUnit;
        if (!is_chain(score, last - used)) return group_.sync();  // before other lanes write there
        turn_around(group_, nodes_.chained + used, last - used);
        if (group_.lane() == 0) add(found_, begin, end, score, used, last);
        found_++;
        used = last;
        group_.sync();
    }

    GPUALIGN_HD void add(uint32_t number, uint32_t begin, uint32_t end, int32_t score, uint32_t first, uint32_t last) {
        const uint64_t anchor = nodes_.anchors[end];
        chains_[number] = {score, first, last, 0, 0, 0, 0, anchor_reverse(anchor), 0, 0};
        nodes_.intervals[number].end = int32_t(begin);
        nodes_.intervals[begin].begin = int32_t(number);
    }

    const Group& group_;
    const ChainRules& rules_;
    const Text& text_;
    const ChainNodes& nodes_;
    const uint32_t n_;
    AnchorChain* chains_ = nullptr;
    Backtracker<Group> backtracker_;
    int64_t contig_begin_ = 0, contig_end_ = 0;
    uint32_t best_ = 0, found_ = 0, singles_ = 0;
};

}  // namespace gpualign
