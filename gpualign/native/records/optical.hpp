// Optical duplicates: copies of a cluster that are close to each other on a tile of the flow cell. Free of Python.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

#include "records/template_ends.hpp"

namespace gpualign {

// Templates whose x and y both differ by at most the distance are joined, transitively, as in Picard. All templates of
// a square as wide as the distance are joined at once, so that sets of millions need no pairwise comparison.
class OpticalDuplicates {
public:
    explicit OpticalDuplicates(uint32_t distance) : distance_(distance) {}

    // Calls mark(template) for the optical duplicates among a set of equal templates, best first; returns their
    // number. One template per cluster is not a duplicate: the best of the set, else that with the smallest x and y.
    template <class Mark> size_t find(const TemplateEnds* set, size_t size, Mark&& mark) {
        if (size == 2 && !near(set[0].cell, set[1].cell)) return 0;
        collect(set, size);
        if (points_.size() < 2) return 0;
        join_squares();
        return mark_clusters(set, mark);
    }

private:
    struct Point {
        uint64_t cell;
        uint32_t index;  // in the set
        uint32_t column, row;

        uint32_t tile() const { return uint32_t(cell >> 2 * ReadNames::kCoordinateBits); }
        auto square() const { return std::make_tuple(tile(), column, row); }
        auto key() const { return std::make_tuple(tile(), column, row, cell, index); }
    };

    static uint32_t x_of(uint64_t cell) { return uint32_t(cell >> ReadNames::kCoordinateBits) & kMask; }
    static uint32_t y_of(uint64_t cell) { return uint32_t(cell) & kMask; }

    bool near(uint64_t a, uint64_t b) const {
        if (a == kNowhere || b == kNowhere || (a ^ b) >> 2 * ReadNames::kCoordinateBits) return false;
        const auto apart = [](uint32_t p, uint32_t q) { return p > q ? p - q : q - p; };
        return apart(x_of(a), x_of(b)) <= distance_ && apart(y_of(a), y_of(b)) <= distance_;
    }

    void collect(const TemplateEnds* set, size_t size) {
        points_.clear();
        const uint32_t width = distance_ + 1;
        for (size_t i = 0; i < size; i++) {
            const uint64_t cell = set[i].cell;
            if (cell != kNowhere) points_.push_back({cell, uint32_t(i), x_of(cell) / width, y_of(cell) / width});
        }
        std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) { return a.key() < b.key(); });
        parents_.resize(points_.size());
        std::iota(parents_.begin(), parents_.end(), uint32_t(0));
    }

    // Points within a square are close to each other; those of adjacent squares may be.
    void join_squares() {
        squares_.clear();
        for (size_t i = 0; i < points_.size(); i++) {
            if (i == 0 || points_[i].square() != points_[i - 1].square()) squares_.push_back(uint32_t(i));
            else join(uint32_t(i), squares_.back());
        }
        squares_.push_back(uint32_t(points_.size()));
        for (size_t s = 0; s + 1 < squares_.size(); s++)
            for (const auto& [right, down] : {std::pair{0, 1}, {1, -1}, {1, 0}, {1, 1}})
                join_with_neighbour(s, right, down);
    }

    void join_with_neighbour(size_t s, int right, int down) {
        const Point& own = points_[squares_[s]];
        if (own.row == 0 && down < 0) return;
        const auto wanted = std::make_tuple(own.tile(), own.column + uint32_t(right), own.row + uint32_t(down));
        const auto found = std::lower_bound(squares_.begin() + ptrdiff_t(s), squares_.end() - 1, wanted,
            [&](uint32_t begin, const auto& key) { return points_[begin].square() < key; });
        if (found == squares_.end() - 1 || points_[*found].square() != wanted) return;
        if (root(squares_[s]) == root(*found)) return;
        if (any_near(squares_[s], squares_[s + 1], *found, *(found + 1))) join(squares_[s], *found);
    }

    bool any_near(size_t begin, size_t end, size_t other_begin, size_t other_end) const {
        const auto again = [&](size_t i, size_t first) { return i > first && points_[i].cell == points_[i - 1].cell; };
        for (size_t i = begin; i < end; i++) {
            if (again(i, begin)) continue;
            for (size_t j = other_begin; j < other_end; j++)
                if (!again(j, other_begin) && near(points_[i].cell, points_[j].cell)) return true;
        }
        return false;
    }

    template <class Mark> size_t mark_clusters(const TemplateEnds* set, Mark&& mark) {
        kept_.assign(points_.size(), kNone);  // per root: the point that is not an optical duplicate
        const auto better = [&](uint32_t a, uint32_t b) {
            const Point &p = points_[a], &q = points_[b];
            if (p.index == 0 || q.index == 0) return p.index == 0;
            return std::make_tuple(p.cell, p.index) < std::make_tuple(q.cell, q.index);
        };
        for (uint32_t i = 0; i < points_.size(); i++) {
            uint32_t& kept = kept_[root(i)];
            if (kept == kNone || better(i, kept)) kept = i;
        }
        size_t count = 0;
        for (uint32_t i = 0; i < points_.size(); i++) {
            if (kept_[root(i)] == i) continue;
            mark(set[points_[i].index]);
            count++;
        }
        return count;
    }

    uint32_t root(uint32_t i) {
        while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
        return i;
    }
    void join(uint32_t a, uint32_t b) {
        a = root(a), b = root(b);
        parents_[std::max(a, b)] = std::min(a, b);
    }

    static constexpr uint32_t kMask = (uint32_t(1) << ReadNames::kCoordinateBits) - 1, kNone = ~uint32_t(0);

    uint32_t distance_;
    std::vector<Point> points_;
    std::vector<uint32_t> parents_, squares_, kept_;
};

}  // namespace gpualign
