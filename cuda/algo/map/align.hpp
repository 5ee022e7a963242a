// Alignment of a read at one locus, by a group of lanes: without gaps where nothing else is better, else banded and
// affine.
#pragma once
#include "algo/map/chain/band.hpp"
#include "algo/map/ungapped.hpp"

namespace gpualign {

// Fills the record of an alignment without gaps.
GPUALIGN_HD void set_ungapped(
    int32_t length, uint64_t locus, int64_t left, const AffineScores& scores, MapFacts& record) {
    const int32_t distance = int32_t(locus_distance(locus));
    record.position = uint32_t(locus_end(locus) - length - left);
    record.score = ungapped_score(scores, length, distance);
}

// Fills the alignment's fields in the record; returns its CIGAR, last operation first.
template <int Words, class Group>
GPUALIGN_HD const uint32_t* align_locus(const Group& group, const MapRead& read, uint64_t locus,
    const MapTarget& target, const AffineScores& scores, const MapWorkspace& workspace, MapShared<Words>& shared,
    MapFacts& record) {
    using Aligner = BandAligner<false, false, Group, TargetText>;
    const uint32_t contig = locus_contig(target, locus);
    const int64_t left = target.contig_offsets[contig];
    BandTask task{};
    task.rows = read.length;
    task.band = 2 * read.limit + 1;
    task.diagonal = locus_end(locus) - read.length - read.limit;
    task.begin_pin = task.end_pin = kFreeEnd;
    task.contig = contig;
    task.reverse = locus_reverse(locus);
    BandWorkspace memory = BandWorkspace::at<typename Aligner::Layout>(workspace.band, task.rows, task.band);
    memory.codes = shared.bases;
    record.contig = contig;
    record.distance = uint16_t(locus_distance(locus));
    if (is_ungapped(group, read, locus, target, left, target.contig_offsets[contig + 1], scores, shared)) {
        set_ungapped(read.length, locus, left, scores, record);
        record.operations = 1;
        if (group.lane() == 0) memory.operations[0] = uint32_t(read.length) << 4 | kCigarM;
    } else {
        const TargetText text{target};
        Aligner aligner(group, scores, text, task, memory);
        aligner.load({read, false});
        const BandEnd end = aligner.sweep(aligner.steps());
        group.sync();
        const BandAlignment found = aligner.trace(group, end);
        record.position = uint32_t(found.begin - left);
        record.score = found.score;
        record.operations = uint16_t(found.operations);
    }
    group.sync();
    return memory.operations;
}

}  // namespace gpualign
