// Vec<T>: one machine vector of T lanes, so that an algorithm header instantiated on it solves one problem per lane.
// The width follows the instruction-set level of the build (GPUALIGN_VECTOR_BYTES).
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "algo/common/hd.hpp"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace gpualign {

// Outside Vec, because within the class GCC takes a constructor from the typedef for one from T.
template <class T> struct RawVector {
    typedef T type __attribute__((vector_size(GPUALIGN_VECTOR_BYTES)));
};

template <class T> struct Vec {
    using Raw = typename RawVector<T>::type;
    using Wrapping = typename RawVector<std::make_unsigned_t<T>>::type;  // sums of signed lanes may wrap around
    static constexpr int lanes = GPUALIGN_VECTOR_BYTES / sizeof(T);

    Raw v;

    Vec() = default;
    GPUALIGN_HD Vec(T x) : v(x - Raw{}) {}
    GPUALIGN_HD explicit Vec(Raw raw) : v(raw) {}

    GPUALIGN_HD T operator[](int lane) const { return v[lane]; }
    GPUALIGN_HD void set(int lane, T x) { v[lane] = x; }

    static GPUALIGN_HD Vec load(const T* p) {
        Vec r;
        std::memcpy(&r.v, p, sizeof r.v);
        return r;
    }
    GPUALIGN_HD void store(T* p) const { std::memcpy(p, &v, sizeof v); }

    friend GPUALIGN_HD Vec operator+(Vec a, Vec b) { return Vec(Raw(Wrapping(a.v) + Wrapping(b.v))); }
    friend GPUALIGN_HD Vec operator-(Vec a, Vec b) { return Vec(Raw(Wrapping(a.v) - Wrapping(b.v))); }
    friend GPUALIGN_HD Vec operator&(Vec a, Vec b) { return Vec(Raw(a.v & b.v)); }
    friend GPUALIGN_HD Vec operator|(Vec a, Vec b) { return Vec(Raw(a.v | b.v)); }
    friend GPUALIGN_HD Vec operator^(Vec a, Vec b) { return Vec(Raw(a.v ^ b.v)); }
    friend GPUALIGN_HD Vec operator~(Vec a) { return Vec(Raw(~a.v)); }
    friend GPUALIGN_HD Vec operator<<(Vec a, int n) { return Vec(Raw(Wrapping(a.v) << n)); }
    friend GPUALIGN_HD Vec operator>>(Vec a, int n) { return Vec(Raw(a.v >> n)); }

    // Reinterprets the bits as lanes of another integer type of the same size.
    template <class U> GPUALIGN_HD Vec<U> as() const { return Vec<U>((typename Vec<U>::Raw)v); }

    // Comparisons give a mask: all bits are set in lanes where they hold.
    friend GPUALIGN_HD Vec operator<(Vec a, Vec b) { return Vec(Raw(a.v < b.v)); }
    friend GPUALIGN_HD Vec operator>(Vec a, Vec b) { return Vec(Raw(a.v > b.v)); }
    friend GPUALIGN_HD Vec operator==(Vec a, Vec b) { return Vec(Raw(a.v == b.v)); }

    friend GPUALIGN_HD Vec select(Vec mask, Vec yes, Vec no) { return Vec(Raw((yes.v & mask.v) | (no.v & ~mask.v))); }
    friend GPUALIGN_HD Vec or_nor(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__) && GPUALIGN_VECTOR_BYTES == 64
        return Vec((Raw)_mm512_ternarylogic_epi64((__m512i)a.v, (__m512i)b.v, (__m512i)c.v, 0xF1));
#else
        return Vec(Raw(a.v | ~(b.v | c.v)));
#endif
    }
    friend GPUALIGN_HD Vec andnot_or(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__) && GPUALIGN_VECTOR_BYTES == 64
        return Vec((Raw)_mm512_ternarylogic_epi64((__m512i)a.v, (__m512i)b.v, (__m512i)c.v, 0xBA));
#else
        return Vec(Raw((a.v & ~b.v) | c.v));
#endif
    }
    friend GPUALIGN_HD Vec and_equal(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__) && GPUALIGN_VECTOR_BYTES == 64
        return Vec((Raw)_mm512_ternarylogic_epi64((__m512i)a.v, (__m512i)b.v, (__m512i)c.v, 0x90));
#else
        return Vec(Raw(a.v & ~(b.v ^ c.v)));
#endif
    }

    friend GPUALIGN_HD Vec max(Vec a, Vec b) { return Vec(Raw(a.v > b.v ? a.v : b.v)); }
    friend GPUALIGN_HD Vec min(Vec a, Vec b) { return Vec(Raw(a.v < b.v ? a.v : b.v)); }
    friend GPUALIGN_HD bool any(Vec mask) {
        typedef uint64_t Wide __attribute__((vector_size(GPUALIGN_VECTOR_BYTES)));
        const Wide wide = (Wide)mask.v;
        uint64_t folded = 0;
        for (int i = 0; i < int(GPUALIGN_VECTOR_BYTES / 8); i++) folded |= wide[i];
        return folded != 0;
    }
};

template <class T> struct word_traits<Vec<T>> {
    using scalar = T;
};

}  // namespace gpualign
