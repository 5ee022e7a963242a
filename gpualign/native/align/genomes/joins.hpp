// Clusters of one reference record and one query record become alignments (postnuc of MUMmer; Kurtz et al. 2004,
// "Versatile and open software for comparing large genomes"): gaps between anchors are closed, ends are extended
// towards the next cluster, or as far as they score, and clusters that an alignment covers are left out.
//
// Which clusters are joined depends on the alignments before, but nearly all searches for ends do not: they are made
// ahead, in any order and by all threads, and join() goes through their results.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "align/genomes/clusters.hpp"
#include "algo/align/score/extend.hpp"

namespace gpualign {
namespace genomes {

// Codes of a sequence's bases; a readable one stands before the first and after the last.
struct Bases {
    const uint8_t* codes;
    int64_t length;
};

// The codes of all sequences of a batch, as tasks of extensions name them: the reference's, and the query's strands'.
struct Texts {
    const uint8_t* rows;
    const uint8_t* columns[2];

    Extension extend(const ExtendTask& task, const ExtendScores& scores) const {
        static thread_local std::vector<int32_t> memory;
        const AllColumns all{task.m};
        if (memory.size() < size_t(kExtendRows * all.size())) memory.resize(size_t(kExtendRows * all.size()));
        return extend_task(OneLane(), all, task, rows, columns, scores, memory.data());
    }
};

struct JoinOptions {
    ExtendScores scores;
    bool extend, simplify, to_border;  // ends; leave out covered clusters; ends reach a sequence's end if they can
};

// A part of an alignment: equal bases (n == m, exact), or a rectangle that is to be aligned globally.
struct Part {
    int64_t a, b;
    int32_t n, m, low, high;  // rows and columns; diagonals that the path may use
    bool exact;
};

// Positions are inclusive, on the query's strand. A rectangle begins and ends with a pair of bases that the parts
// before and after it have too.
struct Joined {
    int64_t a0, b0, a1, b1;
    bool reverse;
    std::vector<Part> parts;
};

struct Cluster {
    bool reverse;
    std::vector<Anchor> anchors;

    int64_t a0() const { return anchors.front().a; }
    int64_t b0() const { return anchors.front().b; }
    int64_t a1() const { return anchors.back().a + anchors.back().length - 1; }
    int64_t b1() const { return anchors.back().b + anchors.back().length - 1; }
};

class Joiner {
public:
    static constexpr int64_t max_extension = 10000;  // rows and columns of a search

    // strands: the query's forward and reverse strand; both and the reference are parts of `texts`.
    Joiner(const Texts& texts, const Bases& reference, const Bases (&strands)[2], std::vector<Cluster> clusters,
        const JoinOptions& options)
        : texts_(texts), reference_(reference), strands_{strands[0], strands[1]}, options_(options),
          clusters_(std::move(clusters)) {
        // not a stable sort: nucmer's order of clusters with one beginning
        std::sort(
            clusters_.begin(), clusters_.end(), [](const Cluster& x, const Cluster& y) { return x.a0() < y.a0(); });
        ahead_.resize(clusters_.size());
        for (size_t c = 0; c < clusters_.size(); c++) ahead_[c].gaps.resize(clusters_[c].anchors.size());
        find_covered();
    }

    const Bases& reference() const { return reference_; }
    const Bases& strand(bool reverse) const { return strands_[reverse]; }

    // ---- searches ahead: add(anchor, ExtendTask), of each cluster in any order and thread; first all forward ones
    // ----
    size_t clusters() const { return clusters_.size(); }
    template <class Add> void plan_forward(size_t c, Add&& add) {
        for (size_t i = 0; !ahead_[c].covered && i < clusters_[c].anchors.size(); i++)
            if (const auto task = forward_task(c, i)) add(i, *task);
    }
    template <class Add> void plan_backward(size_t c, Add&& add) {
        if (!options_.extend || ahead_[c].covered || ahead_[c].target_of_another.load(std::memory_order_relaxed))
            return;
        add(0, backward_task(clusters_[c].reverse, clusters_[c].a0(), clusters_[c].b0(), 0, 0, true));
    }
    void take_forward(size_t c, size_t i, const Extension& found) {
        Ahead::Gap& gap = ahead_[c].gaps[i];
        gap.found = found;
        if (found.reached && gap.target != none)
            ahead_[gap.target].target_of_another.store(true, std::memory_order_relaxed);
    }
    void take_backward(size_t c, const Extension& found) { ahead_[c].backward = found; }

