// A template, a read or a pair, from bases to records.
#pragma once
#include "algo/map/align.hpp"
#include "algo/map/mate_rescue.hpp"
#include "algo/map/mixed_loci.hpp"
#include "algo/map/pairing.hpp"

namespace gpualign {

GPUALIGN_HD PackedLoci packed_loci(const MapBatch& batch, const uint64_t* list, const FoundRead& found, const MapRead& read) {
    return {batch.target, batch.rules.scores, list, found.loci, read.length, read.limit, read.unknown, found.hits_truncated};
}

// The loci of both mates, for MateRescue.
template <int Words, class Group>
struct PackedFinder {
    const Group& group;
    const MapBatch& batch;
    const MapWorkspace& memory;
    MapShared<Words>& shared;
    const MapRead* reads;
    FoundRead* found;

    GPUALIGN_HD const MapRead& read(int mate) const { return reads[mate]; }
    GPUALIGN_HD PackedLoci loci(int mate) const { return packed_loci(batch, memory.loci[mate], found[mate], reads[mate]); }
    GPUALIGN_HD uint32_t* counter() const { return &shared.counter; }
    GPUALIGN_HD const MapWorkspace& workspace() const { return memory; }
    GPUALIGN_HD_CALL void search(int mate, uint32_t from, uint32_t to, int32_t limit, uint64_t* best) const {
        search_windows(group, reads[mate], batch.target, memory, shared, from, to, limit, memory.loci[mate], found[mate], best);
        found[mate].loci = settle_loci(group, reads[mate].limit, memory.loci[mate], found[mate].loci);
    }
};

template <int Words, class Group>
class MapTemplate {
public:
    GPUALIGN_HD MapTemplate(const Group& group, const MapBatch& batch, const MapWorkspace& workspace, MapShared<Words>& shared)
        : group_(group), batch_(batch), workspace_(workspace), shared_(shared) {}

    GPUALIGN_HD void map(uint32_t number) {
        const uint32_t first = batch_.templates[number];
        const int mates = int(batch_.templates[number + 1] - first);
        bool here = !has_long_gaps(batch_.rules.scores);
        for (int mate = 0; mate < mates; mate++) here = load(first + uint32_t(mate), mate) && here;
        for (int mate = 0; mate < mates && here; mate++) here = find(mate, mates == 2);
        MapChoice choices[2];
        if (here && mates == 2) {
            PackedFinder<Words, Group> finder{group_, batch_, workspace_, shared_, reads_, found_};
            MateRescue<Group, PackedFinder<Words, Group>>(group_, batch_.target, batch_.rules, finder).run();
            choose_pair(group_, batch_.rules, loci(0), loci(1), reads_[0].draw, choices);
            here = !wants_clipped();
        } else if (here) {
            choices[0] = choose_single(group_, batch_.rules, loci(0), reads_[0].draw);
        }
        if (!here) return leave(number);
        for (int mate = 0; mate < mates && here; mate++) here = report(first + uint32_t(mate), mate, choices[mate]);
        for (int mate = 0; mate < mates && !here; mate++) say_no_room(first + uint32_t(mate));
    }

private:
    GPUALIGN_HD PackedLoci loci(int mate) const { return packed_loci(batch_, workspace_.loci[mate], found_[mate], reads_[mate]); }
    // False where the read is longer than there is space for, or any locus would do.
    GPUALIGN_HD bool load(uint32_t r, int mate) {
        const int64_t from = batch_.offsets[r], length = batch_.offsets[r + 1] - from;
        if (length > MapShared<Words>::kRows) return false;
        MapRead& read = reads_[mate];
        read = {shared_.read_words[mate], shared_.read_not_acgt[mate], int32_t(length), batch_.rules.limits[length], 0, false, batch_.draws[r]};
        read.clean = pack_read(group_, batch_.bases + from, read.length, Words + 2, shared_.read_words[mate],
                               shared_.read_not_acgt[mate]);
        if (!read.clean) read.unknown = forgiven_bases(read.length, count_unknown(read));
        read.limit += read.unknown;
        const int64_t band = 2 * int64_t(read.limit) + 1;
        if ((length && read.limit >= length) || read.limit > MapShared<Words>::kMaxLimit) return false;
        if ((2 * length + band) * (read.limit + 1) > int64_t(workspace_.trace_bytes)) return false;
        return true;
    }

