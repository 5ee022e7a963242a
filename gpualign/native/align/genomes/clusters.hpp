// Clusters of exact matches (mgaps of MUMmer; Delcher et al. 2002, "Fast algorithms for large-scale genome alignment
// and comparison"): matches that follow each other within a gap on about the same diagonal are one component, of which
// the best chain is a cluster, then the best of what is left.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace gpualign {
namespace genomes {

struct Anchor {
    int64_t a, b, length;  // reference, query
};

struct ClusterLimits {
    int64_t min_length, max_gap, diagonal;  // bases of a cluster, between matches, of difference between diagonals
    double diagonal_share;  // that difference as a share of the gap, where that is more
};

class Clusterer {
public:
    explicit Clusterer(const ClusterLimits& limits) : limits_(limits) {}

    // Takes matches of one strand of a query in any order, and hands over the clusters: emit(const Anchor*, size_t).
    // Within a cluster an anchor's beginning that overlaps the one before is cut off.
    template <class Emit> void run(const std::vector<Anchor>& matches, Emit&& emit) {
        items_.clear();
        for (const Anchor& match : matches) items_.push_back({match, 0, 0, -1, 0, false, false});
        std::sort(items_.begin(), items_.end(), [](const Item& x, const Item& y) { return by_query(x.at, y.at); });
        drop_repeats();
        find_components();
        std::sort(items_.begin(), items_.end(), [](const Item& x, const Item& y) {
            return x.component != y.component ? x.component < y.component : by_query(x.at, y.at);
        });
        for (size_t begin = 0, end; begin < items_.size(); begin = end) {
            for (end = begin; end < items_.size() && items_[end].component == items_[begin].component;) end++;
            chains(begin, end, emit);
        }
    }

private:
    struct Item {
        Anchor at;
        int64_t score, overlap, from;
        uint32_t component;
        bool dropped, tied;
    };

    static bool by_query(const Anchor& x, const Anchor& y) { return x.b != y.b ? x.b < y.b : x.a < y.a; }
    static int64_t diagonal(const Anchor& x) { return x.b - x.a; }

    // Joins overlapping matches of a diagonal. Of two matches that begin at one position of a sequence and overlap by
    // half of the shorter one only the longer is kept: what lies within a tandem repeat goes. Of three or more equally
    // long ones the first and the last are kept.
    void drop_repeats() {
        for (size_t i = 0; i < items_.size(); i++) {
            Item& x = items_[i];
            if (x.dropped) continue;
            for (size_t j = i + 1; j < items_.size() && items_[j].at.b <= x.at.b + x.at.length; j++) {
                Item& y = items_[j];
                if (y.dropped) continue;
                if (diagonal(x.at) == diagonal(y.at)) {
                    x.at.length = std::max(x.at.length, y.at.b + y.at.length - x.at.b);
                    y.dropped = true;
                    continue;
                }
                if (x.at.a != y.at.a && x.at.b != y.at.b) continue;
                const int64_t overlap = x.at.length + (x.at.a == y.at.a ? x.at.b - y.at.b : x.at.a - y.at.a);
                if (overlap < std::min(x.at.length, y.at.length) / 2) continue;
                if (x.at.length > y.at.length) {
                    y.dropped = true;
                    continue;
                }
                if (x.at.length == y.at.length) y.tied = true;
                if (x.at.length == y.at.length && !x.tied) continue;
                x.dropped = true;
                break;
            }
        }
        items_.erase(
            std::remove_if(items_.begin(), items_.end(), [](const Item& x) { return x.dropped; }), items_.end());
    }

    uint32_t root(uint32_t i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }

    // Union by size, numbered by the root; the second root stays where sizes are equal, as the order of clusters is
    // that of their numbers.
    void find_components() {
        parent_.resize(items_.size());
        std::iota(parent_.begin(), parent_.end(), 0u);
        sizes_.assign(items_.size(), 1);
        for (size_t i = 0; i < items_.size(); i++) {
            const Anchor& x = items_[i].at;
            for (size_t j = i + 1; j < items_.size(); j++) {
                const Anchor& y = items_[j].at;
                const int64_t gap = y.b - x.b - x.length;
                if (gap > limits_.max_gap) break;
                const int64_t allowed = std::max(limits_.diagonal, int64_t(limits_.diagonal_share * double(gap)));
                if (std::abs(diagonal(y) - diagonal(x)) > allowed) continue;
                const uint32_t one = root(uint32_t(i)), other = root(uint32_t(j));
                if (one == other) continue;
                const bool first_stays = sizes_[one] > sizes_[other];
                const uint32_t stays = first_stays ? one : other, goes = first_stays ? other : one;
                parent_[goes] = stays;
                sizes_[stays] += sizes_[goes];
            }
        }
        for (size_t i = 0; i < items_.size(); i++) items_[i].component = root(uint32_t(i));
    }

    template <class Emit> void chains(size_t begin, size_t end, Emit&& emit) {
        while (begin < end) {
            int64_t bases = 0;
            for (size_t i = begin; i < end; i++) bases += items_[i].at.length;
            if (bases < limits_.min_length) return;
            const size_t best = chain(begin, end);
            for (int64_t i = int64_t(best); i >= 0; i = items_[size_t(i)].from) items_[size_t(i)].dropped = true;
            chain_.clear();
            bases = 0;
            size_t kept = begin;
            for (size_t i = begin; i < end; i++) {
                const Item& x = items_[i];
                if (!x.dropped) {
                    items_[kept++] = x;
                    continue;
                }
                chain_.push_back({x.at.a + x.overlap, x.at.b + x.overlap, x.at.length - x.overlap});
                bases += x.at.length;
            }
            if (bases >= limits_.min_length) emit(chain_.data(), chain_.size());
            end = kept;
        }
    }

    // The end of the best chain, the first of several. An item's score is its length and the score of the item before
    // it, less the overlap with that one and the difference of their diagonals; of equal ones the first item precedes.
    // Items are tried backwards until no earlier one has a score that could do better.
    size_t chain(size_t begin, size_t end) {
        highest_.resize(items_.size());
        size_t best = begin;
        for (size_t i = begin; i < end; i++) {
            Item& x = items_[i];
            int64_t gained = 0;
            x.overlap = 0;
            x.from = -1;
            for (size_t j = i; j-- > begin && highest_[j] > 0 && highest_[j] >= gained;) {
                const Item& y = items_[j];
                const int64_t overlap = std::max<int64_t>(0, y.at.length + std::max(y.at.a - x.at.a, y.at.b - x.at.b));
                const int64_t gain = y.score - overlap - std::abs(diagonal(x.at) - diagonal(y.at));
                if (gain <= 0 || gain < gained) continue;
                gained = gain;
                x.overlap = overlap;
                x.from = int64_t(j);
            }
            x.score = x.at.length + gained;
            highest_[i] = i == begin ? x.score : std::max(x.score, highest_[i - 1]);
            if (x.score > items_[best].score) best = i;
        }
        return best;
    }

    const ClusterLimits limits_;
    std::vector<Item> items_;
    std::vector<Anchor> chain_;
    std::vector<uint32_t> parent_, sizes_;
    std::vector<int64_t> highest_;  // of the scores up to an item
};

}  // namespace genomes
}  // namespace gpualign
