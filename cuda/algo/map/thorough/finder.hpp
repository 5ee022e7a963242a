// The loci of both mates of a template where they align end to end, in memory that has room for all there may be.
#pragma once
#include "algo/map/mate_rescue.hpp"
#include "algo/map/thorough/windows.hpp"

namespace gpualign {

// The local alignments of a read: those of its chains, or one with clipped ends that was found beside its mate.
struct DeviceLocals {
    const ChainBatch* chains;
    TargetText text;
    uint32_t read;
    const LocalAlignment* clipped;  // null: those of the chains

    // Operations of CIGARs.
    GPUALIGN_HD const uint32_t* cigars() const { return chains->cigars.items; }
    GPUALIGN_HD size_t size() const { return clipped ? 1 : chains->state[read].ranked; }
    GPUALIGN_HD LocalAlignment operator[](size_t i) const { return clipped ? *clipped : local_alignment(*chains, text, read, uint32_t(i)); }
};

// What is known of a template; shared by all of a team.
struct TemplateState {
    MapRead reads[2];
    FoundRead found[2];
    const ChainBatch* locals[2];  // whose chains are those of the read, if it has any
    uint8_t chained[2];
    ChainDepth depth[2];          // of the chains to look for; no hits: none
    LocalAlignment clipped[2];
    MapChoice choices[2];
    uint32_t further[2], supplementary[2], secondary[2];  // records
    uint32_t first;               // read
    int32_t mates;
    uint32_t counter;             // of windows
    uint16_t fate;                // 0: it is mapped; otherwise the flag of its records
    uint8_t has_clipped[2];
};

template <class Group>
class ThoroughFinder {
public:
    GPUALIGN_HD ThoroughFinder(const Group& group, const ThoroughLaunch& launch, const ThoroughMemory& memory, TemplateState& state)
        : group_(group), launch_(launch), target_(launch.batch.target), rules_(launch.batch.rules), memory_(memory), state_(state) {}

    // The loci of a mate by itself, best first.
    GPUALIGN_HOST_DEVICE void find(int mate) {
        const MapRead read = state_.reads[mate];
        FoundRead found{0, 0, 0, false, false, false};
        const uint32_t seeds = maps_as_long(rules_, read.length) ? 0 : find_seeds(group_, read, target_, rules_, memory_.seeds);
        found.any_hits = seeds > 0;
        const uint32_t total = count_hits(group_, memory_.seeds.seeds.count, seeds);
        set(mate, found);
        for (int32_t depth = 1; found.any_hits; depth = kDepth) {
            SeedHits hits;
            const uint32_t candidates = candidates_at(group_, read, target_, rules_, memory_.workspace, memory_.seeds, &state_.counter, seeds,
                                                      total, depth, hits, found);
            if (found.too_many) break;
            found.near_hits = candidates > 1 ? max_near_hits(group_, hits.list, hits.count) : 0;
            set(mate, found);
            search(mate, 0, candidates, read.limit, nullptr);
            found = state_.found[mate];
            if (depth == kDepth || !found.hits_truncated || !in_doubt(loci(mate))) break;
        }
        set(mate, found);
    }

    // For MateRescue.
    GPUALIGN_HD const MapRead& read(int mate) const { return state_.reads[mate]; }
    GPUALIGN_HD MixedLoci<DeviceLocals> loci(int mate) const {
        const MapRead& read = state_.reads[mate];
        return {memory_.loci[mate], state_.found[mate].loci, read.length, read.limit, state_.found[mate].hits_truncated, nullptr, &rules_};
    }
    GPUALIGN_HD uint32_t* counter() const { return &state_.counter; }
    GPUALIGN_HD const MapWorkspace& workspace() const { return memory_.workspace; }

    // What the windows [from, to) have within the limit is added to the loci.
    GPUALIGN_HOST_DEVICE void search(int mate, uint32_t from, uint32_t to, int32_t limit, uint64_t* best_of) {
        const MapRead& read = state_.reads[mate];
        FoundRead found = state_.found[mate];
        uint32_t failed = 0;
        search_long_windows(group_, read, target_, memory_.workspace, memory_.columns, from, to,
                            [&](bool is_window, uint32_t c, const WindowBest& best) {
                                const bool fits = is_window && aligns_whole(read.length, int32_t(best.distance), limit);
                                const uint32_t mask = group_.ballot(fits), at = found.loci + group_.before(mask);
                                found.loci += count_bits(mask);
                                if (!is_window) return;
                                const uint64_t candidate = memory_.workspace.candidates[c];
                                const uint32_t seed_hits = candidate_seed_hits(candidate);
                                if (best_of) best_of[c] = packed(best);
                                if (!fits) failed = seed_hits > failed ? seed_hits : failed;
                                else if (at < launch_.max_loci) memory_.loci[mate][at] = locus_of(read, candidate, best);
                            });
        failed = group_.largest(failed);
        found.failed = failed > found.failed ? failed : found.failed;
        found.loci = within_room(found.loci);
        group_.sync();
        found.loci = settle_mixed(group_, read.limit, memory_.loci[mate], found.loci, memory_.settle);
        set(mate, found);
    }

    // Adds the loci of the read's local alignments.
    GPUALIGN_HOST_DEVICE void add_locals(int mate, const DeviceLocals& locals) {
        const MapRead& read = state_.reads[mate];
        FoundRead found = state_.found[mate];
        const uint32_t count = uint32_t(locals.size());
        for (uint32_t base = 0; base < count; base += Group::kLanes) {
            const uint32_t i = base + group_.lane();
            const LocalAlignment local = i < count ? locals[i] : LocalAlignment{};
            const bool is_locus = i < count && local.kind != ChainKind::supplementary;
            const uint32_t mask = group_.ballot(is_locus), at = found.loci + group_.before(mask);
            found.loci += count_bits(mask);
            if (!is_locus || at >= launch_.max_loci) continue;
            const int64_t begin = target_.contig_offsets[local.contig] + local.position;
            memory_.loci[mate][at] = local_locus(0, read.length, local, int32_t(i), begin, local.span);
        }
        found.loci = within_room(found.loci);
        group_.sync();
        found.loci = settle_mixed(group_, read.limit, memory_.loci[mate], found.loci, memory_.settle);
        set(mate, found);
    }

    GPUALIGN_HD void set(int mate, const FoundRead& found) {
        group_.sync();
        if (group_.lane() == 0) state_.found[mate] = found;
        group_.sync();
    }

private:
    GPUALIGN_HD Locus locus_of(const MapRead& read, uint64_t candidate, const WindowBest& best) const {
        const int64_t begin = memory_.workspace.window_begin[candidate_window(candidate)];
        return whole_locus(0, read.length, rules_.scores, contig_of(target_, begin), candidate_reverse(candidate),
                           int32_t(candidate_seed_hits(candidate)), int32_t(best.distance), begin + best.end);
    }

    // So many loci, or as many as there is room for: then the host hears of it.
    GPUALIGN_HD uint32_t within_room(uint32_t count) {
        if (count <= launch_.max_loci) return count;
        if (group_.lane() == 0) raise_to(launch_.wanted_loci, count);
        return launch_.max_loci;
    }

    const Group& group_;
    const ThoroughLaunch& launch_;
    const MapTarget& target_;
    const MapRules& rules_;
    const ThoroughMemory& memory_;
    TemplateState& state_;
};

}  // namespace gpualign
