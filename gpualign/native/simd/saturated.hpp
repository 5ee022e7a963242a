// Bytes and words of 16 bits that stay at their ends, and tables of 32 bytes looked up by lane: what vector extensions
// have no operators for.
#pragma once
#include "simd/vector.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace gpualign {

GPUALIGN_HD Vec<int8_t> add_saturated(Vec<int8_t> a, Vec<int8_t> b) {
    using V = Vec<int8_t>;
#if defined(__AVX512BW__) && GPUALIGN_VECTOR_BYTES == 64
    return V((V::Raw)_mm512_adds_epi8((__m512i)a.v, (__m512i)b.v));
#elif defined(__AVX2__) && GPUALIGN_VECTOR_BYTES == 32
    return V((V::Raw)_mm256_adds_epi8((__m256i)a.v, (__m256i)b.v));
#elif defined(__SSE2__) && GPUALIGN_VECTOR_BYTES == 16
    return V((V::Raw)_mm_adds_epi8((__m128i)a.v, (__m128i)b.v));
#elif defined(__ARM_NEON) && GPUALIGN_VECTOR_BYTES == 16
    return V((V::Raw)vqaddq_s8((int8x16_t)a.v, (int8x16_t)b.v));
#else
    for (int l = 0; l < V::lanes; l++) a.set(l, int8_t(max(-128, min(127, int32_t(a[l]) + b[l]))));
    return a;
#endif
}

GPUALIGN_HD Vec<int8_t> subtract_saturated(Vec<int8_t> a, Vec<int8_t> b) {
    using V = Vec<int8_t>;
#if defined(__AVX512BW__) && GPUALIGN_VECTOR_BYTES == 64
    return V((V::Raw)_mm512_subs_epi8((__m512i)a.v, (__m512i)b.v));
#elif defined(__AVX2__) && GPUALIGN_VECTOR_BYTES == 32
    return V((V::Raw)_mm256_subs_epi8((__m256i)a.v, (__m256i)b.v));
#elif defined(__SSE2__) && GPUALIGN_VECTOR_BYTES == 16
    return V((V::Raw)_mm_subs_epi8((__m128i)a.v, (__m128i)b.v));
#elif defined(__ARM_NEON) && GPUALIGN_VECTOR_BYTES == 16
    return V((V::Raw)vqsubq_s8((int8x16_t)a.v, (int8x16_t)b.v));
#else
    for (int l = 0; l < V::lanes; l++) a.set(l, int8_t(max(-128, min(127, int32_t(a[l]) - b[l]))));
    return a;
#endif
}

GPUALIGN_HD Vec<int16_t> add_saturated(Vec<int16_t> a, Vec<int16_t> b) {
    using V = Vec<int16_t>;
#if defined(__AVX512BW__) && GPUALIGN_VECTOR_BYTES == 64
    return V((V::Raw)_mm512_adds_epi16((__m512i)a.v, (__m512i)b.v));
#elif defined(__AVX2__) && GPUALIGN_VECTOR_BYTES == 32
    return V((V::Raw)_mm256_adds_epi16((__m256i)a.v, (__m256i)b.v));
#elif defined(__SSE2__) && GPUALIGN_VECTOR_BYTES == 16
    return V((V::Raw)_mm_adds_epi16((__m128i)a.v, (__m128i)b.v));
#elif defined(__ARM_NEON) && GPUALIGN_VECTOR_BYTES == 16
    return V((V::Raw)vqaddq_s16((int16x8_t)a.v, (int16x8_t)b.v));
#else
    for (int l = 0; l < V::lanes; l++) a.set(l, int16_t(max(-32768, min(32767, int32_t(a[l]) + b[l]))));
    return a;
#endif
}

GPUALIGN_HD Vec<int16_t> subtract_saturated(Vec<int16_t> a, Vec<int16_t> b) {
    using V = Vec<int16_t>;
#if defined(__AVX512BW__) && GPUALIGN_VECTOR_BYTES == 64
    return V((V::Raw)_mm512_subs_epi16((__m512i)a.v, (__m512i)b.v));
#elif defined(__AVX2__) && GPUALIGN_VECTOR_BYTES == 32
    return V((V::Raw)_mm256_subs_epi16((__m256i)a.v, (__m256i)b.v));
#elif defined(__SSE2__) && GPUALIGN_VECTOR_BYTES == 16
    return V((V::Raw)_mm_subs_epi16((__m128i)a.v, (__m128i)b.v));
#elif defined(__ARM_NEON) && GPUALIGN_VECTOR_BYTES == 16
    return V((V::Raw)vqsubq_s16((int16x8_t)a.v, (int16x8_t)b.v));
#else
    for (int l = 0; l < V::lanes; l++) a.set(l, int16_t(max(-32768, min(32767, int32_t(a[l]) - b[l]))));
    return a;
#endif
}

// table[index] in every lane; 32 bytes, indices 0 to 31.
GPUALIGN_HD Vec<int8_t> look_up(const int8_t* table, Vec<int8_t> index) {
    using V = Vec<int8_t>;
#if defined(__AVX512BW__) && GPUALIGN_VECTOR_BYTES == 64
    const __m512i low = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)table));
    const __m512i high = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)(table + 16)));
    const __mmask64 upper = _mm512_cmpgt_epi8_mask((__m512i)index.v, _mm512_set1_epi8(15));
    const __m512i at = _mm512_and_si512((__m512i)index.v, _mm512_set1_epi8(15));
    return V((V::Raw)_mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(low, at), upper, high, at));
#elif defined(__AVX2__) && GPUALIGN_VECTOR_BYTES == 32
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)table));
    const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)(table + 16)));
    const __m256i upper = _mm256_cmpgt_epi8((__m256i)index.v, _mm256_set1_epi8(15));
    const __m256i at = _mm256_and_si256((__m256i)index.v, _mm256_set1_epi8(15));
    return V((V::Raw)_mm256_blendv_epi8(_mm256_shuffle_epi8(low, at), _mm256_shuffle_epi8(high, at), upper));
#else
    for (int l = 0; l < V::lanes; l++) index.set(l, table[index[l]]);
    return index;
#endif
}

}  // namespace gpualign
