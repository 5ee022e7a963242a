// From a read to candidates: minimizers, look-ups, clusters of diagonals.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "algo/map/every_locus.hpp"
#include "seeds/index/lookup.hpp"
#include "seeds/index/minimizers.hpp"
#include "seeds/index/reference.hpp"
#include "map/read_block.hpp"
#include "map/read_variants.hpp"
#include "map/seed_hits.hpp"

namespace gpualign {

// A window of the reference where a read may lie.
struct Candidate {
    uint64_t order;  // sort key: algo/map/candidates.hpp
    int64_t begin;
    int32_t columns;
    uint32_t contig;
    int32_t seed_hits;
    bool reverse;

    int64_t end() const { return begin + columns; }
};

// Counterpart of WindowCandidates (algo/map/candidates.hpp).
struct CandidateList {
    Candidate* list;

    uint32_t seed_hits(uint32_t i) const { return uint32_t(list[i].seed_hits); }
    template <class Wanted> uint32_t keep(const OneLane&, uint32_t count, Wanted&& wanted) const {
        return uint32_t(std::remove_if(list, list + count, [&](const Candidate& c) {
            return !wanted(uint32_t(c.seed_hits));
        }) - list);
    }
    void forget_seed_hits(const OneLane&, uint32_t count) const {
        for (uint32_t i = 0; i < count; i++) list[i].seed_hits = 0;
    }
    void scatter(const OneLane&, uint32_t tie_break, uint32_t count, uint32_t first) const {
        std::nth_element(list, list + first, list + count, [tie_break](const Candidate& a, const Candidate& b) {
            return a.order != b.order ? tie_break_order(a.order, tie_break) < tie_break_order(b.order, tie_break)
                                      : a.contig < b.contig;
        });
    }
};

class Seeder {
public:
    Seeder(const IndexView& index, const ReferenceView& reference, const SeedingParams& params)
        : index_(index), look_up_(index), reference_(reference), params_(params),
          target_{index, reference.words, nullptr, reference.contig_offsets, int64_t(reference.contigs)},
          scanner_(params.k, params.w) {}

    // Loads the reads of a block, which must outlive it.
    void load(const ReadBlock& block) {
        block_ = &block;
        seeds_.clear();
        first_seed_.assign(1, 0);
        found_ = 0;
        next_.read = ~size_t(0);
        scan_some();
        prefetch_from(0);
    }

    // Finds the seeds of the reads up to r, and of the next one, in batches, so that the memory accesses of many
    // look-ups overlap.
    void find(size_t r) {
        const size_t end = std::min(r + 2, block_->size());
        while (first_seed_.size() <= end || found_ < first_seed_[end]) {
            const size_t scanned = seeds_.size();
            scan_some();
            for (; found_ < scanned; found_++) find(seeds_[found_]);
            prefetch_from(scanned);
        }
    }

    // Looks up the k-mers of a read and of its one-substitution variants, or with ambiguous bases of the variants
    // there. Returns the number of an additional read that has these seeds.
    size_t look_up_variants(const uint8_t* codes, int32_t length, Conversion conversion) {
        return look_up([&](auto&& add) { variants_.visit(codes, length, conversion, params_.k, params_.w, add); });
    }
    // Looks up the minimizers of a read whose length has changed; returns as look_up_variants() does.
    size_t look_up_again(size_t r) {
        return look_up([&](auto&& add) { scan(r, add); });
    }
    // Finds the candidates of read r, with `depth` times the usual limits, more for variants, and `part` of the hits
    // of a seed as in follow_seeds of algo/map/seeds.hpp; returns whether hits were left out.
    bool candidates(size_t r, int32_t length, int32_t limit, uint32_t tie_break, int32_t depth, bool part,
        bool of_variants, std::vector<Candidate>& out) {
        const bool hits_truncated = collect_hits(r, length, tie_break, depth, part);
        const OneLane lane;
        const auto all = [&] { return CandidateList{out.data()}; };
        uint32_t fewest;
        add_candidates(list_.sorted_together(limit, fewest), length, limit, out);
        if (fewest && worth_verifying(fewest - 1, max_seed_hits(lane, all(), uint32_t(out.size()))))
            add_candidates(list_.sorted(), length, limit, out);
        const uint32_t most = candidate_limit(params_.max_candidates, depth, of_variants);
        out.resize(choose_candidates(lane, all(), tie_break, uint32_t(out.size()), most));
        if (part && hits_truncated) all().forget_seed_hits(lane, uint32_t(out.size()));
        return hits_truncated;
    }

    // Whether candidates() would leave hits out.
    bool truncates_hits(size_t r, int32_t depth) const {
        int64_t total = 0;
        for (size_t s = first_seed_[r]; s < first_seed_[r + 1]; s++) total += count(s);
        return total > limit_at(params_.max_hits, depth);
    }

