// Reads to alignments on the CPU: seeds, candidates, verification, selection, alignment. One Mapper serves one thread.
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "affine_batch.hpp"
#include "pair_model.hpp"
#include "seeding.hpp"
#include "verify_batch.hpp"

namespace gpualign {

struct MapParams {
    SeedingParams seeding;
    double error_rate;
    AffineScores scores;
    PairModel pairs;

    // Edits allowed in a read: the rate of its length, rounded up. The tiny subtrahend keeps 0.07 * 100 at 7.
    int32_t limit(int64_t length) const { return int32_t(std::ceil(error_rate * double(length) - 1e-9)); }
};

class Mapper {
public:
    Mapper(const IndexView& index, const ReferenceView& reference, const MapParams& params)
        : reference_(reference), params_(params), seeder_(index, reference, params.seeding), aligner_(reference, params.scores) {}

    // Maps reads given as letters[offsets[i], offsets[i + 1]); records take the reads in their order. `mates` says
    // which reads are pairs, null that none are.
    template <class Records>
    void map(const uint8_t* letters, const int64_t* offsets, const uint8_t* mates, size_t reads, Records& records) {
        for (size_t from = 0, to; from < reads; from = to) {
            to = std::min(reads, from + kBlock);
            if (mates && to < reads && mates[to] == kSecondMate) to++;
            mates_ = mates ? mates + from : nullptr;
            load(letters, offsets, from, to);
            profiles_.emplace(letters, offsets + from, to - from);
            verify();
            if (mates_) rescue();
            select();
            align();
            for (size_t r = 0; r < to - from; r++) {
                records.add(alignments_[r], cigars_[r]);
                records.end_read();
            }
        }
    }

private:
    static constexpr size_t kBlock = 512;

    struct Place {
        uint32_t read;
        Candidate candidate;
    };

    struct Read {
        size_t at;        // of its codes; the reverse complement's follow
        int32_t length, limit;
        size_t first_place, last_place;
        int32_t rescued;  // place found through the mate, then next_rescued_ of it, -1 at the end
    };

    const uint8_t* codes(const Read& read, bool reverse) const {
        return codes_.data() + read.at + (reverse ? size_t(read.length) : 0);
    }

    void load(const uint8_t* letters, const int64_t* offsets, size_t from, size_t to) {
        const size_t n = to - from;
        reads_.resize(n);
        codes_.resize(2 * size_t(offsets[to] - offsets[from]));
        for (size_t r = 0; r < n; r++) {
            const uint8_t* text = letters + offsets[from + r];
            const int32_t length = int32_t(offsets[from + r + 1] - offsets[from + r]);
            reads_[r] = {2 * size_t(offsets[from + r] - offsets[from]), length, params_.limit(length), 0, 0, -1};
            uint8_t* forward = codes_.data() + reads_[r].at;
            uint8_t* backward = forward + 2 * length;
            for (int32_t i = 0; i < length; i++) {
                forward[i] = kCodes.forward[text[i]];
                *--backward = kCodes.reverse[text[i]];
            }
        }
    }

    // Candidates of all reads of the block, then their distances, all in one go.
    void verify() {
        read_codes_.clear();
        read_lengths_.clear();
        for (const Read& read : reads_) {
            read_codes_.push_back(codes(read, false));
            read_lengths_.push_back(read.length);
        }
        seeder_.look_up(read_codes_, read_lengths_);
        places_.clear();
        windows_.clear();
        for (size_t r = 0; r < reads_.size(); r++) {
            Read& read = reads_[r];
            seeder_.candidates(r, read.length, read.limit, candidates_);
            read.first_place = places_.size();
            for (const Candidate& c : candidates_) add_place(uint32_t(r), read, c);
            read.last_place = places_.size();
        }
        VerifyBatch(reference_, *profiles_).run(windows_, VerifyMode::infix, false, results_);
    }

    // visit(place) for each place of a read within the limit.
    template <class Visit>
    void for_each_hit(const Read& read, Visit&& visit) const {
        for (size_t p = read.first_place; p < read.last_place; p++)
            if (results_[p].distance <= read.limit) visit(p);
        for (int32_t p = read.rescued; p >= 0; p = next_rescued_[size_t(p) - first_rescued_]) visit(size_t(p));
    }

