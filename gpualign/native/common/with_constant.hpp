// A number known at run time as a constant, for which a template has an instance.
#pragma once
#include <type_traits>
#include <utility>

namespace gpualign {

// Calls use(std::integral_constant) with the first of the constants, in this order, that is not below `value`, or else
// with the last.
template <int First, int... Others, class Use> decltype(auto) with_constant(int value, Use&& use) {
    if constexpr (sizeof...(Others) > 0)
        if (value > First) return with_constant<Others...>(value, std::forward<Use>(use));
    return use(std::integral_constant<int, First>());
}

}  // namespace gpualign
