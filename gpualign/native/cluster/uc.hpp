// Records S and H of the .uc format, as vsearch and USEARCH write them.
#pragma once
#include <cstdio>

#include "cluster/names.hpp"
#include "text/text.hpp"

namespace gpualign {
namespace cluster {

struct UcRows {
    Names names;
    const int64_t *members, *centroids, *lengths;  // numbers of names; symbols of the members
    const int32_t* cluster;
    const uint8_t *founds, *minus, *exact;
    const double* identity;
    const uint32_t* operations;
    const int64_t* offsets;
};

// whole: bits of `exact` with which = stands for the CIGAR. In others I and D are ours the other way round, and a 1 is
// left out.
inline void put_uc_row(Text& out, const UcRows& rows, size_t i, uint8_t whole) {
    const auto name = [&](int64_t number) {
        const std::string_view text = rows.names[number];
        out.put(text.data(), text.size());
    };
    out.put(rows.founds[i] ? "S\t" : "H\t", 2);
    out.number(rows.cluster[i]);
    out.put('\t');
    out.number(rows.lengths[i]);
    if (rows.founds[i]) {
        out.put("\t*\t*\t*\t*\t*\t");
        name(rows.members[i]);
        out.put("\t*\n");
        return;
    }
    char identity[32];
    out.put(identity, size_t(std::snprintf(identity, sizeof identity, "\t%.1f\t", 100 * rows.identity[i])));
    out.put(rows.minus[i] ? '-' : '+');
    out.put("\t0\t0\t");
    const int64_t begin = rows.offsets[i], end = rows.offsets[i + 1];
    if (rows.exact[i] & whole) out.put('=');
    else if (begin == end) out.put('*');
    else
        for (int64_t at = begin; at < end; at++) {
            if (rows.operations[at] >> 4 != 1) out.number(rows.operations[at] >> 4);
            else out.reserve(Text::kSpare);
            out.put("MDI"[rows.operations[at] & 15]);
        }
    out.put('\t');
    name(rows.members[i]);
    out.put('\t');
    name(rows.centroids[i]);
    out.put('\n');
}

}  // namespace cluster
}  // namespace gpualign
