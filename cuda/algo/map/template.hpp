// A template, a read or a pair, from bases to records.
#pragma once
#include "algo/map/align.hpp"

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
        for (int mate = 0; mate < mates; mate++)
            here = load(first + uint32_t(mate), mate) && (mates == 1 || reads_[mate].length >= kShortMate) && here;
        for (int mate = 0; mate < mates && here; mate++) here = find(mate);
        MapChoice choices[2];
        if (here && mates == 2) {
            rescue_mates(group_, reads_, batch_.target, batch_.rules, workspace_, shared_, found_);
            choose_pair(group_, reads_, batch_.target, batch_.rules, workspace_, found_, choices);
            here = !wants_poor_mate();
        } else if (here) {
            choices[0] = choose_single(group_, workspace_.loci[0], found_[0].loci, edit());
        }
        for (int mate = 0; mate < mates && here; mate++) here = report(first + uint32_t(mate), mate, choices[mate]);
        if (here) return;
        for (int mate = 0; mate < mates; mate++) leave(first + uint32_t(mate));
    }

private:
    GPUALIGN_HD int32_t edit() const { return batch_.rules.scores.match + batch_.rules.scores.mismatch; }
    GPUALIGN_HD uint32_t records_per_read() const { return 1 + uint32_t(batch_.rules.max_secondary); }

    // False where the read is longer than there is room for, or so short that any locus would do.
    GPUALIGN_HD bool load(uint32_t r, int mate) {
        const int64_t from = batch_.offsets[r], length = batch_.offsets[r + 1] - from;
        if (length > MapShared<Words>::kRows) return false;
        MapRead& read = reads_[mate];
        read = {shared_.read_words[mate], shared_.read_not_acgt[mate], int32_t(length), batch_.rules.limits[length], false};
        const int64_t band = 2 * int64_t(read.limit) + 1;
        if (read.limit >= read.length || read.limit > MapShared<Words>::kMaxLimit) return false;
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

    // Whether one mate alone has a locus: the host looks for the other by chaining near it.
    GPUALIGN_HD bool wants_poor_mate() const {
        return batch_.rules.local && (found_[0].loci == 0) != (found_[1].loci == 0);
    }

    GPUALIGN_HD bool report(uint32_t r, int mate, const MapChoice& choice) {
        const FoundRead& found = found_[mate];
        const uint64_t* loci = workspace_.loci[mate];
        MapFacts record{};
        record.pair_min_loss = record.alone_min_loss = MapRecord::kNotAsked;
        if (found.loci == 0) {
            record.flag = kFlagUnmapped;
            write(r, 0, record);
            return clear(r, 1);
        }
        record.hits_truncated = found.hits_truncated;
        if (choice.proper) {
            record.pair_min_loss = choice.pair.least;
            record.pair_count = uint16_t(choice.pair.count);
        }
        if (choice.best) {
            record.alone_min_loss = choice.alone.least;
            record.alone_count = uint16_t(choice.alone.count);
        }
        if (!add(r, 0, mate, loci[choice.locus], choice.proper ? kFlagProper : uint16_t(0), record)) return false;
        const int32_t chosen = int32_t(locus_distance(loci[choice.locus]));
        uint32_t written = 1;
        for (uint32_t p = 0; p < found.loci && written < records_per_read(); p++) {
            if (p == choice.locus || int32_t(locus_distance(loci[p])) - chosen > batch_.rules.strata) continue;
            MapFacts further{};
            further.pair_min_loss = further.alone_min_loss = MapRecord::kNotAsked;
            if (!add(r, written++, mate, loci[p], kFlagSecondary, further)) return false;
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
