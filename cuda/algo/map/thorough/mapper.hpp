// A template whose reads want more than a look at their seeds: chains for those that do not align end to end, or not well, and a mate
// with clipped ends next to the other one; reads of any length. A team of groups of lanes takes a template from bases
// to records: one group decides, and all of them align.
//
// A Team has group(), the lanes that work as one; number(), which of kGroups it is; and sync(), until which all groups come.
#pragma once
#include "algo/map/thorough/aligner.hpp"
#include "algo/text/columns.hpp"

namespace gpualign {

template <bool LongGaps, class Team>
class ThoroughMapper {
    using Group = typename Team::Group;
    using Loci = MixedLoci<DeviceLocals>;

public:
    GPUALIGN_HD ThoroughMapper(const Team& team, const ThoroughLaunch& launch, const ThoroughMemory& memory, TemplateState& state)
        : team_(team), group_(team.group()), launch_(launch), batch_(launch.batch), text_{launch.batch.target}, memory_(memory),
          state_(state), finder_(group_, team.number(), launch, memory, state), aligner_(team, launch, memory, state) {}

    GPUALIGN_HOST_DEVICE void map(uint32_t number) {
        if (decides()) begin(number);
        team_.sync();
        for (int mate = int(team_.number()); mate < state_.mates; mate += int(Team::kGroups)) find(mate);
        team_.sync();
        for (int round = 0; round < 2; round++) chain(round);
        if (decides()) choose();
        team_.sync();
        write();
        team_.sync();
        if (decides() && state_.fate) leave();
        team_.sync();
    }

private:
    GPUALIGN_HD bool decides() const { return team_.number() == 0; }
    GPUALIGN_HD bool first_lane() const { return group_.lane() == 0; }
    GPUALIGN_HD void set_fate(uint16_t flag) { aligner_.set_fate(flag); }
    GPUALIGN_HD bool ended() const { return aligner_.ended(); }

    GPUALIGN_HD void begin(uint32_t number) {
        const uint32_t first = batch_.templates[number];
        const int32_t mates = int32_t(batch_.templates[number + 1] - first);
        if (first_lane()) {
            state_.first = first;
            state_.mates = mates;
            state_.fate = 0;
            for (int mate = 0; mate < mates; mate++) begin_read(mate);
        }
        group_.sync();
    }

    // Which the host looks up.
    GPUALIGN_HD bool wants_neighbours(int mate) const {
        const MapRead& read = state_.reads[mate];
        if (launch_.full || maps_as_long(batch_.rules, read.length)) return false;
        const int32_t distance = state_.found[mate].loci ? finder_.loci(mate).distance(0) : -1;
        return gpualign::wants_neighbours(read.length, read.unknown, batch_.rules.k, batch_.rules.w, distance) ||
               wants_rivals(read.length, batch_.rules.k, distance, state_.mates == 2);
    }

    GPUALIGN_HD void begin_read(int mate) {
        state_.depth[mate] = {0, 0};
        state_.has_clipped[mate] = 0;
        const uint32_t r = state_.first + uint32_t(mate);
        state_.chained[mate] = maps_as_long(batch_.rules, batch_.offsets[r + 1] - batch_.offsets[r]);
        state_.locals[mate] = state_.chained[mate] ? &launch_.long_chains : &launch_.chains[0];
    }

    GPUALIGN_HOST_DEVICE void load(int mate) {
        const uint32_t r = state_.first + uint32_t(mate);
        load_read(group_, launch_.chains[0], r);
        if (first_lane()) {
            launch_.chains[1].state[r] = launch_.chains[0].state[r];
            MapRead read = query_of(launch_.chains[0], r).read;
            read.draw = batch_.draws[r];
            if (!read.clean) read.unknown = forgiven_bases(read.length, count_unknown(read));
            read.limit = batch_.rules.limits[read.length] + read.unknown;
            state_.reads[mate] = read;
        }
        group_.sync();
    }