    GPUALIGN_HD bool find(int mate, bool paired) {
        found_[mate] = find_loci(group_, reads_[mate], batch_.target, batch_.rules, workspace_, shared_, workspace_.loci[mate]);
        if (found_[mate].too_many) return false;
        const MapRead& read = reads_[mate];
        const int32_t distance = found_[mate].loci ? int32_t(locus_distance(workspace_.loci[mate][0])) : -1;
        if (wants_neighbours(read.length, read.unknown, batch_.rules.k, batch_.rules.w, distance)) return false;
        if (wants_rivals(read.length, batch_.rules.k, distance, paired)) return false;
        return !(batch_.rules.local && found_[mate].wants_chaining(workspace_.loci[mate], batch_.rules.scores, reads_[mate].limit));
    }

    // Whether one mate alone has a locus, and the other may be near it with clipped ends.
    GPUALIGN_HD bool wants_clipped() const {
        if (!batch_.rules.local || (found_[0].loci == 0) == (found_[1].loci == 0)) return false;
        const MapRead& read = reads_[found_[0].loci == 0 ? 0 : 1];
        return wants_clipped_mate(batch_.rules, 0, read.length, read.limit);
    }

    // False where there are not enough further records.
    GPUALIGN_HD bool report(uint32_t r, int mate, const MapChoice& choice) {
        const PackedLoci list = loci(mate);
        MapFacts record{};
        if (list.count == 0) {
            record.flag = kFlagUnmapped;
            write(batch_.records[r], record);
            return true;
        }
        record.mapq = choice.mapq;
        record.secondary = count_secondary(list, choice.locus);
        if (record.secondary && !take_further(record.secondary, record.first_secondary)) return false;
        if (!add(batch_.records[r], mate, list.list[choice.locus], choice.proper ? kFlagProper : uint16_t(0), record)) return false;
        uint32_t p = 0;
        for (uint32_t i = 0; i < record.secondary; i++) {
            p = next_secondary(batch_.rules, list, choice.locus, p);
            MapFacts further{};
            if (!add(batch_.further[record.first_secondary + i], mate, list.list[p++], kFlagSecondary, further)) return false;
        }
        return true;
    }

    GPUALIGN_HD uint32_t count_secondary(const PackedLoci& list, uint32_t chosen) const {
        const uint32_t maximum = uint32_t(batch_.rules.max_secondary);
        uint32_t count = 0;
        for (uint32_t p = 0; count < maximum; p++, count++) {
            p = next_secondary(batch_.rules, list, chosen, p);
            if (p == list.count) break;
        }
        return count;
    }

    GPUALIGN_HD bool take_further(uint32_t count, uint32_t& first) {
        first = group_.take_together(batch_.next_further, count);
        return uint64_t(first) + count <= batch_.further_count;
    }

    GPUALIGN_HD bool add(MapRecord& to, int mate, uint64_t locus, uint16_t flag, MapFacts& record) {
        record.flag = uint16_t(flag | (locus_reverse(locus) ? kFlagReverse : 0));
        const auto longer = [&](uint32_t operations) {
            const uint32_t bytes = operations * uint32_t(sizeof(uint16_t));
            const bool capacity = take_further((bytes + sizeof(MapRecord) - 1) / sizeof(MapRecord), record.long_cigar);
            return capacity ? reinterpret_cast<uint16_t*>(batch_.further + record.long_cigar) : nullptr;
        };
        if (!align_locus<Words>(group_, reads_[mate], locus, batch_.target, batch_.rules, workspace_, shared_, record, longer))
            return false;
        write(to, record);
        return true;
    }

    // To be mapped thoroughly.
    GPUALIGN_HD void leave(uint32_t number) {
        if (group_.lane() == 0) batch_.doubtful[group_.take(batch_.doubtful_count)] = number;
        group_.sync();
    }
    GPUALIGN_HD void say_no_room(uint32_t r) {
        MapFacts record{};
        record.flag = MapRecord::kNoSpace;
        write(batch_.records[r], record);
    }

    // The CIGAR is the one in shared memory, from its end, unless it is long.
    GPUALIGN_HD void write(MapRecord& to, const MapFacts& record) {
        if (group_.lane() == 0) static_cast<MapFacts&>(to) = record;
        const uint32_t operations = record.operations <= MapRecord::kMaxOperations ? record.operations : 0;
        for (uint32_t i = group_.lane(); i < MapRecord::kMaxOperations; i += Group::kLanes)
            to.cigar[i] = i < operations ? shared_.cigar[operations - 1 - i] : uint16_t(0);
        group_.sync();  // the next record's goes where this one's was
    }

    const Group& group_;
    const MapBatch& batch_;
    const MapWorkspace& workspace_;
    MapShared<Words>& shared_;
    MapRead reads_[2];
    FoundRead found_[2];
};

}  // namespace gpualign
