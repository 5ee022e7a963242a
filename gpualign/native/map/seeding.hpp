// From a read to the windows of the reference where it may lie: minimizers, look-ups, diagonals.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "algo/map/candidates.hpp"
#include "index/minimizers.hpp"
#include "index/reference.hpp"
#include "map/read_neighbours.hpp"
#include "map/sort_keys.hpp"

namespace gpualign {

struct SeedingParams {
    int k, w;
    int32_t max_hits;        // hits followed per read once the rarest seeds have been followed
    int32_t max_candidates;  // candidates kept per read
    bool full;                // follow every hit and keep every candidate
};

// A window of the reference where a read may lie.
struct Candidate {
    uint64_t order;  // algo/map/candidates.hpp
    int64_t begin;
    int32_t columns;
    uint32_t contig;
    int32_t seed_hits;
    bool reverse;

    int64_t end() const { return begin + columns; }
};

class Seeder {
public:
    Seeder(const IndexView& index, const ReferenceView& reference, const SeedingParams& params)
        : index_(index), reference_(reference), params_(params), target_(target_of(index, reference)),
          scanner_(params.k, params.w) {}

    // Looks up the minimizers of a block of reads in three passes, so that the memory accesses of many look-ups overlap.
    void look_up(const std::vector<const uint8_t*>& codes, const std::vector<int32_t>& lengths) {
        seeds_.clear();
        first_seed_.assign(1, 0);
        for (size_t r = 0; r < codes.size(); r++) {
            scanner_.scan(codes[r], lengths[r], [&](const Minimizer& m) { add_seed(m); });
            first_seed_.push_back(seeds_.size());
        }
        for (Seed& seed : seeds_) __builtin_prefetch(&index_.entries[index_.offsets[index_.split.bucket(seed.minimizer.hash)]]);
        for (Seed& seed : seeds_) index_.find(seed.minimizer.hash, seed.first, seed.last);
    }

    // Looks up all k-mers of a read, and the read with one base changed: any, or an unknown one where there are any. Returns the number
    // of another read, which has these seeds.
    size_t look_up_neighbours(const uint8_t* codes, int32_t length) {
        const size_t first = seeds_.size();
        neighbours_.load(codes, length, params_.k, params_.w);
        neighbours_.visit([&](const Minimizer& m) { add_seed(m); });
        for (size_t s = first; s < seeds_.size(); s++)
            __builtin_prefetch(&index_.entries[index_.offsets[index_.split.bucket(seeds_[s].minimizer.hash)]]);
        size_t kept = first;
        for (size_t s = first; s < seeds_.size(); s++) {
            Seed seed = seeds_[s];
            index_.find(seed.minimizer.hash, seed.first, seed.last);
            if (seed.last > seed.first) seeds_[kept++] = seed;
        }
        seeds_.resize(kept);
        first_seed_.push_back(kept);
        return first_seed_.size() - 2;
    }

    // Candidates of read r of the block, most seed hits first; returns whether hits were left out.
    // `deep`: follow and keep several times as many.
    bool candidates(size_t r, int32_t length, int32_t limit, uint32_t draw, bool deep, std::vector<Candidate>& out) {
        const int32_t depth = deep ? kDepth : 1;
        const bool hits_truncated = collect_hits(r, length, draw, std::min<int64_t>(int64_t(params_.max_hits) * depth, 1 << 30));
        const size_t max_candidates = size_t(params_.max_candidates) * size_t(depth);
        out.clear();
        cluster(limit, [&](uint32_t from, uint32_t to) { add_candidates(length, limit, from, to, out); });
        const auto better = [](const Candidate& a, const Candidate& b) {
            return a.order != b.order ? a.order < b.order : a.contig < b.contig;
        };
        drop_unlikely(out);
        if (out.size() > max_candidates) {
            std::nth_element(out.begin(), out.begin() + int64_t(max_candidates), out.end(), [&](const Candidate& a, const Candidate& b) {
                return a.order != b.order ? scattered_order(a.order, draw) < scattered_order(b.order, draw) : a.contig < b.contig;
            });
            out.resize(max_candidates);
        }
        std::sort(out.begin(), out.end(), better);
        return hits_truncated;
    }

