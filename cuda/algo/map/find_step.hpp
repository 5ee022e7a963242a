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
        ReadState state{};
        state.left = !load(r, read);
        if (!state.left) {
            state.found = find_loci(group_, read, batch_.target, batch_.rules, workspace_, shared_, workspace_.loci[0]);
            state.left = state.found.too_many || !keep_loci(state);
            state.alone = !state.left;
            keep_words(r);
        }
        state.length = read.length;
        state.limit = read.limit;
        state.ambiguous = read.ambiguous;
        state.clean = read.clean;
        if (group_.lane() == 0) all_.states[r] = state;
        group_.sync();
        if (!state.left && all_.clipped(batch_, r)) check_clip(r);
    }

private:
    // Loads a read, without what a mate has beyond the insert of its pair. False if the read is too long for this
    // kernel, or its limit allows any locus.
    GPUALIGN_HD bool load(uint32_t r, MapRead& read) {
        const int64_t from = batch_.offsets[r], length = batch_.offsets[r + 1] - from;
        read = {shared_.read_words, shared_.read_not_acgt, int32_t(length), 0, 0, false, batch_.tie_breaks[r],
            conversion_of(batch_.conversions, r)};
        if (length > MapShared<Words>::kRows || has_long_gaps(batch_.rules.scores)) return false;
        read.clean =
            pack_read(group_, batch_.bases + from, read.length, Words + 2, shared_.read_words, shared_.read_not_acgt);
        const int32_t insert = insert_of(r);
        if (insert && insert < read.length) read.length = insert;
        allow_edits(read, batch_.rules.limits[read.length], read.clean ? 0 : count_ambiguous(read));
        if ((read.length && read.limit >= read.length) || read.limit > MapShared<Words>::kMaxLimit) return false;
        return BandLayout<Group::kLanes, false>::all_bytes(read.length, 2 * read.limit + 1) <= workspace_.band_bytes;
    }

    // Bases of the read that are of its pair's insert, 0 if unknown (algo/map/read_through.hpp).
    GPUALIGN_HD int32_t insert_of(uint32_t r) const {
        const uint32_t* const own = batch_.templates + last_at_most(batch_.templates, batch_.template_count, r);
        if (own[1] - own[0] != 2) return 0;
        const MatesOfBatch mates(batch_.bases, batch_.offsets, own[0]);
        return read_through(group_, batch_.rules, mates.first, mates.second, mates).of[r - own[0]];
    }

    // Leaves a clipped mate to the slow path if it may not end where its insert does.
    GPUALIGN_HD_CALL void check_clip(uint32_t r) const {
        ReadState& state = all_.states[r];
        ChainQuery whole{all_.read(batch_, r), false};
        whole.read.length += all_.clipped(batch_, r);
        const Clip clip = clip_at_insert(
            group_, batch_.rules, all_.loci_of(batch_, r), state.found, whole, TargetText{batch_.target});
        if (clip != Clip::ends && group_.lane() == 0) state.left = true;
        group_.sync();
    }

    // False if there is no space for them.
    GPUALIGN_HD bool keep_loci(ReadState& state) {
        const uint32_t count = state.found.loci;
        if (count == 0) return true;
        state.first_locus = group_.take_together(&batch_.counters->loci, count);
        if (state.first_locus > all_.max_loci || count > all_.max_loci - state.first_locus) return false;
        for (uint32_t i = group_.lane(); i < count; i += Group::kLanes)
            all_.loci[state.first_locus + i] = workspace_.loci[0][i];
        return true;
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
