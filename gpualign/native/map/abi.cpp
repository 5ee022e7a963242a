#include "abi/chains.hpp"
#include "abi/slow_path.hpp"

#include "abi/fields.hpp"

namespace gpualign {

// Arenas of all items are laid out alike.
template <class Item> struct AbiType<Arena<Item>> {
    using type = Arena<uint8_t>;
};

// Structs of mapping by chaining.
std::vector<AbiStruct> chains_abi() {
    return {abi_struct<Arena<uint8_t>>("Arena", {GPUALIGN_FIELDS(Arena<uint8_t>, items, used, capacity)}),
        GPUALIGN_STRUCT(KnownIntrons, begins, ends, count),
        GPUALIGN_STRUCT(IntronRules, open, donor, acceptor, known, shortest, longest, strands),
        GPUALIGN_STRUCT(ChainRules, k, w, interval, max_hits, max_gap, max_difference, min_chain_score, min_anchors,
            max_suboptimal, suboptimal_percent, query_gap, scores, step, reach, zdrop, min_score, min_split, doubt,
            max_cells, introns),
        GPUALIGN_STRUCT(
            ChainRead, first_chosen, chosen, first_ranked, ranked, first_output, outputs, flipped, tie_break),
        GPUALIGN_STRUCT(ChainBatch, rules, bases, offsets, tie_breaks, conversions, known, reads, max_secondary,
            min_length, words, not_acgt, state, hashes, seeds, anchors, candidates, chains, points, tasks, runs, cigars,
            alignments, ranked, outputs, output_cigars),
        GPUALIGN_STRUCT(
            ChainLaunch, target, batch, workspace, workspace_bytes, min_bytes, max_bytes, next, done, round)};
}

std::vector<AbiStruct> map_abi() {
    return {GPUALIGN_STRUCT(HashSplit, k, bucket_bits),
        GPUALIGN_STRUCT(IndexView, offsets, entries, split, positions, tags),
        GPUALIGN_STRUCT(
            AffineScores, match, mismatch, gap_open, gap_extend, clip_penalty, long_gap_open, long_gap_extend),
        GPUALIGN_STRUCT(PairLibrary, min, max, orientation, unpaired_penalty, max_intron),
        GPUALIGN_STRUCT(MapTarget, index, text, acgt_mask, contig_offsets, contigs),
        GPUALIGN_STRUCT(MapRules, k, w, max_hits, max_candidates, scores, local, max_secondary, strata, locus_bits,
            pairs, penalties, limits),
        GPUALIGN_STRUCT(MapBatch, target, rules, bases, qualities, offsets, tie_breaks, conversions, templates, records,
            overflow_records, workspace, state, counters, next_overflow, slow_templates, slow_count, template_count,
            overflow_count, workspace_hits, workspace_loci, workspace_band, read_count),
        GPUALIGN_STRUCT(SlowPathLaunch, batch, chains, long_chains, states, statuses, workspace, state_bytes,
            workspace_bytes, band_bytes, max_band_bytes, next, done, wanted, first, templates, round, longest, max_hits,
            max_loci, hit_limit, mates, full, max_seeds)};
}

}  // namespace gpualign
