// Numbers that both mappers go by, the CPU's and the device's. They are heuristics, for speed: each was chosen on simulated
// reads (docs/algorithms.md).
#pragma once
#include <cstdint>

namespace gpualign {

constexpr int32_t kDepth = 4;               // times as many hits are followed where the best place is in doubt
constexpr int32_t kVoteShare = 4;           // candidates with fewer than the most hits / kVoteShare are dropped
constexpr int32_t kManyVotes = 9;           // seed hits, and
constexpr int32_t kClearLead = 4;           // edits, that leave no doubt
constexpr uint32_t kMostPairedPlaces = 512;  // of each end that are tried with those of the other: by default all there are
constexpr uint32_t kMostAnchors = 4;        // best places of an end beside which the other is looked for

}  // namespace gpualign
