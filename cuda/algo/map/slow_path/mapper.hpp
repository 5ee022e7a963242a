// The slow path, for reads of any length: chaining of reads that do not align end to end, or not well, and mates with
// clipped ends. Each step takes a template, or a mate, by a group of lanes; a step ends for all templates before the
// next one begins. Most steps are several kernels, as warps wait for the instructions of a larger one.
//
// 1. The loci of each mate by itself; then whether both mates of a pair are clipped at adapters, and the limits for
//    chaining.
// 2. Chains by minimizers: anchors, all chains, those to align. Then all of them are aligned (chain/steps.hpp).
// 3. Ranking of their alignments; then both steps again with all k-mers, for mates that still need it.
// 4. Both mates together: mate rescue, with clipped ends as well, and the choice of loci.
// 5. Records.
#pragma once
#include "algo/map/read_through.hpp"
#include "algo/map/slow_path/finder.hpp"
#include "algo/map/slow_path/records.hpp"

namespace gpualign {

// The mates of a pair, which are aligned with clipped ends as well.
template <bool LongGaps, class Group> class SlowPathMates : public MatesOfPair<Group, SlowPathFinder<Group>> {
    using Pair = MatesOfPair<Group, SlowPathFinder<Group>>;
    using Pair::group_, Pair::target_, Pair::finder_, Pair::workspace_, Pair::from_, Pair::to_, Pair::limit_;

public:
    GPUALIGN_HD SlowPathMates(SlowPathFinder<Group>& finder, const SlowPathTemplate<LongGaps, Group>& own)
        : Pair(own.group, own.batch.target, finder), own_(own) {}

    GPUALIGN_HD_CALL void measure() {
        for (int mate = 0; mate < 2; mate++)
            if (from_[mate] < to_[mate])
                search_long_windows(group_, finder_.read(mate), target_, workspace_, finder_.columns(), from_[mate],
                    to_[mate], 2 * limit_[mate], [&](bool is_window, uint32_t c, const WindowBest& best) {
                        if (is_window) workspace_.hits[c] = packed(best);
                    });
    }
    GPUALIGN_HD_CALL void align(int mate, const SearchedWindow& window, const MateBand& on) {
        if (own_.ended()) return;
        const uint32_t number = own_.align_read(mate, window.reverse, window.contig, on.diagonal, on.band);
        if (number == kNoItem) return;
        const ChainBatch& chains = own_.launch.chains[0];
        const BandTask& task = chains.tasks[0].items[number];
        const AffineScores& scores = own_.batch.rules.scores;
        if (!clipped_mate_is_better(scores, task.score, own_.best_score(mate))) return;
        const uint32_t* const cigar = chains.cigars.items + task.cigar;
        LocalAlignment clipped{};
        clipped.position = task.begin - target_.contig_offsets[window.contig];
        clipped.span = reference_span(cigar, cigar + task.operations);
        set_clipped_mate(scores, finder_.read(mate).length, window.reverse, cigar[0], cigar[task.operations - 1],
            task.score, clipped);
        clipped.contig = window.contig;
        clipped.cigar = task.cigar;
        clipped.operations = task.operations;
        group_.sync();
        if (own_.first_lane()) {
            own_.of.mates[mate].clipped = clipped;
            own_.of.mates[mate].has_clipped = 1;
        }
        group_.sync();
    }
    GPUALIGN_HD_CALL void keep_aligned() {
        for (int mate = 0; mate < 2; mate++)
            if (own_.of.mates[mate].has_clipped) finder_.add_locals(mate, own_.locals(mate));
    }

private:
    const SlowPathTemplate<LongGaps, Group>& own_;
};

template <bool LongGaps, class Group> class SlowPathMapper {
    using Template = SlowPathTemplate<LongGaps, Group>;

public:
    GPUALIGN_HD SlowPathMapper(
        const Group& group, const SlowPathLaunch& launch, const SlowPathMemory& memory, uint32_t number)
        : group_(group), launch_(launch), batch_(launch.batch), memory_(memory), of_(template_of(launch, number)),
          own_(group, launch, memory, of_) {}

    GPUALIGN_HOST_DEVICE void find(int mate) {
        if (mate >= of_.count) return;
        begin(mate);
        SlowPathFinder<Group> finder(group_, launch_, memory_, of_, mate);
        const int32_t insert = insert_of(mate);
        if (insert && insert < own_.read_length(mate)) set_length(mate, insert);
        if (!finder.take_found(mate)) finder.find(mate);
        if (of_.mates[mate].found.too_many) own_.set_status(MapRecord::kOnHost);
        group_.sync();
    }

    // Decides for both mates of a pair whether they are clipped beyond their insert, also of a pair that would be
    // chained as an indel hides its insert; then sets the limits for chaining.
    GPUALIGN_HOST_DEVICE void clip_adapters() {
        if (own_.ended()) return;
        SlowPathFinder<Group> finder(group_, launch_, memory_, of_, 0);
        if (tells_inserts()) {
            take_back_clips(finder);
            clip_at_gapped_inserts(finder);
        }
        for (int mate = 0; mate < of_.count; mate++)
            if (would_chain(mate)) want_chains(mate);
    }

    GPUALIGN_HOST_DEVICE void seed(int mate) {
        if (!wants_chains(mate)) return;
        const FoundAnchors found =
            find_anchors(group_, chains(), batch_.target.index, own_.read_number(mate), of_.mates[mate].depth.max_hits);
        if (own_.first_lane()) of_.mates[mate].anchors = found;
    }
    GPUALIGN_HOST_DEVICE void chain(int mate) {
        if (!wants_chains(mate)) return;
        const FoundAnchors anchors = of_.mates[mate].anchors;
        FoundChains found{};
        if (anchors.count)
            found = find_chains(
                group_, chains(), own_.text, own_.read_number(mate), nodes_of(chains(), anchors), anchors.count);
        if (own_.first_lane()) of_.mates[mate].found_chains = found;
    }
    GPUALIGN_HOST_DEVICE void select(int mate) {
        if (!wants_chains(mate) || !of_.mates[mate].anchors.count) return;
        const MateState& state = of_.mates[mate];
        const uint32_t r = own_.read_number(mate);
        choose_chains(group_, chains(), own_.text, query_of(chains(), r), r, nodes_of(chains(), state.anchors),
            state.anchors.count, state.found_chains, state.depth.max_suboptimal);
    }

    // Ranks a mate's alignments; decides whether it is chained again.
    GPUALIGN_HOST_DEVICE void rank(int mate) {
        if (!wants_chains(mate)) return;
        MateState& state = of_.mates[mate];
        const uint32_t r = own_.read_number(mate);
        report_read(group_, chains(), own_.text, r);
        if (own_.ended()) return;
        const bool first_round = launch_.round == 0;
        const int32_t before = first_round ? 0 : own_.best_score(mate);
        const uint32_t ranked = chains().state[r].ranked;
        const LocalAlignment best = ranked ? local_alignment(chains(), own_.text, r, 0) : LocalAlignment{};
        const bool again = first_round && state.found.loci == 0 &&
                           wants_all_kmers(state.read.length, batch_.rules.scores, best.score, best.mapq);
        group_.sync();
        if (!own_.first_lane()) return;
        if (ranked && best.score > before) state.chains = uint8_t(launch_.round);
        if (!again && first_round) state.depth = {0, 0};
    }

    // Rescues the mates of a pair end to end, then with clipped ends.
    GPUALIGN_HOST_DEVICE void rescue() {
        if (own_.ended()) return;
        SlowPathFinder<Group> finder(group_, launch_, memory_, of_, 0);
        for (int mate = 0; mate < of_.count; mate++)
            if (of_.mates[mate].chained) finder.add_locals(mate, own_.locals(mate));
        SlowPathMates<LongGaps, Group> mates(finder, own_);
        if (of_.count == 2) rescue_mates(group_, batch_.rules, mates);
    }
    GPUALIGN_HOST_DEVICE void rescue_clipped() {
        if (own_.ended() || of_.count != 2 || !batch_.rules.local) return;
        SlowPathFinder<Group> finder(group_, launch_, memory_, of_, 0);
        SlowPathMates<LongGaps, Group> mates(finder, own_);
        rescue_clipped_mates(group_, batch_.rules, mates);
    }

    // Chooses at which loci the reads are reported.
    GPUALIGN_HOST_DEVICE void choose() {
        if (own_.ended()) return;
        const DeviceLocals of_reads[2] = {own_.locals(0), own_.locals(of_.count - 1)};
        SlowPathLoci loci[2] = {own_.loci(0), own_.loci(of_.count - 1)};
        for (int mate = 0; mate < 2; mate++) loci[mate].locals = &of_reads[mate];
        MapChoice choices[2];
        const uint32_t tie_break = of_.mates[0].read.tie_break;
        if (of_.count == 2) choose_pair(group_, batch_.rules, loci[0], loci[1], tie_break, choices);
        else choices[0] = choose_single(group_, batch_.rules, loci[0], tie_break);
        SlowPathRecords<LongGaps, Group> records(own_);
        for (int mate = 0; mate < of_.count; mate++) records.count(mate, loci[mate], choices[mate]);
    }

    // Writes every step-th of the records, from `from` on.
    GPUALIGN_HOST_DEVICE void write(uint32_t from, uint32_t step) {
        SlowPathRecords<LongGaps, Group>(own_).write(from, step);
    }
    GPUALIGN_HD void end() {
        if (*of_.status && own_.first_lane()) SlowPathRecords<LongGaps, Group>(own_).leave();
    }

private:
    GPUALIGN_HD const ChainBatch& chains() const { return launch_.chains[launch_.round]; }
    GPUALIGN_HD bool wants_chains(int mate) const {
        return mate < of_.count && of_.mates[mate].depth.max_hits != 0 && !own_.ended();
    }

    GPUALIGN_HOST_DEVICE void begin(int mate) {
        const uint32_t r = own_.read_number(mate);
        load_read(group_, launch_.chains[0], r);
        if (own_.first_lane()) {
            launch_.chains[1].state[r] = launch_.chains[0].state[r];
            MateState state{};
            state.read = query_of(launch_.chains[0], r).read;
            state.read.tie_break = batch_.tie_breaks[r];
            state.chained = maps_as_long(batch_.rules, state.read.length);
            state.chains = state.chained ? MateState::kLongChains : uint8_t(0);
            of_.mates[mate] = state;
        }
        set_length(mate, own_.read_length(mate));
    }

    // Sets the limits for chaining a mate.
    GPUALIGN_HD void want_chains(int mate) {
        if (!own_.first_lane()) return;
        MateState& state = of_.mates[mate];
        state.depth = chain_depth(batch_.rules, state.found.loci != 0);
        state.chained = 1;
    }

    GPUALIGN_HD bool would_chain(int mate) const {
        return !own_.clipped(mate) && wants_chaining(batch_.rules, own_.loci(mate), of_.mates[mate].found);
    }

    // Bases of a mate that are of the pair's insert, 0 if unknown (algo/map/read_through.hpp).
    GPUALIGN_HOST_DEVICE int32_t insert_of(int mate) const {
        if (!tells_inserts()) return 0;
        const MatesOfBatch mates = mates_of_batch();
        return read_through(group_, batch_.rules, mates.first, mates.second, mates).of[mate];
    }
    GPUALIGN_HD bool tells_inserts() const { return of_.count == 2 && !launch_.full; }
    GPUALIGN_HD MatesOfBatch mates_of_batch() const {
        return {launch_.chains[0].bases, launch_.chains[0].offsets, of_.first};
    }

    GPUALIGN_HOST_DEVICE void clip_at_gapped_inserts(SlowPathFinder<Group>& finder) {
        if (own_.clipped(0) || own_.clipped(1) || (!would_chain(0) && !would_chain(1))) return;
        const MatesOfBatch mates = mates_of_batch();
        const Inserts inserts = gapped_read_through(group_, mates.first, mates.second, mates);
        if (!inserts.of[0]) return;
        for (int mate = 0; mate < 2; mate++)
            if (inserts.of[mate] < own_.read_length(mate)) find_again(finder, mate, inserts.of[mate]);
        take_back_clips(finder);
    }

    // Takes back the clips of a pair that no adapter ends, and finds the loci of its mates again.
    GPUALIGN_HOST_DEVICE void take_back_clips(SlowPathFinder<Group>& finder) {
        if (keeps_clips(clip_of(0), clip_of(1))) return;
        for (int mate = 0; mate < 2; mate++)
            if (own_.clipped(mate)) find_again(finder, mate, own_.read_length(mate));
    }
    GPUALIGN_HOST_DEVICE Clip clip_of(int mate) const {
        if (!own_.clipped(mate)) return Clip::none;
        const ChainQuery whole{query_of(launch_.chains[0], own_.read_number(mate)).read, false};
        return clip_at_insert(group_, batch_.rules, own_.loci(mate), of_.mates[mate].found, whole, own_.text);
    }

    // Finds the loci of a mate with another length than before.
    GPUALIGN_HOST_DEVICE void find_again(SlowPathFinder<Group>& finder, int mate, int32_t length) {
        set_length(mate, length);
        finder.find(mate);
        if (of_.mates[mate].found.too_many) own_.set_status(MapRecord::kOnHost);
    }

    GPUALIGN_HD void set_length(int mate, int32_t length) {
        group_.sync();
        if (own_.first_lane()) {
            MapRead& read = of_.mates[mate].read;
            read.length = length;
            allow_edits(read, batch_.rules.limits[length], read.clean ? 0 : count_ambiguous(read));
        }
        group_.sync();
    }

    const Group& group_;
    const SlowPathLaunch& launch_;
    const MapBatch& batch_;
    const SlowPathMemory& memory_;
    const TemplateView of_;
    const Template own_;
};

}  // namespace gpualign
