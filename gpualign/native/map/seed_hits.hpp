// Sorted seed hits of a read: all of them, or only those that are not isolated, as nearly all are in repeats.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "algo/map/loci.hpp"

namespace gpualign {

class SeedHitList {
public:
    SeedHitList() : hits_of_(kMaxBuckets, 0) {}

    void clear() { count_ = 0; }
    size_t size() const { return count_; }

    // Adds the hits of index entries [first, last) and the k-mer at a position of a read.
    void add(const uint64_t* entries, uint32_t first, uint32_t last, int32_t position, bool kmer_reverse,
        int32_t length, int k) {
        if (hits_.size() < count_ + (last - first)) hits_.resize(2 * (count_ + (last - first)));
        // hits of one strand differ only by position; branch-free, as the strand is unpredictable
        const uint64_t forward = hit_of(0, position, kmer_reverse, length, k);
        const uint64_t other_strand = forward ^ hit_of(1, position, kmer_reverse, length, k);
        uint64_t* out = hits_.data() + count_;
        for (uint32_t e = first; e < last; e++)
            *out++ = (forward ^ (other_strand & -uint64_t(entry_reverse(entries[e])))) +
                     (uint64_t(entry_position(entries[e])) << kHitReadBits);
        count_ += last - first;
    }

    // All of them.
    SeedHits sorted() { return sort(hits_, count_); }

    // The hits that can be in a cluster (for_each_cluster) of `fewest` or more; all other clusters are complete. If
    // few hits would be dropped, all of them and `fewest` 0.
    //
    // Hits are counted in buckets of diagonals wider than the limit, so a cluster lies in adjacent non-empty buckets.
    // Several buckets may share a counter, which only keeps more hits.
    SeedHits sorted_together(int32_t limit, uint32_t& fewest) {
        fewest = 0;
        if (count_ < kFew || count_ > kMaxHits) return sorted();
        const int shift = kHitReadBits + 64 - __builtin_clzll(uint64_t(limit) | 1);
        if (buckets_.size() < count_) {
            buckets_.resize(hits_.size());
            near_.resize(hits_.size());
            together_.resize(hits_.size());
        }
        while (last_bucket_ + 1 < kMaxBuckets && last_bucket_ < kBucketsPerHit * count_)
            last_bucket_ = 2 * last_bucket_ + 1;
        while (last_bucket_ > 2 * kBucketsPerHit * count_) last_bucket_ /= 2;
        for (size_t i = 0; i < count_; i++) buckets_[i] = uint16_t(hits_[i] >> shift & last_bucket_);
        uint16_t most = 0;
        for (size_t i = 0; i < count_; i++) most = std::max(most, ++hits_of_[buckets_[i]]);
        fewest = (most + kSeedHitShare - 1u) / kSeedHitShare;
        // branch-free, as it is unpredictable which buckets have neighbours
        size_t near = 0;
        for (size_t i = 0; i < count_; i++) {
            near_[near] = uint16_t(i);
            near += (at(buckets_[i]) >= fewest) | ((at(buckets_[i] + 1u) | at(buckets_[i] - 1u)) != 0);
        }
        size_t kept = 0;
        for (size_t n = 0; n < near; n++) {
            together_[kept] = hits_[near_[n]];
            kept += at(buckets_[near_[n]]) >= fewest || are_around(buckets_[near_[n]], fewest);
        }
        for (size_t i = 0; i < count_; i++) hits_of_[buckets_[i]] = 0;
        return sort(together_, kept);
    }

private:
    static constexpr size_t kFew = 16;
    static constexpr size_t kMaxHits = 0xFFFF;  // limit of the 16-bit indices
    static constexpr uint32_t kBucketsPerHit = 8, kMaxBuckets = 1 << 15;

    // Whether a bucket and those next to it, up to empty ones, have `fewest` hits.
    bool are_around(uint32_t bucket, uint32_t fewest) const {
        uint32_t n = at(bucket);
        for (uint32_t b = bucket + 1; n < fewest && at(b); b++) n += at(b);
        for (uint32_t b = bucket - 1; n < fewest && at(b); b--) n += at(b);
        return n >= fewest;
    }

    uint32_t at(uint32_t bucket) const { return hits_of_[bucket & last_bucket_]; }

    // Sorts hits; those of one locus come in ascending order, or on the other strand in descending order.
    SeedHits sort(std::vector<uint64_t>& list, size_t count) {
        uint64_t *first = list.data(), *last = first + count;
        if (std::is_sorted(first, last, std::greater<uint64_t>())) std::reverse(first, last);
        else if (!std::is_sorted(first, last)) radix_sort(first, last);
        return {first, uint32_t(count)};
    }

    std::vector<uint64_t> hits_;  // the first count_
    size_t count_ = 0;
    std::vector<uint64_t> together_;
    uint32_t last_bucket_ = 1;       // number of counters in use, a power of two, minus one
    std::vector<uint16_t> buckets_, near_;  // of each hit; indices of hits with others nearby
    std::vector<uint16_t> hits_of_;  // a bucket's counter; 0 between calls
};

}  // namespace gpualign
