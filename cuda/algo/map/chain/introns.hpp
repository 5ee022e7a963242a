// Introns: the signals at their ends, and what these cost in an alignment.
#pragma once
#include "abi/chains.hpp"
#include "algo/common/hd.hpp"

namespace gpualign {

constexpr uint8_t kA = 0, kC = 1, kG = 2, kT = 3;

// Costs of introns that begin or end at a base of the reference. `base` are the codes (0 to 3: A, C, G, T) of that base
// and the two after it (begin) or before it (end), the nearest first.
//
// The end of an intron on the reverse strand is, read on that strand, its begin.
struct Signal {
    uint8_t base[3];

    GPUALIGN_HD bool ambiguous() const { return (base[0] | base[1] | base[2]) > kT; }
    GPUALIGN_HD Signal complement() const {
        return {{uint8_t(base[0] ^ 3), uint8_t(base[1] ^ 3), uint8_t(base[2] ^ 3)}};
    }
};
GPUALIGN_HD int32_t donor_cost(const IntronRules& rules, const Signal& s) {
    const bool gt = s.base[0] == kG && s.base[1] == kT;
    return rules.donor[s.ambiguous()                        ? 4
                       : gt                                 ? (s.base[2] == kA || s.base[2] == kG ? 0 : 1)
                       : s.base[0] == kG && s.base[1] == kC ? 2
                       : s.base[0] == kA && s.base[1] == kT ? 3
                                                            : 4];
}
GPUALIGN_HD int32_t acceptor_cost(const IntronRules& rules, const Signal& s) {
    const bool ag = s.base[0] == kG && s.base[1] == kA;
    return rules.acceptor[s.ambiguous()                        ? 3
                          : ag                                 ? (s.base[2] == kC || s.base[2] == kT ? 0 : 1)
                          : s.base[0] == kC && s.base[1] == kA ? 2
                                                               : 3];
}

// What an intron costs that begins (ends) with a base; ambiguous bases have codes above 3, and their complements, too.
GPUALIGN_HD int32_t intron_begin_cost(const IntronRules& rules, TranscriptStrand strand, const Signal& after) {
    return strand == kForwardTranscript ? donor_cost(rules, after) : acceptor_cost(rules, after.complement());
}
GPUALIGN_HD int32_t intron_end_cost(const IntronRules& rules, TranscriptStrand strand, const Signal& before) {
    return strand == kForwardTranscript ? acceptor_cost(rules, before) : donor_cost(rules, before.complement());
}

// How introns are aligned, and the known ones.
struct IntronModel {
    IntronRules rules{};
    KnownIntrons known{};
};

// The first end of a known intron at or after a position.
GPUALIGN_HD uint32_t first_site(const KnownSite* sites, uint32_t count, int64_t position) {
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (sites[middle].position < position) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Calls visit(position) for the ends of known introns on a strand in [begin, end), each `lanes`-th from the lane's on.
template <class Visit>
GPUALIGN_HD void for_each_site(const KnownSite* sites, uint32_t count, TranscriptStrand strand, int64_t begin,
    int64_t end, uint32_t lane, uint32_t lanes, Visit&& visit) {
    for (uint32_t s = first_site(sites, count, begin) + lane; s < count && sites[s].position < end; s += lanes)
        if (sites[s].strand == strand) visit(sites[s].position);
}

// Bases of the reference that a folded band leaves out before a diagonal.
GPUALIGN_HD int32_t jump_before(int32_t diagonal, int32_t fold, int32_t jump) {
    return fold && diagonal >= fold ? jump : 0;
}
// Index of the column of cell (row, diagonal) among those of a band of `rows` rows: those of the diagonals from `fold`
// on are stored after the others.
GPUALIGN_HD int32_t column_of(int32_t row, int32_t diagonal, int32_t rows, int32_t fold) {
    return row + diagonal + (fold && diagonal >= fold ? rows - 1 : 0);
}
GPUALIGN_HD int32_t column_count(int32_t rows, int32_t band, int32_t fold) {
    return rows + band - 1 + (fold ? rows - 1 : 0);
}
// The reference position, less the first row's diagonal, of a column.
GPUALIGN_HD int64_t column_offset(int32_t column, int32_t rows, int32_t fold, int32_t jump) {
    return fold && column >= rows - 1 + fold ? int64_t(column) - (rows - 1) + jump : column;
}

GPUALIGN_HD bool has_introns(const ChainRules& rules) { return rules.introns.open > 0; }
GPUALIGN_HD IntronModel intron_model(const ChainBatch& batch) { return {batch.rules.introns, batch.known}; }
// What an intron costs between two points that are so many bases further apart on the reference than on the read.
GPUALIGN_HD int32_t intron_cost(const IntronRules& rules, int32_t apart) {
    int32_t cost = rules.open;
    for (int32_t shorter = kShortIntron; 2 * int64_t(shorter) <= apart; shorter *= 2) cost++;
    return cost;
}
// The longest gap between two anchors of a chain.
GPUALIGN_HD int32_t longest_gap(const ChainRules& rules) {
    return has_introns(rules) ? max(rules.introns.longest, rules.max_difference) : rules.max_difference;
}
// The strands of the reference that the transcript of a read may have.
GPUALIGN_HD uint32_t transcript_strands(const ChainRules& rules, bool reverse) {
    const uint32_t strands = uint32_t(rules.introns.strands);
    return reverse ? (strands & 1) << 1 | strands >> 1 : strands;
}
constexpr int32_t kFewestRows = 32;  // a matrix on a device takes as much memory as one of so many rows
// Whether read and reference are so far apart between two positions that an intron lies there.
GPUALIGN_HD bool is_intron(const ChainRules& rules, int64_t on_reference, int32_t on_read) {
    return has_introns(rules) && on_reference - on_read >= rules.introns.shortest;
}

}  // namespace gpualign
