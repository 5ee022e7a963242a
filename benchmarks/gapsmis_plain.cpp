// A plain loop over the bounded-gap recurrence, one pair after the other: what benchmarks/gapsmis.py compares with.
//
// Scores only, each cell O(1) in each layer as any careful program would have it: D and I are carried along the row and
// down the columns by extension or a new gap. 32-bit values, no vectors by hand.
#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" void plain_gapsmis(const uint8_t* patterns, const int64_t* pattern_offsets, const uint8_t* texts,
                              const int64_t* text_offsets, const int32_t* pattern_ids, const int32_t* text_ids,
                              int64_t pairs, int K, int match, int mismatch, int open, int extend, int32_t* scores) {
    constexpr int32_t low = -(1 << 28);
    std::vector<int32_t> above, current, inserted, deleted(size_t(K) + 1);
    for (int64_t k = 0; k < pairs; k++) {
        const uint8_t* x = patterns + pattern_offsets[pattern_ids[k]];
        const uint8_t* t = texts + text_offsets[text_ids[k]];
        const int m = int(pattern_offsets[pattern_ids[k] + 1] - pattern_offsets[pattern_ids[k]]);
        const int n = int(text_offsets[text_ids[k] + 1] - text_offsets[text_ids[k]]);
        const int layers = K + 1;
        above.assign(size_t(n + 1) * size_t(layers), low);
        current = above;
        inserted = above;
        for (int j = 0; j <= n; j++)
            for (int q = 0; q <= K; q++)
                if (j == 0) above[size_t(q)] = 0;
                else if (q > 0) above[size_t(j * layers + q)] = -open - extend * (j - 1);
        for (int i = 1; i <= m; i++) {
            for (int q = 0; q <= K; q++) {
                current[size_t(q)] = q > 0 ? -open - extend * (i - 1) : low;
                deleted[size_t(q)] = low;
            }
            for (int j = 1; j <= n; j++) {
                const int32_t s = x[i - 1] == t[j - 1] && x[i - 1] < 4 ? match : mismatch;
                const int32_t* corner = &above[size_t((j - 1) * layers)];
                const int32_t* over = &above[size_t(j * layers)];
                const int32_t* left = &current[size_t((j - 1) * layers)];
                int32_t* here = &current[size_t(j * layers)];
                int32_t* insert = &inserted[size_t(j * layers)];
                here[0] = corner[0] + s;
                for (int q = 1; q <= K; q++) {
                    deleted[size_t(q)] = std::max(deleted[size_t(q)] - extend, left[q - 1] - open);
                    insert[q] = std::max(insert[q] - extend, over[q - 1] - open);
                    here[q] = std::max(corner[q] + s, std::max(deleted[size_t(q)], insert[q]));
                }
            }
            std::swap(above, current);
        }
        scores[k] = *std::max_element(above.begin(), above.end());
    }
}
