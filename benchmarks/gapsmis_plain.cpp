// What benchmarks/gapsmis.py compares with: a plain loop over the bounded-gap recurrence, one pair after the other, and
// the CPU's part of a traceback whose directions a GPU has computed.
//
// The loop: scores only, each cell O(1) in each layer as any careful program would have it: D and I are carried along
// the row and down the columns by extension or a new gap. 32-bit values, K known to the compiler, no vectors by hand.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algo/align/gaps/gapsmis.hpp"

template <int K>
static void plain(const uint8_t* patterns, const int64_t* pattern_offsets, const uint8_t* texts,
    const int64_t* text_offsets, const int32_t* pattern_ids, const int32_t* text_ids, int64_t pairs, int match,
    int mismatch, int open, int extend, int32_t* scores) {
    constexpr int32_t low = -(1 << 28);
    std::vector<int32_t> above, current, inserted;
    int32_t deleted[K + 1];
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
                deleted[q] = low;
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
                    deleted[q] = std::max(deleted[q] - extend, left[q - 1] - open);
                    insert[q] = std::max(insert[q] - extend, over[q - 1] - open);
                    here[q] = std::max(corner[q] + s, std::max(deleted[q], insert[q]));
                }
            }
            std::swap(above, current);
        }
        scores[k] = *std::max_element(above.begin(), above.end());
    }
}

extern "C" int plain_gapsmis(const uint8_t* patterns, const int64_t* pattern_offsets, const uint8_t* texts,
    const int64_t* text_offsets, const int32_t* pattern_ids, const int32_t* text_ids, int64_t pairs, int K, int match,
    int mismatch, int open, int extend, int32_t* scores) {
    const auto run = K == 0 ? plain<0> : K == 1 ? plain<1> : K == 2 ? plain<2> : K == 3 ? plain<3> : nullptr;
    if (!run) return 1;
    run(patterns, pattern_offsets, texts, text_offsets, pattern_ids, text_ids, pairs, match, mismatch, open, extend,
        scores);
    return 0;
}

// Walks back pairs first..last-1 of a launch's order through directions as the thread-per-pair kernel leaves them,
// every warp's at its own offset: (passes, band, 32 lanes, words).
extern "C" void walk_back(const uint32_t* directions, int64_t stride, int band, int words, int width, int cell_bits,
    int K, const int32_t* order, int64_t first, int64_t last, const int32_t* rows, const int32_t* gaps,
    const int32_t* ends, int32_t* gap_list, int32_t* starts) {
    using namespace gpualign::gapsmis;
    const Model model{K, 0, 0, text_end_free, 0};
    for (int64_t rank = first; rank < last; rank++) {
        const int32_t pair = order[rank];
        const uint32_t* of_warp = directions + rank / 32 * stride;
        const auto bits = [&](int32_t i, int32_t j, int32_t q) {
            const int64_t strip = (int64_t((j - 1) / width) * band + i - 1) * 32 + rank % 32;
            const int bit = (j - 1) % width * cell_bits + 4 * (q - 1);
            return int32_t(of_warp[strip * words + bit / 32] >> (bit % 32));
        };
        Walker<false> walker(rows[pair], ends[pair], gaps[pair]);
        Gap* list = reinterpret_cast<Gap*>(gap_list) + int64_t(pair) * K;
        walker.advance(bits, 0, list);
        walker.finish(model, list);
        starts[pair] = walker.j;
    }
}
