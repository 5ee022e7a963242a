// Lane access for vectors and, where tables would be too large for several lanes, plain integers.
#pragma once
#include "simd/vector.hpp"

namespace gpualign {

template <class Word> struct Lanes;
template <class T> struct Lanes<Vec<T>> {
    using Value = T;
    static constexpr int count = Vec<T>::lanes;
    static T get(const Vec<T>& word, int lane) { return word[lane]; }
    static void set(Vec<T>& word, int lane, T value) { word.set(lane, value); }
    // value(lane) for the first `used` lanes, written as an array: lane by lane the vector would go through memory
    // each time.
    template <class ValueOf> static Vec<T> filled(int used, ValueOf value) {
        alignas(sizeof(Vec<T>)) T values[count] = {};
        for (int lane = 0; lane < used; lane++) values[lane] = value(lane);
        return Vec<T>::load(values);
    }
};
template <> struct Lanes<int32_t> {
    using Value = int32_t;
    static constexpr int count = 1;
    static int32_t get(int32_t word, int) { return word; }
    static void set(int32_t& word, int, int32_t value) { word = value; }
    template <class ValueOf> static int32_t filled(int, ValueOf value) { return value(0); }
};

}  // namespace gpualign