    // Calls visit(Candidate) for every candidate of read r that can hold it within the limit: of all its hits, which are taken
    // stretch by stretch of the reference where they are many, as in low complexity.
    //
    // The pigeonhole principle: of the read's length / (w + k - 1) pieces at most `limit` have an edit, and each of the others
    // has a minimizer in common with the reference, on a diagonal of the path. All of a path's diagonals lie within the limit
    // of its leftmost one.
    template <class Visit>
    void every_candidate(size_t r, int32_t length, int32_t limit, Visit&& visit) {
        const int32_t minimum = std::max(1, length / (params_.w + params_.k - 1) - limit);
        int64_t total = 0;
        for (size_t s = first_seed_[r]; s < first_seed_[r + 1]; s++) total += seeds_[s].last - seeds_[s].first;
        const uint64_t stretch = total > kHitsAtOnce ? kStretch : reference_.bases;
        hits_.clear();
        for (uint64_t border = 0; border < reference_.bases;) {
            border += stretch;
            for (size_t s = first_seed_[r]; s < first_seed_[r + 1]; s++) take_hits(seeds_[s], length, border);
            // those still to come lie on later diagonals
            const int64_t done = border < reference_.bases ? int64_t(border) - length - 2 * limit : std::numeric_limits<int64_t>::max();
            kept_.clear();
            cluster(limit, [&](uint32_t from, uint32_t to) {
                if (hit_diagonal(hits_[from]) >= done) {
                    kept_.insert(kept_.end(), hits_.begin() + int64_t(from), hits_.begin() + int64_t(to));
                } else if (any_path(from, to, limit, size_t(minimum))) {
                    cluster_.clear();
                    add_candidates(length, limit, from, to, cluster_);
                    for (const Candidate& c : cluster_) visit(c);
                }
            });
            hits_.swap(kept_);
        }
    }

    // Whether a read shares a seed with every locus within the limit: of limit + 1 pieces one has no edit.
    bool meets_every_locus(int32_t length, int32_t limit) const { return length / (limit + 1) >= params_.w + params_.k - 1; }

    // Calls visit(Candidate) for all loci that there are, for reads that have too few bases for that.
    template <class Visit>
    void everywhere(int32_t length, int32_t limit, Visit&& visit) const {
        for (const bool reverse : {false, true})
            for (uint32_t contig = 0; contig < reference_.contigs; contig++) {
                const int64_t end = reference_.contig_offsets[contig + 1] - length + limit;
                for (int64_t first = reference_.contig_offsets[contig]; first <= end; first += limit + 1)
                    visit(Candidate{0, first - limit, 3 * limit + length, contig, 0, reverse});
            }
    }

    // Most hits that lie within a long gap of each other, of the read whose candidates were asked for last.
    int32_t max_near_hits() const { return int32_t(gpualign::max_near_hits(OneLane(), hits_.data(), uint32_t(hits_.size()))); }

    bool any_hits(size_t r) const {
        return std::any_of(seeds_.begin() + int64_t(first_seed_[r]), seeds_.begin() + int64_t(first_seed_[r + 1]),
                           [](const Seed& seed) { return seed.last > seed.first; });
    }

private:
    struct Seed {
        Minimizer minimizer;
        uint32_t first, last;  // entries, in order of position
    };
    static constexpr int64_t kHitsAtOnce = 1 << 20;
    static constexpr uint64_t kStretch = 1 << 14;  // bases

    void add_seed(const Minimizer& m) {
        __builtin_prefetch(&index_.offsets[index_.split.bucket(m.hash)]);
        seeds_.push_back({m, 0, 0});
    }

    // Moves the seed's entries before the border to the hits.
    void take_hits(Seed& seed, int32_t length, uint64_t border) {
        for (; seed.first < seed.last && entry_position(index_.entries[seed.first]) < border; seed.first++)
            add_hit(seed.minimizer, index_.entries[seed.first], length);
    }

    void add_hit(const Minimizer& minimizer, uint64_t entry, int32_t length) {
        hits_.push_back(hit_of(entry, int32_t(minimizer.position), minimizer.reverse != 0, length, params_.k));
    }

