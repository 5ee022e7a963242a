#include "abi/chains.hpp"
#include "abi/slow_path.hpp"

#include "abi/fields.hpp"

namespace gpualign {

#define SCORES(field) GPUALIGN_FIELD(AffineScores, field)
#define PAIRS(field) GPUALIGN_FIELD(PairLibrary, field)
#define TARGET(field) GPUALIGN_FIELD(MapTarget, field)
#define RULES(field) GPUALIGN_FIELD(MapRules, field)
#define BATCH(field) GPUALIGN_FIELD(MapBatch, field)

#define CHAIN_RULES(field) GPUALIGN_FIELD(ChainRules, field)
#define CHAINS(field) GPUALIGN_FIELD(ChainBatch, field)
#define ARENA(field) abi_field(#field, &ChainBatch::field, "Arena")
#define LAUNCH(field) GPUALIGN_FIELD(ChainLaunch, field)
#define READ(field) GPUALIGN_FIELD(ChainRead, field)
#define SLOW_PATH(field) GPUALIGN_FIELD(SlowPathLaunch, field)

// Structs of mapping by chaining.
std::vector<AbiStruct> chains_abi() {
    using AnyArena = Arena<uint8_t>;
    return {{"Arena", sizeof(AnyArena),
                {GPUALIGN_FIELD(AnyArena, items), GPUALIGN_FIELD(AnyArena, used), GPUALIGN_FIELD(AnyArena, capacity)}},
        {"ChainRules", sizeof(ChainRules),
            {CHAIN_RULES(k), CHAIN_RULES(w), CHAIN_RULES(interval), CHAIN_RULES(max_hits), CHAIN_RULES(max_gap),
                CHAIN_RULES(max_difference), CHAIN_RULES(min_chain_score), CHAIN_RULES(min_anchors),
                CHAIN_RULES(max_suboptimal), CHAIN_RULES(suboptimal_percent), CHAIN_RULES(query_gap),
                abi_field("scores", &ChainRules::scores, "AffineScores"), CHAIN_RULES(step), CHAIN_RULES(reach),
                CHAIN_RULES(zdrop), CHAIN_RULES(min_score), CHAIN_RULES(min_split), CHAIN_RULES(doubt),
                CHAIN_RULES(max_cells)}},
        {"ChainRead", sizeof(ChainRead),
            {READ(first_chosen), READ(chosen), READ(first_ranked), READ(ranked), READ(first_output), READ(outputs),
                READ(flipped), READ(tie_break)}},
        {"ChainBatch", sizeof(ChainBatch),
            {abi_field("rules", &ChainBatch::rules, "ChainRules"), CHAINS(bases), CHAINS(offsets), CHAINS(tie_breaks),
                CHAINS(conversions), CHAINS(reads), CHAINS(max_secondary), CHAINS(min_length), CHAINS(words),
                CHAINS(not_acgt), CHAINS(state), ARENA(hashes), ARENA(seeds), ARENA(anchors), ARENA(candidates),
                ARENA(chains), ARENA(points), ARENA(tasks), ARENA(runs), ARENA(cigars), ARENA(alignments),
                ARENA(ranked), ARENA(outputs), ARENA(output_cigars)}},
        {"ChainLaunch", sizeof(ChainLaunch),
            {abi_field("target", &ChainLaunch::target, "MapTarget"),
                abi_field("batch", &ChainLaunch::batch, "ChainBatch"), LAUNCH(workspace), LAUNCH(workspace_bytes),
                LAUNCH(min_bytes), LAUNCH(max_bytes), LAUNCH(next), LAUNCH(done_chains), LAUNCH(round)}}};
}

std::vector<AbiStruct> map_abi() {
    return {{"HashSplit", sizeof(HashSplit), {GPUALIGN_FIELD(HashSplit, k), GPUALIGN_FIELD(HashSplit, bucket_bits)}},
        {"IndexView", sizeof(IndexView),
            {GPUALIGN_FIELD(IndexView, offsets), GPUALIGN_FIELD(IndexView, entries),
                abi_field("split", &IndexView::split, "HashSplit"), GPUALIGN_FIELD(IndexView, positions),
                GPUALIGN_FIELD(IndexView, tags)}},
        {"AffineScores", sizeof(AffineScores),
            {SCORES(match), SCORES(mismatch), SCORES(gap_open), SCORES(gap_extend), SCORES(clip_penalty),
                SCORES(long_gap_open), SCORES(long_gap_extend)}},
        {"PairLibrary", sizeof(PairLibrary), {PAIRS(min), PAIRS(max), PAIRS(orientation), PAIRS(unpaired_penalty)}},
        {"MapTarget", sizeof(MapTarget),
            {abi_field("index", &MapTarget::index, "IndexView"), TARGET(text), TARGET(acgt_mask),
                TARGET(contig_offsets), TARGET(contigs)}},
        {"MapRules", sizeof(MapRules),
            {RULES(k), RULES(w), RULES(max_hits), RULES(max_candidates),
                abi_field("scores", &MapRules::scores, "AffineScores"), RULES(local), RULES(max_secondary),
                RULES(strata), RULES(locus_bits), abi_field("pairs", &MapRules::pairs, "PairLibrary"), RULES(penalties),
                RULES(limits)}},
        {"MapBatch", sizeof(MapBatch),
            {abi_field("target", &MapBatch::target, "MapTarget"), abi_field("rules", &MapBatch::rules, "MapRules"),
                BATCH(bases), BATCH(qualities), BATCH(offsets), BATCH(tie_breaks), BATCH(conversions), BATCH(templates),
                BATCH(records), BATCH(overflow_records), BATCH(workspace), BATCH(state), BATCH(counters),
                BATCH(next_overflow), BATCH(slow_templates), BATCH(slow_count), BATCH(template_count),
                BATCH(overflow_count), BATCH(workspace_hits), BATCH(workspace_loci), BATCH(workspace_band),
                BATCH(read_count)}},
        {"SlowPathLaunch", sizeof(SlowPathLaunch),
            {abi_field("batch", &SlowPathLaunch::batch, "MapBatch"),
                abi_field("chains", &SlowPathLaunch::chains, "ChainBatch"),
                abi_field("long_chains", &SlowPathLaunch::long_chains, "ChainBatch"), SLOW_PATH(states),
                SLOW_PATH(statuses), SLOW_PATH(workspace), SLOW_PATH(state_bytes), SLOW_PATH(workspace_bytes),
                SLOW_PATH(band_bytes), SLOW_PATH(max_band_bytes), SLOW_PATH(next), SLOW_PATH(done_chains),
                SLOW_PATH(wanted_loci), SLOW_PATH(wanted_hits), SLOW_PATH(wanted_band), SLOW_PATH(wanted_templates),
                SLOW_PATH(first), SLOW_PATH(templates), SLOW_PATH(round), SLOW_PATH(longest), SLOW_PATH(max_hits),
                SLOW_PATH(max_loci), SLOW_PATH(hit_limit), SLOW_PATH(mates), SLOW_PATH(full), SLOW_PATH(max_seeds)}}};
}

}  // namespace gpualign
