// From a read to the windows of the reference where it may lie: minimizers, look-ups, diagonals.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algo/map_thresholds.hpp"
#include "algo/seed_hit.hpp"
#include "minimizers.hpp"
#include "reference.hpp"

namespace gpualign {

struct SeedingParams {
    int k, w;
    int32_t most_hits;        // hits followed per read once the rarest seeds have been followed
    int32_t most_candidates;  // candidates kept per read
    bool full;                // follow every hit and keep every candidate
};

// A place for a read: on the forward strand of the reference the read's (or its reverse complement's) first base lies on a
// diagonal of [first_diagonal, last_diagonal].
struct Candidate {
    int64_t first_diagonal, last_diagonal;  // diagonal = reference position - read position
    uint32_t contig;
    int32_t votes;  // seed hits on those diagonals
    bool reverse;
};

class Seeder {
public:
    Seeder(const IndexView& index, const ReferenceView& reference, const SeedingParams& params)
        : index_(index), reference_(reference), params_(params), scanner_(params.k, params.w) {}

    // Looks up the minimizers of a block of reads in three passes, so that the memory accesses of many look-ups overlap.
    void look_up(const std::vector<const uint8_t*>& codes, const std::vector<int32_t>& lengths) {
        seeds_.clear();
        first_seed_.assign(1, 0);
        for (size_t r = 0; r < codes.size(); r++) {
            scanner_.scan(codes[r], lengths[r], [&](const Minimizer& m) {
                __builtin_prefetch(&index_.offsets[index_.split.bucket(m.hash)]);
                seeds_.push_back({m, 0, 0});
            });
            first_seed_.push_back(seeds_.size());
        }
        for (Seed& seed : seeds_) __builtin_prefetch(&index_.entries[index_.offsets[index_.split.bucket(seed.minimizer.hash)]]);
        for (Seed& seed : seeds_) index_.find(seed.minimizer.hash, seed.first, seed.last);
    }

    // Candidates of read r of the block, best voted first; returns whether hits were left out.
    //
    // The repeat rule: seeds are followed from the rarest to the most frequent, until `most_hits` hits have been followed.
    // The rarest seed is always followed, up to that number of its places, so that a read made of repeats alone is mapped.
    // `deep`: follow and keep several times as many.
    bool candidates(size_t r, int32_t length, int32_t limit, bool deep, std::vector<Candidate>& out) {
        const int32_t depth = deep ? kDepth : 1;
        const bool cut = collect_hits(r, length, int64_t(params_.most_hits) * depth);
        const size_t most_candidates = size_t(params_.most_candidates) * size_t(depth);
        out.clear();
        std::sort(hits_.begin(), hits_.end());
        for (size_t i = 0; i < hits_.size();) {
            size_t stop = i + 1;
            const uint64_t last = hit_line(hits_[i]) + uint64_t(limit);  // beyond it no path within the limit meets hit i
            while (stop < hits_.size() && hit_line(hits_[stop]) <= last) stop++;
            add_cluster(i, stop, out);
            i = stop;
        }
        const auto better = [](const Candidate& a, const Candidate& b) {
            if (a.votes != b.votes) return a.votes > b.votes;
            if (a.first_diagonal != b.first_diagonal) return a.first_diagonal < b.first_diagonal;
            if (a.reverse != b.reverse) return !a.reverse;
            return a.contig < b.contig;
        };
        if (params_.full) return false;
        drop_unlikely(out);
        if (out.size() > most_candidates) {
            std::nth_element(out.begin(), out.begin() + int64_t(most_candidates), out.end(), better);
            out.resize(most_candidates);
        }
        std::sort(out.begin(), out.end(), better);
        return cut;
    }

    size_t seeds(size_t r) const { return first_seed_[r + 1] - first_seed_[r]; }

private:
    struct Seed {
        Minimizer minimizer;
        uint32_t first, last;  // entries
    };
    // Whether some were left out.
    bool collect_hits(size_t r, int32_t length, int64_t most_hits) {
        hits_.clear();
        rank_.clear();
        for (size_t s = first_seed_[r]; s < first_seed_[r + 1]; s++)
            if (seeds_[s].last > seeds_[s].first) rank_.push_back(uint32_t(s));
        int64_t total = 0;
        for (uint32_t s : rank_) total += seeds_[s].last - seeds_[s].first;
        const bool many = total > most_hits && !params_.full;
        if (many)
            std::sort(rank_.begin(), rank_.end(), [&](uint32_t a, uint32_t b) {
                const uint32_t na = seeds_[a].last - seeds_[a].first, nb = seeds_[b].last - seeds_[b].first;
                return na != nb ? na < nb : a < b;
            });
        for (uint32_t s : rank_) {
            const Seed& seed = seeds_[s];
            uint32_t n = seed.last - seed.first;
            if (many) {
                if (!hits_.empty() && int64_t(hits_.size()) + n > most_hits) break;
                n = uint32_t(std::min<int64_t>(n, most_hits));
            }
            for (uint32_t e = seed.first; e < seed.first + n; e++) {
                const uint64_t entry = index_.entries[e];
                const uint32_t position = entry_position(entry);
                const bool reverse = entry_reverse(entry) != (seed.minimizer.reverse != 0);
                const int64_t at = reverse ? length - params_.k - int64_t(seed.minimizer.position) : seed.minimizer.position;
                hits_.push_back(make_hit(reverse, int64_t(position) - at, at));
            }
        }
        return many;
    }

    // Hits [from, to) share a candidate for each contig they touch.
    void add_cluster(size_t from, size_t to, std::vector<Candidate>& out) {
        uint32_t contig = uint32_t(reference_.contig_of(uint64_t(hit_position(hits_[from]))));
        const size_t first = out.size();
        for (size_t i = from; i < to; i++) {
            const int64_t position = hit_position(hits_[i]), diagonal = hit_diagonal(hits_[i]);
            if (position < reference_.contig_offsets[contig] || position >= reference_.contig_offsets[contig + 1])
                contig = uint32_t(reference_.contig_of(uint64_t(position)));
            size_t c = first;
            while (c < out.size() && out[c].contig != contig) c++;
            if (c == out.size()) out.push_back({diagonal, diagonal, contig, 0, hit_reverse(hits_[from])});
            out[c].last_diagonal = diagonal;
            out[c].votes++;
        }
    }

    // A heuristic, for speed: places with far fewer seed hits than the best one need more edits (each edit spoils the seeds
    // over it), so they are not worth a verification.
    static void drop_unlikely(std::vector<Candidate>& candidates) {
        int32_t most = 0;
        for (const Candidate& c : candidates) most = std::max(most, c.votes);
        size_t kept = 0;
        for (const Candidate& c : candidates)
            if (c.votes * kVoteShare >= most) candidates[kept++] = c;
        candidates.resize(kept);
    }

    const IndexView& index_;
    const ReferenceView& reference_;
    const SeedingParams params_;
    MinimizerScanner scanner_;
    std::vector<Seed> seeds_;
    std::vector<size_t> first_seed_;
    std::vector<uint32_t> rank_;
    std::vector<uint64_t> hits_;
};

}  // namespace gpualign