    // The window holds every path of at most `limit` edits that meets the candidate's seeds: such a path strays from a seed's
    // diagonal by at most the limit.
    void add_place(uint32_t r, const Read& read, const Candidate& c) {
        const int64_t contig_begin = reference_.contig_offsets[c.contig], contig_end = reference_.contig_offsets[c.contig + 1];
        const int64_t begin = std::max(contig_begin, c.last_diagonal - read.limit);
        const int64_t end = std::min(contig_end, c.first_diagonal + read.limit + read.length);
        if (begin >= end) return;
        places_.push_back({r, c});
        windows_.push_back({uint32_t(begin), uint32_t(end - begin), 2 * r + c.reverse, read.limit});
    }

    // A pair of whose ends no places lie as the library has them: the windows where an end should lie, seen from the best
    // places of the other end, are searched by the verification kernel, which needs no seed.
    void rescue() {
        first_rescued_ = places_.size();
        next_rescued_.clear();
        rescue_windows_.clear();
        rescue_places_.clear();
        for (size_t r = 0; r + 1 < reads_.size(); r++) {
            if (mates_[r] != kFirstMate) continue;
            collect(r, first_hits_);
            collect(r + 1, second_hits_);
            if (first_hits_.size() + second_hits_.size() == 0 || any_fits()) continue;
            search_mate(first_hits_, r + 1, true);
            search_mate(second_hits_, r, false);
        }
        VerifyBatch(reference_, *profiles_).run(rescue_windows_, VerifyMode::infix, false, rescue_results_);
        for (size_t w = 0; w < rescue_windows_.size(); w++) {
            Read& read = reads_[rescue_places_[w].read];
            if (rescue_results_[w].distance > read.limit) continue;
            next_rescued_.push_back(read.rescued);
            read.rescued = int32_t(places_.size());
            places_.push_back(rescue_places_[w]);
            windows_.push_back(rescue_windows_[w]);
            results_.push_back(rescue_results_[w]);
        }
    }

    bool any_fits() const {
        for (size_t p : first_hits_)
            for (size_t q : second_hits_)
                if (insert_of(p, q) >= 0) return true;
        return false;
    }

    // Windows for read `mate`, seen from the best of the other end's places.
    void search_mate(const std::vector<size_t>& anchors, size_t mate, bool anchor_is_first) {
        const Read& read = reads_[mate];
        if (read.length == 0) return;
        for (size_t i = 0; i < anchors.size() && i < kMostAnchors; i++) {
            const size_t p = anchors[i];
            if (results_[p].distance > results_[anchors[0]].distance) break;
            const Candidate& c = places_[p].candidate;
            const MateWindow w = params_.pairs.mate_window(start_of(p), end_of(p), c.reverse, anchor_is_first);
            const int64_t begin = std::max(reference_.contig_offsets[c.contig], w.begin - read.limit);
            const int64_t end = std::min(reference_.contig_offsets[c.contig + 1], w.end + read.limit);
            if (begin >= end) continue;
            rescue_windows_.push_back({uint32_t(begin), uint32_t(end - begin), uint32_t(2 * mate + w.reverse), read.limit});
            rescue_places_.push_back({uint32_t(mate), {0, 0, c.contig, 0, w.reverse}});
        }
    }

    // Insert size of places p and q of the first and the second end, -1 where they do not lie as the library has them.
    int64_t insert_of(size_t p, size_t q) const {
        const Candidate &a = places_[p].candidate, &b = places_[q].candidate;
        if (a.contig != b.contig) return -1;
        return params_.pairs.insert_size(start_of(p), end_of(p), a.reverse, start_of(q), end_of(q), b.reverse);
    }
    int64_t start_of(size_t p) const { return end_of(p) - reads_[places_[p].read].length; }

    // Places of read r within the limit, best first; of one place found twice only the better.
    void collect(size_t r, std::vector<size_t>& hits) const {
        hits.clear();
        for_each_hit(reads_[r], [&](size_t p) { hits.push_back(p); });
        std::sort(hits.begin(), hits.end(), [&](size_t p, size_t q) { return before(p, q) || (!before(q, p) && p < q); });
        if (hits.size() > kMostPairedPlaces) hits.resize(kMostPairedPlaces);
        size_t kept = 0;
        for (size_t p : hits) {
            bool seen = false;
            for (size_t i = 0; i < kept && !seen; i++) seen = same_place(p, hits[i], reads_[r].limit);
            if (!seen) hits[kept++] = p;
        }
        hits.resize(kept);
    }

    static constexpr size_t kMostAnchors = 4, kMostPairedPlaces = 64;

