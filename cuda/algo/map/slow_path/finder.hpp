// Finds the end-to-end loci of both mates of a template, in memory that is large enough for any number.
#pragma once
#include "algo/map/every_locus.hpp"
#include "algo/map/find_reads.hpp"
#include "algo/map/mate_rescue.hpp"
#include "algo/map/pairing.hpp"
#include "algo/map/read_state.hpp"
#include "algo/map/slow_path/state.hpp"
#include "algo/map/slow_path/windows.hpp"

namespace gpualign {

template <class Group> class SlowPathFinder {
public:
    // `first`: the mate whose counter is used, as both may be searched for at the same time.
    GPUALIGN_HD SlowPathFinder(const Group& group, const SlowPathLaunch& launch, const SlowPathMemory& memory,
        const TemplateView& of, int first)
        : group_(group), launch_(launch), target_(launch.batch.target), rules_(launch.batch.rules), own_(memory),
          of_(of), first_(first) {}

    // Finds the loci of a mate by itself, best first.
    GPUALIGN_HD_CALL void find(int mate) {
        set(mate, {0, 0, 0, false, false, false});
        mate_ = mate;
        if (!maps_as_long(rules_, read(mate).length)) find_end_to_end(rules_, launch_.full != 0, *this);
    }

    // Takes the loci of a mate by itself from the fast path; false if that has not found all of them, or those of
    // another length.
    GPUALIGN_HD_CALL bool take_found(int mate) {
        if (launch_.full) return false;
        const auto all = ReadStates<1>::of(launch_.batch);
        const ReadState& state = all.states[of_.first + uint32_t(mate)];
        const MapRead read = of_.mates[mate].read;
        const uint32_t count = state.found.loci;
        if (!state.alone || state.length != read.length || count > launch_.max_loci) return false;
        for (uint32_t i = group_.lane(); i < count; i += Group::kLanes) {
            const uint64_t locus = all.loci[state.first_locus + i];
            of_.loci[mate][i] = end_to_end_locus(0, read.length, read.ambiguous, rules_.scores,
                locus_contig(target_, locus), locus_reverse(locus), int32_t(locus_seed_hits(locus)),
                int32_t(locus_distance(locus)), locus_end(locus));
        }
        set(mate, state.found);
        return variants_for(rules_, loci(mate), paired(mate)) == VariantsFor::nothing;
    }

    // Reads for find_end_to_end.
    template <class Visit> GPUALIGN_HD void for_each(Visit&& visit) const {
        if (!of_.mates[mate_].found.too_many) visit(mate_);
    }
    GPUALIGN_HD bool paired(int) const { return of_.count == 2; }
    GPUALIGN_HD int32_t failed(int mate) const { return int32_t(of_.mates[mate].found.failed); }
    GPUALIGN_HD uint32_t candidates(int) const { return candidates_; }
    GPUALIGN_HD void look_up(int mate) {
        seeds_ = find_seeds(group_, read(mate), target_, rules_, own_.seeds);
        FoundRead found = of_.mates[mate].found;
        found.any_hits = seeds_ > 0;
        set(mate, found);
    }
    GPUALIGN_HD_CALL void add_candidates(
        int mate, int32_t depth, bool part, bool of_variants = false, uint32_t kept = 0) {
        const uint32_t total = count_hits(group_, own_.seeds.seeds.count, seeds_);
        if (launch_.full) return find_every(mate, total);
        FoundRead found = of_.mates[mate].found;
        candidates_ = added_ = candidates_at(group_, read(mate), target_, rules_, own_.workspace, own_.seeds,
            &of_.mates[first_].windows, seeds_, total, depth, part, of_variants, hits_, found);
        found.loci = kept;
        // the host repeats the batch with space for so many hits, if it can have them
        if (found.too_many && hits_.count <= launch_.hit_limit && group_.lane() == 0)
            raise_to(&launch_.wanted->hits, hits_.count);
        set(mate, found);
    }
    GPUALIGN_HD void leave_hits_to_chaining(int mate) {
        FoundRead found = of_.mates[mate].found;
        const uint32_t total = count_hits(group_, own_.seeds.seeds.count, seeds_);
        found.hits_truncated = total > limit_at(rules_.max_hits, kDepth);
        set(mate, found);
    }
    GPUALIGN_HD void add_variants(int mate, bool keep) {
        seeds_ = find_variant_seeds(group_, read(mate), target_, rules_, own_.seeds);
        add_candidates(mate, 1, false, true, keep ? of_.mates[mate].found.loci : 0);
    }
    GPUALIGN_HD void search() {
        if (added_) search(mate_, 0, added_, read(mate_).limit, nullptr);
        added_ = 0;
    }
    GPUALIGN_HD void count_near_hits(int mate) {
        FoundRead found = of_.mates[mate].found;
        found.near_hits = max_near_hits(group_, hits_.list, hits_.count);
        set(mate, found);
    }

    // Interface for MatesOfPair.
    GPUALIGN_HD const MapRead& read(int mate) const { return of_.mates[mate].read; }
    GPUALIGN_HD SlowPathLoci loci(int mate) const { return of_.loci_of(mate, launch_.batch); }
    GPUALIGN_HD uint32_t* counter() const { return &of_.mates[first_].windows; }
    GPUALIGN_HD const MapWorkspace& workspace() const { return own_.workspace; }
    GPUALIGN_HD uint32_t* pieces() const { return own_.pieces; }
    GPUALIGN_HD const ColumnMemory& columns() const { return own_.columns; }

    // Adds the loci of the windows [from, to) within the limit.
    GPUALIGN_HD_CALL void search(int mate, uint32_t from, uint32_t to, int32_t limit, uint64_t* best_of) {
        add_loci(mate, from, to, limit, best_of);
        settle(mate);
    }
    // Adds the loci of the read's local alignments.
    GPUALIGN_HD_CALL void add_locals(int mate, const DeviceLocals& locals) {
        const MapRead read = of_.mates[mate].read;
        FoundRead found = of_.mates[mate].found;
        const uint32_t count = uint32_t(locals.size());
        for (uint32_t base = 0; base < count; base += Group::kLanes) {
            const uint32_t i = base + group_.lane();
            const LocalAlignment local = i < count ? locals[i] : LocalAlignment{};
            const bool is_added = i < count && is_locus(locals[0], local);
            const uint32_t mask = group_.ballot(is_added), at = found.loci + group_.before(mask);
            found.loci += count_bits(mask);
            if (!is_added || at >= launch_.max_loci) continue;
            const int64_t begin = target_.contig_offsets[local.contig] + local.position;
            of_.loci[mate][at] = local_locus(0, read.length, local, int32_t(i), begin, local.span,
                intron_bases(locals.cigars() + local.cigar, locals.cigars() + local.cigar + local.operations));
        }
        set(mate, found);
        settle(mate);
    }

    GPUALIGN_HD void set(int mate, const FoundRead& found) {
        group_.sync();
        if (group_.lane() == 0) of_.mates[mate].found = found;
        group_.sync();
    }

private:
    // Appends loci unsorted; counts those that do not fit.
    GPUALIGN_HD_CALL void add_loci(int mate, uint32_t from, uint32_t to, int32_t limit, uint64_t* best_of) {
        const MapRead read = of_.mates[mate].read;
        FoundRead found = of_.mates[mate].found;
        uint32_t failed = 0;
        search_long_windows(group_, read, target_, own_.workspace, own_.columns, from, to, limit,
            [&](bool is_window, uint32_t c, const WindowBest& best) {
                const bool fits = is_window && aligns_end_to_end(read.length, int32_t(best.distance), limit);
                const uint32_t mask = group_.ballot(fits), at = found.loci + group_.before(mask);
                found.loci += count_bits(mask);
                if (!is_window) return;
                const uint64_t candidate = own_.workspace.candidates[c];
                const uint32_t seed_hits = candidate_seed_hits(candidate);
                if (best_of) best_of[c] = packed(best);
                if (!fits) failed = seed_hits > failed ? seed_hits : failed;
                else if (at < launch_.max_loci) of_.loci[mate][at] = locus_of(read, candidate, best);
            });
        failed = group_.largest(failed);
        found.failed = failed > found.failed ? failed : found.failed;
        set(mate, found);
    }

    GPUALIGN_HD_CALL void settle(int mate) {
        FoundRead found = of_.mates[mate].found;
        if (found.loci > launch_.max_loci) {  // the host repeats the batch with more space
            if (group_.lane() == 0) raise_to(&launch_.wanted->loci, found.loci);
            found.loci = launch_.max_loci;
        }
        found.loci = settle_mixed(group_, of_.mates[mate].read.limit, of_.loci[mate], found.loci, own_.settle);
        set(mate, found);
    }

    // Finds every locus within the limit; windows are searched in batches.
    GPUALIGN_HD_CALL void find_every(int mate, uint32_t total) {
        const MapRead read = of_.mates[mate].read;
        if (may_lie_anywhere(read.length, read.limit, rules_.k, rules_.w)) search_everywhere(mate);
        else if (seeds_) follow_every_hit(mate, seeds_, total);
        settle(mate);
    }

    GPUALIGN_HD uint32_t windows_at_once() const {
        return own_.workspace.max_hits < kMaxWindows ? own_.workspace.max_hits : kMaxWindows;
    }
    GPUALIGN_HD void clear_windows() {
        group_.sync();
        if (group_.lane() == 0) of_.mates[first_].windows = 0;
        group_.sync();
    }
    GPUALIGN_HOST_DEVICE void search_added(int mate) {
        group_.sync();
        add_loci(mate, 0, of_.mates[first_].windows, of_.mates[mate].read.limit, nullptr);
        clear_windows();
    }

    GPUALIGN_HOST_DEVICE void search_everywhere(int mate) {
        const MapRead read = of_.mates[mate].read;
        const int64_t columns = columns_everywhere(read.length, read.limit), at_once = windows_at_once();
        clear_windows();
        for (int strand = 0; strand < 2; strand++)
            for (uint32_t contig = 0; contig < uint32_t(target_.contigs); contig++) {
                const int64_t left = target_.contig_offsets[contig];
                const int64_t count =
                    windows_everywhere(left, target_.contig_offsets[contig + 1], read.length, read.limit);
                for (int64_t first = 0; first < count; first += at_once) {
                    for (int64_t i = first + group_.lane(); i < count && i < first + at_once; i += Group::kLanes) {
                        const int64_t begin = window_everywhere(left, i, read.limit);
                        add_window(group_, target_, own_.workspace, &of_.mates[first_].windows, contig, strand != 0, 0,
                            0, begin, begin + columns);
                    }
                    search_added(mate);
                }
            }
    }

    // Follows every hit, one interval of the reference after the other; seeds.start counts the hits taken of each
    // seed.
    GPUALIGN_HOST_DEVICE void follow_every_hit(int mate, uint32_t seeds, uint32_t total) {
        const MapRead read = of_.mates[mate].read;
        uint64_t* const hits = own_.workspace.hits;
        const uint32_t capacity = own_.workspace.max_hits,
                       minimum = min_path_hits(read.length, read.limit, rules_.k, rules_.w);
        const int64_t bases = target_.contig_offsets[target_.contigs];
        for (uint32_t s = group_.lane(); s < seeds; s += Group::kLanes) own_.seeds.seeds.start[s] = 0;
        clear_windows();
        int64_t interval = total <= windows_at_once() ? bases : int64_t(kHitInterval);
        uint32_t count = 0;
        for (int64_t border = 0; border < bases;) {
            const int64_t next = border + interval < bases ? border + interval : bases;
            const uint32_t taken = take_hits(read, seeds, next, count, capacity);
            if (taken > capacity) {
                if (interval == 1) {
                    if (group_.lane() == 0) raise_to(&launch_.wanted->hits, taken);
                    return;
                }
                interval /= 2;
                continue;
            }
            border = next;
            sort_many_keys(group_, hits, taken);
            const int64_t done = border < bases ? diagonals_done(border, read.length, read.limit) : int64_t(1) << 62;
            count = leave_hits(read, taken, done, minimum);
            search_added(mate);
        }
    }

    // Adds the hits before a position; returns the number of hits, or the number needed if they do not fit.
    GPUALIGN_HD_CALL uint32_t take_hits(
        const MapRead& read, uint32_t seeds, int64_t border, uint32_t count, uint32_t capacity) {
        const SeedMemory& memory = own_.seeds;
        const auto hits_before = [&](uint32_t s) {  // index of the first entry at or after the border
            uint32_t low = memory.seeds.start[s], high = memory.seeds.count[s];
            while (low < high) {
                const uint32_t middle = low + (high - low) / 2;
                if (int64_t(target_.index.position(memory.seeds.first[s] + middle)) < border) low = middle + 1;
                else high = middle;
            }
            return low;
        };
        uint32_t all = count;
        for (uint32_t base = 0; base < seeds && all <= capacity; base += Group::kLanes) {
            const uint32_t s = base + group_.lane();
            const uint32_t more = s < seeds ? hits_before(s) - memory.seeds.start[s] : 0;
            all += group_.sum(more < capacity ? more : capacity + 1);
        }
        if (all > capacity) return all;
        for (uint32_t base = 0; base < seeds; base += Group::kLanes) {
            const uint32_t s = base + group_.lane();
            const uint32_t begin = s < seeds ? memory.seeds.start[s] : 0, end = s < seeds ? hits_before(s) : 0;
            uint32_t together;
            uint64_t* out = own_.workspace.hits + count + group_.sum_before(end - begin, together);
            for (uint32_t i = begin; i < end; i++)
                *out++ = hit_of(target_.index.entry(memory.seeds.first[s] + i), int32_t(memory.seed_at[s] >> 1),
                    memory.seed_at[s] & 1, read.length, rules_.k);
            if (s < seeds) memory.seeds.start[s] = end;
            count += together;
        }
        group_.sync();
        return count;
    }

    // Adds windows for the clusters of sorted hits whose diagonals are complete; keeps the hits of the others. Returns
    // their number.
    GPUALIGN_HD_CALL uint32_t leave_hits(const MapRead& read, uint32_t count, int64_t done, uint32_t minimum) {
        uint64_t* const hits = own_.workspace.hits;
        uint64_t first_line[2] = {~uint64_t(0), ~uint64_t(0)};  // first cluster that is kept, on each strand
        for_each_cluster(group_, hits, count, read.limit, [&](uint32_t from, uint32_t to) {
            const bool reverse = hit_reverse(hits[from]);
            if (hit_diagonal(hits[from]) >= done) {
                if (hit_line(hits[from]) < first_line[reverse]) first_line[reverse] = hit_line(hits[from]);
            } else if (any_path(hits, count, from, to, read.limit, minimum)) {
                for_each_candidate(target_, read.length, read.limit, hits, from, to,
                    [&](uint32_t contig, uint32_t seed_hits, int64_t diagonal, int64_t begin, int64_t end) {
                        add_window(group_, target_, own_.workspace, &of_.mates[first_].windows, contig, reverse,
                            seed_hits, diagonal, begin, end);
                    });
            }
        });
        for (uint64_t& line : first_line) line = ~group_.largest(~line);
        return keep_keys(
            group_, hits, count, [&](uint64_t hit) { return hit_line(hit) >= first_line[hit_reverse(hit)]; });
    }

    GPUALIGN_HD Locus locus_of(const MapRead& read, uint64_t candidate, const WindowBest& best) const {
        const int64_t begin = own_.workspace.window_begin[candidate_window(candidate)];
        return end_to_end_locus(0, read.length, read.ambiguous, rules_.scores, contig_of(target_, begin),
            candidate_reverse(candidate), int32_t(candidate_seed_hits(candidate)), int32_t(best.distance),
            begin + best.end);
    }

    const Group& group_;
    const SlowPathLaunch& launch_;
    const MapTarget& target_;
    const MapRules& rules_;
    const SlowPathMemory& own_;
    const TemplateView& of_;
    const int first_;
    int mate_ = 0;  // that is found by itself
    uint32_t seeds_ = 0, candidates_ = 0, added_ = 0;  // candidates that are not searched yet
    SeedHits hits_{};
};

}  // namespace gpualign
