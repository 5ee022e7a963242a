// Bit planes of queries, from which the kernels of cuda/verify.cu make their profiles.
#include "algo/common/dna.hpp"
#include "algo/align/edit/myers_striped.hpp"

// Planes of every query on both strands: a block per query; words of a tile by query (0: none wanted), tiles by query.
extern "C" __global__ void __launch_bounds__(64) build_planes(const uint8_t* bases, const int64_t* offsets,
    const uint32_t* plane_offsets, const int32_t* tile_words, const int32_t* tiles, uint32_t* planes) {
    const uint32_t query = blockIdx.x;
    const int words = tile_words[query], all_words = words * tiles[query];
    const uint8_t* sequence = bases + offsets[query];
    const int64_t length = offsets[query + 1] - offsets[query];
    const int64_t pad = int64_t(all_words) * 32 - length;
    for (int i = threadIdx.x; i < 2 * all_words; i += blockDim.x) {
        const bool reverse = i >= all_words;
        const int word = i % all_words, tile = word / words, w = word % words;
        const auto code = [&](int64_t row) {
            return reverse ? gpualign::complement_code(gpualign::base_code(sequence[length - 1 - row]))
                           : gpualign::base_code(sequence[row]);
        };
        const auto made = gpualign::striped_planes<uint32_t>(w, words, pad - int64_t(tile) * words * 32, length, code);
        uint32_t* out = planes + plane_offsets[query] + (size_t(reverse) * all_words + size_t(tile) * words) * 3;
        out[w] = made.low;
        out[words + w] = made.high;
        out[2 * words + w] = made.known;
    }
}
