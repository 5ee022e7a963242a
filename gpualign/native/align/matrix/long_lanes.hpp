// Shared by the passes of one long pair (align/matrix/long_pair.hpp, align/matrix/sliding_band.hpp): moves between
// lanes, and symbols as bit planes.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "align/matrix/symbols.hpp"
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#include "align/edit/myers_profiles.hpp"

namespace gpualign {
namespace distances {

// Lane l gets lane l + 1, the last lane gets lane 0 of `last`.
template <size_t... Lane> GPUALIGN_HD Word moved(Word lanes, Word last, std::index_sequence<Lane...>) {
    return Word(typename Word::Raw(__builtin_shufflevector(lanes.v, last.v, (int(Lane) + 1)...)));
}
GPUALIGN_HD Word from_above(Word lanes, Word last) { return moved(lanes, last, std::make_index_sequence<kLanes>()); }

// Lane l gets lane l - 1, the first lane gets lane 0 of `first`.
template <size_t... Lane> GPUALIGN_HD Word lifted(Word lanes, Word first, std::index_sequence<Lane...>) {
    return Word(typename Word::Raw(__builtin_shufflevector(lanes.v, first.v, (int(Lane) ? int(Lane) - 1 : kLanes)...)));
}
GPUALIGN_HD Word from_below(Word lanes, Word first) { return lifted(lanes, first, std::make_index_sequence<kLanes>()); }

// One bit of each symbol of a text, as bytes 0 or -1.
using BytePlane = std::vector<int8_t>;

// Sign-extends a byte per lane; GCC does not find the single instruction.
GPUALIGN_HD Word load_mask(const int8_t* bytes) {
#if defined(__AVX512F__) && GPUALIGN_VECTOR_BYTES == 64
    return Word((Word::Raw)_mm512_maskz_cvtepi8_epi64(0xFF, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes))));
#elif defined(__AVX2__) && GPUALIGN_VECTOR_BYTES == 32
    return Word((Word::Raw)_mm256_cvtepi8_epi64(_mm_loadu_si32(bytes)));
#else
    Word mask(0);
    for (int l = 0; l < kLanes; l++) mask.set(l, uint64_t(int64_t(bytes[l])));
    return mask;
#endif
}

// Bit `plane` of each of 64 codes.
using gpualign::bits_of_codes;
GPUALIGN_HD uint64_t bits_of_codes(const uint32_t* codes, int plane) {
    uint64_t bits = 0;
    for (int i = 0; i < 64; i++) bits |= uint64_t(codes[i] >> plane & 1) << i;
    return bits;
}

}  // namespace distances
}  // namespace gpualign
