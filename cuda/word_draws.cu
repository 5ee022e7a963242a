// The sequences that have most words of the draws of queries: a warp for each query, a lane for each draw.
#include "abi/words.hpp"
#include "algo/seeds/words/draws.hpp"
#include "device/warp.cuh"

using namespace gpualign;

extern "C" __global__ void __launch_bounds__(128) word_draws(WordDraws batch) {
    const Warp warp;
    const uint32_t query = warp_number();
    if (query < batch.queries) words::QueryDraws<uint64_t, Warp>(warp, batch, query).classify();
}