    void select() {
        alignments_.assign(reads_.size(), Alignment());
        cigars_.resize(reads_.size());
        tasks_.clear();
        task_reads_.clear();
        for (auto& cigar : cigars_) cigar.clear();
        for (size_t r = 0; r < reads_.size(); r++) {
            if (mates_ && mates_[r] == kFirstMate && r + 1 < reads_.size()) {
                select_pair(r);
                r++;
            } else {
                select_single(r);
            }
        }
    }

    // The best place of a read: smallest distance, then position, then the forward strand. Places that end within the limit
    // of each other on one strand are one place.
    void select_single(size_t r) {
        const Read& read = reads_[r];
        size_t best = kNoPlace;
        for_each_hit(read, [&](size_t p) {
            if (best == kNoPlace || before(p, best)) best = p;
        });
        if (best == kNoPlace) return;
        place(r, best);
    }

    // A pair's places by the sum of both scores, less what an unlikely insert size or an unpaired choice costs.
    void select_pair(size_t r) {
        collect(r, first_hits_);
        collect(r + 1, second_hits_);
        size_t best_first = kNoPlace, best_second = kNoPlace;
        int32_t best = 0;
        for (size_t p : first_hits_)
            for (size_t q : second_hits_) {
                const int64_t insert = insert_of(p, q);
                if (insert < 0) continue;
                const int32_t score = score_of(p) + score_of(q) - params_.pairs.penalty(insert);
                if (best_first != kNoPlace && score <= best) continue;
                best_first = p;
                best_second = q;
                best = score;
            }
        const int32_t apart = first_hits_.empty() || second_hits_.empty()
                                  ? 0
                                  : score_of(first_hits_[0]) + score_of(second_hits_[0]) - params_.pairs.unpaired;
        if (best_first == kNoPlace || best < apart) {
            if (!first_hits_.empty()) place(r, first_hits_[0]);
            if (!second_hits_.empty()) place(r + 1, second_hits_[0]);
            return;
        }
        place(r, best_first);
        place(r + 1, best_second);
        alignments_[r].flag |= kFlagProper;
        alignments_[r + 1].flag |= kFlagProper;
        alignments_[r].mapq = pair_quality(r, best_first, true, best, apart);
        alignments_[r + 1].mapq = pair_quality(r + 1, best_second, false, best, apart);
    }

    // Mapping quality of one end at `place` as part of the best pair: from the best pair, or choice without a pair, that puts
    // this end elsewhere; at least what the end's own places say where its own best is the one chosen.
    uint8_t pair_quality(size_t r, size_t chosen, bool first, int32_t best, int32_t apart) {
        const int32_t limit = reads_[r].limit;
        const std::vector<size_t>& mine = first ? first_hits_ : second_hits_;
        const std::vector<size_t>& others = first ? second_hits_ : first_hits_;
        bool rival = false;
        int32_t second = 0;
        const auto meet = [&](int32_t score) {
            second = rival ? std::max(second, score) : score;
            rival = true;
        };
        for (size_t p : mine) {
            if (same_place(p, chosen, limit)) continue;
            for (size_t q : others) {
                const int64_t insert = first ? insert_of(p, q) : insert_of(q, p);
                if (insert >= 0) meet(score_of(p) + score_of(q) - params_.pairs.penalty(insert));
            }
        }
        if (!same_place(mine[0], chosen, limit)) meet(apart);
        else if (mine.size() > 1) meet(apart - (score_of(mine[0]) - score_of(mine[1])));
        const uint8_t alone = same_place(mine[0], chosen, limit) ? alignments_[r].mapq : 0;
        const int32_t edit = params_.scores.match + params_.scores.mismatch;
        const int32_t gap = rival ? (best - second) / edit : limit + 1 - results_[chosen].distance;
        if (rival && best == second) return alone;
        return std::max(alone, uint8_t(std::max(1, std::min(60, 10 * gap))));
    }

    int32_t score_of(size_t p) const {
        const AffineScores& s = params_.scores;
        return reads_[places_[p].read].length * s.match - results_[p].distance * (s.match + s.mismatch);
    }

    static constexpr size_t kNoPlace = ~size_t(0);

    // Fills the record of read r at a place and prepares its alignment.
    void place(size_t r, size_t best) {
        const Read& read = reads_[r];
        Alignment& a = alignments_[r];
        a.distance = results_[best].distance;
        int32_t second = -1;
        for_each_hit(read, [&](size_t p) {
            if (!same_place(p, best, read.limit) && (second < 0 || results_[p].distance < second)) second = results_[p].distance;
        });
        a.flag = places_[best].candidate.reverse ? kFlagReverse : 0;
        a.contig = int32_t(places_[best].candidate.contig);
        a.mapq = mapping_quality(a.distance, second, read.limit, places_[best].candidate.votes);
        prepare(r, read, best);
    }

