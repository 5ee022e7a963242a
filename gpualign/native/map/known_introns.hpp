// Known introns as Python passes them.
#pragma once
#include "abi/chains.hpp"
#include "arrays.hpp"

namespace gpualign {

// `begins`, `ends`: KnownSite, three columns.
inline KnownIntrons known_introns(const Input<int64_t>& begins, const Input<int64_t>& ends) {
    static_assert(sizeof(KnownSite) == 3 * sizeof(int64_t));
    if (begins.size() != ends.size() || begins.size() % 3) throw nb::value_error("known introns have three columns");
    return {reinterpret_cast<const KnownSite*>(begins.data()), reinterpret_cast<const KnownSite*>(ends.data()),
        begins.size() / 3};
}

}  // namespace gpualign