    // The loci of a mate by itself.
    GPUALIGN_HOST_DEVICE void find(int mate) {
        load(mate);
        finder_.find(mate);
        if (state_.found[mate].too_many || wants_neighbours(mate)) set_fate(MapRecord::kOnHost);
        plan(mate);
        group_.sync();
    }

    // Which chains to look for.
    GPUALIGN_HD void plan(int mate) {
        const FoundRead& found = state_.found[mate];
        const MapRead& read = state_.reads[mate];
        if (!batch_.rules.local || maps_as_long(batch_.rules, read.length) || !found.any_hits) return;
        const Loci loci = finder_.loci(mate);
        if (loci.count && !chaining_may_be_better(batch_.rules.scores, read.limit, loci.distance(0), loci.seed_hits(0), int32_t(found.failed),
                                                  int32_t(found.near_hits)))
            return;
        if (!first_lane()) return;
        state_.depth[mate] = chain_depth(batch_.rules, loci.count != 0);
        state_.chained[mate] = 1;
    }

    // Chains of the mates that want them, by minimizers, then of those that still do with all k-mers.
    GPUALIGN_HD_CALL void chain(int round) {
        const ChainBatch& chains = launch_.chains[round];
        for (int mate = int(team_.number()); mate < state_.mates; mate += int(Team::kGroups))
            if (wants_chains(mate) && !ended())
                chain_loaded_read(group_, chains, batch_.target.index, text_, state_.first + uint32_t(mate), state_.depth[mate].max_hits,
                                  state_.depth[mate].max_suboptimal);
        team_.sync();
        for_each_chained(chains, [&](const ChainRead&, uint32_t r) {
            if (!ended()) plan_chains(group_, chains, text_, r, team_.number(), Team::kGroups);
        });
        for (int pass = 0; pass < 2; pass++) {
            for_each_chained(chains, [&](const ChainRead& read, uint32_t) { aligner_.align_chains(chains, read, pass); });
            if (pass == 0) for_each_chained(chains, [&](const ChainRead& read, uint32_t) { aligner_.cut_chains(chains, read); });
        }
        for_each_chained(chains, [&](const ChainRead& read, uint32_t) { aligner_.finish_chains(chains, read); });
        for (int mate = int(team_.number()); mate < state_.mates; mate += int(Team::kGroups))
            if (wants_chains(mate) && !ended()) end_chains(round, mate);
        team_.sync();
    }
    // The same for both mates, by all groups.
    template <class Work>
    GPUALIGN_HD void for_each_chained(const ChainBatch& chains, Work&& work) {
        for (int mate = 0; mate < state_.mates; mate++)
            if (wants_chains(mate)) work(chains.state[state_.first + uint32_t(mate)], state_.first + uint32_t(mate));
        team_.sync();
    }
    GPUALIGN_HD bool wants_chains(int mate) const { return state_.depth[mate].max_hits != 0; }

    // Ranks a mate's alignments, and tells whether to look for more.
    GPUALIGN_HOST_DEVICE void end_chains(int round, int mate) {
        const ChainBatch& chains = launch_.chains[round];
        const uint32_t r = state_.first + uint32_t(mate);
        report_read(group_, chains, text_, r);
        if (ended()) return;
        const int32_t before = round ? best_score(mate) : 0;
        const uint32_t ranked = chains.state[r].ranked;
        const LocalAlignment best = ranked ? local_alignment(chains, text_, r, 0) : LocalAlignment{};
        const bool again = round == 0 && state_.found[mate].loci == 0 &&
                           wants_all_kmers(state_.reads[mate].length, batch_.rules.scores, best.score, best.mapq);
        group_.sync();
        if (!first_lane()) return;
        if (ranked && best.score > before) state_.locals[mate] = &chains;
        if (!again && round == 0) state_.depth[mate] = {0, 0};
    }

    GPUALIGN_HD DeviceLocals locals(int mate) const {
        return {state_.locals[mate], text_, state_.first + uint32_t(mate), state_.has_clipped[mate] ? &state_.clipped[mate] : nullptr};
    }
    GPUALIGN_HD int32_t best_score(int mate) const {
        const DeviceLocals own = locals(mate);
        return own.size() ? own[0].score : 0;
    }

