// Begins and ends of LazyRScan's alignments outside the corners: on the borders (semi-global), anywhere (local).
#pragma once
#include "device/align/score/lazy_scan.cuh"

namespace gpualign {
namespace nw {

// Some ends cost less than other gaps, or nothing (semi-global): an alignment may end in any cell of a last row or
// column, for what the rest of the other sequence costs.
template <class Word, int K> struct Borders {
    static constexpr bool local = false;
    using W = WordOf<Word>;
    int32_t bias, shift;
    uint32_t cheap_ends;
    EndGaps gaps;
    int n;
    bool column_ends;  // a target of the warp ends in this strip, and its query may go on
    int32_t best[W::lanes];

    __device__ __forceinline__ Borders(const LazyScheme& scheme, const Targets<Word, K>& targets, int n_)
        : bias(scheme.bias), shift(scheme.shift), cheap_ends(scheme.cheap_ends), gaps(scheme.ends), n(n_),
          column_ends(false) {
#pragma unroll
        for (int half = 0; half < W::lanes; half++) {
            best[half] = INT32_MIN;  // one of the alignments of no two symbols, where they may be
            const int m = targets.length[half];
            if (cheap_ends & target_end_bit) best[half] = -gaps.query_start.cost(n) - gaps.target_end.cost(m);
            if (cheap_ends & query_end_bit)
                best[half] = max(best[half], -gaps.target_start.cost(m) - gaps.query_end.cost(n));
        }
    }
    __device__ __forceinline__ Word top(int j) const { return W::both(bias + gaps.target_start.border(j, shift)); }
    __device__ __forceinline__ Word left(int i) const { return W::both(bias + gaps.query_start.border(i, shift)); }
    __device__ __forceinline__ void begin_strip(const Targets<Word, K>& targets, int c0) {
        bool mine = false;
#pragma unroll
        for (int half = 0; half < W::lanes; half++) {
            const int last = targets.length[half] - c0;
            mine |= last >= 1 && last <= K;
        }
        column_ends = (cheap_ends & query_end_bit) != 0 && __any_sync(0xffffffffu, mine);
    }
    __device__ __forceinline__ void after_row(
        const Word* h, const LazyScheme&, const Targets<Word, K>& targets, int c0, int row) {
        if (!column_ends) return;
        each_cell(targets, c0, [&](int half, int k, int last) {
            if (k + 1 == last) offer(half, h[k], row + targets.length[half], gaps.query_end.cost(n - row));
        });
    }
    __device__ __forceinline__ void after_strip(
        const Word* h, const LazyScheme&, const Targets<Word, K>& targets, int c0, int) {
        each_cell(targets, c0, [&](int half, int k, int last) {
            if (k + 1 == last || (k + 1 < last && cheap_ends & target_end_bit))
                offer(half, h[k], n + c0 + k + 1, gaps.target_end.cost(last - k - 1));
        });
    }

private:
    // H' of a cell so many symbols from the corner, for what follows it.
    __device__ __forceinline__ void offer(int half, Word h, int symbols, int rest) {
        best[half] = max(best[half], W::lane(h, half) - bias - shift * symbols - rest);
    }
};

// Local: the best cell of all, at least zero. Columns past a target's end do not count.
template <class Word, int K> struct Anywhere {
    static constexpr bool local = true;
    using W = WordOf<Word>;
    Word maximum;       // of the cells that both targets have
    bool all_count;  // of the strip's cells, on all lanes
    int32_t best[W::lanes] = {};

    __device__ __forceinline__ Anywhere(const LazyScheme&, const Targets<Word, K>&, int)
        : maximum(Word(0)), all_count(false) {}
    __device__ __forceinline__ Word top(int) const { return Word(0); }
    __device__ __forceinline__ Word left(int) const { return Word(0); }
    __device__ __forceinline__ void begin_strip(const Targets<Word, K>& targets, int c0) {
        bool mine = true;
#pragma unroll
        for (int half = 0; half < W::lanes; half++) mine &= targets.length[half] - c0 >= K;
        all_count = __all_sync(0xffffffffu, mine);
    }
    __device__ __forceinline__ void after_row(
        const Word* h, const LazyScheme&, const Targets<Word, K>& targets, int c0, int) {
        if (all_count) {
#pragma unroll
            for (int k = 0; k < K; k++) maximum = max(maximum, h[k]);
            return;
        }
        each_cell(targets, c0, [&](int half, int k, int last) {
            if (k < last) best[half] = max(best[half], W::lane(h[k], half));
        });
    }
    __device__ __forceinline__ void after_strip(const Word*, const LazyScheme&, const Targets<Word, K>&, int, int) {
#pragma unroll
        for (int half = 0; half < W::lanes; half++) best[half] = max(best[half], W::lane(maximum, half));
    }
};

}  // namespace nw
}  // namespace gpualign
