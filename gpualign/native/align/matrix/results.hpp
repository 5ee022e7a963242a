// Output of a block of queries: a dense matrix, the nearest targets of each query, or pairs within limits.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace gpualign {
namespace distances {

constexpr int32_t kBeyond = INT32_MAX;  // internally; a dense matrix has -1

// values: targets x lanes, for targets order[0, count).
struct Block {
    const int32_t* values;
    int64_t lanes;
    const int32_t* targets;
    int64_t count;
};

// (queries, targets) int32; if `mirrored`, the transpose as well.
struct Dense {
    int32_t* out;
    int64_t columns;
    bool mirrored;

    void take(int64_t lane, int32_t query, const Block& block) const {
        int32_t* row = out + query * columns;
        for (int64_t i = 0; i < block.count; i++) {
            const int32_t value = block.values[i * block.lanes + lane];
            row[block.targets[i]] = value == kBeyond ? -1 : value;
        }
        if (!mirrored) return;
        for (int64_t i = 0; i < block.count; i++) out[block.targets[i] * columns + query] = row[block.targets[i]];
    }
};

// The best `maximum` targets of a query, by value, then by number; `largest`: higher values are better.
class Best {
public:
    explicit Best(size_t maximum) : max_(maximum) {}
    void take(int64_t lane, int32_t self, const Block& block, bool largest) {
        for (int64_t i = 0; i < block.count; i++) {
            const int32_t value = block.values[i * block.lanes + lane];
            if (value == kBeyond || block.targets[i] == self) continue;
            const std::pair<int32_t, int32_t> one(largest ? -value : value, block.targets[i]);
            if (kept_.size() == max_) {
                if (max_ == 0 || !(one < kept_.front())) continue;
                std::pop_heap(kept_.begin(), kept_.end());
                kept_.back() = one;
            } else {
                kept_.push_back(one);
            }
            std::push_heap(kept_.begin(), kept_.end());
        }
    }
    // Target and value of each, -1 beyond the last.
    void write(int32_t* targets, int32_t* values, bool largest) {
        std::sort_heap(kept_.begin(), kept_.end());
        for (size_t i = 0; i < max_; i++) {
            const bool there = i < kept_.size();
            targets[i] = there ? kept_[i].second : -1;
            values[i] = there ? (largest ? -kept_[i].first : kept_[i].first) : -1;
        }
    }

private:
    size_t max_;
    std::vector<std::pair<int32_t, int32_t>> kept_;  // a heap with the worst in front
};

// Pairs within the limits, unsorted.
struct Pairs {
    std::vector<int32_t> query, target, value;

    // Skips targets for which skips(target) is true; `half`: the smaller number of a pair is the query.
    template <class Skips> void take(int64_t lane, int32_t number, const Block& block, bool half, Skips&& skips) {
        for (int64_t i = 0; i < block.count; i++) {
            const int32_t found = block.values[i * block.lanes + lane];
            if (found == kBeyond || skips(block.targets[i])) continue;
            const bool swap = half && block.targets[i] < number;
            query.push_back(swap ? block.targets[i] : number);
            target.push_back(swap ? number : block.targets[i]);
            value.push_back(found);
        }
    }
};

}  // namespace distances
}  // namespace gpualign
