// First step of `map`: the loci of each read by itself, a group of lanes per read.
#pragma once
#include "algo/map/chain/band.hpp"
#include "algo/map/read_state.hpp"
#include "algo/map/read_through.hpp"

namespace gpualign {

template <int Words, class Group> class FindStep {
public:
    GPUALIGN_HD FindStep(
        const Group& group, const MapBatch& batch, const MapWorkspace& workspace, MapShared<Words>& shared)
        : group_(group), batch_(batch), all_(ReadStates<Words>::of(batch)), workspace_(workspace), shared_(shared) {}

    GPUALIGN_HD void find(uint32_t r) {
        MapRead read;
        const bool left = !load(r, read);
        ReadState& state = all_.states[r];
        if (group_.lane() == 0) {
            state = {};
            state.length = read.length;
            state.limit = read.limit;
            state.ambiguous = read.ambiguous;
            state.clean = read.clean;
            state.left = left;
        }
        if (left) return group_.sync();
        keep_words(r);
        const FoundRead found =
            find_loci(group_, read, batch_.target, batch_.rules, workspace_, shared_, workspace_.loci[0]);
        keep(found, state);
        group_.sync();
    }

private:
    // Loads a read, of a mate that is longer than its insert what it has of that. False if it is too long for this
    // kernel, or its limit allows any locus.
    GPUALIGN_HD bool load(uint32_t r, MapRead& read) {
        const int64_t from = batch_.offsets[r], length = batch_.offsets[r + 1] - from;
        read = {shared_.read_words, shared_.read_not_acgt, int32_t(length), 0, 0, false, batch_.tie_breaks[r],
            conversion_of(batch_.conversions, r)};
        if (length > MapShared<Words>::kRows || has_long_gaps(batch_.rules.scores)) return false;
        read.clean =
            pack_read(group_, batch_.bases + from, read.length, Words + 2, shared_.read_words, shared_.read_not_acgt);
        const int32_t insert = insert_of_pair(r);
        if (insert && insert < read.length) read.length = insert;
        allow_edits(read, batch_.rules.limits[read.length], read.clean ? 0 : count_ambiguous(read));
        if ((length && read.limit >= read.length) || read.limit > MapShared<Words>::kMaxLimit) return false;
        return BandLayout<Group::kLanes, false>::all_bytes(read.length, 2 * read.limit + 1) <= workspace_.band_bytes;
    }

    // The insert size by which the mates of the read's pair overlap; 0 if there is none (algo/map/read_through.hpp).
    GPUALIGN_HD int32_t insert_of_pair(uint32_t r) const {
        const uint32_t* const begin = batch_.templates;
        uint32_t low = 0, high = batch_.template_count;  // binary search for the template
        while (high - low > 1) {
            const uint32_t middle = low + (high - low) / 2;
            if (begin[middle] <= r) low = middle;
            else high = middle;
        }
        if (begin[low + 1] - begin[low] != 2) return 0;
        return read_through(group_, batch_.rules, batch_.bases, batch_.offsets, begin[low]);
    }

    // Stores the loci, unless there is no space for them.
    GPUALIGN_HD void keep(const FoundRead& found, ReadState& state) {
        const uint32_t count = found.too_many ? 0 : found.loci;
        const uint32_t first = count ? group_.take_together(&batch_.counters->loci, count) : 0;
        const bool fits = first <= all_.max_loci && count <= all_.max_loci - first;
        for (uint32_t i = group_.lane(); fits && i < count; i += Group::kLanes)
            all_.loci[first + i] = workspace_.loci[0][i];
        if (group_.lane() != 0) return;
        state.found = found;
        state.first_locus = first;
        state.left = found.too_many || !fits;
    }

    GPUALIGN_HD void keep_words(uint32_t r) {
        constexpr uint32_t kWords = ReadStates<Words>::kWords;
        for (uint32_t i = group_.lane(); i < kWords; i += Group::kLanes) {
            all_.words[uint64_t(r) * kWords + i] = shared_.read_words[i];
            all_.not_acgt[uint64_t(r) * kWords + i] = shared_.read_not_acgt[i];
        }
    }

    const Group& group_;
    const MapBatch& batch_;
    const ReadStates<Words> all_;
    const MapWorkspace& workspace_;
    MapShared<Words>& shared_;
};

}  // namespace gpualign
