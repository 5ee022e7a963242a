// Greedy centroid clustering: of the pairs that reach the identity, each sequence in turn takes the best, or founds a
// cluster.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gpualign {
namespace cluster {

// Pairs that reach the identity. A query is a distinct sequence, or on the minus strand that plus `distinct`.
struct Hits {
    const int32_t *query, *target;
    const double* identity;
    const uint8_t* exact;
    const uint32_t* operations;
    const int64_t* offsets;
    size_t count;
};

// Sequences, each in its cluster, as gpualign.cluster.greedy.Joined has them.
struct Joined {
    std::vector<int32_t> cluster;
    std::vector<uint8_t> founds;
    std::vector<double> identity;
    std::vector<uint8_t> minus, exact;
    std::vector<uint32_t> operations;
    std::vector<int64_t> offsets{0};
};

class Greedy {
public:
    // last: where each distinct sequence is met for the last time. equals_itself: where nothing is nearer to a sequence
    // than itself.
    Greedy(const int64_t* last, const uint8_t* equals_itself, const int64_t* lengths, int32_t distinct, bool first)
        : last_(last), equals_itself_(equals_itself), lengths_(lengths), distinct_(distinct), first_(first),
          cluster_of_(size_t(distinct), -1), head_(size_t(distinct), -1) {}

    int32_t clusters() const { return clusters_; }
    int32_t cluster_of(int32_t sequence) const { return cluster_of_[size_t(sequence)]; }
    // Of the best hit that is known, -1 without one.
    double identity_of(int32_t sequence) const {
        const auto known = best_.find(sequence);
        return known == best_.end() ? -1 : known->second.rank.identity;
    }

    // Centroids of another run, in order.
    void found(const int32_t* sequences, size_t count) {
        for (size_t i = 0; i < count; i++) found(sequences[i]);
    }

    // Hits with centroids.
    void compare(const Hits& hits) {
        for (size_t i = 0; i < hits.count; i++) {
            const auto [at, added] = best_.try_emplace(hits.query[i] % distinct_);
            const Rank rank = rank_of(hits, i);
            if (!added && !(rank < at->second.rank)) continue;
            at->second.rank = rank;
            at->second.exact = hits.exact[i];
            at->second.operations.assign(hits.operations + hits.offsets[i], hits.operations + hits.offsets[i + 1]);
        }
    }

    // The next sequences, of which `position` is the number of the first. within: hits with each other.
    void join(const int32_t* sequences, size_t count, int64_t position, const Hits& within, Joined& out) {
        std::vector<int32_t> next(within.count);
        for (size_t i = within.count; i-- > 0;) {
            int32_t& head = head_[size_t(within.query[i] % distinct_)];
            next[i] = head;
            head = int32_t(i);
        }
        for (size_t i = 0; i < count; i++) join(sequences[i], position + int64_t(i), within, next, out);
        for (size_t i = 0; i < within.count; i++) head_[size_t(within.query[i] % distinct_)] = -1;
    }

private:
    static constexpr uint8_t whole_match = 3;  // ALL_MATCH and INNER_MATCH of gpualign.align.near.cpu

    // What is less is better: the higher identity, the earlier cluster, the plus strand.
    struct Rank {
        double distance, identity;
        int32_t cluster;
        bool minus;

        bool operator<(const Rank& other) const {
            if (distance != other.distance) return distance < other.distance;
            if (cluster != other.cluster) return cluster < other.cluster;
            return minus < other.minus;
        }
    };
    struct Best {
        Rank rank;
        uint8_t exact;
        std::vector<uint32_t> operations;
    };

    Rank rank_of(const Hits& hits, size_t i) const {
        const double identity = hits.identity[i];
        return {first_ ? 0 : -identity, identity, cluster_of(hits.target[i]), hits.query[i] >= distinct_};
    }

    void found(int32_t sequence) {
        int32_t& cluster = cluster_of_[size_t(sequence)];
        if (cluster < 0) cluster = clusters_;  // one that does not equal itself may found several
        clusters_++;
    }

    void join(int32_t sequence, int64_t position, const Hits& within, const std::vector<int32_t>& next, Joined& out) {
        const int32_t itself = cluster_of(sequence);
        if (itself >= 0 && equals_itself_[sequence]) {
            const int64_t length = lengths_[sequence];
            const uint32_t operation = uint32_t(length) << 4;  // nM
            put(out, {0, 1.0, itself, false}, false, whole_match, &operation, length > 0);
            return;
        }
        const auto known = best_.find(sequence);
        Rank best{};
        const Best* earlier = nullptr;
        int32_t hit = -1;
        if (known != best_.end()) earlier = &known->second, best = earlier->rank;
        for (int32_t i = head_[size_t(sequence)]; i >= 0; i = next[size_t(i)]) {
            if (cluster_of(within.target[i]) < 0) continue;  // founds none, or is behind
            const Rank rank = rank_of(within, size_t(i));
            if ((earlier || hit >= 0) && !(rank < best)) continue;
            best = rank, hit = i;
        }
        if (hit >= 0) {
            const int64_t begin = within.offsets[hit], end = within.offsets[hit + 1];
            put(out, best, false, within.exact[hit], within.operations + begin, size_t(end - begin));
            if (last_[sequence] > position) {
                Best& kept = best_[sequence];
                kept.rank = best, kept.exact = within.exact[hit];
                kept.operations.assign(within.operations + begin, within.operations + end);
            }
        } else if (earlier) {
            put(out, best, false, earlier->exact, earlier->operations.data(), earlier->operations.size());
        } else {
            put(out, {0, 1.0, clusters_, false}, true, 0, nullptr, 0);
            found(sequence);
        }
        if (last_[sequence] <= position) best_.erase(sequence);
    }

    static void put(Joined& out, const Rank& rank, bool founds, uint8_t exact, const uint32_t* operations, size_t n) {
        out.cluster.push_back(rank.cluster);
        out.founds.push_back(founds);
        out.identity.push_back(rank.identity);
        out.minus.push_back(rank.minus);
        out.exact.push_back(exact);
        out.operations.insert(out.operations.end(), operations, operations + n);
        out.offsets.push_back(int64_t(out.operations.size()));
    }

    const int64_t* last_;
    const uint8_t* equals_itself_;
    const int64_t* lengths_;
    int32_t distinct_;
    bool first_;
    int32_t clusters_ = 0;
    std::vector<int32_t> cluster_of_;          // of distinct sequences that are centroids
    std::vector<int32_t> head_;                // of each distinct sequence the first hit within the batch
    std::unordered_map<int32_t, Best> best_;  // of distinct sequences that come now or later
};

}  // namespace cluster
}  // namespace gpualign
