// What a base of a bisulfite read says about a cytosine of the reference.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

// The letter of Bismark's XM: Z, X, H, U for a methylated C in the contexts CpG, CHG, CHH and an unknown one, the same
// in lower case for a converted C, else '.'. `read` and the reference are on the forward strand, met(i) is the
// reference i bases further; `g_to_a`: the cytosines of the reverse strand.
template <class Met> GPUALIGN_HD char methylation_call(bool g_to_a, char read, Met&& met) {
    const char cytosine = g_to_a ? 'G' : 'C', guanine = g_to_a ? 'C' : 'G', converted = g_to_a ? 'A' : 'T';
    if (met(0) != cytosine || (read != cytosine && read != converted)) return '.';
    const int step = g_to_a ? -1 : 1;
    const auto known = [](char base) { return (base == 'A') | (base == 'C') | (base == 'G') | (base == 'T'); };
    const char next = met(step), after = met(2 * step);
    char call = after == guanine ? 'X' : 'H';  // without branches, as bases are unpredictable
    call = known(next) & known(after) ? call : 'U';
    call = next == guanine ? 'Z' : call;
    return char(call | (read == cytosine ? 0 : 0x20));
}

}  // namespace gpualign
