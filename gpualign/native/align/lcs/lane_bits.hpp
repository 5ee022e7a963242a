// How many bits a lane of a vector has, for algo/align/lcs/lcs.hpp.
#pragma once
#include "algo/align/lcs/lcs.hpp"
#include "simd/vector.hpp"

namespace gpualign {

template <class T> struct LaneBits<Vec<T>> {
    static constexpr int value = 8 * int(sizeof(T));
};

}  // namespace gpualign
