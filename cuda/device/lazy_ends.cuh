// Where alignments of LazyRScan begin and end but for the corners: on the borders (semi-global), anywhere (local).
#pragma once
#include "device/lazy_scan.cuh"

namespace gpualign {
namespace nw {

// Semi-global: some ends cost nothing. H' of a free border is x (i + j), which is no score at all; an alignment may end
// in any cell of a last row or column whose sequence may go on.
template <class Word, int K>
struct Borders {
    static constexpr bool local = false;
    using W = WordOf<Word>;
    int32_t bias, opening, shift;
    uint32_t free_ends;
    bool column_ends;  // a target of the warp ends in this strip, and its query may go on
    int32_t best[W::lanes];

    __device__ __forceinline__ Borders(const LazyScheme& scheme, const Targets<Word, K>& targets, int n)
        : bias(scheme.bias), opening(scheme.opening), shift(scheme.shift), free_ends(scheme.free_ends), column_ends(false) {
#pragma unroll
        for (int half = 0; half < W::lanes; half++) {
            best[half] = INT32_MIN;  // one of the alignments that leave a whole sequence out, where they may
            const int m = targets.length[half];
            if (free_ends & free_target_end) best[half] = value(free_query_start, n) - bias - shift * n;
            if (free_ends & free_query_end) best[half] = max(best[half], value(free_target_start, m) - bias - shift * m);
        }
    }
    __device__ __forceinline__ Word top(int j) const { return W::both(value(free_target_start, j)); }
    __device__ __forceinline__ Word left(int i) const { return W::both(value(free_query_start, i)); }
    __device__ __forceinline__ void begin_strip(const Targets<Word, K>& targets, int c0) {
        bool mine = false;
#pragma unroll
        for (int half = 0; half < W::lanes; half++) {
            const int last = targets.length[half] - c0;
            mine |= last >= 1 && last <= K;
        }
        column_ends = (free_ends & free_query_end) != 0 && __any_sync(0xffffffffu, mine);
    }
    __device__ __forceinline__ void after_row(const Word* h, const LazyScheme&, const Targets<Word, K>& targets, int c0,
                                              int row) {
        if (!column_ends) return;
        each_cell(targets, c0, [&](int half, int k, int last) {
            if (k + 1 == last) offer(half, h[k], row + targets.length[half]);
        });
    }
    __device__ __forceinline__ void after_strip(const Word* h, const LazyScheme&, const Targets<Word, K>& targets, int c0,
                                                int n) {
        each_cell(targets, c0, [&](int half, int k, int last) {
            if (k + 1 == last || (k + 1 < last && free_ends & free_target_end)) offer(half, h[k], n + c0 + k + 1);
        });
    }

private:
    // H' of a border, `at` letters from the corner.
    __device__ __forceinline__ int32_t value(uint32_t free, int at) const {
        return bias + (free_ends & free ? shift * at : -opening);
    }
    __device__ __forceinline__ void offer(int half, Word h, int letters) {
        best[half] = max(best[half], W::lane(h, half) - bias - shift * letters);
    }
};

// Local: the best cell of all, at least zero. Columns behind a target's end do not count.
template <class Word, int K>
struct Anywhere {
    static constexpr bool local = true;
    using W = WordOf<Word>;
    Word most;       // of the cells that both targets have
    bool all_count;  // of the strip's cells, on all lanes
    int32_t best[W::lanes] = {};

    __device__ __forceinline__ Anywhere(const LazyScheme&, const Targets<Word, K>&, int) : most(Word(0)), all_count(false) {}
    __device__ __forceinline__ Word top(int) const { return Word(0); }
    __device__ __forceinline__ Word left(int) const { return Word(0); }
    __device__ __forceinline__ void begin_strip(const Targets<Word, K>& targets, int c0) {
        bool mine = true;
#pragma unroll
        for (int half = 0; half < W::lanes; half++) mine &= targets.length[half] - c0 >= K;
        all_count = __all_sync(0xffffffffu, mine);
    }
    __device__ __forceinline__ void after_row(const Word* h, const LazyScheme&, const Targets<Word, K>& targets, int c0, int) {
        if (all_count) {
#pragma unroll
            for (int k = 0; k < K; k++) most = max(most, h[k]);
            return;
        }
        each_cell(targets, c0, [&](int half, int k, int last) {
            if (k < last) best[half] = max(best[half], W::lane(h[k], half));
        });
    }
    __device__ __forceinline__ void after_strip(const Word*, const LazyScheme&, const Targets<Word, K>&, int, int) {
#pragma unroll
        for (int half = 0; half < W::lanes; half++) best[half] = max(best[half], W::lane(most, half));
    }
};

}  // namespace nw
}  // namespace gpualign
