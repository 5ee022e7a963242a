// The dynamic programs of a template, each by one group of a team.
#pragma once
#include "algo/map/chain/band.hpp"
#include "algo/map/thorough/finder.hpp"

namespace gpualign {

template <bool LongGaps, class Team>
class ThoroughAligner {
    using Group = typename Team::Group;
    using Aligner = BandAligner<LongGaps, false, Group, TargetText>;

public:
    GPUALIGN_HD ThoroughAligner(const Team& team, const ThoroughLaunch& launch, const ThoroughMemory& memory, TemplateState& state)
        : team_(team), group_(team.group()), launch_(launch), text_{launch.batch.target}, memory_(memory), state_(state) {}

    GPUALIGN_HD void set_fate(uint16_t flag) {
        if (first_lane()) state_.fate = flag;
        group_.sync();
    }
    // Whether something did not fit, so that all will be done again, or the template is left: other groups may have found that, so the
    // first lane asks for all.
    GPUALIGN_HD bool ended() const { return group_.ballot(first_lane() && (state_.fate || overflowed(launch_.chains[0]))) != 0; }

    // What is to be done for the chains of a read, each by all groups of the team, one after the other: dynamic programs of a round,
    // cuts, and alignments, these by a lane each. Between them the groups wait for each other.
    GPUALIGN_HD_CALL void align_chains(const ChainBatch& chains, const ChainRead& read, int round) {
        for (uint32_t c = team_.number(); c < read.chosen && !ended(); c += Team::kGroups) {
            const ChosenChain& chain = chains.chains.items[read.first_chosen + c];
            if (round == 0) align_planned(chains, chain);
            else align_runs(chains, chain);
        }
    }
    GPUALIGN_HD_CALL void cut_chains(const ChainBatch& chains, const ChainRead& read) {
        one_lane_each(read, [&](uint32_t number) { cut_chain(chains, number); });
    }
    GPUALIGN_HD_CALL void finish_chains(const ChainBatch& chains, const ChainRead& read) {
        one_lane_each(read, [&](uint32_t number) { finish_chain(chains, text_, number); });
    }

    // The read from end to end within `limit` diagonals of the one that ends there; the number of the task that is done, or kNoItem.
    GPUALIGN_HD uint32_t align_whole(int mate, bool reverse, uint32_t contig, int64_t end, int32_t limit) {
        return align_read(mate, reverse, contig, end - state_.reads[mate].length - limit, 2 * limit + 1, own_memory());
    }
    // Any part of the read, on so many diagonals, by the first group while the others wait.
    GPUALIGN_HD uint32_t align_alone(int mate, bool reverse, uint32_t contig, int64_t diagonal, int32_t band) {
        return align_read(mate, reverse, contig, diagonal, band, {memory_.bands, launch_.band_bytes * Team::kGroups});
    }

private:
    struct Memory {
        uint8_t* begin;
        uint64_t bytes;
    };
    GPUALIGN_HD Memory own_memory() const { return {memory_.bands + team_.number() * launch_.band_bytes, launch_.band_bytes}; }

    GPUALIGN_HD_CALL uint32_t align_read(int mate, bool reverse, uint32_t contig, int64_t diagonal, int32_t band, const Memory& memory) {
        const ChainBatch& chains = launch_.chains[0];
        const uint32_t r = state_.first + uint32_t(mate);
        BandTask task{};
        task.rows = state_.reads[mate].length;
        task.band = band;
        task.diagonal = diagonal;
        task.begin_pin = task.end_pin = kFreeEnd;
        task.read = r;
        task.contig = contig;
        task.reverse = reverse != ((chains.state[r].flipped & 1) != 0);
        const uint32_t number = group_.from(first_lane() ? add_task(chains.tasks[0], task) : 0u, 0);
        group_.sync();
        if (number == kNoItem) return kNoItem;
        align(chains, 0, number, memory);
        return ended() ? kNoItem : number;
    }

    // Neighbours are in different groups, as there may be few.
    template <class Work>
    GPUALIGN_HD void one_lane_each(const ChainRead& read, Work&& work) {
        if (ended()) return;
        for (uint32_t c = group_.lane() * Team::kGroups + team_.number(); c < read.chosen; c += Group::kLanes * Team::kGroups)
            work(read.first_chosen + c);
        group_.sync();
    }

    GPUALIGN_HD void align_planned(const ChainBatch& chains, const ChosenChain& chain) {
        const ChainPoint* points = chains.points.items + chain.first_point;
        align(chains, 0, chain.left);
        for (uint32_t p = 0; p + 1 < chain.points; p++) align(chains, 0, points[p].after.task);
        align(chains, 0, chain.right);
    }
    GPUALIGN_HD void align_runs(const ChainBatch& chains, const ChosenChain& chain) {
        for (uint32_t r = 0; r < chain.runs; r++) {
            const ChainRun& run = chains.runs.items[chain.first_run + r];
            if (run.left_round) align(chains, 1, run.left);
            if (run.right_round) align(chains, 1, run.right);
        }
    }

    GPUALIGN_HD bool first_lane() const { return group_.lane() == 0; }

    // A task that has not been done.
    GPUALIGN_HD void align(const ChainBatch& chains, int round, uint32_t number) { align(chains, round, number, own_memory()); }
    GPUALIGN_HD_CALL void align(const ChainBatch& chains, int round, uint32_t number, const Memory& memory) {
        if (number >= kBrokenSegment || number == kNoItem) return;
        BandTask& task = chains.tasks[round].items[number];
        if (task.operations) return;
        if (Aligner::Layout::all_bytes(task.rows, task.band) > memory.bytes) return set_fate(MapRecord::kOnHost);
        Aligner aligner(group_, chains, text_, task, BandWorkspace::at<typename Aligner::Layout>(memory.begin, task.rows, task.band));
        aligner.load();
        const BandEnd end = aligner.sweep(aligner.steps());
        group_.sync();
        aligner.finish(group_, end, task);
        group_.sync();
    }

    const Team& team_;
    const Group group_;
    const ThoroughLaunch& launch_;
    const TargetText text_;
    const ThoroughMemory& memory_;
    TemplateState& state_;
};

}  // namespace gpualign
