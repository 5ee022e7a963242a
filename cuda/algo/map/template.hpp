// A template, a read or a pair, from bases to records.
#pragma once
#include "algo/map/align.hpp"
#include "algo/map/mate_rescue.hpp"
#include "algo/map/pairing.hpp"

namespace gpualign {

template <int Words, class Group>
class MapTemplate {
public:
    GPUALIGN_HD MapTemplate(const Group& group, const MapBatch& batch, const MapWorkspace& workspace, MapShared<Words>& shared)
        : group_(group), batch_(batch), workspace_(workspace), shared_(shared) {}

    GPUALIGN_HD void map(uint32_t number) {
        const uint32_t first = batch_.templates[number];
        const int mates = int(batch_.templates[number + 1] - first);
        bool here = true;
        for (int mate = 0; mate < mates; mate++) here = load(first + uint32_t(mate), mate) && here;
        for (int mate = 0; mate < mates && here; mate++) here = find(mate);
        MapChoice choices[2];
        if (here && mates == 2) {
            MateRescue<Words, Group>(group_, batch_.target, batch_.rules, workspace_, shared_).run(reads_, found_);
            choose_pair(group_, batch_.rules, loci(0), loci(1), choices);
            here = !wants_poor_mate();
        } else if (here) {
            choices[0] = choose_single(group_, batch_.rules, loci(0));
        }
        for (int mate = 0; mate < mates && here; mate++) here = report(first + uint32_t(mate), mate, choices[mate]);
        if (here) return;
        for (int mate = 0; mate < mates; mate++) leave(first + uint32_t(mate));
    }

private:
    GPUALIGN_HD PackedLoci loci(int mate) const {
        return {batch_.target, batch_.rules.scores, workspace_.loci[mate], found_[mate].loci, reads_[mate].length, reads_[mate].limit,
                found_[mate].hits_truncated};
    }
    GPUALIGN_HD uint32_t records_per_read() const { return 1 + uint32_t(batch_.rules.max_secondary); }

    // False where the read is longer than there is room for, or any locus would do.
    GPUALIGN_HD bool load(uint32_t r, int mate) {
        const int64_t from = batch_.offsets[r], length = batch_.offsets[r + 1] - from;
        if (length > MapShared<Words>::kRows) return false;
        MapRead& read = reads_[mate];
        read = {shared_.read_words[mate], shared_.read_not_acgt[mate], int32_t(length), batch_.rules.limits[length], false};
        const int64_t band = 2 * int64_t(read.limit) + 1;
        if ((length && read.limit >= length) || read.limit > MapShared<Words>::kMaxLimit) return false;
        if ((2 * length + band) * (read.limit + 1) > int64_t(workspace_.trace_bytes)) return false;
        read.clean = pack_read(group_, batch_.bases + from, read.length, Words + 2, shared_.read_words[mate],
                               shared_.read_not_acgt[mate]);
        return true;
    }

    GPUALIGN_HD bool find(int mate) {
        found_[mate] = find_loci(group_, reads_[mate], batch_.target, batch_.rules, workspace_, shared_, workspace_.loci[mate]);
        if (found_[mate].too_many) return false;
        return !(batch_.rules.local && found_[mate].wants_chaining(workspace_.loci[mate], batch_.rules.scores, reads_[mate].limit));
    }

    // Whether one mate alone has a locus, and the other may be near it with clipped ends, where the host looks for it.
    GPUALIGN_HD bool wants_poor_mate() const {
        if (!batch_.rules.local || (found_[0].loci == 0) == (found_[1].loci == 0)) return false;
        const MapRead& read = reads_[found_[0].loci == 0 ? 0 : 1];
        return read.length * batch_.rules.scores.match >= kMinLocalScore &&
               limit_beside_mate(read.length, read.limit, batch_.rules.pairs.max) >= 0;
    }

    GPUALIGN_HD bool report(uint32_t r, int mate, const MapChoice& choice) {
        const FoundRead& found = found_[mate];
        MapFacts record{};
        if (found.loci == 0) {
            record.flag = kFlagUnmapped;
            write(r, 0, record);
            return clear(r, 1);
        }
        const PackedLoci list = loci(mate);
        record.mapq = choice.mapq;
        if (!add(r, 0, mate, list.list[choice.locus], choice.proper ? kFlagProper : uint16_t(0), record)) return false;
        uint32_t written = 1;
        for (uint32_t p = 0; written < records_per_read(); p++) {
            p = next_secondary(batch_.rules, list, choice.locus, p);
            if (p == list.count) break;
            MapFacts further{};
            if (!add(r, written++, mate, list.list[p], kFlagSecondary, further)) return false;
        }
        return clear(r, written);
    }

    GPUALIGN_HD bool add(uint32_t r, uint32_t number, int mate, uint64_t locus, uint16_t flag, MapFacts& record) {
        record.flag = uint16_t(flag | (locus_reverse(locus) ? kFlagReverse : 0));
        if (!align_locus<Words>(group_, reads_[mate], locus, batch_.target, batch_.rules, workspace_, shared_, record)) return false;
        write(r, number, record);
        return true;
    }

    GPUALIGN_HD bool clear(uint32_t r, uint32_t from) {
        MapFacts unused{};
        unused.flag = MapRecord::kUnused;
        for (uint32_t number = from; number < records_per_read(); number++) write(r, number, unused);
        return true;
    }

    // Leaves a read to the host.
    GPUALIGN_HD void leave(uint32_t r) {
        MapFacts record{};
        record.flag = MapRecord::kOnHost;
        write(r, 0, record);
        clear(r, 1);
    }

    // The CIGAR is the one in shared memory, from its mate.
    GPUALIGN_HD void write(uint32_t r, uint32_t number, const MapFacts& record) {
        MapRecord& written = batch_.records[uint64_t(r) * records_per_read() + number];
        if (group_.lane() == 0) static_cast<MapFacts&>(written) = record;
        const uint32_t operations = record.operations;
        for (uint32_t i = group_.lane(); i < MapRecord::kMaxOperations; i += Group::kLanes)
            written.cigar[i] = i < operations ? shared_.cigar[operations - 1 - i] : uint16_t(0);
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