    std::vector<Joined> join() {
        std::vector<Joined> found;
        std::vector<bool> done(clusters_.size(), false);
        size_t previous = 0, current = 0, now = 0;  // now: the alignment that was last worked on
        bool reached = false;
        size_t target = none;
        while (current < clusters_.size()) {
            const Cluster& cluster = clusters_[current];
            if (options_.extend && !reached &&
                (done[current] || (options_.simplify && is_covered(cluster, found, now)))) {
                done[current] = true;
                current = ++previous;
                continue;
            }
            for (size_t i = 0; i < cluster.anchors.size(); i++) {
                const Anchor& anchor = cluster.anchors[i];
                if (reached) {
                    Joined& alignment = found[now];
                    if (alignment.a1 != anchor.a || alignment.b1 != anchor.b) continue;
                    add_exact(alignment, anchor);
                } else {
                    found.push_back({anchor.a, anchor.b, anchor.a, anchor.b, cluster.reverse, {}});
                    now = found.size() - 1;
                    if (options_.extend || i > 0)
                        now = extend_back(found, i == 0 ? ahead_[current].backward : std::nullopt, anchor);
                    else add_exact(found[now], anchor);
                }
                const bool last = i + 1 == cluster.anchors.size();
                if (last && !options_.extend) continue;
                const Ahead::Gap& gap = forward(current, i);
                if (last) target = gap.target;
                reached = gap.found.reached;
                extend_forward(found[now], gap.found);
            }
            if (target == none) reached = false;
            done[current] = true;
            current = reached ? target : ++previous;
        }
        return found;
    }

private:
    static constexpr size_t none = ~size_t(0);

    // What was searched of a cluster: after each anchor, and before the first one.
    struct Ahead {
        struct Gap {
            Extension found{0, 0, 0, 0, 0, 0, false};  // n == 0: not yet searched
            size_t target = none;                      // the cluster that lies ahead
        };
        std::vector<Gap> gaps;
        std::optional<Extension> backward;
        bool covered = false;
        std::atomic<bool> target_of_another{false};

        Ahead() = default;
        Ahead(Ahead&&) noexcept {}  // only while empty
    };

    // Clusters that another one covers will mostly be left out: nothing is searched ahead.
    void find_covered() {
        size_t farthest[2] = {none, none};
        for (size_t c = 0; options_.simplify && c < clusters_.size(); c++) {
            const Cluster& cluster = clusters_[c];
            size_t& far = farthest[cluster.reverse];
            if (far != none && clusters_[far].b0() <= cluster.b0() && clusters_[far].a1() >= cluster.a1() &&
                clusters_[far].b1() >= cluster.b1())
                ahead_[c].covered = true;
            if (far == none || cluster.a1() >= clusters_[far].a1()) far = c;
        }
    }

    // As nucmer 4.0.1: the alignments from `now` back to the second one are looked at.
    static bool is_covered(const Cluster& cluster, const std::vector<Joined>& found, size_t now) {
        for (size_t i = found.empty() ? 0 : now; i > 0; i--) {
            const Joined& x = found[i];
            if (x.reverse == cluster.reverse && x.a1 >= cluster.a1() && x.b1 >= cluster.b1() && x.a0 <= cluster.a0() &&
                x.b0 <= cluster.b0())
                return true;
        }
        return false;
    }

    // Whether gaps of so many bases in the two sequences may be bridged at any score.
    bool is_near(int64_t a, int64_t b) const {
        const int64_t longer = std::max(a, b), shorter = std::min(a, b);
        return longer < options_.scores.reach ||
               shorter * options_.scores.match - (longer - shorter) * options_.scores.gap_extend >= 0;
    }

