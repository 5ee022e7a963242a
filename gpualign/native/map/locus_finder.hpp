// Loci of a block of reads: seeds, candidates, verification; chaining of reads that do not align end to end; mate
// rescue.
#pragma once
#include <cstdint>
#include <numeric>
#include <vector>

#include "algo/map/find_reads.hpp"
#include "algo/map/read_through.hpp"
#include "map/local_finder.hpp"
#include "map/mates_of_block.hpp"
#include "map/read_block.hpp"
#include "map/seeding.hpp"
#include "map/window_search.hpp"

namespace gpualign {

class LocusFinder {
public:
    LocusFinder(const IndexView& index, const ReferenceView& reference, const MapperParams& params)
        : params_(params), text_(reference), block_(reference, params_), seeder_(index, reference, params.seeding),
          search_(reference, params.rules.scores, block_), local_finder_(index, reference, params_, block_),
          mates_(reference, params_, block_, search_) {}
    LocusFinder(const LocusFinder&) = delete;  // members refer to each other

    // Processes the reads [from, to); `mates` gives mate numbers, or is null.
    void find(const ReadTexts& bases, const uint8_t* qualities, const ReadTexts& names, const uint8_t* mates,
        const Conversion* conversions, size_t from, size_t to) {
        block_.load(bases, qualities, names, mates, conversions, from, to);
        search_.load(bases.bytes, bases.offsets + from, to - from, conversions ? conversions + from : nullptr);
        clipped_.clear();
        if (mates && !params_.seeding.full) clip_at_inserts();
        seeder_.load(block_);
        all_.resize(block_.size());
        std::iota(all_.begin(), all_.end(), size_t(0));
        mate_numbers_ = mates ? mates + from : nullptr;
        sought_ = &all_;
        find_end_to_end(params_.rules, params_.seeding.full, *this);
        if (mates && !params_.seeding.full) {
            take_back_clips();
            clip_at_gapped_inserts();
        }
        if (params_.rules.local) local_finder_.run();
        if (mates) rescue_mates(OneLane(), params_.rules, mates_);
        if (mates && params_.rules.local) rescue_clipped_mates(OneLane(), params_.rules, mates_);
    }

    size_t size() const { return block_.size(); }
    const Read& read(size_t r) const { return block_.read(r); }
    const uint8_t* codes(size_t r, bool reverse) const { return block_.codes(r, reverse); }
    LociView loci(size_t r) const { return block_.view(r); }
    const std::vector<ChainRecord>& locals(size_t r) const { return block_.locals(r); }

    // Reads for find_end_to_end.
    template <class Visit> void for_each(Visit&& visit) const {
        for (const size_t r : *sought_)
            if (!params_.is_long(block_.read(r).length)) visit(r);
    }
    bool paired(size_t r) const { return mate_numbers_ && mate_numbers_[r]; }
    int32_t failed(size_t r) const { return block_.read(r).failed; }
    uint32_t candidates(size_t r) const { return block_.read(r).candidates; }
    void look_up(size_t r) {
        const uint32_t seeds = block_.read(r).seeds;
        if (seeds < block_.size()) seeder_.find(seeds);
        block_.read(r).any_hits = seeder_.any_hits(seeds);
    }
    void add_candidates(size_t r, int32_t depth, bool part) {
        block_.loci(r).clear();
        if (params_.seeding.full) add_every_candidate(r);
        else add_candidates(r, block_.read(r).seeds, depth, part);
    }
    void leave_hits_to_chaining(size_t r) {
        Read& read = block_.read(r);
        read.hits_truncated = seeder_.truncates_hits(read.seeds, kDepth);
    }
    void add_variants(size_t r, bool keep) {
        if (!keep) block_.loci(r).clear();
        const auto& read = block_.read(r);
        const size_t seeds = seeder_.look_up_variants(block_.codes(r, false), read.length, read.conversion);
        add_candidates(r, seeds, 1, false, true);
    }
    void search() {
        search_.run_and_settle();
        search_.clear();
        if (params_.seeding.full) for_each([&](size_t r) { block_.settle(r); });  // some windows were searched before
    }
    void count_near_hits(size_t r) {
        Read& read = block_.read(r);
        read.near_hits = seeder_.max_near_hits(read.seeds, read.length, read.tie_break, read.depth, read.part_of_hits);
    }

private:
    // For the functions of algo/map/read_through.hpp.
    auto differences_of_pair(size_t first) const {
        const uint8_t *const one = block_.codes(first, false), *const two = block_.codes(first + 1, true) +
                                                                            block_.read(first + 1).length;
        return [=](int32_t begin, int32_t end, int32_t size, int32_t most) {
            return LocusFinder::differences(one + begin, two - size + begin, end - begin, most);
        };
    }

    // Clips mates that are longer than the insert of their pair (algo/map/read_through.hpp).
    void clip_at_inserts() {
        for (size_t first = 0; first + 1 < block_.size(); first++) {
            if (!block_.read(first).first_of_pair) continue;
            const Inserts inserts = read_through(OneLane(), params_.rules, block_.read(first).bases,
                block_.read(first + 1).bases, differences_of_pair(first));
            for (size_t mate = 0; mate < 2; mate++) {
                const size_t r = first + mate;
                if (!inserts.of[mate] || inserts.of[mate] >= block_.read(r).length) continue;
                set_length(r, inserts.of[mate]);
                if (clipped_.empty() || clipped_.back() != first) clipped_.push_back(first);
            }
        }
    }