    // Whether some were left out.
    bool collect_hits(size_t r, int32_t length, uint32_t draw, int64_t max_hits) {
        hits_.clear();
        rank_.clear();
        if (r + 2 < first_seed_.size())  // the next read's
            for (size_t s = first_seed_[r + 1]; s < first_seed_[r + 2]; s++) __builtin_prefetch(&index_.entries[seeds_[s].first]);
        for (size_t s = first_seed_[r]; s < first_seed_[r + 1]; s++)
            if (seeds_[s].last > seeds_[s].first) rank_.push_back(uint32_t(s));
        int64_t total = 0;
        for (uint32_t s : rank_) total += seeds_[s].last - seeds_[s].first;
        const bool many = total > max_hits;
        const auto count = [&](uint32_t s) { return seeds_[s].last - seeds_[s].first; };
        if (many) std::sort(rank_.begin(), rank_.end(), [&](uint32_t a, uint32_t b) { return rarer(count(a), a, count(b), b); });
        for (uint32_t rank = 0; rank < rank_.size(); rank++) {
            const Seed& seed = seeds_[rank_[rank]];
            const int64_t n = many ? hits_to_follow(rank, count(rank_[rank]), uint32_t(max_hits)) : count(rank_[rank]);
            if (int64_t(hits_.size()) + n > max_hits) break;
            const uint32_t first = seed.first + first_followed(draw, count(rank_[rank]), uint32_t(n));
            for (uint32_t e = first; e < first + uint32_t(n); e++) add_hit(seed.minimizer, index_.entries[e], length);
        }
        return many;
    }

    // Sorts the hits and visits those that belong together.
    template <class Visit>
    void cluster(int32_t limit, Visit&& visit) {
        sort_keys(hits_, sorted_);
        for_each_cluster(OneLane(), hits_.data(), uint32_t(hits_.size()), limit, visit);
    }

    // Whether one of the hits [from, to) can be a path's leftmost one: so many lie within the limit to its right.
    bool any_path(size_t from, size_t to, int32_t limit, size_t minimum) const {
        for (size_t i = from; i < to && i + minimum <= hits_.size(); i++)
            if (hit_line(hits_[i + minimum - 1]) <= hit_line(hits_[i]) + uint64_t(limit)) return true;
        return false;
    }

    void add_candidates(int32_t length, int32_t limit, uint32_t from, uint32_t to, std::vector<Candidate>& out) const {
        const bool reverse = hit_reverse(hits_[from]);
        for_each_candidate(target_, length, limit, hits_.data(), from, to,
                           [&](uint32_t contig, uint32_t seed_hits, int64_t diagonal, int64_t begin, int64_t end) {
                               Candidate& c = out.emplace_back();  // a copy of a temporary would wait for it to be written
                               c.order = candidate_order(seed_hits, diagonal, reverse);
                               c.begin = begin;
                               c.columns = int32_t(end - begin);
                               c.contig = contig;
                               c.seed_hits = int32_t(seed_hits);
                               c.reverse = reverse;
                           });
    }

    static void drop_unlikely(std::vector<Candidate>& candidates) {
        int32_t maximum = 0;
        for (const Candidate& c : candidates) maximum = std::max(maximum, c.seed_hits);
        const auto unlikely = [maximum](const Candidate& c) { return !worth_verifying(uint32_t(c.seed_hits),
            uint32_t(maximum)); };
        candidates.erase(std::remove_if(candidates.begin(), candidates.end(), unlikely), candidates.end());
    }

    // What the algorithms of algo/map need here of a target.
    static MapTarget target_of(const IndexView& index, const ReferenceView& reference) {
        return {index, reference.words, nullptr, reference.contig_offsets, int64_t(reference.contigs)};
    }

    const IndexView& index_;
    const ReferenceView& reference_;
    const SeedingParams params_;
    const MapTarget target_;
    MinimizerScanner scanner_;
    std::vector<Seed> seeds_;
    std::vector<size_t> first_seed_;
    ReadNeighbours neighbours_;
    std::vector<uint32_t> rank_;
    std::vector<uint64_t> hits_, kept_, sorted_;
    std::vector<Candidate> cluster_;
};

}  // namespace gpualign