    // The cluster that a forward extension of cluster c aims at, with where it is to be met: the first one near, or the
    // least far one that is nearer than the end of a sequence.
    size_t target_of(size_t c, int64_t& a, int64_t& b) const {
        const Cluster& cluster = clusters_[c];
        const int64_t a1 = cluster.a1(), b1 = cluster.b1();
        int64_t distance = std::min(a - a1, b - b1);
        size_t best = none;
        for (size_t i = c + 1; i < clusters_.size(); i++) {
            const Cluster& next = clusters_[i];
            if (next.reverse != cluster.reverse) continue;
            size_t at = 0;  // the first anchor not before the end, if the last one is not
            if (next.anchors.back().a >= a1 && next.anchors.back().b >= b1)
                while (next.anchors[at].a < a1 || next.anchors[at].b < b1) at++;
            const int64_t gap_a = next.anchors[at].a - a1, gap_b = next.anchors[at].b - b1;
            if (gap_a < 0 || gap_b < 0) continue;
            const int64_t apart = 2 * std::max(gap_a, gap_b) - std::min(gap_a, gap_b);
            const bool near = is_near(gap_a, gap_b);
            if (!near && apart >= distance) continue;
            best = i;
            a = next.anchors[at].a;
            b = next.anchors[at].b;
            if (near) break;
            distance = apart;
        }
        return best;
    }

    // The alignment before the one at (a, b), the last of `found`, that its backward extension aims at.
    size_t target_before(const std::vector<Joined>& found, int64_t a, int64_t b) const {
        int64_t distance = std::min(a, b) + 1;
        size_t best = none;
        for (size_t i = found.size() - 1; i-- > 0;) {
            const Joined& x = found[i];
            if (x.reverse != found.back().reverse || x.a1 > a || x.b1 > b) continue;
            const int64_t gap_a = a - x.a1, gap_b = b - x.b1;
            const int64_t apart = 2 * std::max(gap_a, gap_b) - std::min(gap_a, gap_b);
            const bool near = is_near(gap_a, gap_b);
            if (!near && apart >= distance) continue;
            best = i;
            if (near) break;
            distance = apart;
        }
        return best;
    }

    // The search after anchor i of cluster c, unless its outcome is known.
    std::optional<ExtendTask> forward_task(size_t c, size_t i) {
        Ahead::Gap& gap = ahead_[c].gaps[i];
        const Cluster& cluster = clusters_[c];
        const Anchor& anchor = cluster.anchors[i];
        const bool last = i + 1 == cluster.anchors.size();
        if (gap.found.n || (last && !options_.extend)) return std::nullopt;
        ExtendMode mode{false, false};
        int64_t a = reference_.length - 1, b = strands_[cluster.reverse].length - 1;
        if (!last) {
            a = cluster.anchors[i + 1].a;
            b = cluster.anchors[i + 1].b;
        } else {
            gap.target = target_of(c, a, b);
            mode = {gap.target == none, gap.target == none && options_.to_border};
        }
        const int64_t a1 = anchor.a + anchor.length - 1, b1 = anchor.b + anchor.length - 1;
        const ExtendTask found = task(false, cluster.reverse, a1, b1, a - a1, b - b1, mode);
        if (found.flags & kExtendOptimal || !is_bridged(found.n, found.m)) return found;
        take_forward(c, i, {found.n, found.m, -found.n, found.m, found.n, found.m, true});
        return std::nullopt;
    }
    const Ahead::Gap& forward(size_t c, size_t i) {
        if (const auto task = forward_task(c, i)) take_forward(c, i, texts_.extend(*task, options_.scores));
        return ahead_[c].gaps[i];
    }

    // A backward search from (a, b) to (a0, b0).
    ExtendTask backward_task(bool reverse, int64_t a, int64_t b, int64_t a0, int64_t b0, bool optimal) const {
        return task(true, reverse, a, b, a - a0, b - b0, {optimal, options_.to_border});
    }

