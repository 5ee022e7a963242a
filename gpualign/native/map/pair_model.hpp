// What a library of read pairs looks like: how the mates face each other and how likely each insert size is.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "algo/map/pair_geometry.hpp"
#include "map/locus.hpp"

namespace gpualign {

struct PairModel : PairLibrary {
    double mean = 300, sd = 100;

    int64_t insert_size(const Locus& first, const Locus& second) const {
        if (first.contig != second.contig) return -1;
        return gpualign::insert_size(*this, first.begin, first.end, first.reverse, second.begin, second.end, second.reverse);
    }

    // Score units that an insert size costs against the most likely one: half its squared deviation in standard deviations,
    // in units of log 4, one match of a base that would fit by chance one time in four.
    int32_t penalty(int64_t insert) const {
        const double z = (double(insert) - mean) / sd;
        return int32_t(std::min(1000.0, 0.5 * z * z / std::log(4.0) + 0.5));
    }
};

}  // namespace gpualign
