// Reads to alignments by chaining: the steps of algo/map/chain/steps.hpp, a kernel each. A warp chains a read; a part
// of one, a warp or a block aligns a segment; a lane plans, cuts and finishes a chain, and reports a read.
//
// GAPS: how gaps are priced, a Gaps of algo/map/affine.hpp. WIDE_LANES, WIDEST_LANES: of a block that aligns one
// segment.
#include "algo/map/chain/band.hpp"
#include "algo/map/chain/narrow.hpp"
#include "algo/map/chain/steps.hpp"
#include "device/block.cuh"
#include "device/map/band_pair.cuh"
#include "device/part_of_warp.cuh"
#include "device/warp.cuh"

#ifndef GAPS
#define GAPS two_costs
#endif
#ifndef WIDE_LANES
#define WIDE_LANES 128
#define WIDEST_LANES 512
#endif

using namespace gpualign;

namespace {

// Calls step(i) for i in [from, to), each in its own lane. If they are few, and always for long reads, each has its own
// warp: long reads branch differently, so lanes of one warp would wait for each other.
template <class Step>
__device__ void for_each_in_lanes(const ChainLaunch& launch, uint32_t from, uint32_t to, Step&& step) {
    if (overflowed(launch.batch)) return;
    const uint32_t lane = Warp().lane(), warps = gridDim.x * blockDim.x / Warp::kLanes,
                   most = launch.batch.rules.min_anchors == 1 ? Warp::kLanes : 1,
                   lanes = max(1u, min((to - from) / warps, most));
    for (uint32_t i = from + warp_number() * lanes + lane; lane < lanes && i < to; i += warps * lanes) step(i);
}

// Calls step(c) for the chains that are not finished, as above.
template <class Step> __device__ void for_each_chain(const ChainLaunch& launch, Step&& step) {
    for_each_in_lanes(launch, *launch.done, *launch.batch.chains.used, step);
}

// The tasks that no earlier round has finished.
struct Tasks {
    __device__ explicit Tasks(const ChainLaunch& launch)
        : items(launch.batch.tasks[launch.round].items + launch.done[1 + launch.round]),
          count(*launch.batch.tasks[launch.round].used - launch.done[1 + launch.round]) {}

    BandTask* items;
    uint32_t count;
};

// Aligns segments in a band of `Band` diagonals, several in a warp, as a ring of Band / 2 lanes computes one. Segments
// that may have a better alignment outside the band are left to the next passes.
template <int32_t Band> __device__ void align_narrow(const ChainLaunch& launch) {
    using Part = PartOfWarp<Band / 2>;
    using Aligner = BandAligner<Gaps::GAPS, true, Part, TargetText>;
    constexpr uint32_t kParts = Warp::kLanes / Part::kLanes;
    constexpr int32_t kRows = kNarrowRows;
    constexpr uint64_t kCodes = (Aligner::Layout::code_bytes(kRows, Band) + 15) / 16 * 16;
    __shared__ uint8_t codes[4 * kParts * kCodes];
    const Warp warp;
    if (warp.sync_any(overflowed(launch.batch))) return;  // other warps take as well: lanes leave together
    const Part part;
    const Tasks tasks(launch);
    const uint32_t count = tasks.count, number = warp.lane() / Part::kLanes;
    const TargetText text{launch.target};
    const IntronModel introns = intron_model(launch.batch);
    uint8_t* const memory =
        launch.workspace + warp_number() * launch.workspace_bytes + number * (launch.workspace_bytes / kParts);
    while (true) {
        const uint32_t first = warp.take_together(launch.next, Warp::kLanes);
        if (first >= count) return;
        const uint32_t mine = first + warp.lane();
        const bool fits = mine < count && !tasks.items[mine].operations && tasks.items[mine].rows <= kRows &&
                          narrow_band(launch.batch.rules.scores, introns, tasks.items[mine], Band).task.rows;
        for (uint32_t fit = warp.ballot(fits); fit;) {
            uint32_t taken = fit, own = fit;
            for (uint32_t p = 0; p < kParts; p++) {
                if (p == number) own = taken;
                taken &= taken - 1;
            }
            fit = taken;
            BandTask& task = tasks.items[first + (own ? first_lane(own) : 0)];
            NarrowBand narrow = narrow_band(launch.batch.rules.scores, introns, task, Band);
            if (!own) narrow.task.rows = narrow.task.band = 0;
            BandWorkspace workspace = BandWorkspace::at<typename Aligner::Layout>(memory, kRows, Band);
            workspace.codes = codes + (threadIdx.x / Part::kLanes) * kCodes;
            Aligner aligner(part, launch.batch.rules.scores, text, narrow.task, workspace, introns);
            aligner.load(query_of(launch.batch, narrow.task.read));
            const BandEnd end = aligner.sweep(warp_max(aligner.steps()));
            warp.sync();
            if (own && part.lane() == 0) {
                if (end.value > narrow.beyond) aligner.finish(OneLane(), end, launch.batch.cigars, task);
                else task.score = end.value;  // for choose_transcript()
            }
            warp.sync();
        }
    }
}

// Shares out tasks in turns, each for one warp. Neighbouring tasks are in different turns, as all of them may be slow,
// and turns have fewer tasks if there are few, so that every group gets some.
struct Turns {
    __device__ Turns(uint32_t tasks, uint32_t groups, uint32_t fewest, uint32_t most)
        : width(max(fewest, min((tasks + groups - 1) / groups, most))), count((tasks + width - 1) / width) {}

