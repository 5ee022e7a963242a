// Writes the records of templates on the slow path.
#pragma once
#include "algo/map/records.hpp"
#include "algo/map/slow_path/template.hpp"
#include "algo/map/ungapped.hpp"
#include "algo/text/columns.hpp"

namespace gpualign {

template <bool LongGaps, class Group> class SlowPathRecords {
    using Template = SlowPathTemplate<LongGaps, Group>;

public:
    GPUALIGN_HD explicit SlowPathRecords(const Template& of) : own_(of), group_(of.group), batch_(of.batch) {}

    // Counts the records of a read and reserves overflow records.
    GPUALIGN_HOST_DEVICE void count(int mate, const SlowPathLoci& loci, const MapChoice& choice) {
        uint32_t supplementary = 0, further = 0, number = 0;
        const uint32_t secondary = for_each_secondary(batch_.rules, loci, choice.locus, [&](uint32_t p) {
            if (own_.first_lane()) own_.of.secondary[mate][number] = p;
            number++;
        });
        if (loci.count && loci.local(choice.locus))
            for (size_t part = 0; part < loci.locals->size(); part++)
                supplementary += (*loci.locals)[part].kind == ChainKind::supplementary;
        if (secondary + supplementary && !take_overflow(group_, batch_, secondary + supplementary, further))
            return own_.set_status(MapRecord::kNoSpace);
        if (!own_.first_lane()) return;
        MateState& state = own_.of.mates[mate];
        state.choice = choice;
        state.first_overflow = further;
        state.supplementary = supplementary;
        state.secondary = secondary;
    }

    // Writes every step-th record of the template, from `from` on.
    GPUALIGN_HOST_DEVICE void write(uint32_t from, uint32_t step) {
        uint32_t number = 0;
        for (int mate = 0; mate < own_.of.count && !own_.ended(); mate++) {
            const uint32_t others = own_.of.mates[mate].supplementary + own_.of.mates[mate].secondary;
            for (uint32_t i = 0; i <= others; i++, number++)
                if (number % step == from && !own_.ended()) add(mate, i);
        }
    }

    // Records the template's status for the host; called by one lane.
    GPUALIGN_HD void leave() {
        MapFacts facts{};
        facts.flag = uint16_t(*own_.of.status);
        for (int mate = 0; mate < own_.of.count; mate++)
            static_cast<MapFacts&>(batch_.records[own_.read_number(mate)]) = facts;
    }

private:
    // Record i of a read: the primary one, then supplementary, then secondary ones.
    GPUALIGN_HD_CALL void add(int mate, uint32_t i) {
        const MateState& state = own_.of.mates[mate];
        MapFacts facts{};
        MapRecord& to =
            i ? batch_.overflow_records[state.first_overflow + i - 1] : batch_.records[own_.read_number(mate)];
        if (state.found.loci == 0) {
            facts.flag = kFlagUnmapped;
            return put(to, facts, {}, -1);
        }
        const uint32_t parts = state.supplementary;
        if (i == 0) {
            facts.flag = state.choice.proper ? kFlagProper : uint16_t(0);
            facts.mapq = state.choice.mapq;
            facts.secondary = parts + state.secondary;
            facts.first_secondary = state.first_overflow;
        } else if (i <= parts) {
            facts.flag = kFlagSupplementary;
            return put_local(to, facts, mate, part_of(mate, i - 1), true);
        } else {
            facts.flag = kFlagSecondary;
        }
        const Locus& locus = own_.of.loci[mate][i ? own_.of.secondary[mate][i - 1 - parts] : state.choice.locus];
        if (locus.local >= 0) put_local(to, facts, mate, own_.locals(mate)[size_t(locus.local)], false);
        else put_end_to_end(to, facts, mate, locus);
    }

    GPUALIGN_HD LocalAlignment part_of(int mate, uint32_t number) const {
        const DeviceLocals own = own_.locals(mate);
        size_t at = 0;
        while (own[at].kind != ChainKind::supplementary || number--) at++;
        return own[at];
    }

    GPUALIGN_HOST_DEVICE void put_local(
        MapRecord& to, MapFacts& facts, int mate, const LocalAlignment& local, bool with_quality) {
        facts.flag = uint16_t(facts.flag | (local.reverse ? kFlagReverse : 0));
        facts.mapq = with_transcript(uint8_t(with_quality ? local.mapq : facts.mapq), local.transcript);
        facts.contig = local.contig;
        facts.position = uint32_t(local.position);
        facts.score = local.score;
        const uint32_t* const cigar = own_.locals(mate).cigars() + local.cigar;
        put(to, facts, clipped_cigar(mate, local.reverse, cigar, local.operations), -1);
    }

    // A CIGAR with what lies beyond the insert of the read's pair (algo/map/read_through.hpp).
    GPUALIGN_HD ClippedCigar clipped_cigar(int mate, bool reverse, const uint32_t* cigar, uint32_t operations) const {
        const uint32_t clipped = uint32_t(own_.clipped(mate)), front = reverse ? clipped : 0;
        return {cigar, operations, front, clipped - front};
    }

    // End-to-end alignment within `limit` diagonals of the one on which the locus ends.
    GPUALIGN_HOST_DEVICE void put_end_to_end(MapRecord& to, MapFacts& facts, int mate, const Locus& locus) {
        const MapRead read = own_.of.mates[mate].read;
        const int64_t left = batch_.target.contig_offsets[locus.contig];
        const int32_t distance = own_.clipped(mate) ? -1 : locus.distance;
        facts.flag = uint16_t(facts.flag | (locus.reverse ? kFlagReverse : 0));
        facts.contig = locus.contig;
        if (is_plainly_ungapped(
                group_, read, locus.reverse, locus.distance, batch_.target, locus.begin, left, batch_.rules.scores)) {
            const uint32_t all = uint32_t(read.length) << 4 | kCigarM;
            facts.position = uint32_t(locus.begin - left);
            facts.score = ungapped_score(batch_.rules.scores, read.length, locus.distance);
            return put(to, facts, clipped_cigar(mate, locus.reverse, &all, 1), distance);
        }
        const uint32_t number = own_.align_read(
            mate, locus.reverse, locus.contig, locus.end - read.length - read.limit, 2 * read.limit + 1);
        if (number == kNoItem) return;
        const ChainBatch& chains = own_.launch.chains[0];
        const BandTask& task = chains.tasks[0].items[number];
        facts.position = uint32_t(task.begin - left);
        facts.score = task.score;
        put(to, facts, clipped_cigar(mate, locus.reverse, chains.cigars.items + task.cigar, task.operations), distance);
    }

    GPUALIGN_HD_CALL void put(MapRecord& to, MapFacts& facts, const ClippedCigar& cigar, int32_t distance) {
        if (!write_record(group_, batch_, to, facts, cigar, distance)) own_.set_status(MapRecord::kNoSpace);
    }

    const Template& own_;
    const Group& group_;
    const MapBatch& batch_;
};

}  // namespace gpualign
