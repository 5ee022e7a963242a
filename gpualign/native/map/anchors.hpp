// From a read to its anchors: the loci of the reference that share a minimizer with it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "index/minimizers.hpp"
#include "map/sort_keys.hpp"

namespace gpualign {

// k bases that the read, or its reverse complement, shares with the reference. One integer,
// strand | reference position | read position (both of the first base), so that sorting brings neighbours together.
class Anchor {
public:
    static constexpr int kReadBits = 24;
    static constexpr int32_t kLongestRead = (1 << kReadBits) - 1;  // 16.7 Mbp; a longer one has no anchors

    Anchor() = default;
    Anchor(bool reverse, uint32_t reference, int32_t query)
        : bits_(uint64_t(reverse) << (kReadBits + 32) | uint64_t(reference) << kReadBits | uint64_t(query)) {}

    bool reverse() const { return bits_ >> (kReadBits + 32); }
    int64_t reference() const { return int64_t(bits_ >> kReadBits & 0xFFFFFFFFu); }
    int32_t query() const { return int32_t(bits_ & uint64_t(kLongestRead)); }  // on the strand of the anchor
    explicit operator uint64_t() const { return bits_; }
    bool operator<(Anchor other) const { return bits_ < other.bits_; }

private:
    uint64_t bits_;
};

struct AnchorParams {
    int k, w;
    int32_t stretch;    // bases
};

class AnchorFinder {
public:
    AnchorFinder(const IndexView& index, const AnchorParams& params)
        : index_(index), params_(params), scanner_(params.k, params.w) {}

    // Anchors of a read in order.
    //
    // The repeat rule of short reads (seeding.hpp), for each stretch of the read by itself, so that a long read that
    // crosses repeats keeps its rare seeds everywhere and their number stays in proportion to its length. `max_hits` are
    // followed per stretch once its rarest seeds have been followed.
    void find(const uint8_t* codes, int32_t length, int32_t max_hits, std::vector<Anchor>& anchors) {
        anchors.clear();
        if (length > Anchor::kLongestRead) return;
        look_up(codes, length);
        for (size_t from = 0, to; from < seeds_.size(); from = to) {
            const uint32_t stretch = seeds_[from].minimizer.position / uint32_t(params_.stretch);
            to = from;
            while (to < seeds_.size() && seeds_[to].minimizer.position / uint32_t(params_.stretch) == stretch) to++;
            follow(from, to, length, max_hits, anchors);
        }
        sort_keys(anchors, sorted_);
    }

private:
    struct Seed {
        Minimizer minimizer;
        uint32_t first, last;  // entries
        uint32_t hits() const { return last - first; }
    };

    // Three passes, so that the memory accesses of many look-ups overlap.
    void look_up(const uint8_t* codes, int32_t length) {
        seeds_.clear();
        scanner_.scan(codes, length, [&](const Minimizer& m) {
            __builtin_prefetch(&index_.offsets[index_.split.bucket(m.hash)]);
            seeds_.push_back({m, 0, 0});
        });
        for (Seed& seed : seeds_) __builtin_prefetch(&index_.entries[index_.offsets[index_.split.bucket(seed.minimizer.hash)]]);
        for (Seed& seed : seeds_) index_.find(seed.minimizer.hash, seed.first, seed.last);
    }

    void follow(size_t from, size_t to, int32_t length, int32_t max_hits, std::vector<Anchor>& anchors) {
        int64_t total = 0;
        for (size_t s = from; s < to; s++) total += seeds_[s].hits();
        if (total > max_hits)
            std::sort(seeds_.begin() + int64_t(from), seeds_.begin() + int64_t(to), [](const Seed& a, const Seed& b) {
                return a.hits() != b.hits() ? a.hits() < b.hits() : a.minimizer.position < b.minimizer.position;
            });
        int64_t followed = 0;
        for (size_t s = from; s < to; s++) {
            const Seed& seed = seeds_[s];
            if (followed && followed + seed.hits() > max_hits) break;
            const uint32_t n = std::min(seed.hits(), uint32_t(max_hits));
            followed += n;
            for (uint32_t e = seed.first; e < seed.first + n; e++) {
                const bool reverse = entry_reverse(index_.entries[e]) != (seed.minimizer.reverse != 0);
                const int32_t at = int32_t(seed.minimizer.position);
                anchors.emplace_back(reverse, entry_position(index_.entries[e]), reverse ? length - params_.k - at : at);
            }
        }
    }

    const IndexView index_;
    const AnchorParams params_;
    MinimizerScanner scanner_;
    std::vector<Seed> seeds_;
    std::vector<Anchor> sorted_;
};

}  // namespace gpualign