    // A lane's task in this round, which may be beyond the last one.
    __device__ uint32_t task(uint32_t turn, uint32_t lane) const { return lane < width ? lane * count + turn : ~0u; }

    uint32_t width, count;
};

// Aligns small segments, two in each part of a warp: those of the same band and of similar numbers of rows together.
template <uint32_t Lanes> __device__ void align_in_parts_of(const ChainLaunch& launch) {
    using Part = PartOfWarp<Lanes>;
    using Pair = BandPair<Part, TargetText>;
    constexpr uint32_t kParts = Warp::kLanes / Lanes;
    __shared__ typename Pair::Memory memory[4 * kParts];
    const Warp warp;
    if (warp.sync_any(overflowed(launch.batch))) return;  // other warps take as well: lanes leave together
    if (!Pair::fits(launch.batch.rules.scores)) return;
    const Part part;
    const Tasks tasks(launch);
    const uint32_t count = tasks.count, number = warp.lane() / Lanes;
    const Turns turns(count, gridDim.x * blockDim.x / Warp::kLanes, 2 * kParts, Warp::kLanes);
    const TargetText text{launch.target};
    uint8_t* const workspace = launch.workspace + (warp_number() * kParts + number) * Pair::kBytes;
    Pair aligner(part, launch.batch.rules.scores, text, memory[threadIdx.x / Lanes], workspace);
    for (uint32_t turn = warp.take_together(launch.next, 1); turn < turns.count;
        turn = warp.take_together(launch.next, 1)) {
        const uint32_t mine = turns.task(turn, warp.lane());
        uint32_t key = ~0u;
        if (mine < count && !tasks.items[mine].operations && Pair::fits(tasks.items[mine]))
            key = uint32_t(tasks.items[mine].band) << 16 | uint32_t(tasks.items[mine].rows) << 8 | warp.lane();
        uint32_t before = 0, of_pair = 0;  // tasks of the band with smaller keys, and the number of the pair
        for (uint32_t other = 0; other < turns.width; other++) {
            const uint32_t of_other = warp.from(key, other);
            before += of_other < key && of_other >> 16 == key >> 16;
        }
        const uint32_t firsts = warp.ballot(key != ~0u && before % 2 == 0);
        for (uint32_t other = 0; other < turns.width; other++)
            of_pair += warp.from(key, other) < key && (firsts >> other & 1);
        if (before % 2) of_pair--;
        for (uint32_t done = 0; done < count_bits(firsts); done += kParts) {
            uint32_t own[2] = {0, 0};  // the bits of their lanes
            GPUALIGN_UNROLL
            for (uint32_t p = 0; p < 2 * kParts; p++) {
                const uint32_t taken = warp.ballot(key != ~0u && of_pair == done + p / 2 && before % 2 == p % 2);
                if (p / 2 == number) own[p % 2] = taken;
            }
            BandTask* const pair[2] = {tasks.items + (own[0] ? turns.task(turn, first_lane(own[0])) : 0),
                tasks.items + (own[1] ? turns.task(turn, first_lane(own[1])) : 0)};
            GPUALIGN_UNROLL
            for (int32_t n = 0; n < 2; n++)
                aligner.load(n, own[n] != 0, *pair[n], query_of(launch.batch, pair[n]->read));
            warp.sync();
            aligner.sweep(warp_max(aligner.steps()));
            const BandEnd first = aligner.end(0), second = aligner.end(1);
            warp.sync();
            const uint32_t n = part.lane();
            if (n < 2 && (n ? aligner.has(1) : aligner.has(0)))
                aligner.finish(n, n ? second : first, launch.batch.cigars, *(n ? pair[1] : pair[0]));
            warp.sync();
        }
    }
}

// Calls align(task) for the tasks that are not done yet and whose DP matrix takes, on a warp, more than
// launch.min_bytes and at most launch.max_bytes.
template <class Group, class Next, class Align>
__device__ void for_each_of_class(
    const Group& group, const ChainLaunch& launch, uint32_t groups, Next&& next, Align&& align) {
    using OnWarp = BandLayout<Warp::kLanes, false, Gaps::GAPS == Gaps::introns>;
    const Tasks tasks(launch);
    const uint32_t count = tasks.count;
    // a matrix over an intron takes a warp milliseconds: none should have to do several in its last turn
    const uint32_t most = Gaps::GAPS == Gaps::introns && launch.min_bytes ? 1 : Warp::kLanes;
    const Turns turns(count, groups, 1, most);
    for (uint32_t turn = next(); turn < turns.count; turn = next()) {
        const uint32_t mine = turns.task(turn, Warp().lane());
        const uint64_t bytes = mine < count ? OnWarp::all_bytes(tasks.items[mine].rows, tasks.items[mine].band) : 0;
        const bool wanted = bytes > launch.min_bytes && bytes <= launch.max_bytes && !tasks.items[mine].operations;
        uint32_t fit = Warp().ballot(wanted);
        group.sync();  // all have seen what is done
        for (; fit; fit &= fit - 1) align(tasks.items[turns.task(turn, first_lane(fit))]);
    }
}

// Aligns a segment in workspace `number`, then calls finish(aligner, end).
template <class Group, class Finish>
__device__ void align_whole(
    const Group& group, const ChainLaunch& launch, const BandTask& task, uint32_t number, Finish&& finish) {
    using Aligner = BandAligner<Gaps::GAPS, false, Group, TargetText>;
    uint8_t* const memory = launch.workspace + number * launch.workspace_bytes;
    if (Aligner::Layout::all_bytes(task.rows, task.band) > launch.workspace_bytes) return;
    const TargetText text{launch.target};
    Aligner aligner(group, launch.batch.rules.scores, text, task,
        BandWorkspace::at<typename Aligner::Layout>(memory, task.rows, task.band), intron_model(launch.batch));
    aligner.load(query_of(launch.batch, task.read));
    const BandEnd end = aligner.sweep(aligner.steps());
    group.sync();
    finish(aligner, end);
    group.sync();
}

template <uint32_t Lanes> __device__ void align_by_block(const ChainLaunch& launch) {
    __shared__ BlockExchange<Lanes> exchange;
    ExchangingBlock<Lanes> group(exchange);
    if (__syncthreads_or(overflowed(launch.batch))) return;
    const auto next = [&] { return group.from(group.lane() == 0 ? atomicAdd(launch.next, 1u) : 0u, 0); };
    for_each_of_class(group, launch, gridDim.x, next, [&](BandTask& task) {
        align_whole(group, launch, task, blockIdx.x, [&](auto& aligner, const BandEnd& end) {
            if (group.lane() < Warp::kLanes) aligner.finish(Warp(), end, launch.batch.cigars, task);
        });
    });
}

}  // namespace