    // At which loci the reads are reported.
    GPUALIGN_HD_CALL void choose() {
        group_.sync();
        if (ended()) return;
        for (int mate = 0; mate < state_.mates; mate++)
            if (state_.chained[mate]) finder_.add_locals(mate, locals(mate));
        if (state_.mates == 2) find_mates();
        const DeviceLocals of_reads[2] = {locals(0), locals(state_.mates - 1)};
        Loci loci[2] = {finder_.loci(0), finder_.loci(state_.mates - 1)};
        for (int mate = 0; mate < 2; mate++) loci[mate].locals = &of_reads[mate];
        MapChoice choices[2];
        if (state_.mates == 2) choose_pair(group_, batch_.rules, loci[0], loci[1], state_.reads[0].draw, choices);
        else choices[0] = choose_single(group_, batch_.rules, loci[0], state_.reads[0].draw);
        for (int mate = 0; mate < state_.mates; mate++) count_records(mate, loci[mate], choices[mate]);
    }

    GPUALIGN_HOST_DEVICE void find_mates() {
        MateRescue<Group, ThoroughFinder<Group>> rescue(group_, batch_.target, batch_.rules, finder_);
        rescue.run();
        for (int mate = 0; mate < 2 && batch_.rules.local; mate++) {
            const MapRead& read = state_.reads[mate];
            if (!wants_clipped_mate(batch_.rules, state_.found[mate].loci, read.length, read.limit)) continue;
            rescue.clear();
            find_clipped(mate, rescue.add_windows(mate, read.limit));
        }
    }

    // A mate with clipped ends: the best alignment in the windows.
    GPUALIGN_HD_CALL void find_clipped(int mate, uint32_t windows) {
        const MapRead& read = state_.reads[mate];
        const int32_t limit = 2 * read.limit;
        uint64_t* const best_of = finder_.workspace().hits;
        search_long_windows(group_, read, batch_.target, finder_.workspace(), finder_.columns(), 0, windows,
                            [&](bool is_window, uint32_t c, const WindowBest& best) {
                                if (is_window) best_of[c] = packed(best);
                            });
        for (uint32_t w = 0; w < windows && !ended(); w++) {
            const WindowBest best = unpacked(best_of[w]);
            const uint64_t candidate = finder_.workspace().candidates[w];
            const int64_t begin = finder_.workspace().window_begin[candidate_window(candidate)];
            const int64_t columns = finder_.workspace().window_columns[candidate_window(candidate)] & ~kClippedWindow;
            const bool whole = best.distance <= uint32_t(limit), reverse = candidate_reverse(candidate);
            if (!whole && columns > kWidestWindow) continue;
            const uint32_t contig = contig_of(batch_.target, begin);
            const int32_t band = whole ? 2 * limit + 1 : window_band(columns, read.length);  // any part of it
            const int64_t first = whole ? begin + best.end - read.length - limit : begin - read.length;
            const uint32_t task = aligner_.align_alone(mate, reverse, contig, first, band);
            if (task != kNoItem) keep_clipped(mate, launch_.chains[0].tasks[0].items[task], contig, reverse);
        }
        if (state_.has_clipped[mate]) finder_.add_locals(mate, locals(mate));
    }

    GPUALIGN_HOST_DEVICE void keep_clipped(int mate, const BandTask& task, uint32_t contig, bool reverse) {
        const int32_t score = task.score;
        if (!clipped_mate_is_better(batch_.rules.scores, score, best_score(mate))) return;
        const CigarText cigar{launch_.chains[0].cigars.items + task.cigar, task.operations};
        const auto clip = [&](uint32_t i) { return cigar.operation(i) == kCigarS ? int32_t(cigar.length(i)) : 0; };
        const int32_t front = clip(0), back = clip(cigar.count - 1);
        LocalAlignment own{};
        own.position = task.begin - batch_.target.contig_offsets[contig];
        own.span = reference_span(cigar.operations, cigar.operations + cigar.count);
        own.query_begin = reverse ? back : front;
        own.query_end = state_.reads[mate].length - (reverse ? front : back);
        own.score = score;
        own.edits = edits_of_clipped(batch_.rules.scores, own.query_end - own.query_begin, score);
        own.contig = contig;
        own.cigar = task.cigar;
        own.operations = task.operations;
        own.kind = ChainKind::primary;
        own.reverse = reverse;
        group_.sync();
        if (first_lane()) {
            state_.clipped[mate] = own;
            state_.has_clipped[mate] = 1;
        }
        group_.sync();
    }

