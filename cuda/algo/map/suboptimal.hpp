// What suboptimal alignments lose against the one that is reported.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

// In score units: the least, and how many lose that little.
struct Suboptimal {
    int32_t minimum = -1;  // there are none
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
