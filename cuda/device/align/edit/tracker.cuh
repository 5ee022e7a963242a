// The score of a pattern's last row along the text, from the row's horizontal differences.
#pragma once
#include <cstdint>

namespace gpualign {

constexpr int kBlock = 16;  // columns between two looks at the score, and between two lanes

// Score of the last row, and the best so far.
struct Tracker {
    int32_t score, bound, best;
    uint32_t end;

    // `ups`, `downs`: the last row's differences in columns [column, column + count), count <= 16, the first at bit 15.
    template <bool Backward>
    __device__ __forceinline__ void note(uint32_t ups, uint32_t downs, uint32_t column, uint32_t count) {
        const uint32_t valid = count < kBlock ? 0xFFFFu << (kBlock - count) & 0xFFFFu : 0xFFFFu;
        ups &= valid;
        downs &= valid;
        const int32_t falls = __popc(downs);
        if (score - falls <= bound) {
            int32_t running = score;
            for (uint32_t i = 0; i < count; i++) {
                running += int32_t(ups >> (15 - i) & 1) - int32_t(downs >> (15 - i) & 1);
                if (running > bound) continue;
                best = running;
                end = column + i + 1;
                bound = Backward ? running : running - 1;  // forward the first of equal ends counts, backward the last
            }
        }
        score += __popc(ups) - falls;
    }
};

}  // namespace gpualign