    // How many records a read has, and where they lie.
    GPUALIGN_HOST_DEVICE void count_records(int mate, const Loci& loci, const MapChoice& choice) {
        uint32_t secondary = 0, supplementary = 0, further = 0;
        for (uint32_t p = 0; secondary < uint32_t(batch_.rules.max_secondary); p++) {
            p = next_secondary(batch_.rules, loci, choice.locus, p);
            if (p >= loci.count) break;
            if (first_lane()) memory_.secondary[mate][secondary] = p;
            secondary++;
        }
        if (loci.count && loci.local(choice.locus))
            for (size_t part = 0; part < loci.locals->size(); part++)
                supplementary += (*loci.locals)[part].kind == ChainKind::supplementary;
        if (secondary + supplementary && !take_further(secondary + supplementary, further)) return set_fate(MapRecord::kNoSpace);
        if (!first_lane()) return;
        state_.choices[mate] = choice;
        state_.further[mate] = further;
        state_.supplementary[mate] = supplementary;
        state_.secondary[mate] = secondary;
    }

    GPUALIGN_HD bool take_further(uint32_t count, uint32_t& first) {
        first = group_.take_together(batch_.next_further, count);
        return uint64_t(first) + count <= batch_.further_count;
    }

    // All records, by all groups.
    GPUALIGN_HOST_DEVICE void write() {
        uint32_t number = 0;
        for (int mate = 0; mate < state_.mates && !ended(); mate++) {
            const uint32_t others = state_.supplementary[mate] + state_.secondary[mate];
            for (uint32_t i = 0; i <= others; i++, number++)
                if (number % Team::kGroups == team_.number() && !ended()) write_record(mate, i);
        }
    }

    // Record i of a read: the primary one, supplementary ones, secondary ones.
    GPUALIGN_HD_CALL void write_record(int mate, uint32_t i) {
        const Loci loci = finder_.loci(mate);
        MapFacts facts{};
        MapRecord& to = i ? batch_.further[state_.further[mate] + i - 1] : batch_.records[state_.first + uint32_t(mate)];
        if (loci.count == 0) {
            facts.flag = kFlagUnmapped;
            return put(to, facts, nullptr, 0);
        }
        const uint32_t parts = state_.supplementary[mate];
        const MapChoice& choice = state_.choices[mate];
        if (i == 0) {
            facts.flag = choice.proper ? kFlagProper : uint16_t(0);
            facts.mapq = choice.mapq;
            facts.secondary = parts + state_.secondary[mate];
            facts.first_secondary = state_.further[mate];
        } else if (i <= parts) {
            facts.flag = kFlagSupplementary;
            return put_local(to, facts, mate, part_of(mate, i - 1), true);
        } else {
            facts.flag = kFlagSecondary;
        }
        const Locus& locus = loci.list[i ? memory_.secondary[mate][i - 1 - parts] : choice.locus];
        if (locus.local >= 0) put_local(to, facts, mate, locals(mate)[size_t(locus.local)], false);
        else put_whole(to, facts, mate, locus);
    }

    GPUALIGN_HD LocalAlignment part_of(int mate, uint32_t number) const {
        const DeviceLocals own = locals(mate);
        size_t at = 0;
        while (own[at].kind != ChainKind::supplementary || number--) at++;
        return own[at];
    }