// The longest reads first: one that starts last would leave most of the device idle.
extern "C" __global__ void __launch_bounds__(128) chain_reads(const __grid_constant__ ChainLaunch launch) {
    constexpr int64_t kLevels[] = {INT64_MAX, 20000, 10000, -1};
    const Warp group;
    while (true) {
        const uint32_t n = group.take_together(launch.next, 1), level = n / launch.batch.reads,
                       r = n % launch.batch.reads;
        if (level > 2) return;
        const int64_t length = launch.batch.offsets[r + 1] - launch.batch.offsets[r];
        if (length > kLevels[level] || length <= kLevels[level + 1]) continue;
        chain_read(group, launch.batch, launch.target.index, TargetText{launch.target}, r);
        group.sync();
    }
}

extern "C" __global__ void __launch_bounds__(128) align_in_16(const __grid_constant__ ChainLaunch launch) {
    align_narrow<16>(launch);
}

extern "C" __global__ void __launch_bounds__(128) align_in_32(const __grid_constant__ ChainLaunch launch) {
    align_narrow<32>(launch);
}

extern "C" __global__ void __launch_bounds__(128) align_in_parts(const __grid_constant__ ChainLaunch launch) {
    align_in_parts_of<8>(launch);
}

extern "C" __global__ void __launch_bounds__(128) align_segments(const __grid_constant__ ChainLaunch launch) {
    const Warp group;
    if (group.sync_any(overflowed(launch.batch))) return;
    const uint32_t warp = warp_number();
    for_each_of_class(
        group, launch, gridDim.x * blockDim.x / Warp::kLanes, [&] { return group.take_together(launch.next, 1); },
        [&](BandTask& task) {
            align_whole(group, launch, task, warp,
                [&](auto& aligner, const BandEnd& end) { aligner.finish(group, end, launch.batch.cigars, task); });
        });
}

