// Word counts for which the device's kernels for short reads are compiled.
#pragma once
#include <type_traits>

#include "arrays.hpp"

namespace gpualign {

// Calls visit with the number of words as a constant.
template <class Visit> void with_words(int words, Visit&& visit) {
    switch (words) {
        case 5: return visit(std::integral_constant<int, 5>());
        case 8: return visit(std::integral_constant<int, 8>());
        case 12: return visit(std::integral_constant<int, 12>());
        case 16: return visit(std::integral_constant<int, 16>());
        default: throw nb::value_error("words must be 5, 8, 12 or 16");
    }
}

}  // namespace gpualign
