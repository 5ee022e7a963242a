// Third step of `map`: the records of a read. A lane takes a read; reads with secondary alignments or with an
// alignment that needs DP are left to a group of lanes.
#pragma once
#include "algo/map/chain/band.hpp"
#include "algo/map/read_state.hpp"
#include "algo/map/records.hpp"
#include "algo/map/ungapped.hpp"

namespace gpualign {

template <int Words, class Group> class ReportStep {
public:
    GPUALIGN_HD ReportStep(const Group& group, const MapBatch& batch, uint32_t r)
        : group_(group), batch_(batch), all_(ReadStates<Words>::of(batch)), r_(r) {}

    // By one lane.
    GPUALIGN_HD void report() {
        const ReadState& state = all_.states[r_];
        if (state.left) return;
        const PackedLoci list = all_.loci_of(batch_, r_);
        MapRecord record{};
        if (list.count == 0) {
            record.flag = kFlagUnmapped;
        } else if (list.count > kFewLoci || count_secondary(list, state.choice.locus) ||
                   !set_plain(list.list[state.choice.locus], record)) {
            all_.reads[group_.take(&batch_.counters->reads)] = r_;
            return;
        }
        batch_.records[r_] = record;
    }

    // By a group.
    GPUALIGN_HD void align(const MapWorkspace& workspace, MapShared<Words>& shared) {
        if (add_records(workspace, shared)) return;
        MapFacts record{};  // there are not enough overflow records
        record.flag = MapRecord::kNoSpace;
        if (group_.lane() == 0) static_cast<MapFacts&>(batch_.records[r_]) = record;
    }

private:
    static constexpr uint32_t kFewLoci = 4;  // that a lane handles

    GPUALIGN_HD bool set_plain(uint64_t locus, MapRecord& record) const {
        const MapRead read = all_.read(batch_, r_);
        record.contig = locus_contig(batch_.target, locus);
        const int64_t left = batch_.target.contig_offsets[record.contig];
        if (!is_plainly_ungapped(read, locus, batch_.target, left, batch_.rules.scores)) return false;
        set_ungapped(read, locus, left, record);
        const uint32_t all = uint32_t(read.length) << 4 | kCigarM, clipped = uint32_t(all_.clipped(batch_, r_));
        const uint32_t front = locus_reverse(locus) ? clipped : 0;
        const ClippedCigar cigar{&all, 1, front, clipped - front};
        record.distance = clipped ? MapRecord::kNoDistance : uint16_t(locus_distance(locus));
        record.flag =
            uint16_t((all_.states[r_].choice.proper ? kFlagProper : 0) | (locus_reverse(locus) ? kFlagReverse : 0));
        record.mapq = all_.states[r_].choice.mapq;
        record.operations = uint16_t(cigar.count());
        record.cigar[0] = uint16_t(cigar[0]);
        if (record.operations == 2) record.cigar[1] = uint16_t(cigar[1]);
        return true;
    }

    // False if there are not enough overflow records, as below.
    GPUALIGN_HD bool add_records(const MapWorkspace& workspace, MapShared<Words>& shared) {
        const PackedLoci list = all_.loci_of(batch_, r_);
        const MapChoice choice = all_.states[r_].choice;
        MapFacts record{};
        record.mapq = choice.mapq;
        record.secondary = count_secondary(list, choice.locus);
        if (record.secondary && !take_overflow(group_, batch_, record.secondary, record.first_secondary)) return false;
        record.flag = choice.proper ? kFlagProper : uint16_t(0);
        for (uint32_t i = 0, p = 0; i <= record.secondary; i++) {  // the primary one first
            MapFacts further{};
            further.flag = kFlagSecondary;
            if (i) p = next_secondary(batch_.rules, list, choice.locus, p);
            MapRecord& to = i ? batch_.overflow_records[record.first_secondary + i - 1] : batch_.records[r_];
            if (!add(workspace, shared, to, list.list[i ? p++ : choice.locus], i ? further : record)) return false;
        }
        return true;
    }

    GPUALIGN_HD uint32_t count_secondary(const PackedLoci& list, uint32_t chosen) const {
        return for_each_secondary(batch_.rules, list, chosen, [](uint32_t) {});
    }

    // Aligns the read at a locus, and writes the record.
    GPUALIGN_HD bool add(
        const MapWorkspace& workspace, MapShared<Words>& shared, MapRecord& to, uint64_t locus, MapFacts& record) {
        if (locus_reverse(locus)) record.flag |= kFlagReverse;
        uint32_t operations = 1;
        const uint32_t* const last = align_locus(workspace, shared, locus, record, operations);
        const uint32_t clipped = uint32_t(all_.clipped(batch_, r_)), front = locus_reverse(locus) ? clipped : 0;
        return write_record(group_, batch_, to, record, {last + operations - 1, operations, front, clipped - front, -1},
            clipped ? -1 : int32_t(locus_distance(locus)));
    }

    // Aligns the read at a locus: without gaps where nothing else is better, else banded and affine. Fills contig,
    // position and score; returns the operations of the CIGAR, the last one first.
    GPUALIGN_HD const uint32_t* align_locus(const MapWorkspace& workspace, MapShared<Words>& shared, uint64_t locus,
        MapFacts& record, uint32_t& operations) {
        using Aligner = BandAligner<Gaps::affine, false, Group, TargetText>;
        const MapTarget& target = batch_.target;
        const AffineScores& scores = batch_.rules.scores;
        const MapRead read = all_.read(batch_, r_);
        record.contig = locus_contig(target, locus);
        const int64_t left = target.contig_offsets[record.contig], right = target.contig_offsets[record.contig + 1];
        BandWorkspace memory =
            BandWorkspace::at<typename Aligner::Layout>(workspace.band, read.length, 2 * read.limit + 1);
        memory.codes = shared.bases;
        if (is_ungapped(group_, read, locus, target, left, right, scores, shared)) {
            set_ungapped(read, locus, left, record);
            if (group_.lane() == 0) memory.operations[0] = uint32_t(read.length) << 4 | kCigarM;
        } else {
            BandTask task{};
            task.rows = read.length;
            task.band = 2 * read.limit + 1;
            task.diagonal = locus_end(locus) - read.length - read.limit;
            task.begin_pin = task.end_pin = kFreeEnd;
            task.contig = record.contig;
            task.reverse = locus_reverse(locus);
            const TargetText text{target};
            Aligner aligner(group_, scores, text, task, memory);
            aligner.load({read, false});
            const BandEnd end = aligner.sweep(aligner.steps());
            group_.sync();
            const BandAlignment found = aligner.trace(group_, end);
            record.position = uint32_t(found.begin - left);
            record.score = found.score;
            operations = found.operations;
        }
        group_.sync();
        return memory.operations;
    }

    // Position and score of an alignment without gaps.
    GPUALIGN_HD void set_ungapped(const MapRead& read, uint64_t locus, int64_t left, MapFacts& record) const {
        record.position = uint32_t(locus_end(locus) - read.length - left);
        record.score = ungapped_score(batch_.rules.scores, read.length, int32_t(locus_distance(locus)));
    }

    const Group& group_;
    const MapBatch& batch_;
    const ReadStates<Words> all_;
    const uint32_t r_;
};

}  // namespace gpualign
