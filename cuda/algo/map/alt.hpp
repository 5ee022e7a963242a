// ALT contigs: how a hit on one relates to the hit on the primary assembly, as bwa mem has it (Li, bwa's README-alt.md).
//
// A read's choice and its mapping quality are made among the hits on the primary assembly alone. A better hit on an ALT contig is
// reported along with it, as supplementary; any other one as secondary.
#pragma once
#include "algo/map/affine.hpp"

namespace gpualign {

GPUALIGN_HD bool alt_hit_is_reported(int32_t alt_score, int32_t primary_score) { return alt_score > primary_score; }

// The quality of a hit on an ALT contig, which the one on the primary assembly bounds. Heuristic: an edit of a read with 1.7 % of
// errors is worth 13 (3 e / (1 - e), as in mapping_quality.hpp); a lead of half an edit is none.
GPUALIGN_HD uint8_t alt_mapq(uint8_t among_alt, int32_t lead, int32_t edit_cost) {
    if (2 * lead <= edit_cost) return 0;
    const int32_t bound = 13 * lead / edit_cost;
    return bound < among_alt ? uint8_t(bound) : among_alt;
}

}  // namespace gpualign