extern "C" __global__ void __launch_bounds__(WIDE_LANES) align_wide(const __grid_constant__ ChainLaunch launch) {
    align_by_block<WIDE_LANES>(launch);
}

extern "C" __global__ void __launch_bounds__(WIDEST_LANES) align_widest(const __grid_constant__ ChainLaunch launch) {
    align_by_block<WIDEST_LANES>(launch);
}

extern "C" __global__ void plan_chains(const __grid_constant__ ChainLaunch launch) {
    const TargetText text{launch.target};
    for_each_chain(launch, [&](uint32_t c) { plan_segments(OneLane(), launch.batch, text, c); });
}

extern "C" __global__ void plan_ends(const __grid_constant__ ChainLaunch launch) {
    const TargetText text{launch.target};
    for_each_in_lanes(launch, 2 * *launch.done, 2 * *launch.batch.chains.used,
        [&](uint32_t end) { plan_chain_end(launch.batch, text, end); });
}

extern "C" __global__ void choose_transcripts(const __grid_constant__ ChainLaunch launch) {
    for_each_chain(launch, [&](uint32_t c) { choose_transcript(launch.batch, c); });
}

extern "C" __global__ void cut_chains(const __grid_constant__ ChainLaunch launch) {
    for_each_chain(launch, [&](uint32_t c) { cut_chain(launch.batch, c); });
}

extern "C" __global__ void finish_chains(const __grid_constant__ ChainLaunch launch) {
    const TargetText text{launch.target};
    for_each_chain(launch, [&](uint32_t c) { finish_chain(launch.batch, text, c); });
}

extern "C" __global__ void report_reads(const __grid_constant__ ChainLaunch launch) {
    const TargetText text{launch.target};
    for_each_in_lanes(launch, 0, launch.batch.reads, [&](uint32_t r) {
        report_read(OneLane(), launch.batch, text, r);
        write_outputs(launch.batch, text, r);
    });
}
