// Third step of `map`: the records of a read. A lane takes a read; reads with secondary alignments or with an
// alignment that needs DP are left to a group of lanes.
#pragma once
#include "algo/map/align.hpp"
#include "algo/map/read_state.hpp"
#include "algo/map/read_through.hpp"

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
        const Memory memory{workspace, shared};
        if (add_records(memory)) return;
        MapFacts record{};  // there are not enough overflow records
        record.flag = MapRecord::kNoSpace;
        write(batch_.records[r_], record, {});
    }

private:
    static constexpr uint32_t kFewLoci = 4;  // that a lane handles

    struct Memory {
        const MapWorkspace& workspace;
        MapShared<Words>& shared;
    };

    GPUALIGN_HD bool set_plain(uint64_t locus, MapRecord& record) const {
        const MapRead read = all_.read(batch_, r_);
        record.contig = locus_contig(batch_.target, locus);
        const int64_t left = batch_.target.contig_offsets[record.contig];
        if (!is_plainly_ungapped(read, locus, batch_.target, left, batch_.rules.scores)) return false;
        set_ungapped(read.length, locus, left, batch_.rules.scores, record);
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

    GPUALIGN_HD bool add_records(const Memory& memory) {
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
            if (!add(memory, to, list.list[i ? p++ : choice.locus], i ? further : record)) return false;
        }
        return true;
    }

    GPUALIGN_HD uint32_t count_secondary(const PackedLoci& list, uint32_t chosen) const {
        return for_each_secondary(batch_.rules, list, chosen, [](uint32_t) {});
    }

    GPUALIGN_HD bool add(const Memory& memory, MapRecord& to, uint64_t locus, MapFacts& record) {
        if (locus_reverse(locus)) record.flag |= kFlagReverse;
        const uint32_t* const aligned = align_locus(group_, all_.read(batch_, r_), locus, batch_.target,
            batch_.rules.scores, memory.workspace, memory.shared, record);
        const uint32_t clipped = uint32_t(all_.clipped(batch_, r_)), first = locus_reverse(locus) ? clipped : 0;
        const ClippedCigar cigar{aligned, record.operations, clipped - first, first};  // last operation first
        if (clipped) record.distance = MapRecord::kNoDistance;
        record.operations = uint16_t(cigar.count());
        if (record.operations > MapRecord::kMaxOperations) {
            const uint32_t bytes = record.operations * uint32_t(sizeof(uint16_t));
            if (!take_overflow(group_, batch_, (bytes + sizeof(MapRecord) - 1) / sizeof(MapRecord), record.long_cigar))
                return false;
            uint16_t* const out = reinterpret_cast<uint16_t*>(batch_.overflow_records + record.long_cigar);
            for (uint32_t o = group_.lane(); o < record.operations; o += Group::kLanes) out[o] = uint16_t(cigar[o]);
        }
        write(to, record, cigar);
        return true;
    }

    // Writes a record, with the CIGAR, whose last operation is first, unless it is long.
    GPUALIGN_HD void write(MapRecord& to, const MapFacts& record, const ClippedCigar& cigar) {
        if (group_.lane() == 0) static_cast<MapFacts&>(to) = record;
        const uint32_t operations = record.operations <= MapRecord::kMaxOperations ? record.operations : 0;
        for (uint32_t i = group_.lane(); i < MapRecord::kMaxOperations; i += Group::kLanes)
            to.cigar[i] = i < operations ? uint16_t(cigar[operations - 1 - i]) : uint16_t(0);
        group_.sync();  // the next record's CIGAR overwrites this one
    }

    const Group& group_;
    const MapBatch& batch_;
    const ReadStates<Words> all_;
    const uint32_t r_;
};

}  // namespace gpualign
