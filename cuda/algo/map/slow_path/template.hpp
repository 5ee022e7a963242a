// A template on the slow path, mapped by a group of lanes: its status, and DP of whole reads.
#pragma once
#include "algo/map/chain/band.hpp"
#include "algo/map/slow_path/state.hpp"

namespace gpualign {

template <bool LongGaps, class Group> class SlowPathTemplate {
public:
    GPUALIGN_HD SlowPathTemplate(
        const Group& group, const SlowPathLaunch& launch, const SlowPathMemory& memory, const TemplateView& of)
        : group(group), launch(launch), batch(launch.batch), text{launch.batch.target}, memory(memory), of(of) {}

    GPUALIGN_HD bool first_lane() const { return group.lane() == 0; }
    GPUALIGN_HD void set_status(uint16_t flag) const {
        if (first_lane()) *of.status = flag;
        group.sync();
    }
    // Whether memory ran out, so that the host will repeat the batch, or the template is given up. Other groups may
    // have caused this, so lane 0 decides for all.
    GPUALIGN_HD bool ended() const {
        return group.ballot(first_lane() && (*of.status || overflowed(launch.chains[0]))) != 0;
    }

    GPUALIGN_HD uint32_t read_number(int mate) const { return of.first + uint32_t(mate); }
    GPUALIGN_HD int32_t read_length(int mate) const {
        const int64_t* const offset = launch.chains[0].offsets + read_number(mate);
        return int32_t(offset[1] - offset[0]);
    }
    // Bases beyond the insert, which are clipped (algo/map/read_through.hpp).
    GPUALIGN_HD int32_t clipped(int mate) const { return read_length(mate) - of.mates[mate].read.length; }
    GPUALIGN_HD SlowPathLoci loci(int mate) const { return of.loci_of(mate, batch); }
    GPUALIGN_HD DeviceLocals locals(int mate) const {
        const MateState& state = of.mates[mate];
        const ChainBatch& chains =
            state.chains == MateState::kLongChains ? launch.long_chains : launch.chains[state.chains];
        return {&chains, text, read_number(mate), state.has_clipped ? &state.clipped : nullptr};
    }
    GPUALIGN_HD int32_t best_score(int mate) const {
        const DeviceLocals own = locals(mate);
        return own.size() ? own[0].score : 0;
    }

    // Best alignment of a read on the diagonals [diagonal, diagonal + band), with clipping; returns the number of the
    // finished task, or kNoItem.
    GPUALIGN_HD_CALL uint32_t align_read(
        int mate, bool reverse, uint32_t contig, int64_t diagonal, int32_t band) const {
        using Aligner = BandAligner<LongGaps ? Gaps::two_costs : Gaps::affine, false, Group, TargetText>;
        const ChainBatch& chains = launch.chains[0];
        BandTask task{};
        task.rows = of.mates[mate].read.length;
        task.row = reverse ? clipped(mate) : 0;
        task.band = band;
        task.diagonal = diagonal;
        task.begin_pin = task.end_pin = kFreeEnd;
        task.read = read_number(mate);
        task.contig = contig;
        task.reverse = reverse != ((chains.state[task.read].flipped & 1) != 0);
        const uint32_t number = group.from(first_lane() ? add_task(chains.tasks[0], task) : 0u, 0);
        group.sync();
        if (number == kNoItem) return kNoItem;
        const uint64_t bytes = Aligner::Layout::all_bytes(task.rows, task.band);
        if (bytes > launch.band_bytes) {  // the repeated batch may have as much
            if (bytes <= launch.max_band_bytes && first_lane())
                raise_to(&launch.wanted->band, uint32_t(bytes >> kWantedBandBits) + 1);
            set_status(MapRecord::kOnHost);
            return kNoItem;
        }
        Aligner aligner(group, batch.rules.scores, text, task,
            BandWorkspace::at<typename Aligner::Layout>(memory.bands, task.rows, task.band));
        aligner.load(query_of(chains, task.read));
        const BandEnd end = aligner.sweep(aligner.steps());
        group.sync();
        aligner.finish(group, end, chains.cigars, chains.tasks[0].items[number]);
        group.sync();
        return ended() ? kNoItem : number;
    }

    const Group& group;
    const SlowPathLaunch& launch;
    const MapBatch& batch;
    const TargetText text;
    const SlowPathMemory& memory;
    const TemplateView& of;
};

}  // namespace gpualign