    bool before(size_t p, size_t q) const {
        if (results_[p].distance != results_[q].distance) return results_[p].distance < results_[q].distance;
        if (end_of(p) != end_of(q)) return end_of(p) < end_of(q);
        return places_[p].candidate.reverse < places_[q].candidate.reverse;
    }
    int64_t end_of(size_t p) const { return int64_t(windows_[p].begin) + results_[p].end; }
    bool same_place(size_t p, size_t q, int32_t limit) const {
        return places_[p].candidate.reverse == places_[q].candidate.reverse &&
               places_[p].candidate.contig == places_[q].candidate.contig && std::abs(end_of(p) - end_of(q)) <= limit;
    }

    // How sure the place is, from what the other places need: nothing (0) where another is as good, most where the best
    // other needs many more edits or is beyond the limit.
    static uint8_t mapping_quality(int32_t distance, int32_t second, int32_t limit, int votes) {
        if (second >= 0 && second <= distance) return 0;
        const int gap = (second < 0 ? limit + 1 : second) - distance;
        const int support = std::min(10, 3 + votes);
        return uint8_t(std::max(1, std::min(60, 10 * gap) * support / 10));
    }

    // Reads with at most one edit that is no gap need no dynamic program: any gap costs at least 7 where the one mismatch
    // costs match + mismatch = 5 (with the default scores), and clipping up to it costs more than it saves.
    void prepare(size_t r, const Read& read, size_t place) {
        const bool reverse = places_[place].candidate.reverse;
        const int64_t diagonal = end_of(place) - read.length;
        const int64_t contig_begin = reference_.contig_offsets[places_[place].candidate.contig];
        const int64_t contig_end = reference_.contig_offsets[places_[place].candidate.contig + 1];
        Alignment& a = alignments_[r];
        const AffineScores& s = params_.scores;
        const bool provable = s.match + s.mismatch <= s.gap_open + s.gap_extend && s.match + s.mismatch <= s.clip + s.match;
        if (a.distance == 0 || (a.distance == 1 && provable && mismatches(codes(read, reverse), read.length, diagonal, contig_begin) == 1)) {
            a.position = diagonal - contig_begin;
            a.score = (read.length - a.distance) * s.match - a.distance * s.mismatch;
            push_cigar(cigars_[r], kCigarM, uint32_t(read.length));
            return;
        }
        tasks_.push_back({codes(read, reverse), read.length, 2 * read.limit + 1, diagonal - read.limit, contig_begin, contig_end});
        task_reads_.push_back(r);
    }

    int mismatches(const uint8_t* query, int32_t length, int64_t diagonal, int64_t contig_begin) {
        if (diagonal < contig_begin) return length;
        window_.resize(size_t(length));
        reference_.codes(uint64_t(diagonal), uint64_t(diagonal + length), window_.data());
        int n = 0;
        for (int32_t i = 0; i < length; i++) n += query[i] != window_[size_t(i)] || query[i] == kNoBase;
        return n;
    }

    void align() {
        aligner_.run(tasks_, aligned_);
        for (size_t t = 0; t < tasks_.size(); t++) {
            Alignment& a = alignments_[task_reads_[t]];
            a.score = aligned_[t].score;
            a.position = aligned_[t].begin - reference_.contig_offsets[a.contig];
            cigars_[task_reads_[t]] = aligned_[t].cigar;
        }
    }

    const ReferenceView& reference_;
    const MapParams params_;
    Seeder seeder_;
    AffineBatch aligner_;
    const uint8_t* mates_ = nullptr;
    std::optional<VerifyProfiles> profiles_;
    std::vector<Read> reads_;
    std::vector<uint8_t> codes_, window_;
    std::vector<const uint8_t*> read_codes_;
    std::vector<int32_t> read_lengths_;
    std::vector<Candidate> candidates_;
    std::vector<Place> places_;
    std::vector<VerifyTask> windows_;
    std::vector<VerifyBest> results_;
    size_t first_rescued_ = 0;
    std::vector<int32_t> next_rescued_;
    std::vector<VerifyTask> rescue_windows_;
    std::vector<Place> rescue_places_;
    std::vector<VerifyBest> rescue_results_;
    std::vector<size_t> first_hits_, second_hits_;
    std::vector<Alignment> alignments_;
    std::vector<Cigar> cigars_;
    std::vector<AffineTask> tasks_;
    std::vector<size_t> task_reads_;
    std::vector<AffineResult> aligned_;
};

}  // namespace gpualign
