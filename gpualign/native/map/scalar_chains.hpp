// Alignments of chains, as the kernels of cuda/map_chains.cu make them, on one lane.
#pragma once
#include <cstdint>
#include <vector>

#include "algo/map/chain/band.hpp"
#include "algo/map/chain/narrow.hpp"
#include "algo/map/chain/steps.hpp"

namespace gpualign {

// A task, or it in a narrower band; returns whether that is shown to be the best.
template <bool LongGaps>
bool align(const ChainLaunch& launch, const BandTask& task, int32_t beyond, std::vector<uint8_t>& memory, BandTask& result) {
    using Aligner = BandAligner<LongGaps, false, OneLane, TargetText>;
    const TargetText text{launch.target};
    memory.resize(size_t(Aligner::Layout::all_bytes(task.rows, task.band)));
    const OneLane lane;
    Aligner aligner(lane, launch.batch, text, task, BandWorkspace::at<typename Aligner::Layout>(memory.data(), task.rows, task.band));
    aligner.load();
    const BandEnd end = aligner.sweep(aligner.steps());
    if (end.value <= beyond) return false;
    aligner.finish(lane, end, result);
    return true;
}

template <bool LongGaps>
void align_round(const ChainLaunch& launch, int round) {
    const Arena<BandTask>& tasks = launch.batch.tasks[round];
    std::vector<uint8_t> memory;
    for (uint32_t t = 0; t < *tasks.used && !overflowed(launch.batch); t++) {
        BandTask& task = tasks.items[t];
        bool aligned = task.operations != 0;
        for (const int32_t band : kNarrowBands) {
            const NarrowBand narrow = narrow_band(launch.batch.rules.scores, task, band);
            aligned = aligned || (narrow.task.rows && align<LongGaps>(launch, narrow.task, narrow.beyond, memory, task));
        }
        if (!aligned) align<LongGaps>(launch, task, INT32_MIN, memory, task);
    }
}

// From planned chains to their alignments.
inline void align_chains(const ChainLaunch& launch) {
    const ChainBatch& batch = launch.batch;
    const TargetText text{launch.target};
    for (int round = 0; round < 2 && !overflowed(batch); round++) {
        if (has_long_gaps(batch.rules.scores)) align_round<true>(launch, round);
        else align_round<false>(launch, round);
        for (uint32_t c = *launch.done_chains; round == 0 && !overflowed(batch) && c < *batch.chains.used; c++) cut_chain(batch, c);
    }
    for (uint32_t c = *launch.done_chains; !overflowed(batch) && c < *batch.chains.used; c++) finish_chain(batch, text, c);
}

}  // namespace gpualign
