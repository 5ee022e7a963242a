// A seed hit as one integer, strand | diagonal + kHitBias | read position, so that sorting brings neighbours together.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

constexpr int kHitReadBits = 27;                                      // reads of up to 134 Mbp
constexpr int64_t kHitBias = int64_t(1) << kHitReadBits;              // diagonals may be negative
constexpr uint64_t kHitReverse = uint64_t(1) << (kHitReadBits + 34);  // above the 34 bits of a diagonal

// `at`: of the k-mer's first base on the strand of the read that lies forward on the reference.
GPUALIGN_HD uint64_t make_hit(bool reverse, int64_t diagonal, int64_t at) {
    return (reverse ? kHitReverse : 0) | uint64_t(diagonal + kHitBias) << kHitReadBits | uint64_t(at);
}
GPUALIGN_HD bool hit_reverse(uint64_t hit) { return hit & kHitReverse; }
// Strand and diagonal; differences within a strand are those of the diagonals.
GPUALIGN_HD uint64_t hit_line(uint64_t hit) { return hit >> kHitReadBits; }
GPUALIGN_HD int64_t hit_diagonal(uint64_t hit) { return int64_t((hit & ~kHitReverse) >> kHitReadBits) - kHitBias; }
GPUALIGN_HD int64_t hit_position(uint64_t hit) {
    return hit_diagonal(hit) + int64_t(hit & ((uint64_t(1) << kHitReadBits) - 1));
}

}  // namespace gpualign
