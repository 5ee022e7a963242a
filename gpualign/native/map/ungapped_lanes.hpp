// Proves that a read with a few substitutions at its locus has no other alignment that costs as little, so that it
// needs no DP. A lane per diagonal. Unlike algo/map/ungapped.hpp, which explores every cost, this only counts
// substitutions and gives up on close cases.
//
// An alternative costs at most as much as the substitutions, and has gaps and clipped ends, *events*, each of which
// costs at least `event`: so it has one or two. If each other diagonal has more substitutions in every window of some
// rows than the remaining cost allows, an alternative stays on other diagonals for less than a window between events
// and ends of the read. Those rows, and what events leave out, must hold all substitutions except those still allowed.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "algo/map/chain/gaps.hpp"
#include "simd/vector.hpp"

namespace gpualign {

class UngappedLanes {
public:
    explicit UngappedLanes(const AffineScores& scores)
        : scores_(scores), substitution_(scores.match + scores.mismatch),
          event_(std::min(scores.gap_open + scores.gap_extend, scores.clip_penalty + scores.match)) {}

    // Whether a query has `substitutions` on the middle one of 2 limit + 1 diagonals, and every other alignment in the
    // band costs more. Query and text are unambiguous; `text` has length + 2 limit bases and kPadding readable ones
    // after them.
    // `also`: what else the query's bases match (algo/common/bisulfite.hpp); the query itself without conversion.
    bool is_best(const uint8_t* query, const uint8_t* also, int32_t length, const uint8_t* text, int32_t limit,
        int32_t substitutions) {
        const int32_t lost = substitutions * substitution_;
        if (has_long_gaps(scores_) || event_ < 1 || scores_.match < 1 || lost >= 3 * event_) return false;
        if (!find_substitutions(query, also, length, text + limit, substitutions)) return false;
        const int32_t allowed = lost < event_ ? 0 : (lost - event_) / substitution_;  // besides an event
        const Reach first = reach(lost), second = reach(lost - event_);
        if (length < 3 * kWindow + 2 * (first.inserted + first.clipped) ||
            length / kWindow * (allowed + 1) <= substitutions)
            return false;
        if (lost >= event_) {
            const int32_t rows = std::max(kWindow + first.inserted, first.clipped), hidden = substitutions - allowed;
            if (before(rows) >= hidden || from(length - rows) >= hidden) return false;
        }
        if (lost >= 2 * event_) {
            const int32_t rows = kWindow + 2 * second.inserted + second.clipped;
            const int32_t hidden = substitutions - (lost - 2 * event_) / substitution_;
            if (before(rows) + from(length - rows) >= hidden || before(2 * rows) >= hidden ||
                from(length - 2 * rows) >= hidden)
                return false;
            for (const int32_t row : rows_)
                if (before(row + rows) - before(row) >= hidden) return false;
        }
        return also == query ? others_differ<false>(query, also, length, text, limit, allowed)
                             : others_differ<true>(query, also, length, text, limit, allowed);
    }

    static constexpr int kPadding = Vec<uint8_t>::lanes;

private:
    static constexpr int32_t kWindow = 16;

    // Maximum number of bases that a gap inserts, and that are clipped, at a given cost.
    struct Reach {
        int32_t inserted, clipped;
    };
    Reach reach(int32_t lost) const {
        return {std::max(0, lost - scores_.gap_open) / (scores_.gap_extend + scores_.match),
            std::max(0, lost - scores_.clip_penalty) / scores_.match};
    }

    // Finds the rows of the substitutions; false if their number is not `wanted`.
    bool find_substitutions(
        const uint8_t* query, const uint8_t* also, int32_t length, const uint8_t* text, int32_t wanted) {
        rows_.clear();
        for (int32_t i = 0; i < length; i += 8) {
            uint64_t a = 0, b = 0;
            const size_t n = size_t(std::min(8, length - i));
            std::memcpy(&a, query + i, n);
            std::memcpy(&b, text + i, n);
            for (uint64_t differ = a ^ b; differ; differ &= ~(uint64_t(0xFF) << (__builtin_ctzll(differ) & ~7))) {
                const int32_t at = i + __builtin_ctzll(differ) / 8;
                if (also[at] == text[at]) continue;
                if (int32_t(rows_.size()) == wanted) return false;
                rows_.push_back(at);
            }
        }
        return int32_t(rows_.size()) == wanted;
    }
    int32_t before(int32_t row) const {
        return int32_t(std::count_if(rows_.begin(), rows_.end(), [&](int32_t r) { return r < row; }));
    }
    int32_t from(int32_t row) const { return int32_t(rows_.size()) - before(row); }

    // Whether each diagonal but the middle one has more than `allowed` substitutions in each window.
    template <bool Converted>
    static bool others_differ(const uint8_t* query, const uint8_t* also, int32_t length, const uint8_t* text,
        int32_t limit, int32_t allowed) {
        using Bytes = Vec<uint8_t>;
        for (int32_t first = 0; first <= 2 * limit; first += Bytes::lanes) {
            const auto differ = [&](int32_t row) {
                const Bytes met = Bytes::load(text + first + row);
                if (Converted) return Bytes(1) & ~((met == Bytes(query[row])) | (met == Bytes(also[row])));
                return Bytes(1) & ~(met == Bytes(query[row]));
            };
            Bytes in_window(0), fewest(255);
            for (int32_t row = 0; row < kWindow; row++) in_window = in_window + differ(row);
            fewest = in_window;
            for (int32_t row = kWindow; row < length; row++) {
                in_window = in_window + differ(row) - differ(row - kWindow);
                fewest = min(fewest, in_window);
            }
            uint8_t of[Bytes::lanes];
            fewest.store(of);
            for (int32_t b = first; b <= std::min(2 * limit, first + Bytes::lanes - 1); b++)
                if (b != limit && of[b - first] <= allowed) return false;
        }
        return true;
    }

    const AffineScores scores_;
    const int32_t substitution_, event_;
    std::vector<int32_t> rows_;  // of the substitutions
};

}  // namespace gpualign
