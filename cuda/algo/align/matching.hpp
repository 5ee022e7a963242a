// Which symbols match each other in identities and edit distances.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {
namespace nw {

// Codes below `identical` match themselves alone. Codes from it on match nothing; but where `bases` is given, codes are
// of nucleotides, and those match that have a base in common: bits 4 c to 4 c + 3 say which of A, C, G and T code c
// stands for, and codes 0 to 3 are these four. With R = A or G, Y = C or T and N as codes 4, 5 and 6, `bases` is
// 0xFA58421: R (5) and N (F) have bits in common, R and Y (A) have none.
struct Matching {
    uint64_t bases;
    int32_t identical;
    int32_t padding;

    GPUALIGN_HD bool operator()(int32_t a, int32_t b) const {
        if (bases) return (bases >> (4 * a)) & (bases >> (4 * b)) & 15;
        return a == b && a < identical;
    }
};

}  // namespace nw
}  // namespace gpualign
