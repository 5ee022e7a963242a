// Second step of `map`: at which loci the reads of a template are reported. A lane takes a template; those with many
// loci, or with a mate to rescue, are left to a group of lanes.
#pragma once
#include "algo/map/mate_rescue.hpp"
#include "algo/map/mixed_loci.hpp"
#include "algo/map/read_state.hpp"

namespace gpualign {

template <int Words, class Group> class ChooseStep {
public:
    GPUALIGN_HD ChooseStep(const Group& group, const MapBatch& batch, uint32_t number)
        : group_(group), batch_(batch), all_(ReadStates<Words>::of(batch)), number_(number),
          first_(batch.templates[number]), mates_(int(batch.templates[number + 1] - first_)) {}

    // By one lane.
    GPUALIGN_HD void choose() {
        bool here = true;
        for (int mate = 0; mate < mates_; mate++) here = here && stays(mate);
        if (!here) leave();
        else if (wants_group()) all_.templates[group_.take(&batch_.counters->templates)] = number_;
        else choose_among(all_.loci_of(batch_, first_), all_.loci_of(batch_, first_ + uint32_t(mates_ - 1)));
    }

    // By a group, after mate rescue.
    GPUALIGN_HD void rescue(const MapWorkspace& workspace, MapShared<Words>& shared) {
        if (mates_ == 1) return choose_among(all_.loci_of(batch_, first_), all_.loci_of(batch_, first_));
        Finder finder{group_, batch_, workspace, shared, first_, {}, {}};
        for (int mate = 0; mate < 2; mate++) {
            finder.reads[mate] = all_.read(batch_, first_ + uint32_t(mate));
            finder.found[mate] = all_.states[first_ + uint32_t(mate)].found;
            const uint64_t* const list = all_.loci + all_.states[first_ + uint32_t(mate)].first_locus;
            for (uint32_t i = group_.lane(); i < finder.found[mate].loci; i += Group::kLanes)
                workspace.loci[mate][i] = list[i];
        }
        group_.sync();
        MatesOfPair<Group, Finder> mates(group_, batch_.target, finder);
        rescue_mates(group_, batch_.rules, mates);
        if (!keep(finder, 0) || !keep(finder, 1)) return leave();
        choose_among(finder.loci(0), finder.loci(1));
    }

private:
    static constexpr uint32_t kFewPairs = 4;  // pairs of loci that a lane tries

    // Access to the loci of both mates, for MatesOfPair.
    struct Finder {
        const Group& group;
        const MapBatch& batch;
        const MapWorkspace& memory;
        MapShared<Words>& shared;
        const uint32_t first;
        MapRead reads[2];
        FoundRead found[2];

        GPUALIGN_HD const MapRead& read(int mate) const { return reads[mate]; }
        GPUALIGN_HD PackedLoci loci(int mate) const {
            return packed_loci(batch.target, batch.rules, reads[mate], memory.loci[mate], found[mate],
                qualities_of(batch, first + uint32_t(mate)));
        }
        GPUALIGN_HD uint32_t* counter() const { return &shared.counter; }
        GPUALIGN_HD uint32_t* pieces() const { return shared.pieces; }
        GPUALIGN_HD const MapWorkspace& workspace() const { return memory; }
        GPUALIGN_HD_CALL void search(int mate, uint32_t from, uint32_t to, int32_t limit, uint64_t* best) {
            search_windows(group, reads[mate], batch.target, memory, shared, from, to, limit, memory.loci[mate],
                found[mate], best);
            found[mate].loci = settle_loci(group, reads[mate].limit, memory.loci[mate], found[mate].loci);
        }
    };

    // Whether the fast path suffices for a mate.
    GPUALIGN_HD bool stays(int mate) const {
        const uint32_t r = first_ + uint32_t(mate);
        const ReadState& state = all_.states[r];
        if (state.left) return false;
        const PackedLoci loci = all_.loci_of(batch_, r);
        const MapRules& rules = batch_.rules;
        if (variants_for(rules, loci, mates_ == 2) != VariantsFor::nothing) return false;
        return all_.clipped(batch_, r) || !wants_chaining(rules, loci, state.found);
    }

    GPUALIGN_HD bool wants_group() const {
        const PackedLoci mine = all_.loci_of(batch_, first_);
        if (mates_ == 1) return mine.count > kFewPairs;
        const PackedLoci other = all_.loci_of(batch_, first_ + 1);
        if (mine.count * uint64_t(other.count) > kFewPairs ||
            max(int32_t(mine.count), int32_t(other.count)) > int32_t(kFewPairs))
            return true;
        return wants_windows(mine, other, 1) || wants_windows(other, mine, 0);
    }
    // Whether mate rescue would search any window.
    GPUALIGN_HD bool wants_windows(const PackedLoci& anchors, const PackedLoci& mate, int number) const {
        bool wanted = false;
        if (is_looked_for(batch_.rules, mate.length, limit_near_mate(mate.length, mate.limit, batch_.rules.pairs.max)))
            for_each_mate_window(group_, batch_.rules, anchors, mate, number == 1, batch_.tie_breaks[first_],
                [&](uint32_t, bool, int64_t, int64_t) { wanted = true; });
        return wanted;
    }

    // Stores the loci of a mate; false if there is no space.
    GPUALIGN_HD bool keep(const Finder& finder, int mate) {
        ReadState& state = all_.states[first_ + uint32_t(mate)];
        const uint32_t count = finder.found[mate].loci;
        uint32_t first = state.first_locus;
        if (count > state.found.loci) first = group_.take_together(&batch_.counters->loci, count);
        if (first > all_.max_loci || count > all_.max_loci - first) return false;
        for (uint32_t i = group_.lane(); i < count; i += Group::kLanes)
            all_.loci[first + i] = finder.memory.loci[mate][i];
        group_.sync();
        if (group_.lane() == 0) {
            state.found = finder.found[mate];
            state.first_locus = first;
            state.alone = false;
        }
        return true;
    }

    GPUALIGN_HD void choose_among(const PackedLoci& mine, const PackedLoci& other) {
        MapChoice choices[2];
        if (mates_ == 2) choose_pair(group_, batch_.rules, mine, other, batch_.tie_breaks[first_], choices);
        else choices[0] = choose_single(group_, batch_.rules, mine, batch_.tie_breaks[first_]);
        if (mates_ == 2 && wants_clipped(mine, other)) return leave();
        for (int mate = 0; mate < mates_; mate++)
            if (group_.lane() == 0) all_.states[first_ + uint32_t(mate)].choice = choices[mate];
    }

    // Whether exactly one mate has a locus, and the other may lie near it with clipped ends.
    GPUALIGN_HD bool wants_clipped(const PackedLoci& mine, const PackedLoci& other) const {
        if (!batch_.rules.local || (mine.count == 0) == (other.count == 0)) return false;
        const PackedLoci& missing = mine.count == 0 ? mine : other;
        return wants_clipped_mate(batch_.rules, 0, missing.length, missing.limit);
    }

    // Leaves the template to the slow path.
    GPUALIGN_HD void leave() {
        if (group_.lane() == 0) {
            batch_.slow_templates[group_.take(batch_.slow_count)] = number_;
            for (int mate = 0; mate < mates_; mate++) all_.states[first_ + uint32_t(mate)].left = true;
        }
        group_.sync();
    }

    const Group& group_;
    const MapBatch& batch_;
    const ReadStates<Words> all_;
    const uint32_t number_, first_;
    const int mates_;
};

}  // namespace gpualign
