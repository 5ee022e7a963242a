#include "abi/map.hpp"

#include "abi/fields.hpp"

namespace gpualign {

#define SCORES(field) GPUALIGN_FIELD(AffineScores, field)
#define PAIRS(field) GPUALIGN_FIELD(PairLibrary, field)
#define TARGET(field) GPUALIGN_FIELD(MapTarget, field)
#define RULES(field) GPUALIGN_FIELD(MapRules, field)
#define BATCH(field) GPUALIGN_FIELD(MapBatch, field)

std::vector<AbiStruct> map_abi() {
    return {{"HashSplit", sizeof(HashSplit), {GPUALIGN_FIELD(HashSplit, k), GPUALIGN_FIELD(HashSplit, bucket_bits)}},
            {"IndexView",
             sizeof(IndexView),
             {GPUALIGN_FIELD(IndexView, offsets), GPUALIGN_FIELD(IndexView, entries),
              abi_field("split", &IndexView::split, "HashSplit")}},
            {"AffineScores",
             sizeof(AffineScores),
             {SCORES(match), SCORES(mismatch), SCORES(gap_open), SCORES(gap_extend), SCORES(clip_penalty)}},
            {"PairLibrary", sizeof(PairLibrary), {PAIRS(min), PAIRS(max), PAIRS(orientation), PAIRS(unpaired_penalty)}},
            {"MapTarget",
             sizeof(MapTarget),
             {abi_field("index", &MapTarget::index, "IndexView"), TARGET(text), TARGET(acgt_mask), TARGET(contig_offsets),
              TARGET(contigs)}},
            {"MapRules",
             sizeof(MapRules),
             {RULES(k), RULES(w), RULES(max_hits), RULES(max_candidates), abi_field("scores", &MapRules::scores, "AffineScores"),
              RULES(local), RULES(max_secondary), RULES(strata), RULES(locus_bits), abi_field("pairs", &MapRules::pairs, "PairLibrary"),
              RULES(penalties), RULES(limits)}},
            {"MapBatch",
             sizeof(MapBatch),
             {abi_field("target", &MapBatch::target, "MapTarget"), abi_field("rules", &MapBatch::rules, "MapRules"), BATCH(bases),
              BATCH(offsets), BATCH(templates), BATCH(records), BATCH(further), BATCH(workspace), BATCH(next_template),
              BATCH(next_further), BATCH(template_count), BATCH(further_count),
              BATCH(workspace_hits), BATCH(workspace_loci), BATCH(workspace_trace), BATCH(reserved)}}};
}

}  // namespace gpualign
