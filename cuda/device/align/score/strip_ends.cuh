// Begins and ends of alignments by strips (device/align/score/diagonal_scan.cuh): in the corners, on the borders,
// anywhere.
#pragma once
#include "device/align/score/lazy_scan.cuh"

namespace gpualign {
namespace nw {

// The best end of a strip's cells, where it matters which of equal ones: the strips of a pair hand it on from left to
// right.
class ChosenEnd {
public:
    __device__ __forceinline__ ChosenEnd(const LazyScheme& scheme, int n, int m) : scheme_(scheme), n_(n), m_(m) {}

    __device__ __forceinline__ void offer(const AlignmentEnd& found) {
        if (found.preferred_to(best_, whole(), n_, m_)) best_ = found;
    }
    // Called by the whole warp; `before`: the best of the strips on the left, or null.
    __device__ __forceinline__ void leave(const AlignmentEnd* before, AlignmentEnd* to) {
#pragma unroll
        for (int step = warp_size / 2; step; step /= 2)
            offer({__shfl_xor_sync(0xffffffffu, best_.score, step), __shfl_xor_sync(0xffffffffu, best_.i, step),
                __shfl_xor_sync(0xffffffffu, best_.j, step)});
        if (before) offer({__ldcg(&before->score), __ldcg(&before->i), __ldcg(&before->j)});
        if (threadIdx.x % warp_size == 0) *to = best_;
    }

    __device__ __forceinline__ int32_t best_score() const { return best_.score; }

protected:
    __device__ __forceinline__ bool whole() const { return !(scheme_.free_ends & (query_end_bit | target_end_bit)); }

    const LazyScheme& scheme_;
    int n_, m_;
    AlignmentEnd best_{INT32_MIN, 0, 0};
};

// In the corners: nothing to choose.
struct CornerStrips {
    static constexpr bool local = false, chosen = false;
    int32_t bias, border;

    __device__ __forceinline__ CornerStrips(const LazyScheme& scheme, int, int)
        : bias(scheme.bias), border(scheme.bias - scheme.opening) {}
    __device__ __forceinline__ int32_t top(int j) const { return j == 0 ? bias : border; }  // H' at (0, j)
    __device__ __forceinline__ int32_t left(int) const { return border; }                   // H' at (i, 0)
    template <int K> __device__ __forceinline__ void after_row(const int32_t (&)[K], int, int) {}
    template <int K> __device__ __forceinline__ void after_strip(const int32_t (&)[K], int) {}
};

// Some gaps at ends cost less than others, or nothing: any cell of the last row or column.
struct BorderStrips : ChosenEnd {
    static constexpr bool local = false, chosen = true;

    using ChosenEnd::ChosenEnd;
    __device__ __forceinline__ int32_t top(int j) const {
        return scheme_.bias + scheme_.ends.target_start.border(j, scheme_.shift);
    }
    __device__ __forceinline__ int32_t left(int i) const {
        return scheme_.bias + scheme_.ends.query_start.border(i, scheme_.shift);
    }
    // Whether an alignment may end in the last of the K columns after c0 that the table has.
    __device__ __forceinline__ bool follows_column(int c0, int K) const {
        return c0 < m_ && m_ <= c0 + K && scheme_.cheap_ends & query_end_bit;
    }
    template <int K> __device__ __forceinline__ void after_row(const int32_t (&h)[K], int c0, int row) {
        const int last = m_ - 1 - c0;
        if (!follows_column(c0, K)) return;
        int32_t value = 0;
#pragma unroll
        for (int k = 0; k < K; k++)
            if (k == last) value = h[k];
        offer_cell(value, row, m_);
    }
    template <int K> __device__ __forceinline__ void after_strip(const int32_t (&h)[K], int c0) {
        if (c0 == 0) {  // alignments of no two symbols
            if (scheme_.cheap_ends & target_end_bit) offer_cell(left(n_), n_, 0);
            if (scheme_.cheap_ends & query_end_bit) offer_cell(top(m_), 0, m_);
        }
#pragma unroll
        for (int k = 0; k < K; k++)
            if (c0 + k + 1 == m_ || (c0 + k + 1 < m_ && scheme_.cheap_ends & target_end_bit))
                offer_cell(h[k], n_, c0 + k + 1);
    }

private:
    __device__ __forceinline__ void offer_cell(int32_t h, int i, int j) {
        const int32_t rest = scheme_.ends.query_end.cost(n_ - i) + scheme_.ends.target_end.cost(m_ - j);
        offer({h - scheme_.bias - scheme_.shift * (i + j) - rest, i, j});
    }
};

// Local: any cell above zero.
struct LocalStrips : ChosenEnd {
    static constexpr bool local = true, chosen = true;

    __device__ __forceinline__ LocalStrips(const LazyScheme& scheme, int n, int m) : ChosenEnd(scheme, n, m) {
        best_ = {1, INT32_MAX, INT32_MAX};  // what any cell of that score is preferred to
    }
    __device__ __forceinline__ int32_t top(int) const { return 0; }
    __device__ __forceinline__ int32_t left(int) const { return 0; }
    template <int K> __device__ __forceinline__ void after_row(const int32_t (&h)[K], int c0, int row) {
        int32_t of[4] = {h[0], h[1], h[2], h[3]};  // none waits long for another
#pragma unroll
        for (int k = 4; k < K; k++) of[k % 4] = max(of[k % 4], h[k]);
        int32_t maximum = max(max(of[0], of[1]), max(of[2], of[3]));
        if (maximum < best_.score) return;
        if (c0 + K > m_) {  // columns that there are not
            maximum = 0;
#pragma unroll
            for (int k = 0; k < K; k++)
                if (c0 + k < m_) maximum = max(maximum, h[k]);
        }
        int first = K;
#pragma unroll
        for (int k = K - 1; k >= 0; k--)
            if (h[k] == maximum) first = k;
        // the rows come in their order
        if (maximum > best_.score || (maximum == best_.score && c0 + first + 1 < best_.j))
            best_ = {maximum, row, c0 + first + 1};
    }
    template <int K> __device__ __forceinline__ void after_strip(const int32_t (&)[K], int) {}
};

}  // namespace nw
}  // namespace gpualign
