// Bounded-gap alignment kernels: scores of two pairs a thread in 16 bits, and of a pair per thread or per warp in 32
// bits with or without the traceback. Launched by gpualign/align/gaps/device.py.
//
// GAPS: K. WIDTH_PACKED, WIDTH_SCORES, WIDTH_WARP, WIDTH_TRACE: columns a lane keeps in registers. STRICT: extend >
// open. THREADS a block, at least BLOCKS of them on a multiprocessor.
#include <cstdint>

#ifndef GAPS
#define GAPS 2
#endif
#ifndef WIDTH_PACKED
#define WIDTH_PACKED 16
#endif
#ifndef WIDTH_SCORES
#define WIDTH_SCORES 16
#endif
#ifndef WIDTH_WARP
#define WIDTH_WARP 16
#endif
#ifndef WIDTH_TRACE
#define WIDTH_TRACE 16
#endif
#ifndef TRACE
#define TRACE 0
#endif
#ifndef WALK
#define WALK 1
#endif
#ifndef STRICT
#define STRICT 0
#endif
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef THREADS
#define THREADS 128
#endif

#include "device/align/gaps/rows.cuh"

using namespace gpualign;
using namespace gpualign::gapsmis;

__device__ __forceinline__ Model model_of(const Launch& launch) {
    return Model{GAPS, launch.opening, launch.extend, launch.ends, launch.unreached};
}

__device__ __forceinline__ Workspace workspace_of(const Launch& launch) {
    const int64_t warp = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    return Workspace{launch.edges + warp * launch.edges_stride, launch.checkpoints + warp * launch.checkpoints_stride,
        launch.directions + warp * launch.directions_stride, launch.band};
}

// Warps take tasks in turn; pairs are sorted, so neighbours in time are of like length.
template <class Pairs, int width, int lanes, bool Trace>
__device__ __forceinline__ void run(const Launch& launch, const Pairs& scoring) {
    const Model model = model_of(launch);
    const Workspace work = workspace_of(launch);
    const int64_t warps = int64_t(gridDim.x) * blockDim.x / 32;
    const int64_t per_task = int64_t(32 / lanes) * Pairs::pairs;
    const int64_t tasks = (launch.batch.pairs + per_task - 1) / per_task;
    for (int64_t task = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32; task < tasks; task += warps) {
        WarpTask<Pairs, width, lanes, STRICT> warp(launch.batch, model, work, scoring, task);
        if constexpr (Trace) warp.align_and_trace(launch.batch.gap_list, launch.batch.start);
        else warp.template align<false>();
        if (warp.rank == 0) warp.pairs.write(launch.batch, model, Trace);
    }
}

template <int width, int lanes, bool Trace> __device__ __forceinline__ void run_single(const Launch& launch) {
    extern __shared__ int32_t table[];
    for (int k = threadIdx.x; k < launch.symbols * launch.symbols; k += blockDim.x) table[k] = launch.table[k];
    __syncthreads();
    Single<width> scoring;
    scoring.table = table;
    scoring.symbols = launch.symbols;
    run<Single<width>, width, lanes, Trace>(launch, scoring);
}

template <bool Other> __device__ __forceinline__ void run_packed(const Launch& launch) {
    Packed<WIDTH_PACKED, Other> scoring;
    scoring.table = reinterpret_cast<const uint32_t*>(launch.table);
    scoring.other = uint32_t(launch.other);
    run<Packed<WIDTH_PACKED, Other>, WIDTH_PACKED, 1, false>(launch, scoring);
}

// One module has the kernels for scores or, with TRACE, those for tracebacks.
extern "C" {
#if TRACE
__global__ void __launch_bounds__(THREADS, BLOCKS) gapsmis_trace_thread(const Launch launch) {
    run_single<WIDTH_TRACE, 1, true>(launch);
}
__global__ void __launch_bounds__(THREADS, BLOCKS) gapsmis_trace_warp(const Launch launch) {
    run_single<WIDTH_TRACE, 32, true>(launch);
}
#else
__global__ void __launch_bounds__(THREADS, BLOCKS) gapsmis_packed(const Launch launch) { run_packed<false>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) gapsmis_packed_other(const Launch launch) {
    run_packed<true>(launch);
}
__global__ void __launch_bounds__(THREADS, BLOCKS) gapsmis_scores_thread(const Launch launch) {
    run_single<WIDTH_SCORES, 1, false>(launch);
}
__global__ void __launch_bounds__(THREADS, BLOCKS) gapsmis_scores_warp(const Launch launch) {
    run_single<WIDTH_WARP, 32, false>(launch);
}
#endif
}
