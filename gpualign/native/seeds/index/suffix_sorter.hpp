// Builds the suffix array of the reference, sorted to a bounded depth (cuda/algo/seeds/matches/unique_mem.hpp): a
// counting sort by the first k bases, then each group is sorted by the following bases, a word at a time, while
// suffixes are equal.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "algo/seeds/matches/unique_mem.hpp"
#include "common/parallel_for.hpp"
#include "seeds/matches/reference.hpp"

namespace gpualign {

class SuffixSorter {
public:
    SuffixSorter(const MemSegments& segments, int k, int threads)
        : reference_(segments.view()), k_(k), threads_(threads), offsets((size_t(1) << (2 * k)) + 1, 0) {}

    void build() {
        cut_segments();
        each_position([&](uint32_t& count, uint32_t) { take(count); });
        uint32_t sum = 0;
        for (uint32_t& offset : offsets) {
            const uint32_t count = offset;
            offset = sum;
            sum += count;
        }
        positions.reset(static_cast<uint32_t*>(std::malloc(std::max<size_t>(sum, 1) * sizeof(uint32_t))));
        if (!positions) throw std::bad_alloc();
        each_position([&](uint32_t& next, uint32_t position) { positions[take(next)] = position; });
        // each offset has advanced to the end of its group
        std::copy_backward(offsets.begin(), offsets.end() - 1, offsets.end());
        offsets[0] = 0;
        sort_groups();
    }

    size_t size() const { return offsets.back(); }

private:
    const SegmentedReference reference_;
    const int k_, threads_;

public:
    struct Free {
        void operator()(uint32_t* p) const { std::free(p); }
    };
    std::vector<uint32_t> offsets;
    std::unique_ptr<uint32_t[], Free> positions;  // not initialised before they are written

private:
    struct Span {
        uint32_t begin, end;
    };
    struct Part {  // suffixes that agree in the first `depth` bases
        uint32_t begin, end, depth;
    };
    struct Key {
        uint64_t bases;
        uint64_t rest;  // number of valid bases, then the position
        bool operator<(const Key& other) const {
            return bases != other.bases ? bases < other.bases : rest < other.rest;
        }
        bool whole() const { return rest >> 32 == uint64_t(kBasesPerWord); }
    };

    // Cuts segments into intervals of suffixes with at least k bases, for threads to share.
    void cut_segments() {
        constexpr uint32_t kMax = 1u << 18;
        for (uint32_t i = 0; i < reference_.segments; i++) {
            const uint32_t begin = reference_.segment_starts[i], end = reference_.segment_ends[i];
            if (end - begin < uint32_t(k_)) continue;
            const uint32_t last = end - uint32_t(k_) + 1;
            for (uint32_t p = begin; p < last; p += std::min(kMax, last - p))
                spans_.push_back({p, p + std::min(kMax, last - p)});
        }
    }

    template <class Visit> void each_position(Visit&& visit) {
        parallel_for(threads_, spans_.size(), [&](size_t i, int) {
            for (uint32_t p = spans_[i].begin; p < spans_[i].end; p++)
                visit(offsets[packed_window(reference_.words, p) & kmer_mask(k_)], p);
        });
    }

    uint32_t take(uint32_t& counter) const {
        return threads_ > 1 ? __atomic_fetch_add(&counter, 1u, __ATOMIC_RELAXED) : counter++;
    }

    void sort_groups() {
        const size_t groups = offsets.size() - 1, maximum = std::max<size_t>(1, groups >> 10);
        parallel_for(threads_, (groups + maximum - 1) / maximum, [&](size_t i, int) {
            std::vector<Key> keys;
            std::vector<Part> parts;
            for (size_t g = i * maximum; g < std::min(groups, (i + 1) * maximum); g++) {
                if (offsets[g + 1] - offsets[g] > 1) parts.push_back({offsets[g], offsets[g + 1], uint32_t(k_)});
                while (!parts.empty()) {
                    const Part part = parts.back();
                    parts.pop_back();
                    sort_part(part, keys, parts);
                }
            }
        });
    }

    // Sorts a part by its next word; suffixes that agree in it form new parts.
    void sort_part(const Part& part, std::vector<Key>& keys, std::vector<Part>& parts) {
        keys.clear();
        for (uint32_t i = part.begin; i < part.end; i++) keys.push_back(key_of(positions[i], part.depth));
        if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
        const uint32_t depth = part.depth + uint32_t(kBasesPerWord);
        const bool deeper = depth < uint32_t(k_) + kSortedBases;
        for (size_t i = 0, first = 0; i < keys.size(); i++) {
            positions[part.begin + i] = uint32_t(keys[i].rest);
            if (keys[i].bases != keys[first].bases || !keys[first].whole()) first = i;
            const bool last = i + 1 == keys.size() || keys[i + 1].bases != keys[i].bases;
            if (deeper && last && i > first && keys[first].whole())
                parts.push_back({part.begin + uint32_t(first), part.begin + uint32_t(i) + 1, depth});
        }
    }

    // The word `depth` bases after a position, first base in the highest bits, up to the end of the segment.
    Key key_of(uint32_t position, uint32_t depth) const {
        const uint32_t at = position + depth;
        const uint32_t n = reference_.bases > at ? std::min(reference_.bases - at, uint32_t(kBasesPerWord)) : 0;
        const uint32_t have = clip_right(reference_, at, n);
        uint64_t bases = have ? reverse_complement(packed_window(reference_.words, at)) : 0;
        if (have < uint32_t(kBasesPerWord)) bases &= ~(~uint64_t(0) >> (2 * have));
        return {bases, uint64_t(have) << 32 | position};
    }

    std::vector<Span> spans_;
};

}  // namespace gpualign