    // From a pair of equal bases at (a, b) to the one that is so many rows and columns away.
    ExtendTask task(
        bool backward, bool reverse, int64_t a, int64_t b, int64_t rows, int64_t columns, ExtendMode mode) const {
        const int too_far = (rows >= max_extension) + (columns >= max_extension), step = backward ? -1 : 1;
        int32_t flags = backward ? kExtendBackward : 0;
        if (reverse) flags |= kExtendReverse;
        if (too_far) flags |= kExtendCut;
        if (mode.optimal || too_far) flags |= kExtendOptimal;
        if (mode.to_border && too_far < 2) flags |= kExtendToBorder;
        return {reference_.codes - texts_.rows + a - step, strands_[reverse].codes - texts_.columns[reverse] + b - step,
            int32_t(std::min(rows + 1, max_extension)), int32_t(std::min(columns + 1, max_extension)), flags, 0};
    }

    // Whether a search through so many rows and columns is sure to come to their end: no cell of an optimal path is so
    // far below the best one, as even a path of mismatches and one gap is not.
    bool is_bridged(int64_t n, int64_t m) const {
        const ExtendScores& s = options_.scores;
        const int64_t pairs = std::min(n, m), gap = std::max(n, m) - pairs;
        return n + m <= s.reach &&
               s.gap_open + gap * s.gap_extend + pairs * (2 * s.match - s.mismatch) < int64_t(s.match) * s.reach;
    }

    // Extends the last of `found`, which is at the beginning of an anchor, backwards; joins it to the alignment that it
    // aims at where it gets there. Returns the number of the alignment that has the anchor.
    size_t extend_back(std::vector<Joined>& found, const std::optional<Extension>& ahead, const Anchor& anchor) const {
        Joined& fresh = found.back();
        const int64_t a = fresh.a0, b = fresh.b0;
        const size_t before = target_before(found, a, b);
        const int64_t a0 = before == none ? 0 : found[before].a1, b0 = before == none ? 0 : found[before].b1;
        // what was searched without an aim is the same where it has stayed after that
        const bool known = ahead && !options_.to_border &&
                           (before == none || (a - ahead->far_n + 1 > a0 && b - ahead->far_m + 1 > b0));
        const Extension end =
            known ? *ahead : texts_.extend(backward_task(fresh.reverse, a, b, a0, b0, before == none), options_.scores);
        if (before != none && end.reached) {
            found.pop_back();
            Joined& joined = found[before];
            add_backward(joined, joined.a1, joined.b1, int32_t(a - a0 + 1), int32_t(b - b0 + 1), end);
            add_exact(joined, anchor);
            return before;
        }
        fresh.a0 = a - end.n + 1;
        fresh.b0 = b - end.m + 1;
        add_backward(fresh, fresh.a0, fresh.b0, end.n, end.m, end);
        add_exact(fresh, anchor);
        return found.size() - 1;
    }

    static void extend_forward(Joined& alignment, const Extension& end) {
        add_rectangle(alignment, alignment.a1, alignment.b1, end.n, end.m, end.low, end.high);
        alignment.a1 += end.n - 1;
        alignment.b1 += end.m - 1;
    }
    static void add_exact(Joined& alignment, const Anchor& anchor) {
        const int32_t length = int32_t(anchor.length);
        alignment.parts.push_back({anchor.a, anchor.b, length, length, 0, 0, true});
        alignment.a1 = anchor.a + anchor.length - 1;
        alignment.b1 = anchor.b + anchor.length - 1;
    }
    // A backward search has its diagonals from the last pair of bases on.
    static void add_backward(Joined& alignment, int64_t a, int64_t b, int32_t n, int32_t m, const Extension& search) {
        add_rectangle(alignment, a, b, n, m, m - n - search.high, m - n - search.low);
    }
    static void add_rectangle(
        Joined& alignment, int64_t a, int64_t b, int32_t n, int32_t m, int32_t low, int32_t high) {
        if (n == 1 && m == 1) return;
        alignment.parts.push_back({a, b, n, m, low, high, false});
    }

    const Texts texts_;
    const Bases reference_, strands_[2];
    const JoinOptions options_;
    std::vector<Cluster> clusters_;
    std::vector<Ahead> ahead_;
};

}  // namespace genomes
}  // namespace gpualign
