// The kernels of `map` in scalar code, on one thread and in this process's memory: their algorithms without a device.
#include <cstring>
#include <vector>

#include "abi/fastq.hpp"
#include "algo/map/chain/band.hpp"
#include "algo/map/chain/narrow.hpp"
#include "algo/map/chain/steps.hpp"
#include "algo/map/choose_step.hpp"
#include "algo/map/find_step.hpp"
#include "algo/map/report_step.hpp"
#include "algo/map/slow_path/mapper.hpp"
#include "algo/text/bam_form.hpp"
#include "algo/text/group_text.hpp"
#include "algo/text/sam_form.hpp"
#include "arrays.hpp"
#include "map/words.hpp"

namespace gpualign {
namespace {

void map_scalar(const nb::bytes& bytes, int words) {
    const auto batch = struct_of<MapBatch>(bytes);
    nb::gil_scoped_release release;
    with_words(words, [&](auto w) {
        constexpr int kWords = decltype(w)::value;
        const OneLane group;
        MapShared<kWords> shared;
        MemoryCursor cursor(batch.workspace);
        const MapWorkspace workspace =
            MapWorkspace::at(cursor, batch.workspace_hits, batch.workspace_loci, batch.workspace_band);
        const ReadStates<kWords> all = ReadStates<kWords>::of(batch);
        for (uint32_t r = 0; r < batch.read_count; r++)
            FindStep<kWords, OneLane>(group, batch, workspace, shared).find(r);
        for (uint32_t t = 0; t < batch.template_count; t++) ChooseStep<kWords, OneLane>(group, batch, t).choose();
        for (uint32_t i = 0; i < batch.counters->templates; i++)
            ChooseStep<kWords, OneLane>(group, batch, all.templates[i]).rescue(workspace, shared);
        for (uint32_t r = 0; r < batch.read_count; r++) ReportStep<kWords, OneLane>(group, batch, r).report();
        for (uint32_t i = 0; i < batch.counters->reads; i++)
            ReportStep<kWords, OneLane>(group, batch, all.reads[i]).align(workspace, shared);
    });
}

// Whether a read may be in a window of a text.
bool may_be_within_scalar(
    const nb::bytes& text, const nb::bytes& bases, bool reverse, uint32_t begin, uint32_t columns, int32_t limit) {
    const OneLane lane;
    struct Packed {
        std::vector<uint64_t> words;
        std::vector<uint32_t> not_acgt;
    };
    const auto packed = [&](const nb::bytes& from) {
        const size_t words = from.size() / kBasesPerWord + 3;
        Packed to{std::vector<uint64_t>(words), std::vector<uint32_t>(words)};
        pack_read(lane, reinterpret_cast<const uint8_t*>(from.c_str()), int32_t(from.size()), int32_t(words),
            to.words.data(), to.not_acgt.data());
        return to;
    };
    const Packed of_text = packed(text), of_read = packed(bases);
    MapTarget target{};
    target.text = of_text.words.data();
    const MapRead read{of_read.words.data(), of_read.not_acgt.data(), int32_t(bases.size()), limit, 0, false, 0};
    uint32_t pieces[kPieceWords];
    return may_be_within(lane, read, reverse, target, begin, columns, limit, pieces);
}

// A task, or it in a narrower band; returns whether that is shown to be the best.
template <bool LongGaps>
bool align(
    const ChainLaunch& launch, const BandTask& task, int32_t beyond, std::vector<uint8_t>& memory, BandTask& result) {
    using Aligner = BandAligner<LongGaps ? Gaps::two_costs : Gaps::affine, false, OneLane, TargetText>;
    const TargetText text{launch.target};
    memory.resize(size_t(Aligner::Layout::all_bytes(task.rows, task.band)));
    const OneLane lane;
    Aligner aligner(lane, launch.batch.rules.scores, text, task,
        BandWorkspace::at<typename Aligner::Layout>(memory.data(), task.rows, task.band));
    aligner.load(query_of(launch.batch, task.read));
    const BandEnd end = aligner.sweep(aligner.steps());
    if (end.value <= beyond) return false;
    aligner.finish(lane, end, launch.batch.cigars, result);
    return true;
}

template <bool LongGaps> void align_round(const ChainLaunch& launch, int round) {
    const Arena<BandTask>& tasks = launch.batch.tasks[round];
    std::vector<uint8_t> memory;
    for (uint32_t t = 0; t < *tasks.used && !overflowed(launch.batch); t++) {
        BandTask& task = tasks.items[t];
        bool aligned = task.operations != 0;
        for (const int32_t band : kNarrowBands) {
            const NarrowBand narrow = narrow_band(launch.batch.rules.scores, intron_model(launch.batch), task, band);
            aligned =
                aligned || (narrow.task.rows && align<LongGaps>(launch, narrow.task, narrow.beyond, memory, task));
        }
        if (!aligned) align<LongGaps>(launch, task, INT32_MIN, memory, task);
    }
}

// From planned chains to their alignments.
void align_chains(const ChainLaunch& launch) {
    const ChainBatch& batch = launch.batch;
    const TargetText text{launch.target};
    for (int round = 0; round < 2 && !overflowed(batch); round++) {
        if (has_long_gaps(batch.rules.scores)) align_round<true>(launch, round);
        else align_round<false>(launch, round);
        for (uint32_t c = *launch.done; round == 0 && !overflowed(batch) && c < *batch.chains.used; c++)
            cut_chain(batch, c);
    }
    for (uint32_t c = *launch.done; !overflowed(batch) && c < *batch.chains.used; c++) finish_chain(batch, text, c);
}

void map_chains_scalar(const nb::bytes& given) {
    const auto launch = struct_of<ChainLaunch>(given);
    const ChainBatch& batch = launch.batch;
    const TargetText text{launch.target};
    nb::gil_scoped_release release;
    for (uint32_t r = 0; r < batch.reads; r++) chain_read(OneLane(), batch, launch.target.index, text, r);
    align_chains(launch);
    for (uint32_t r = 0; !overflowed(batch) && r < batch.reads; r++) {
        report_read(OneLane(), batch, text, r);
        write_outputs(batch, text, r);
    }
}

template <bool LongGaps> void map_slow(SlowPathLaunch launch) {
    using Mapper = SlowPathMapper<LongGaps, OneLane>;
    const OneLane lane;
    uint8_t* end = nullptr;
    SlowPathMemory memory = slow_path_memory(launch.workspace, launch.longest, launch.max_seeds, launch.max_hits,
        launch.max_loci, launch.band_bytes, 1, end);
    uint32_t pieces[kPieceWords];
    memory.pieces = pieces;
    const auto each = [&](auto&& step) {
        for (uint32_t t = 0; t < templates_of(launch); t++) {
            Mapper mapper(lane, launch, memory, t);
            step(mapper);
        }
    };
    const auto each_mate = [&](auto&& step) {
        each([&](Mapper& mapper) {
            for (int mate = 0; mate < 2; mate++) step(mapper, mate);
        });
    };
    launch.wanted->templates = *launch.batch.slow_count;
    each_mate([](Mapper& mapper, int mate) { mapper.find(mate); });
    each([](Mapper& mapper) { mapper.clip_adapters(); });
    for (launch.round = 0; launch.round < 2; launch.round++) {
        const ChainBatch& chains = launch.chains[launch.round];
        each_mate([](Mapper& mapper, int mate) { mapper.seed(mate); });
        each_mate([](Mapper& mapper, int mate) { mapper.chain(mate); });
        each_mate([](Mapper& mapper, int mate) { mapper.select(mate); });
        for (uint32_t c = *launch.done; !overflowed(chains) && c < *chains.chains.used; c++)
            plan_segments(lane, chains, TargetText{launch.batch.target}, c);
        for (uint32_t end = 2 * *launch.done; !overflowed(chains) && end < 2 * *chains.chains.used; end++)
            plan_chain_end(chains, TargetText{launch.batch.target}, end);
        ChainLaunch aligned{};
        aligned.target = launch.batch.target;
        aligned.batch = chains;
        aligned.done = launch.done;
        align_chains(aligned);
        each_mate([](Mapper& mapper, int mate) { mapper.rank(mate); });
        *launch.done = *chains.chains.used;
    }
    each([](Mapper& mapper) { mapper.rescue(); });
    each([](Mapper& mapper) { mapper.rescue_clipped(); });
    each([](Mapper& mapper) { mapper.choose(); });
    each([](Mapper& mapper) { mapper.write(0, 1); });
    each([](Mapper& mapper) { mapper.end(); });
}

void map_thoroughly_scalar(const nb::bytes& bytes) {
    const auto launch = struct_of<SlowPathLaunch>(bytes);
    nb::gil_scoped_release release;
    if (has_long_gaps(launch.batch.rules.scores)) map_slow<true>(launch);
    else map_slow<false>(launch);
}

template <template <class> class Form> void write_all(const TextBatch& batch) {
    const OneLane lane;
    uint32_t records = 0, again = 0;
    uint64_t all = 0;
    for (uint32_t read = 0; read < batch.count; read++) {
        batch.sizes[read] = all;
        all += write_read<Form, false>(lane, batch, read, nullptr, records);
    }
    batch.totals[0] = all, batch.totals[1] = records;
    for (uint32_t read = 0; all <= batch.capacity && read < batch.count; read++)
        write_read<Form, true>(lane, batch, read, batch.out + batch.sizes[read], again);
}

void write_records_in_scalar_code(const nb::bytes& bytes, bool bam) {
    const auto batch = struct_of<TextBatch>(bytes);
    nb::gil_scoped_release release;
    if (bam) write_all<BamForm>(batch);
    else write_all<SamForm>(batch);
}

}  // namespace

void bind_scalar_kernels(nb::module_& m) {
    m.def("map_scalar", &map_scalar, nb::arg("batch"), nb::arg("words"), "The kernels of cuda/map.cu with a MapBatch.");
    m.def("may_be_within", &may_be_within_scalar, nb::arg("text"), nb::arg("bases"), nb::arg("reverse"),
        nb::arg("begin"), nb::arg("columns"), nb::arg("limit"), "Whether a read may be in a window of a text.");
    m.def("map_thoroughly_scalar", &map_thoroughly_scalar, nb::arg("launch"),
        "Those of cuda/map_slow_path.cu with a SlowPathLaunch: the templates that map_scalar leaves.");
    m.def(
        "map_chains_scalar", &map_chains_scalar, nb::arg("launch"), "Those of cuda/map_chains.cu with a ChainLaunch.");
    m.def("write_records", &write_records_in_scalar_code, nb::arg("batch"), nb::arg("bam"),
        "Those of cuda/map_text.cu with a TextBatch.");
}

}  // namespace gpualign
