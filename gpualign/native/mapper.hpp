// Reads to alignments on the CPU: seeds, candidates, verification, selection, alignment. One Mapper serves one thread.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "affine_batch.hpp"
#include "seeding.hpp"
#include "verify_batch.hpp"

namespace gpualign {

struct MapParams {
    SeedingParams seeding;
    double error_rate;
    AffineScores scores;

    // Edits allowed in a read: the rate of its length, rounded up. The tiny subtrahend keeps 0.07 * 100 at 7.
    int32_t limit(int64_t length) const { return int32_t(std::ceil(error_rate * double(length) - 1e-9)); }
};

constexpr uint16_t kFlagUnmapped = 4, kFlagReverse = 16;

// One primary record. An unmapped read has contig -1.
struct Alignment {
    uint16_t flag = kFlagUnmapped;
    uint8_t mapq = 0;
    int32_t contig = -1;
    int64_t position = 0;         // 0-based, in the contig
    int32_t score = 0;            // affine, without clip penalties
    int32_t distance = -1;        // Levenshtein, of the whole read
    int32_t second_distance = -1; // of the best other place, -1 where there is none within the limit
};

class Mapper {
public:
    Mapper(const IndexView& index, const ReferenceView& reference, const MapParams& params)
        : reference_(reference), params_(params), seeder_(index, reference, params.seeding), aligner_(reference, params.scores) {}

    // Maps reads given as letters[offsets[i], offsets[i + 1]); emit(Alignment, cigar) in the order of the reads.
    template <class Emit>
    void map(const uint8_t* letters, const int64_t* offsets, size_t reads, Emit&& emit) {
        for (size_t from = 0; from < reads; from += kBlock) {
            const size_t to = std::min(reads, from + kBlock);
            load(letters, offsets, from, to);
            verify(letters, offsets + from);
            select();
            align();
            for (size_t r = 0; r < to - from; r++) emit(alignments_[r], cigars_[r]);
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
            reads_[r] = {2 * size_t(offsets[from + r] - offsets[from]), length, params_.limit(length), 0, 0};
            uint8_t* forward = codes_.data() + reads_[r].at;
            uint8_t* backward = forward + 2 * length;
            for (int32_t i = 0; i < length; i++) {
                forward[i] = kCodes.forward[text[i]];
                *--backward = kCodes.reverse[text[i]];
            }
        }
    }

    // Candidates of all reads of the block, then their distances, all in one go.
    void verify(const uint8_t* letters, const int64_t* offsets) {
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
        VerifyProfiles profiles(letters, offsets, reads_.size());
        VerifyBatch(reference_, profiles).run(windows_, VerifyMode::infix, false, results_);
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

    // The best place of each read: smallest distance, then position, then the forward strand. Places that end within the
    // limit of each other on one strand are one place.
    void select() {
        alignments_.assign(reads_.size(), Alignment());
        cigars_.resize(reads_.size());
        tasks_.clear();
        task_reads_.clear();
        for (size_t r = 0; r < reads_.size(); r++) {
            cigars_[r].clear();
            const Read& read = reads_[r];
            size_t best = read.last_place;
            for (size_t p = read.first_place; p < read.last_place; p++)
                if (results_[p].distance <= read.limit && (best == read.last_place || before(p, best))) best = p;
            if (best == read.last_place) continue;
            Alignment& a = alignments_[r];
            a.distance = results_[best].distance;
            int best_votes = places_[best].candidate.votes;
            for (size_t p = read.first_place; p < read.last_place; p++)
                if (results_[p].distance <= read.limit && !same_place(p, best, read.limit) &&
                    (a.second_distance < 0 || results_[p].distance < a.second_distance))
                    a.second_distance = results_[p].distance;
            a.flag = places_[best].candidate.reverse ? kFlagReverse : 0;
            a.contig = int32_t(places_[best].candidate.contig);
            a.mapq = mapping_quality(a.distance, a.second_distance, read.limit, best_votes, int(seeder_.seeds(r)));
            prepare(r, read, best);
        }
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
    static uint8_t mapping_quality(int32_t distance, int32_t second, int32_t limit, int votes, int seeds) {
        if (second == distance) return 0;
        const int gap = (second < 0 ? limit + 1 : second) - distance;
        const int support = std::min(10, 3 + votes);
        (void)seeds;
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
    std::vector<Read> reads_;
    std::vector<uint8_t> codes_, window_;
    std::vector<const uint8_t*> read_codes_;
    std::vector<int32_t> read_lengths_;
    std::vector<Candidate> candidates_;
    std::vector<Place> places_;
    std::vector<VerifyTask> windows_;
    std::vector<VerifyBest> results_;
    std::vector<Alignment> alignments_;
    std::vector<std::vector<uint32_t>> cigars_;
    std::vector<AffineTask> tasks_;
    std::vector<size_t> task_reads_;
    std::vector<AffineResult> aligned_;
};

}  // namespace gpualign