    GPUALIGN_HOST_DEVICE void put_local(MapRecord& to, MapFacts& facts, int mate, const LocalAlignment& local, bool with_quality) {
        facts.flag = uint16_t(facts.flag | (local.reverse ? kFlagReverse : 0));
        if (with_quality) facts.mapq = local.mapq;
        facts.contig = local.contig;
        facts.position = uint32_t(local.position);
        facts.score = local.score;
        facts.distance = MapRecord::kNoDistance;
        put(to, facts, locals(mate).cigars() + local.cigar, local.operations);
    }

    GPUALIGN_HOST_DEVICE void put_whole(MapRecord& to, MapFacts& facts, int mate, const Locus& locus) {
        if (locus.distance >= int32_t(MapRecord::kNoDistance)) return set_fate(MapRecord::kOnHost);
        const MapRead& read = state_.reads[mate];
        const int64_t left = batch_.target.contig_offsets[locus.contig];
        facts.flag = uint16_t(facts.flag | (locus.reverse ? kFlagReverse : 0));
        facts.contig = locus.contig;
        facts.distance = uint16_t(locus.distance);
        if (locus.distance == 0) {
            const uint32_t all = uint32_t(read.length) << 4 | kCigarM;
            facts.position = uint32_t(locus.begin - left);
            facts.score = read.length * batch_.rules.scores.match;
            return put(to, facts, &all, 1);
        }
        const uint32_t number = aligner_.align_whole(mate, locus.reverse, locus.contig, locus.end, read.limit);
        if (number == kNoItem) return;
        const BandTask& task = launch_.chains[0].tasks[0].items[number];
        facts.position = uint32_t(task.begin - left);
        facts.score = task.score;
        put(to, facts, launch_.chains[0].cigars.items + task.cigar, task.operations);
    }

    // A short CIGAR lies in the record.
    GPUALIGN_HD_CALL void put(MapRecord& to, MapFacts& facts, const uint32_t* cigar, uint32_t operations) {
        constexpr uint32_t kLongestNarrow = 0xFFF;
        bool wide = operations > MapRecord::kMaxOperations;
        for (uint32_t o = 0; o < operations && !wide; o++) wide = cigar[o] >> 4 > kLongestNarrow;
        if (wide) {
            const uint32_t bytes = (operations + 1) * uint32_t(sizeof(uint32_t));
            if (!take_further((bytes + sizeof(MapRecord) - 1) / sizeof(MapRecord),
                facts.long_cigar)) return set_fate(MapRecord::kNoSpace);
            uint32_t* const out = reinterpret_cast<uint32_t*>(batch_.further + facts.long_cigar);
            for (uint32_t o = group_.lane(); o < operations; o += Group::kLanes) out[o + 1] = cigar[o];
            if (first_lane()) out[0] = operations;
            facts.flag |= MapRecord::kWideCigar;
        } else {
            facts.operations = uint16_t(operations);
            for (uint32_t o = group_.lane(); o < MapRecord::kMaxOperations; o += Group::kLanes)
                to.cigar[o] = o < operations ? uint16_t(cigar[o]) : uint16_t(0);
        }
        if (first_lane()) static_cast<MapFacts&>(to) = facts;
        group_.sync();
    }

    // The host hears what became of the template.
    GPUALIGN_HD void leave() {
        MapFacts facts{};
        facts.flag = state_.fate;
        if (!first_lane()) return;
        for (int mate = 0; mate < state_.mates; mate++) static_cast<MapFacts&>(batch_.records[state_.first + uint32_t(mate)]) = facts;
    }

    const Team& team_;
    const Group group_;
    const ThoroughLaunch& launch_;
    const MapBatch& batch_;
    const TargetText text_;
    const ThoroughMemory& memory_;
    TemplateState& state_;
    ThoroughFinder<Group> finder_;
    ThoroughAligner<LongGaps, Team> aligner_;
};

// A lane by itself.
struct OneLaneTeam {
    using Group = OneLane;
    static constexpr uint32_t kGroups = 1;

    GPUALIGN_HD OneLane group() const { return {}; }
    GPUALIGN_HD uint32_t number() const { return 0; }
    GPUALIGN_HD void sync() const {}
};

}  // namespace gpualign
