// The steps of mapping by chaining. Each works on one read or one chain of a batch; the reads or chains of a step are
// independent.
//
// 1. Minimizers to anchors to chains (Li 2018, minimap2); the best chains are planned: points and segments.
// 2. Banded affine alignment between points and at both ends.
// 3. Chains are cut where the score drops; the pieces are extended at their ends.
// 4. Banded affine alignment of these ends.
// 5. CIGARs are assembled.
// 6. The alignments of a read are ranked; the best is its primary record.
#pragma once
#include "algo/map/chain/choice.hpp"
#include "algo/map/chain/clusters.hpp"
#include "algo/map/chain/report.hpp"

namespace gpualign {

GPUALIGN_HD uint32_t chain_scatter(uint32_t tie_break, uint32_t anchors) {
    return tie_break_for(tie_break, TieBreakFor::chain) & (power_of_two(anchors) - 1);
}

// Indices of the chains found, best first, ties by the tie-break hash.
template <class Group>
GPUALIGN_HOST_DEVICE uint32_t* order_chains(
    const Group& group, const ChainNodes& nodes, uint32_t n, uint32_t tie_break, uint32_t found) {
    sort_many_keys(group, nodes.keys, found);
    uint32_t* order = reinterpret_cast<uint32_t*>(nodes.score);  // reuses the scores
    const uint32_t scatter = chain_scatter(tie_break, n);
    for (uint32_t c = group.lane(); c < found; c += Group::kLanes)
        order[c] = uint32_t(nodes.intervals[uint32_t(nodes.keys[c]) ^ scatter].begin);
    group.sync();
    return order;
}

// Chooses the chains of a read to align.
template <class Group, class Text>
GPUALIGN_HOST_DEVICE void choose_chains(const Group& group, const ChainBatch& batch, const Text& text,
    const ChainQuery& query, uint32_t r, const ChainNodes& nodes, uint32_t n, const FoundChains& all,
    int32_t max_suboptimal) {
    ChainRead& state = batch.state[r];
    AnchorChain* candidates = batch.candidates.items + all.first;
    uint32_t* order = order_chains(group, nodes, n, state.tie_break, all.count);
    cover_reads(group, batch.rules, query.length(), nodes, all.count, candidates);
    const uint32_t chosen = ChainChoice<Group>(group, batch.rules, max_suboptimal, nodes, order, candidates)
                                .run(all, n, chain_scatter(state.tie_break, n), query.length());
    const uint32_t first = group.from(group.lane() == 0 ? take(batch.chains, chosen) : 0u, 0);
    for (uint32_t c = group.lane(); c < chosen && first != kNoItem; c += Group::kLanes) {
        const AnchorChain& chain = candidates[order[c]];
        ChosenChain& out = batch.chains.items[first + c];
        out = ChosenChain{};
        out.anchors = nodes.chained + chain.first;
        out.anchor_count = chain.last - chain.first;
        out.read = r;
        out.contig = text.contig_of(anchor_reference(out.anchors[0]));
        out.score = chain.score;
        out.unaligned = chain.unaligned;
        out.reverse = chain.reverse;
        out.alone = !chain.secondary && !chain.aligned && 4 * int64_t(chain.unaligned) < chain.score;
    }
    if (group.lane() == 0) {
        state.first_chosen = first;
        state.chosen = first == kNoItem ? 0 : chosen;
    }
    group.sync();
}

// Finds the chains of a read's sorted anchors.
template <class Group, class Text>
GPUALIGN_HOST_DEVICE FoundChains find_chains(
    const Group& group, const ChainBatch& batch, const Text& text, uint32_t r, const ChainNodes& nodes, uint32_t n) {
    return ChainFinder<Group, Text>(group, batch.rules, text, nodes, n)
        .run(chain_scatter(batch.state[r].tie_break, n), batch.candidates);
}

// Finds and chooses the chains of a read's sorted anchors.
template <class Group, class Text>
GPUALIGN_HOST_DEVICE void chain_anchors(const Group& group, const ChainBatch& batch, const Text& text,
    const ChainQuery& query, uint32_t r, const ChainNodes& nodes, uint32_t n, int32_t max_suboptimal) {
    const FoundChains found = find_chains(group, batch, text, r, nodes, n);
    choose_chains(group, batch, text, query, r, nodes, n, found, max_suboptimal);
}

// Plans the DP tasks between the points of a chain; if a short read has many chains, only of promising ones.
constexpr uint32_t kManyChains = 32;

template <class Group, class Text>
GPUALIGN_HOST_DEVICE void plan_segments(
    const Group& group, const ChainBatch& batch, const Text& text, uint32_t number) {
    ChosenChain& chain = batch.chains.items[number];
    const ChainQuery query = query_of(batch, chain.read);
    const bool is_short = batch.rules.min_anchors == 1;  // then group is one lane
    if (is_short) find_exact(batch.rules, query, text, chain);
    if (!is_short || batch.state[chain.read].chosen <= kManyChains || is_promising(batch.rules, chain, query, text))
        plan_chain(group, batch, text, query, chain);
}

// Plans the alignment of a chain's left or right end, once all chains of its read have their points.
template <class Text>
GPUALIGN_HOST_DEVICE void plan_chain_end(const ChainBatch& batch, const Text& text, uint32_t number) {
    ChosenChain& chain = batch.chains.items[number / 2];
    if (!chain.points || chain.first_point == kNoItem) return;
    const bool left = number % 2 == 0;
    const ChainPoint& point = batch.points.items[chain.first_point + (left ? 0 : chain.points - 1)];
    const ChainQuery query = query_of(batch, chain.read);
    const uint32_t end = plan_end(batch, text, query, chain, left, point);
    (left ? chain.left : chain.right) = end;
    if (end == kNoItem || !has_introns(batch.rules)) return;
    EndIntron found{0, 0};
    if (batch.rules.min_anchors == 1 && number / 2 - batch.state[chain.read].first_chosen < kBestChains)
        found = find_end_intron(batch.rules, text, query, chain,
            transcript_strands(batch.rules, chain.reverse != uint8_t(query.flipped)), left, point);
    plan_over_introns(batch, chain, query, left, point, found, left ? chain.left_over : chain.right_over);
}

// Plans all chains of a read.
template <class Group, class Text>
GPUALIGN_HOST_DEVICE void plan_chains(const Group& group, const ChainBatch& batch, const Text& text, uint32_t r) {
    const uint32_t first = batch.state[r].first_chosen, count = batch.state[r].chosen;
    for (uint32_t c = 0; c < count; c++) plan_segments(group, batch, text, first + c);
    for (uint32_t end = group.lane(); end < 2 * count; end += Group::kLanes)
        plan_chain_end(batch, text, 2 * first + end);
    group.sync();
}

GPUALIGN_HOST_DEVICE void choose_transcript(const ChainBatch& batch, uint32_t number) {
    choose_transcript(batch, batch.chains.items[number]);
}

GPUALIGN_HOST_DEVICE void cut_chain(const ChainBatch& batch, uint32_t number) {
    ChosenChain& chain = batch.chains.items[number];
    if (!chain.points) return;
    const int32_t length = int32_t(batch.offsets[chain.read + 1] - batch.offsets[chain.read]);
    ChainCutter(batch, chain, length).run();
}

template <class Text>
GPUALIGN_HOST_DEVICE void finish_chain(const ChainBatch& batch, const Text& text, uint32_t number) {
    ChosenChain& chain = batch.chains.items[number];
    ChainFinisher<Text>(batch, text, query_of(batch, chain.read), chain, number).run();
}

template <class Group, class Text>
GPUALIGN_HOST_DEVICE void report_read(const Group& group, const ChainBatch& batch, const Text& text, uint32_t r) {
    ReadReporter<Group, Text>(group, batch, text, r).run();
}

// Packs a read and initialises its state; called by all lanes.
template <class Group> GPUALIGN_HOST_DEVICE void load_read(const Group& group, const ChainBatch& batch, uint32_t r) {
    const int64_t from = batch.offsets[r], length = batch.offsets[r + 1] - from;
    const uint64_t at = first_word(batch, r);
    const int32_t words = int32_t(length / kBasesPerWord + 2);
    const bool clean =
        pack_read(group, batch.bases + from, int32_t(length), words, batch.words + at, batch.not_acgt + at);
    const MapRead read{batch.words + at, batch.not_acgt + at, int32_t(length), 0, 0, clean, 0};
    if (group.lane() == 0)
        batch.state[r] = {0, 0, 0, 0, 0, 0,
            uint32_t(reverse_comes_first(read)) | uint32_t(clean) << 1 |
                uint32_t(conversion_of(batch.conversions, r)) << 2,
            batch.tie_breaks[r]};
    group.sync();
}

// A read's anchors, from this item of the batch's arena on.
struct FoundAnchors {
    uint32_t first, count;
};
GPUALIGN_HD ChainNodes nodes_of(const ChainBatch& batch, const FoundAnchors& found) {
    return nodes_at(batch.anchors.items + found.first, power_of_two(found.count));
}

// Finds the sorted anchors of a loaded read; called by all lanes.
template <class Group>
GPUALIGN_HOST_DEVICE FoundAnchors find_anchors(
    const Group& group, const ChainBatch& batch, const IndexView& index, uint32_t r, int32_t max_hits) {
    constexpr FoundAnchors kNone{0, 0};
    const ChainQuery query = query_of(batch, r);
    const int32_t length = query.length();
    if (length > kLongestChained) return kNone;
    const uint32_t space = uint32_t(max(length, int32_t(power_of_two(uint32_t(min(length, batch.rules.interval))))));
    const uint32_t hashes = group.from(group.lane() == 0 ? take(batch.hashes, space + space / 2 + 1) : 0u, 0);
    if (hashes == kNoItem) return kNone;
    uint64_t* keys = batch.hashes.items + hashes;
    uint32_t* minimizers = reinterpret_cast<uint32_t*>(keys + space);
    uint32_t first_seed;
    const uint32_t seeds =
        find_chain_seeds(group, query, batch.rules, index, keys, minimizers, batch.seeds, first_seed);
    if (!seeds) return kNone;
    ChainSeed* found = batch.seeds.items + first_seed;
    const uint32_t n = follow_seeds(group, query, found, seeds, batch.rules, uint32_t(max_hits), keys);
    if (!n) return kNone;
    const uint32_t words = kAnchorWords * power_of_two(n);
    const uint32_t first = group.from(group.lane() == 0 ? take(batch.anchors, words) : 0u, 0);
    if (first == kNoItem) return kNone;
    uint64_t* const anchors = batch.anchors.items + first;
    expand_anchors(group, found, seeds, batch.rules.k, length, index, anchors);
    sort_many_keys(group, anchors, n);
    return {first, n};
}

// Loads, chains and plans a read.
template <class Group, class Text>
GPUALIGN_HOST_DEVICE void chain_read(
    const Group& group, const ChainBatch& batch, const IndexView& index, const Text& text, uint32_t r) {
    load_read(group, batch, r);
    if (batch.offsets[r + 1] - batch.offsets[r] < batch.min_length) return;
    const FoundAnchors found = find_anchors(group, batch, index, r, batch.rules.max_hits);
    if (!found.count) return;
    const ChainNodes nodes = nodes_of(batch, found);
    chain_anchors(group, batch, text, query_of(batch, r), r, nodes, found.count, batch.rules.max_suboptimal);
    plan_chains(group, batch, text, r);
}

GPUALIGN_HD uint16_t transcript_flag(const ChosenChain& chain) {
    return chain.transcript == kForwardTranscript   ? kFlagTranscriptForward
           : chain.transcript == kReverseTranscript ? kFlagTranscriptReverse
                                                    : uint16_t(0);
}

// A local alignment of a read as reported.
struct LocalAlignment {
    int64_t position;                // 0-based, in the contig
    int64_t span;                    // of reference bases
    int32_t query_begin, query_end;  // on the read's forward strand
    int32_t score, edits;            // affine, without clip penalties; of the aligned bases
    int32_t anchors;                 // within the alignment
    uint32_t contig;
    uint32_t cigar, operations;      // on the reference's forward strand
    ChainKind kind;
    uint8_t mapq;
    bool reverse;
    uint16_t transcript;  // flag of the strand that its introns' signals are on
};

// Alignment p in the order of records.
template <class Text>
GPUALIGN_HOST_DEVICE LocalAlignment local_alignment(const ChainBatch& batch, const Text& text, uint32_t r, uint32_t p) {
    const ChainRead& state = batch.state[r];
    const RankedAlignment& own = batch.ranked.items[state.first_ranked + p];
    const ChainAlignment& a = batch.alignments.items[own.alignment];
    const ChosenChain& chain = batch.chains.items[a.chain];
    const bool flipped = state.flipped & 1;
    const int32_t length = int32_t(batch.offsets[r + 1] - batch.offsets[r]);
    return {a.begin - text.contig_begin(chain.contig), a.end - a.begin, flipped ? length - own.end : own.begin,
        flipped ? length - own.begin : own.end, a.score - a.forgiven, a.columns - a.matches, a.anchors, chain.contig,
        a.cigar, a.operations, own.kind, own.mapq, (chain.reverse != 0) != flipped, transcript_flag(chain)};
}

// Writes the reported alignments of a read; called by one lane.
template <class Text> GPUALIGN_HOST_DEVICE void write_outputs(const ChainBatch& batch, const Text& text, uint32_t r) {
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
        batch.outputs.items[state.first_output + p] = {chain.contig,
            uint32_t(a.begin - text.contig_begin(chain.contig)), a.score - a.forgiven, cigar, a.operations,
            uint16_t(kind | (reverse ? kFlagReverse : 0) | transcript_flag(chain)), ranked[p].mapq};
        for (uint32_t o = 0; o < a.operations; o++)
            batch.output_cigars.items[cigar + o] = batch.cigars.items[a.cigar + o];
        cigar += a.operations;
    }
}

}  // namespace gpualign
