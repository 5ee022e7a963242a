// What an alignment of a read says, in bits, compared with how many loci there are: a read that says less than it takes to
// name one of them fits somewhere by chance.
#pragma once
#include <cmath>
#include <cstdint>

namespace gpualign {

// Minus the logarithm of the chance that random bases from some position on fit a read within `distance` edits: 4^-length for
// an exact copy, and about C(length, distance) 7^distance times that within so many edits, as one substitutes, drops or adds a
// base at any base. The binomial coefficient is about (e length / distance)^distance.
inline double information(int32_t length, int32_t distance) {
    constexpr double kOfKind = 3.5;  // bits on top of log2(length / distance), fitted to 10 to 100 bases with up to 8 % edits
    return 2.0 * length - (distance ? distance * (kOfKind + std::log2(double(length) / distance)) : 0.0);
}

// So many positions on either strand of a reference; in bits.
inline double loci_in_reference(uint64_t bases) { return std::log2(2.0 * double(bases) + 1); }

// The highest mapping quality of a locus that says so many bits more than it takes: chance matches are likelier than that.
inline double max_quality(double bits) { return 10 * std::log10(2.0) * bits; }

}  // namespace gpualign
