// The steps of mapping reads by chaining: chains, then the dynamic programs of tasks[0], cuts, those of tasks[1], alignments,
// records. Each works on one read or one chain of a batch; reads and chains of a step do not depend on each other.
//
// 1. Minimizers to anchors to chains (Li 2018, minimap2); the best ones are planned: points, and what lies between.
// 2. Banded affine alignment between points and at both ends.
// 3. Where the score drops, a chain is cut: each piece has ends of its own.
// 4. As 2.
// 5. CIGARs are put together.
// 6. Of a read's alignments the best is its primary record.
#pragma once
#include "algo/map/chain/chains.hpp"
#include "algo/map/chain/report.hpp"

namespace gpualign {

// All chains of sorted anchors, best first, equal ones in an order that `draw` says. Returns their number;
// `order` are their numbers. `space` takes as many chains as there are ends, kNoItem where there is no space.
template <class Group, class Text>
GPUALIGN_HOST_DEVICE uint32_t find_chains(const Group& group, const ChainRules& rules, const Text& text, const ChainNodes& nodes, uint32_t n,
                                      uint32_t draw, const Arena<AnchorChain>& space, AnchorChain*& chains, uint32_t*& order) {
    score_anchors(group, rules, text, nodes, n);
    const uint32_t ends = find_chain_ends(group, rules, nodes, n);
    const uint32_t first = group.from(group.lane() == 0 ? take(space, ends) : 0u, 0);
    if (first == kNoItem) return 0;
    chains = space.items + first;
    const uint32_t scatter = drawn(draw, DrawFor::chain) & (power_of_two(n) - 1);
    const uint32_t found = backtrack_chains(group, rules, text, nodes, n, ends, scatter, chains);
    sort_keys(group, nodes.keys, found);
    order = reinterpret_cast<uint32_t*>(nodes.score);  // scores have been used
    for (uint32_t c = group.lane(); c < found; c += Group::kLanes) order[c] = uint32_t(nodes.stretches[uint32_t(nodes.keys[c]) ^ scatter].begin);
    group.sync();
    return found;
}

// The chains of a read that are aligned, from its sorted anchors.
template <class Group, class Text>
GPUALIGN_HOST_DEVICE void chain_anchors(const Group& group, const ChainBatch& batch, const Text& text, const ChainQuery& query, uint32_t r,
                                    const ChainNodes& nodes, uint32_t n, int32_t max_suboptimal) {
    ChainRead& state = batch.state[r];
    AnchorChain* candidates;
    uint32_t* order;
    const uint32_t found = find_chains(group, batch.rules, text, nodes, n, state.draw, batch.candidates, candidates, order);
    cover_reads(group, batch.rules, query.length(), nodes, found, candidates);
    if (group.lane() == 0) {
        const uint32_t chosen = choose_chains(batch.rules, max_suboptimal, nodes, found, order, candidates);
        state.first_chosen = take(batch.chains, chosen);
        state.chosen = state.first_chosen == kNoItem ? 0 : chosen;
        for (uint32_t c = 0; c < state.chosen; c++) {
            const AnchorChain& chain = candidates[order[c]];
            ChosenChain& out = batch.chains.items[state.first_chosen + c];
            out = ChosenChain{};
            out.anchors = nodes.chained + chain.first;
            out.anchor_count = chain.last - chain.first;
            out.read = r;
            out.contig = chain.contig;
            out.score = chain.score;
            out.unaligned = chain.unaligned;
            out.reverse = chain.reverse;
        }
    }
    group.sync();
    for (uint32_t c = 0; c < state.chosen; c++) plan_chain(group, batch, text, query, batch.chains.items[state.first_chosen + c]);
}

GPUALIGN_HOST_DEVICE void cut_chain(const ChainBatch& batch, uint32_t number) {
    ChosenChain& chain = batch.chains.items[number];
    const int32_t length = int32_t(batch.offsets[chain.read + 1] - batch.offsets[chain.read]);
    ChainCutter(batch, chain, length).run();
}

template <class Text>
GPUALIGN_HOST_DEVICE void finish_chain(const ChainBatch& batch, const Text& text, uint32_t number) {
    ChosenChain& chain = batch.chains.items[number];
    ChainFinisher<Text>(batch, text, query_of(batch, chain.read), chain, number).run();
}

template <class Text>
GPUALIGN_HOST_DEVICE void report_read(const ChainBatch& batch, const Text& text, uint32_t r) {
    ReadReporter<Text>(batch, text, r).run();
}

// The first step where the memory of all reads is that of the batch; called by all lanes.
template <class Group, class Text>
GPUALIGN_HOST_DEVICE void chain_read(const Group& group, const ChainBatch& batch, const IndexView& index, const Text& text, uint32_t r) {
    const int64_t from = batch.offsets[r], length = batch.offsets[r + 1] - from;
    const uint64_t at = first_word(batch, r);
    const int32_t words = int32_t(length / kBasesPerWord + 2);
    const bool clean = pack_read(group, batch.bases + from, int32_t(length), words, batch.words + at, batch.not_acgt + at);
    const MapRead read{batch.words + at, batch.not_acgt + at, int32_t(length), 0, 0, clean, 0};
    if (group.lane() == 0) batch.state[r] = {0, 0, 0, 0, 0, 0, uint32_t(reverse_comes_first(read)) | uint32_t(clean) << 1,
                                                batch.draws[r]};
    group.sync();
    if (length > kLongestChained) return;
    const ChainQuery query = query_of(batch, r);
    const uint32_t space = uint32_t(max(int32_t(length), int32_t(power_of_two(uint32_t(batch.rules.stretch)))));
    const uint32_t hashes = group.from(group.lane() == 0 ? take(batch.hashes, space + space / 2 + 1) : 0u, 0);
    if (hashes == kNoItem) return;
    uint64_t* keys = batch.hashes.items + hashes;
    uint32_t* minimizers = reinterpret_cast<uint32_t*>(keys + space);
    uint32_t first_seed;
    const uint32_t seeds = find_chain_seeds(group, query, batch.rules, index, keys, minimizers, batch.seeds, first_seed);
    if (!seeds) return;
    ChainSeed* found = batch.seeds.items + first_seed;
    const uint32_t n = follow_seeds(group, found, seeds, batch.rules, uint32_t(batch.rules.max_hits), keys);
    if (!n) return;
    const uint32_t capacity = power_of_two(n);
    const uint32_t words_at = group.from(group.lane() == 0 ? take(batch.anchors, kAnchorWords * capacity) : 0u, 0);
    if (words_at == kNoItem) return;
    const ChainNodes nodes = nodes_at(batch.anchors.items + words_at, capacity);
    expand_anchors(group, found, seeds, batch.rules.k, int32_t(length), index, nodes.anchors);
    chain_anchors(group, batch, text, query, r, nodes, n, batch.rules.max_suboptimal);
}

// What is reported of a read; called by one lane.
template <class Text>
GPUALIGN_HOST_DEVICE void write_outputs(const ChainBatch& batch, const Text& text, uint32_t r) {
    ChainRead& state = batch.state[r];
    const RankedAlignment* ranked = batch.ranked.items + state.first_ranked;
    uint32_t operations = 0;
    int32_t secondary = 0;
    state.outputs = 0;
    for (uint32_t p = 0; p < state.ranked; p++) {
        if (ranked[p].kind == ChainKind::secondary && ++secondary > batch.max_secondary) break;
        operations += batch.alignments.items[ranked[p].alignment].operations;
        state.outputs++;
    }
    state.first_output = take(batch.outputs, state.outputs);
    uint32_t cigar = take(batch.output_cigars, operations);
    if (state.first_output == kNoItem || cigar == kNoItem) return;
    for (uint32_t p = 0; p < state.outputs; p++) {
        const ChainAlignment& a = batch.alignments.items[ranked[p].alignment];
        const ChosenChain& chain = batch.chains.items[a.chain];
        const uint16_t kind = ranked[p].kind == ChainKind::primary         ? uint16_t(0)
                              : ranked[p].kind == ChainKind::supplementary ? kFlagSupplementary
                                                                           : kFlagSecondary;
        const bool reverse = (chain.reverse != 0) != ((state.flipped & 1) != 0);
        batch.outputs.items[state.first_output + p] = {chain.contig, uint32_t(a.begin - text.contig_begin(chain.contig)), a.score, cigar,
                                                       a.operations, uint16_t(kind | (reverse ? kFlagReverse : 0)), ranked[p].mapq};
        for (uint32_t o = 0; o < a.operations; o++) batch.output_cigars.items[cigar + o] = batch.cigars.items[a.cigar + o];
        cigar += a.operations;
    }
}

}  // namespace gpualign
