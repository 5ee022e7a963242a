// The distance of one pair within a limit by O(ND): the rows that each diagonal reaches with 0, 1, 2, ... errors
// (recurrence of algo/align/matrix/reach.hpp, without tiles). Diagonals further from the last one than the remaining
// errors are dropped.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gpualign {
namespace distances {

template <class Symbol> class ReachedRows {
public:
    ReachedRows(const Symbol* query, int64_t n, const Symbol* target, int64_t m)
        : query_(query), target_(target), n_(int32_t(n)), m_(int32_t(m)) {}

    // Returns the distance, or -1 beyond `limit`.
    int64_t run(int32_t limit) {
        const int32_t end = m_ - n_, middle = limit + 2;
        std::vector<int32_t> rows[2];
        for (auto& each : rows) each.assign(size_t(2 * middle + 1), kUnreached);
        int32_t *now = rows[0].data() + middle, *next = rows[1].data() + middle;
        for (int32_t e = 0; e <= limit; e++) {
            const int32_t left = limit - e;  // errors left for the path to the last diagonal
            const int32_t low = std::max(-std::min(e, n_), end - left), high = std::min(std::min(e, m_), end + left);
            for (int32_t k = low; k <= high; k++)
                next[k] = std::min(std::max(std::max(now[k - 1], now[k + 1] + 1), now[k] + 1), std::min(n_, m_ - k));
            if (e == 0 && low <= 0 && high >= 0) next[0] = 0;
            for (int32_t k = low; k <= high; k++) next[k] += equal(next[k], k);
            if (low <= high) next[low - 1] = next[high + 1] = kUnreached;
            if (end >= low && end <= high && next[end] == n_) return e;
            std::swap(now, next);
        }
        return -1;
    }

private:
    static constexpr int32_t kUnreached = INT32_MIN / 2;
    static constexpr int32_t kAtOnce = int32_t(sizeof(uint64_t) / sizeof(Symbol));

    // Number of equal symbols from a row of a diagonal on.
    int32_t equal(int32_t row, int32_t k) const {
        const int32_t maximum = std::min(n_ - row, m_ - k - row);
        if (maximum <= 0) return std::min(maximum, 0);
        const Symbol *q = query_ + row, *t = target_ + (row + k);
        int32_t run = 0;
        for (; run + kAtOnce <= maximum; run += kAtOnce) {
            uint64_t a, b;
            std::memcpy(&a, q + run, sizeof a);
            std::memcpy(&b, t + run, sizeof b);
            if (a != b) return run + int32_t(__builtin_ctzll(a ^ b) / (8 * sizeof(Symbol)));
        }
        while (run < maximum && q[run] == t[run]) run++;
        return run;
    }

    const Symbol *query_, *target_;
    int32_t n_, m_;
};

}  // namespace distances
}  // namespace gpualign
