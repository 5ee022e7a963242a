// Anchors to chains: the sets of co-linear anchors that score best.
//
// Li 2018 (minimap2), section 2.1: f(i) = max(max_j f(j) + new(j, i) - gap(j, i), k), where `new` counts the bases that
// anchor i adds to a chain that ends in anchor j, and `gap` grows with the difference of the two distances between the
// anchors: linearly, and with half its logarithm.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "map/anchors.hpp"
#include "index/reference.hpp"

namespace gpualign {

struct ChainParams {
    int32_t max_gap = 5000;        // bases between neighbours, on the read and on the reference
    int32_t max_difference = 2000; // of those two distances
    int32_t look_back = 100;        // anchors tried as predecessors
    int32_t max_skips = 25;        // tries that end early: predecessors that lie inside a chain seen already
    int32_t min_score = 40;         // bases less gap costs
    int32_t min_anchors = 3;
};

// Anchors [first, last) of the chainer, ascending on the read and on the reference.
struct Chain {
    int32_t score;  // in bases
    bool reverse;
    uint32_t contig;
    uint32_t first, last;
};

class Chainer {
public:
    Chainer(const ReferenceView& reference, int k, const ChainParams& params) : reference_(reference), k_(k), params_(params) {}

    // Chains of sorted anchors, best first; of equal ones the one that begins first on the forward strand. No anchor is in
    // two chains.
    void run(const std::vector<Anchor>& anchors, std::vector<Chain>& chains) {
        score(anchors);
        backtrack(anchors, chains);
        std::sort(chains.begin(), chains.end(), [&](const Chain& a, const Chain& b) {
            return a.score != b.score ? a.score > b.score : anchors_[a.first] < anchors_[b.first];
        });
    }

    // Anchors of the chains of the last run.
    const Anchor* anchors() const { return anchors_.data(); }

private:
    static constexpr int kUnit = 64;  // scores are multiples of 1/64: the same on every machine, unlike floating point

    // Linear part 0.01 * 0.8 * k a base, as minimap2's; the logarithm is linear between powers of two.
    int32_t gap_cost(int64_t difference) const {
        if (!difference) return 0;
        const uint32_t n = uint32_t(difference) + 1;
        const int exponent = 31 - __builtin_clz(n);
        const int32_t logarithm = exponent * kUnit + int32_t((uint64_t(n) * kUnit >> exponent) - kUnit);
        return int32_t(difference * k_ * kUnit / 125) + logarithm / 2;
    }

    void score(const std::vector<Anchor>& anchors) {
        const size_t n = anchors.size();
        nodes_.assign(n, {0, -1, -1, false, false, 0});
        int64_t contig_end = 0;
        uint32_t contig = 0;
        size_t run = 0;  // first anchor of this strand of this contig
        for (size_t i = 0; i < n; i++) {
            const int64_t r = anchors[i].reference();
            if (i == 0 || anchors[i].reverse() != anchors[i - 1].reverse() || r >= contig_end) {
                contig = uint32_t(reference_.contig_of(uint64_t(r)));
                contig_end = reference_.contig_offsets[contig + 1];
                run = i;
            }
            nodes_[i].contig = contig;
            find_predecessor(anchors, run, i);
            const int32_t p = nodes_[i].predecessor;
            if (p >= 0 && nodes_[size_t(p)].score < nodes_[i].score) nodes_[size_t(p)].inner = true;
        }
    }

    void find_predecessor(const std::vector<Anchor>& anchors, size_t run, size_t i) {
        const int64_t r = anchors[i].reference();
        const int32_t q = anchors[i].query();
        int32_t best = k_ * kUnit, predecessor = -1, skips = 0;
        const size_t first = std::max(run, i - std::min(i, size_t(params_.look_back)));
        for (size_t j = i; j-- > first;) {
            const int64_t dr = r - anchors[j].reference(), dq = q - anchors[j].query();
            if (dr > params_.max_gap) break;
            const int64_t difference = std::abs(dr - dq);
            if (dr == 0 || dq <= 0 || dq > params_.max_gap || difference > params_.max_difference) continue;
            const Node& node = nodes_[j];
            const int32_t gain = int32_t(std::min({dr, dq, int64_t(k_)})) * kUnit - gap_cost(difference);
            if (node.score + gain > best) {
                best = node.score + gain;
                predecessor = int32_t(j);
                if (skips > 0) skips--;
            } else if (node.seen == int32_t(i) && ++skips > params_.max_skips) {
                break;
            }
            if (node.predecessor >= 0) nodes_[size_t(node.predecessor)].seen = int32_t(i);
        }
        nodes_[i].score = best;
        nodes_[i].predecessor = predecessor;
    }

    // From the best end backwards, until an anchor that is taken; such a chain counts for what it adds.
    void backtrack(const std::vector<Anchor>& anchors, std::vector<Chain>& chains) {
        chains.clear();
        anchors_.clear();
        ends_.clear();
        for (size_t i = 0; i < nodes_.size(); i++)
            if (!nodes_[i].inner && nodes_[i].score >= params_.min_score * kUnit) ends_.push_back(uint32_t(i));
        std::sort(ends_.begin(), ends_.end(), [&](uint32_t a, uint32_t b) {
            return nodes_[a].score != nodes_[b].score ? nodes_[a].score > nodes_[b].score : a < b;
        });
        for (uint32_t end : ends_) {
            const size_t first = anchors_.size();
            int32_t i = int32_t(end);
            for (; i >= 0 && !nodes_[size_t(i)].taken; i = nodes_[size_t(i)].predecessor) {
                nodes_[size_t(i)].taken = true;
                anchors_.push_back(anchors[size_t(i)]);
            }
            const int32_t score = (nodes_[end].score - (i >= 0 ? nodes_[size_t(i)].score : 0)) / kUnit;
            if (score < params_.min_score || anchors_.size() - first < size_t(params_.min_anchors)) {
                anchors_.resize(first);
                continue;
            }
            std::reverse(anchors_.begin() + int64_t(first), anchors_.end());
            chains.push_back({score, anchors[end].reverse(), nodes_[end].contig, uint32_t(first), uint32_t(anchors_.size())});
        }
    }

    struct Node {
        int32_t score, predecessor;
        int32_t seen;  // the last anchor one of whose tries goes through this one
        bool inner;    // a better chain goes on from here
        bool taken;
        uint32_t contig;
    };

    const ReferenceView& reference_;
    const int k_;
    const ChainParams params_;
    std::vector<Node> nodes_;
    std::vector<uint32_t> ends_;
    std::vector<Anchor> anchors_;
};

}  // namespace gpualign