    // Counts bases that differ, 32 at a time; stops when there are more than `most`.
    static int32_t differences(const uint8_t* one, const uint8_t* two, int32_t length, int32_t most) {
        constexpr int32_t kAtOnce = 32;
        int32_t differ = 0, i = 0;
        const auto differs = [&](int32_t at) { return (one[at] != two[at]) | (one[at] == kNoBase); };
        for (; i + kAtOnce <= length && differ <= most; i += kAtOnce) {
            uint8_t here = 0;
            for (int32_t j = 0; j < kAtOnce; j++) here = uint8_t(here + differs(i + j));
            differ += here;
        }
        for (; i < length && differ <= most; i++) differ += differs(i);
        return differ;
    }

    // Clips the mates of pairs of which one would be chained, if an indel has hidden that they are longer than their
    // insert.
    void clip_at_gapped_inserts() {
        clipped_.clear();
        sought_again_.clear();
        for (size_t first = 0; first + 1 < block_.size(); first++) {
            if (!block_.read(first).first_of_pair || is_clipped(first) || is_clipped(first + 1)) continue;
            const auto would_chain = [&](size_t r) {
                return wants_chaining(params_.rules, block_.view(r), block_.read(r));
            };
            if (!would_chain(first) && !would_chain(first + 1)) continue;
            const int32_t lengths[2] = {block_.read(first).bases, block_.read(first + 1).bases};
            const Inserts inserts = gapped_read_through(OneLane(), lengths[0], lengths[1], differences_of_pair(first));
            if (!inserts.of[0]) continue;
            clipped_.push_back(first);
            for (size_t mate = 0; mate < 2; mate++)
                if (inserts.of[mate] < lengths[mate]) seek_again(first + mate, inserts.of[mate]);
        }
        find_again();
        take_back_clips();
    }

    // Takes back the clips of pairs that no adapter ends, and finds the loci of their mates again.
    void take_back_clips() {
        sought_again_.clear();
        for (const size_t first : clipped_)
            if (!keeps_clips(clip_of(first), clip_of(first + 1)))
                for (const size_t r : {first, first + 1})
                    if (is_clipped(r)) seek_again(r, block_.read(r).bases);
        find_again();
    }
    Clip clip_of(size_t r) {
        if (!is_clipped(r)) return Clip::none;
        const Read& read = block_.read(r);
        const ChainQuery all{packed_.of(block_.codes(r, false), read.bases, read.conversion), false};
        return clip_at_insert(OneLane(), params_.rules, block_.view(r), read, all, text_);
    }
    bool is_clipped(size_t r) const { return block_.read(r).length < block_.read(r).bases; }

    // Finds the loci of a read with another length than before.
    void seek_again(size_t r, int32_t length) {
        change_length(r, length);
        sought_again_.push_back(r);
    }
    void find_again() {
        if (sought_again_.empty()) return;
        sought_ = &sought_again_;
        find_end_to_end(params_.rules, params_.seeding.full, *this);
    }

    void set_length(size_t r, int32_t length) {
        block_.set_length(r, length);
        search_.set_length(r, length);
    }
    // Forgets what was found for another length of a read.
    void change_length(size_t r, int32_t length) {
        set_length(r, length);
        Read& read = block_.read(r);
        block_.loci(r).clear();
        read.failed = read.near_hits = 0;
        read.seeds = uint32_t(seeder_.look_up_again(r));
    }

    // `seeds`: number of the seeder's read whose seeds are used.
    void add_candidates(size_t r, size_t seeds, int32_t depth, bool part, bool of_variants = false) {
        Read& read = block_.read(r);
        read.hits_truncated =
            seeder_.candidates(seeds, read.length, read.limit, read.tie_break, depth, part, of_variants, candidates_);
        read.seeds = uint32_t(seeds);
        read.depth = depth;
        read.part_of_hits = part;
        read.candidates = uint32_t(candidates_.size());
        for (const Candidate& c : candidates_) add_candidate(r, c);
    }

    // Low-complexity reads have millions of candidates, which are searched in batches.
    void add_every_candidate(size_t r) {
        const Read& read = block_.read(r);
        const auto search = [&](const Candidate& c) {
            add_candidate(r, c);
            if (search_.size() < kWindowsAtOnce) return;
            search_.run();
            search_.clear();
        };
        if (may_lie_anywhere(read.length, read.limit, params_.seeding.k, params_.seeding.w))
            seeder_.everywhere(read.length, read.limit, search);
        else seeder_.every_candidate(r, read.length, read.limit, search);
    }
    static constexpr size_t kWindowsAtOnce = 1 << 16;

    void add_candidate(size_t r, const Candidate& c) {
        search_.add(r, c.contig, c.reverse, c.seed_hits, c.begin, c.end(), block_.read(r).limit);
    }

    const MapperParams params_;
    const ReferenceText text_;
    ReadBlock block_;
    Seeder seeder_;
    WindowSearch search_;
    LocalFinder local_finder_;
    MatesOfBlock mates_;
    const uint8_t* mate_numbers_ = nullptr;
    const std::vector<size_t>* sought_ = nullptr;  // reads that find_end_to_end visits: all_ or sought_again_
    std::vector<size_t> all_, sought_again_;
    std::vector<size_t> clipped_;  // R1 of the pairs of which a mate is clipped
    std::vector<Candidate> candidates_;
    PackedRead packed_;
};

}  // namespace gpualign