    // Calls visit(Candidate) for every candidate of read r that can hold it within the limit
    // (algo/map/every_locus.hpp).
    template <class Visit> void every_candidate(size_t r, int32_t length, int32_t limit, Visit&& visit) {
        const uint32_t minimum = min_path_hits(length, limit, params_.k, params_.w);
        int64_t total = 0;
        for (size_t s = first_seed_[r]; s < first_seed_[r + 1]; s++) total += seeds_[s].last - seeds_[s].first;
        const uint64_t interval = total > kHitsAtOnce ? kHitInterval : reference_.bases;
        hits_.clear();
        for (uint64_t border = 0; border < reference_.bases;) {
            border += interval;
            for (size_t s = first_seed_[r]; s < first_seed_[r + 1]; s++) take_hits(seeds_[s], length, border);
            // later hits have later diagonals
            const int64_t done = border < reference_.bases ? diagonals_done(int64_t(border), length, limit)
                                                           : std::numeric_limits<int64_t>::max();
            kept_.clear();
            radix_sort(hits_.data(), hits_.data() + hits_.size());
            for_each_cluster(OneLane(), hits_.data(), uint32_t(hits_.size()), limit, [&](uint32_t from, uint32_t to) {
                if (hit_diagonal(hits_[from]) >= done) {
                    kept_.insert(kept_.end(), hits_.begin() + int64_t(from), hits_.begin() + int64_t(to));
                } else if (any_path(hits_.data(), uint32_t(hits_.size()), from, to, limit, minimum)) {
                    cluster_.clear();
                    add_candidates({hits_.data(), uint32_t(hits_.size())}, length, limit, from, to, cluster_);
                    for (const Candidate& c : cluster_) visit(c);
                }
            });
            hits_.swap(kept_);
        }
    }

    // Calls visit(Candidate) for windows that cover the whole reference, for reads that may lie anywhere.
    template <class Visit> void everywhere(int32_t length, int32_t limit, Visit&& visit) const {
        for (const bool reverse : {false, true})
            for (uint32_t contig = 0; contig < reference_.contigs; contig++) {
                const int64_t begin = reference_.contig_offsets[contig], end = reference_.contig_offsets[contig + 1];
                for (int64_t i = 0; i < windows_everywhere(begin, end, length, limit); i++)
                    visit(Candidate{0, window_everywhere(begin, i, limit), int32_t(columns_everywhere(length, limit)),
                        contig, 0, reverse});
            }
    }

    // Maximum number of hits of read r, followed as for its candidates, within a long gap of each other.
    int32_t max_near_hits(size_t r, int32_t length, uint32_t tie_break, int32_t depth, bool part) {
        collect_hits(r, length, tie_break, depth, part);
        const SeedHits hits = list_.sorted();
        return int32_t(gpualign::max_near_hits(OneLane(), hits.list, hits.count));
    }

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

    static constexpr size_t kSeedsAtOnce = 128;  // two cache lines each, so that they stay in the nearest cache
    static constexpr uint32_t kEntriesPerLine = 8;

    void add_seed(const Minimizer& m) {
        look_up_.prefetch_bucket(m.hash);
        seeds_.push_back({m, 0, 0});
    }

    template <class Visit> size_t look_up(Visit&& visit) {
        const size_t first = seeds_.size();
        visit([&](const Minimizer& m) { add_seed(m); });
        prefetch_from(first);
        for (size_t s = first; s < seeds_.size(); s++) find(seeds_[s]);
        size_t kept = first;
        for (size_t s = first; s < seeds_.size(); s++)
            if (seeds_[s].last > seeds_[s].first) seeds_[kept++] = seeds_[s];
        seeds_.resize(kept);
        first_seed_.push_back(found_ = kept);
        return first_seed_.size() - 2;
    }

    template <class Emit> void scan(size_t r, Emit&& emit) {
        scanner_.set_strand(kmer_strand(block_->read(r).conversion));
        scanner_.scan(block_->codes(r, false), block_->read(r).length, emit);
    }

    // Scans the next reads; prefetches the buckets of their minimizers.
    void scan_some() {
        const size_t first = seeds_.size();
        for (size_t r = first_seed_.size() - 1; r < block_->size() && seeds_.size() - first < kSeedsAtOnce; r++) {
            scan(r, [&](const Minimizer& m) { add_seed(m); });
            first_seed_.push_back(seeds_.size());
        }
    }

    [[gnu::always_inline]] void prefetch_from(size_t first) const {  // seeds/index/lookup.hpp
        for (size_t s = first; s < seeds_.size(); s++) look_up_.prefetch_entries(seeds_[s].minimizer.hash);
    }
    void find(Seed& seed) const { look_up_.find(seed.minimizer.hash, seed.first, seed.last); }

