// The order in which the end-to-end loci of reads by themselves are found: of all reads of a block on the CPU, where
// windows share vectors (native/map/locus_finder.hpp), and of one mate on the device's slow path
// (slow_path/finder.hpp).
#pragma once
#include "algo/map/locus.hpp"

namespace gpualign {

// `Reads` has for_each(visit(r)), loci(r), best first, and failed(r), the maximum seed hits of a candidate beyond the
// limit. look_up(r) finds the read's seeds. add_candidates(r, depth, part of the hits of a seed) and add_variants(r,
// keeps its loci) add the windows of candidates; search() replaces the loci of these reads. leave_hits_to_chaining(r)
// finds whether the read has more hits than chaining follows.
template <class Reads> GPUALIGN_HOST_DEVICE void find_end_to_end(const MapRules& rules, bool full, Reads& reads) {
    reads.for_each([&](auto r) {
        reads.look_up(r);
        reads.add_candidates(r, 1, false);
    });
    reads.search();
    if (full) return;
    // more hits of reads in repeats whose best locus is uncertain
    reads.for_each([&](auto r) {
        if (!wants_more_hits(reads.loci(r))) return;
        if (leaves_hits_to_chaining(rules, reads.loci(r), reads.failed(r))) reads.leave_hits_to_chaining(r);
        else reads.add_candidates(r, kDepth, wants_part_of_hits(reads.loci(r), reads.failed(r)));
    });
    reads.search();
    // one-substitution variants of short reads that may lie where none of their seeds does
    reads.for_each([&](auto r) {
        const VariantsFor sought = variants_for(rules, reads.loci(r), reads.paired(r));
        if (sought != VariantsFor::nothing) reads.add_variants(r, sought == VariantsFor::suboptimal);
    });
    reads.search();
    if (!rules.local) return;
    reads.for_each([&](auto r) {
        if (near_hits_matter(rules.scores, reads.loci(r), reads.candidates(r))) reads.count_near_hits(r);
    });
}

}  // namespace gpualign
