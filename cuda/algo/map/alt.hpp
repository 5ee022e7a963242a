// Hits on ALT contigs and hits on the primary assembly, combined as in bwa mem (README-alt.md in bwa's repository).
//
// The best locus and its mapping quality are chosen on the primary assembly alone. A better hit on an ALT contig is
// reported as supplementary, any other hit as secondary.
#pragma once
#include "algo/map/affine.hpp"

namespace gpualign {

GPUALIGN_HD bool alt_hit_is_reported(int32_t alt_score, int32_t primary_score) { return alt_score > primary_score; }

// Mapping quality of a hit on an ALT contig, bounded by its lead over the hit on the primary assembly. Heuristic: at
// an error rate of 1.7 % an edit is worth 13 (3 e / (1 - e), as in mapping_quality.hpp); half an edit is worth
// nothing.
GPUALIGN_HD uint8_t alt_mapq(uint8_t among_alt, int32_t lead, int32_t edit_cost) {
    if (2 * lead <= edit_cost) return 0;
    const int32_t bound = 13 * lead / edit_cost;
    return bound < among_alt ? uint8_t(bound) : among_alt;
}

}  // namespace gpualign
