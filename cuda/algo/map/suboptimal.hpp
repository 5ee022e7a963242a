// Score differences of suboptimal alignments to the reported one.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

// The smallest difference, and how many alignments have it.
struct Suboptimal {
    int32_t minimum = -1;  // negative: there are none
    uint32_t count = 0;

    GPUALIGN_HD void add(int32_t loss) {
        if (minimum < 0 || loss < minimum) {
            minimum = loss;
            count = 1;
        } else if (loss == minimum) {
            count++;
        }
    }
};

}  // namespace gpualign