    // Moves the seed's entries before the border to the hits.
    void take_hits(Seed& seed, int32_t length, uint64_t border) {
        for (; seed.first < seed.last && entry_position(index_.entries[seed.first]) < border; seed.first++)
            hits_.push_back(hit_of(index_.entries[seed.first], int32_t(seed.minimizer.position),
                seed.minimizer.reverse != 0, length, params_.k));
    }

    // The seeds of a read that are followed: all, or by the repeat rule the rarest ones.
    struct FollowedSeeds {
        size_t read = ~size_t(0);
        uint32_t max_hits = 0;
        bool hits_truncated = false;
        std::vector<uint32_t> seeds;
    };

    void follow_seeds(size_t r, uint32_t max_hits, bool part, FollowedSeeds& out) {
        out.read = r;
        out.max_hits = max_hits;
        out.seeds.clear();
        int64_t total = 0;
        for (size_t s = first_seed_[r]; s < first_seed_[r + 1]; s++) {
            total += count(s);
            if (count(s)) out.seeds.push_back(uint32_t(s));
        }
        out.hits_truncated = total > max_hits;
        if (!out.hits_truncated) return;
        rank_.clear();
        for (const uint32_t s : out.seeds) rank_.push_back(rarity_rank(count(s), s));
        std::sort(rank_.begin(), rank_.end());
        uint32_t hits;
        out.seeds.resize(gpualign::follow_seeds(
            OneLane(), uint32_t(rank_.size()), max_hits, part, hits,
            [&](uint32_t rank) { return count(uint32_t(rank_[rank])); },
            [&](uint32_t rank, uint32_t) { out.seeds[rank] = uint32_t(rank_[rank]); }));
    }

    // Returns whether hits were left out.
    bool collect_hits(size_t r, int32_t length, uint32_t tie_break, int32_t depth, bool part) {
        const uint32_t max_hits = limit_at(params_.max_hits, depth);
        if (next_.read == r && next_.max_hits == max_hits) std::swap(own_, next_);
        else follow_seeds(r, max_hits, part, own_);
        if (r + 2 < first_seed_.size() && first_seed_[r + 2] <= found_ && depth == 1) {
            // prefetches the next read's hits
            follow_seeds(r + 1, max_hits, false, next_);
            for (const uint32_t s : next_.seeds)
                for (uint32_t e = 0; e < std::min(count(s), max_hits); e += kEntriesPerLine)
                    __builtin_prefetch(&index_.entries[seeds_[s].first + e]);
        }
        list_.clear();
        uint32_t left = max_hits;
        for (const uint32_t s : own_.seeds) {
            const uint32_t followed = std::min(count(s), left);
            left -= followed;
            add_hits(seeds_[s], first_followed(tie_break, count(s), followed), followed, length);
        }
        return own_.hits_truncated;
    }

    uint32_t count(size_t s) const { return seeds_[s].last - seeds_[s].first; }
    void add_hits(const Seed& seed, uint32_t skipped, uint32_t followed, int32_t length) {
        const uint32_t first = seed.first + skipped;
        list_.add(index_.entries, first, first + followed, int32_t(seed.minimizer.position),
            seed.minimizer.reverse != 0, length, params_.k);
    }

    void add_candidates(const SeedHits& hits, int32_t length, int32_t limit, std::vector<Candidate>& out) const {
        out.clear();
        for_each_cluster(OneLane(), hits.list, hits.count, limit,
            [&](uint32_t from, uint32_t to) { add_candidates(hits, length, limit, from, to, out); });
    }

    void add_candidates(const SeedHits& hits, int32_t length, int32_t limit, uint32_t from, uint32_t to,
        std::vector<Candidate>& out) const {
        const bool reverse = hit_reverse(hits.list[from]);
        for_each_candidate(target_, length, limit, hits.list, from, to,
            [&](uint32_t contig, uint32_t seed_hits, int64_t diagonal, int64_t begin, int64_t end) {
                Candidate& c = out.emplace_back();  // emplaced, as copying a temporary would stall on its stores
                c.order = candidate_order(seed_hits, diagonal, reverse);
                c.begin = begin;
                c.columns = int32_t(end - begin);
                c.contig = contig;
                c.seed_hits = int32_t(seed_hits);
                c.reverse = reverse;
            });
    }

    const IndexView& index_;
    const IndexLookup look_up_;
    const ReferenceView& reference_;
    const SeedingParams params_;
    const MapTarget target_;  // the fields that the algorithms of algo/map need here
    MinimizerScanner scanner_;
    const ReadBlock* block_ = nullptr;
    std::vector<Seed> seeds_;
    std::vector<size_t> first_seed_;
    size_t found_ = 0;  // seeds
    ReadVariants variants_;
    SeedHitList list_;
    FollowedSeeds own_, next_;
    std::vector<uint64_t> rank_;                  // seeds, rarest first
    std::vector<uint64_t> hits_, kept_;  // of every_candidate
    std::vector<Candidate> cluster_;
};

}  // namespace gpualign
