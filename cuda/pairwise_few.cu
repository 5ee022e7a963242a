// Scores of sequences of few symbols, such as nucleotides, in 16 bits: LazyRScan with their profile as words.
#include "device/align/score/lazy_ends.cuh"
#include "device/align/score/lazy_kernel.cuh"

#ifndef OPENING  // o' of cuda/algo/align/score/nw.hpp: 0 of linear gaps, -1 where it is known only at run time or
                 // alignment is local
#define OPENING 9
#endif

namespace gpualign {
namespace nw {
namespace {

// A constant opening is part of the instruction, which then reads one register less.
__device__ __forceinline__ LazyScheme with_opening(LazyScheme scheme) {
    if (OPENING > 0) scheme.opening = OPENING;
    return scheme;
}

}  // namespace

#define FEW(name, Word, Ends) \
    extern "C" __global__ void __launch_bounds__(block_threads) \
        name(const LazyTask* tasks, int count, unsigned* ticket, LazyScheme scheme, DeviceSequences queries, \
            DeviceSequences targets, const int32_t* pair_target, uint32_t* column, int rows, int32_t* scores) { \
        lazy<Word, 32, OPENING != 0, Ends, words>( \
            tasks, count, ticket, with_opening(scheme), queries, targets, pair_target, column, rows, scores); \
    }

FEW(few_lazy, uint16x2, Corners)
FEW(few_borders, uint16x2, Borders)
#if OPENING < 0
FEW(few_anywhere, int16x2, Anywhere)
#endif

}  // namespace nw
}  // namespace gpualign
