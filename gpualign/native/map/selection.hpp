// Selects which of a read's loci are reported, with mapping qualities.
#pragma once
#include <algorithm>
#include <vector>

#include "algo/common/group.hpp"
#include "algo/map/pairing.hpp"
#include "map/alignment.hpp"
#include "map/locus_finder.hpp"

namespace gpualign {

// A record to write: a locus of a read, null if it is unmapped.
struct Choice {
    size_t read;
    const Locus* locus;
    uint16_t flag;
    uint8_t mapq;
};

class Selector {
public:
    Selector(const LocusFinder& found, const MapperParams& params) : found_(found), rules_(params.rules) {}

    // Selects the records of all reads of the block, in order; the primary one of a read comes first.
    void select(std::vector<Choice>& choices) const {
        choices.clear();
        MapChoice chosen[2];
        for (size_t r = 0; r < found_.size(); r++) {
            if (!found_.read(r).first_of_pair) {
                report(r, choose_single(group_, rules_, found_.loci(r), found_.read(r).tie_break), choices);
                continue;
            }
            choose_pair(group_, rules_, found_.loci(r), found_.loci(r + 1), found_.read(r).tie_break, chosen);
            report(r, chosen[0], choices);
            report(r + 1, chosen[1], choices);
            r++;
        }
    }

private:
    // Adds the chosen record and the secondary ones.
    void report(size_t r, const MapChoice& chosen, std::vector<Choice>& choices) const {
        const LociView loci = found_.loci(r);
        if (loci.count == 0) return choices.push_back({r, nullptr, kFlagUnmapped, 0});
        choices.push_back({r, loci.list + chosen.locus, chosen.proper ? kFlagProper : uint16_t(0), chosen.mapq});
        for_each_secondary(
            rules_, loci, chosen.locus, [&](uint32_t i) { choices.push_back({r, loci.list + i, kFlagSecondary, 0}); });
    }

    const LocusFinder& found_;
    const MapRules& rules_;
    const OneLane group_{};
};

}  // namespace gpualign
