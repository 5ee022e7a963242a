// Tie-breaks among equally good loci: by a hash of the read's name, so that reads spread over the copies of a repeat,
// and a read takes the same copy in every run, on every thread and device.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

// Independent tie-breaks for each kind of choice.
enum class TieBreakFor : uint32_t { hits = 1, candidates, anchors, locus, pair, chain, quality };

// A finalizer with full avalanche (Wellons 2018, "Prospecting for hash functions", lowbias32).
GPUALIGN_HD uint32_t mix_bits(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}
// FNV-1a of a text, mixed.
template <class Character> GPUALIGN_HD uint32_t tie_break_hash(const Character* text, int64_t size) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < size; i++) hash = (hash ^ uint8_t(text[i])) * 0x100000001b3u;
    return mix_bits(uint32_t(hash ^ hash >> 32));
}
GPUALIGN_HD uint32_t tie_break_for(uint32_t tie_break, TieBreakFor what) {
    return mix_bits(tie_break + uint32_t(what) * 0x9E3779B9u);
}
// A hash below `count`, which is not 0.
GPUALIGN_HD uint32_t tie_break_below(uint32_t tie_break, TieBreakFor what, uint32_t count) {
    return uint32_t(uint64_t(tie_break_for(tie_break, what)) * count >> 32);
}

}  // namespace gpualign
