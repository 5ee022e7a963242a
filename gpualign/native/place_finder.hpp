// From a block of reads to the places of each: seeds, candidates, verification; chains for reads that fit nowhere as a whole;
// and the mate's help.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "affine_batch.hpp"
#include "chain_mapper.hpp"
#include "pair_model.hpp"
#include "place.hpp"
#include "seeding.hpp"
#include "verify_batch.hpp"

namespace gpualign {

struct MapParams {
    SeedingParams seeding;
    double error_rate;
    AffineScores scores;
    PairModel pairs;
    bool local;              // align parts of a read where the whole fits nowhere
    int32_t most_secondary;  // further places reported per read
    int32_t strata;          // of those with at most that many edits more than the best

    // Edits allowed in a read: the rate of its length, rounded up. The tiny subtrahend keeps 0.07 * 100 at 7.
    int32_t limit(int64_t length) const { return int32_t(std::ceil(error_rate * double(length) - 1e-9)); }
};

struct Read {
    size_t at;         // of its codes; the reverse complement's follow
    int32_t length, limit;
    bool any_hits;     // a minimizer occurs in the reference
    bool cut;          // some of their hits were not followed
    int32_t failed;    // most seed hits of a candidate that is beyond the limit
    int32_t near_hits; // most seed hits a long gap apart
    bool first_of_pair;
};

class PlaceFinder {
public:
    PlaceFinder(const IndexView& index, const ReferenceView& reference, const MapParams& params)
        : reference_(reference), params_(params), seeder_(index, reference, params.seeding), aligner_(reference, params.scores),
          chainer_(index, reference, chaining(params, params.seeding.w)), dense_chainer_(index, reference, chaining(params, 1)) {}

    // Takes the reads [from, to) given as letters[offsets[i], offsets[i + 1]); `mates` says which are pairs, or is null.
    void find(const uint8_t* letters, const int64_t* offsets, const uint8_t* mates, size_t from, size_t to) {
        load(letters, offsets, mates, from, to);
        profiles_.emplace(letters, offsets + from, to - from);
        verify();
        if (params_.local) chain();
        if (mates) rescue();
        if (mates && params_.local) rescue_poor();
    }

    size_t size() const { return reads_.size(); }
    const Read& read(size_t r) const { return reads_[r]; }
    const uint8_t* codes(size_t r, bool reverse) const {
        return codes_.data() + reads_[r].at + (reverse ? size_t(reads_[r].length) : 0);
    }
    // The places of a read, within the limit or local, best first.
    const std::vector<Place>& places(size_t r) const { return places_[r]; }
    // The local alignments of a read, which the places refer to: the best one, further parts of the read, other places.
    const std::vector<ChainRecord>& locals(size_t r) const { return locals_[r]; }

private:
    void load(const uint8_t* letters, const int64_t* offsets, const uint8_t* mates, size_t from, size_t to) {
        const size_t n = to - from;
        reads_.resize(n);
        codes_.resize(2 * size_t(offsets[to] - offsets[from]));
        if (places_.size() < n) {
            places_.resize(n);
            locals_.resize(n);
        }
        for (size_t r = 0; r < n; r++) {
            const uint8_t* text = letters + offsets[from + r];
            const int32_t length = int32_t(offsets[from + r + 1] - offsets[from + r]);
            const bool first = mates && mates[from + r] == 1 && r + 1 < n;
            reads_[r] = {2 * size_t(offsets[from + r] - offsets[from]), length, params_.limit(length), false, false, 0, 0, first};
            uint8_t* forward = codes_.data() + reads_[r].at;
            uint8_t* backward = forward + 2 * length;
            for (int32_t i = 0; i < length; i++) {
                forward[i] = kCodes.forward[text[i]];
                *--backward = kCodes.reverse[text[i]];
            }
            places_[r].clear();
            locals_[r].clear();
        }
    }

    // Candidates of all reads of the block, then their distances, all in one go.
    void verify() {
        read_codes_.clear();
        read_lengths_.clear();
        for (size_t r = 0; r < reads_.size(); r++) {
            read_codes_.push_back(codes(r, false));
            read_lengths_.push_back(reads_[r].length);
        }
        seeder_.look_up(read_codes_, read_lengths_);
        clear_windows();
        for (size_t r = 0; r < reads_.size(); r++) {
            reads_[r].any_hits = seeder_.any_hits(r);
            add_candidates(r, false);
        }
        search_windows();
        for (size_t r = 0; r < reads_.size(); r++) settle(places_[r], reads_[r].limit);
        look_deeper();
    }

    void add_candidates(size_t r, bool deep) {
        Read& read = reads_[r];
        if (params_.local && read.length > kLongestWhole) return;
        if (params_.seeding.full) return add_every_candidate(r);
        read.cut = seeder_.candidates(r, read.length, read.limit, deep, candidates_);
        read.near_hits = candidates_.size() > 1 ? seeder_.most_near_hits() : 0;
        for (const Candidate& c : candidates_) add_candidate(r, c);
    }

    // A path within the limit strays from the diagonal of a seed that it meets by no more than the limit: the window holds the
    // paths that meet any of the candidate's seeds.
    void add_candidate(size_t r, const Candidate& c) {
        const Read& read = reads_[r];
        add_window(r, c.contig, c.reverse, c.votes, c.first_diagonal - read.limit, c.last_diagonal + read.limit + read.length);
    }

    // In low complexity there are millions of candidates: they are searched as they come.
    void add_every_candidate(size_t r) {
        const Read& read = reads_[r];
        seeder_.every_candidate(r, read.length, read.limit, [&](const Candidate& c) {
            add_candidate(r, c);
            if (windows_.size() < kMostWindows) return;
            search_windows();
            clear_windows();
        });
    }
    static constexpr size_t kMostWindows = 1 << 16;  // held at once

    // More hits of the reads of repeats whose best place is in doubt.
    void look_deeper() {
        clear_windows();
        for (size_t r = 0; r < reads_.size(); r++)
            if (reads_[r].cut && in_doubt(places_[r])) {
                places_[r].clear();
                add_candidates(r, true);
            }
        if (windows_.empty()) return;
        search_windows();
        settle_searched();
    }

    bool in_doubt(const std::vector<Place>& places) const {
        if (places.empty() || places[0].votes < kManyVotes) return true;
        return places.size() > 1 && places[0].score - places[1].score < kClearLead * (params_.scores.match + params_.scores.mismatch);
    }

    void clear_windows() {
        windows_.clear();
        searched_.clear();
    }

    void add_window(size_t r, uint32_t contig, bool reverse, int32_t votes, int64_t begin, int64_t end) {
        begin = std::max(begin, reference_.contig_offsets[contig]);
        end = std::min(end, reference_.contig_offsets[contig + 1]);
        if (begin >= end || reads_[r].length == 0) return;
        windows_.push_back({uint32_t(begin), uint32_t(end - begin), uint32_t(2 * r + reverse), reads_[r].limit});
        searched_.push_back({uint32_t(r), contig, reverse, votes, 0, 0, 0, 0});
    }

    // The best place of each window, where it is within the limit.
    void search_windows() {
        VerifyBatch(reference_, *profiles_).run(windows_, VerifyMode::infix, false, results_);
        const AffineScores& s = params_.scores;
        for (size_t w = 0; w < windows_.size(); w++) {
            const VerifyBest& found = results_[w];
            Place place = searched_[w];
            Read& read = reads_[place.read];
            if (found.distance > read.limit) {
                read.failed = std::max(read.failed, place.votes);
                continue;
            }
            place.distance = found.distance;
            place.score = read.length * s.match - found.distance * (s.match + s.mismatch);
            place.end = int64_t(windows_[w].begin) + found.end;
            place.begin = place.end - read.length;
            places_[place.read].push_back(place);
        }
    }

    // The reads for which windows were searched; the windows of each lie one behind the other.
    void settle_searched() {
        size_t last = ~size_t(0);
        for (const Place& place : searched_) {
            if (place.read != last) settle(places_[place.read], reads_[place.read].limit);
            last = place.read;
        }
    }

    // Best first; of one place found twice only the better. Each place that stays rules out its neighbours in order of position.
    void settle(std::vector<Place>& places, int32_t limit) {
        if (places.size() < 2) return;
        std::sort(places.begin(), places.end());
        const size_t n = places.size();
        by_position_.clear();
        for (uint32_t p = 0; p < n; p++) by_position_.emplace_back(places[p].end + (places[p].reverse ? kOtherStrand : 0), p);
        std::sort(by_position_.begin(), by_position_.end());
        rank_.resize(n);
        for (uint32_t i = 0; i < n; i++) rank_[by_position_[i].second] = i;
        ruled_out_.assign(n, false);
        for (uint32_t p = 0; p < n; p++) {
            if (ruled_out_[p]) continue;
            const auto rule_out = [&](size_t i) {
                const bool near = std::abs(by_position_[i].first - by_position_[rank_[p]].first) <= limit;
                if (near) ruled_out_[by_position_[i].second] = true;
                return near;
            };
            for (size_t i = rank_[p]; i > 0 && rule_out(i - 1);) i--;
            for (size_t i = rank_[p] + 1; i < n && rule_out(i);) i++;
        }
        size_t kept = 0;
        for (size_t p = 0; p < n; p++)
            if (!ruled_out_[p]) places[kept++] = places[p];
        places.resize(kept);
    }
    static constexpr int64_t kOtherStrand = int64_t(1) << 40;  // beyond every position

    // Local alignments of the reads that no place explains as a whole, or none well: clipped reads, those with a long gap, and
    // those of several parts.
    void chain() {
        queries_.clear();
        chained_.clear();
        for (size_t r = 0; r < reads_.size(); r++) {
            if (fits_well(r)) continue;
            const int32_t most_rivals = places_[r].empty() ? kMostRivals : kFewRivals;
            queries_.push_back({codes(r, false), codes(r, true), reads_[r].length, most_rivals});
            chained_.push_back(r);
        }
        chainer_.map(queries_.data(), queries_.size(), chains_);
        for (size_t i = 0; i < chained_.size(); i++) locals_[chained_[i]] = std::move(chains_[i]);
        chain_densely();
        for (size_t i = 0; i < chained_.size(); i++) {
            const size_t r = chained_[i];
            for (size_t c = 0; c < locals_[r].size(); c++)
                if (locals_[r][c].kind != ChainKind::supplementary) add_local(r, int32_t(c));
            settle(places_[r], reads_[r].limit);
        }
    }

    // Chains that are aligned beside the best one: of a read in a repeat the right one is often not among the first.
    static constexpr int32_t kMostRivals = 64, kFewRivals = 10;

    bool fits_well(size_t r) const {
        if (places_[r].empty()) return false;
        const Place& best = places_[r][0];
        return !chaining_may_be_better(params_.scores, reads_[r].limit, best.distance, best.votes, reads_[r].failed,
                                       reads_[r].near_hits);
    }

    // The same with all k-mers of the reads that remain without a good alignment: where errors are many, the reference's
    // minimizers are not always the read's, even where the bases agree.
    void chain_densely() {
        queries_.clear();
        poor_.clear();
        for (const size_t r : chained_) {
            const bool good = best_score(locals_[r]) * 2 >= reads_[r].length * params_.scores.match;
            const bool sure = !locals_[r].empty() && locals_[r][0].mapq >= kSure;
            if (good || sure || !places_[r].empty() || !reads_[r].any_hits) continue;
            queries_.push_back({codes(r, false), codes(r, true), reads_[r].length, kMostRivals});
            poor_.push_back(r);
        }
        dense_chainer_.map(queries_.data(), queries_.size(), chains_);
        for (size_t i = 0; i < poor_.size(); i++)
            if (best_score(chains_[i]) > best_score(locals_[poor_[i]])) locals_[poor_[i]] = std::move(chains_[i]);
    }

    static constexpr uint8_t kSure = 30;
    static int32_t best_score(const std::vector<ChainRecord>& records) { return records.empty() ? 0 : records[0].score; }

    void add_local(size_t r, int32_t c) {
        const ChainRecord& record = locals_[r][size_t(c)];
        const int32_t length = reads_[r].length;
        const int64_t at = reference_.contig_offsets[record.contig] + record.position;
        const int64_t span = reference_span(record.cigar.data(), record.cigar.data() + record.cigar.size());
        const int32_t front = record.reverse ? length - record.query_end : record.query_begin;
        const int32_t back = record.reverse ? record.query_begin : length - record.query_end;
        places_[r].push_back({uint32_t(r), record.contig, record.reverse, record.anchors, record.edits, record.score, at - front, at + span + back, c});
    }

    static ChainMapParams chaining(const MapParams& params, int w) {
        ChainMapParams chains{};
        chains.anchors = {params.seeding.k, w, kDepth * params.seeding.most_hits, kLongestWhole};
        chains.chains.most_gap = 500;
        chains.chains.most_difference = 200;
        chains.chains.min_score = params.seeding.k;
        chains.chains.min_anchors = 1;
        chains.align = {params.scores, 8, 1 << 12, 100, kLeastLocalScore, 10};
        return chains;
    }
    // Longer reads are aligned by chaining alone: a whole alignment takes memory and time with the square of the length.
    static constexpr int32_t kLongestWhole = 5000;

    // The window where an end should lie, seen from a best place of the other end beside which it has none, is searched by the
    // verification kernel, which needs no seed.
    void rescue() {
        clear_windows();
        for (size_t r = 0; r + 1 < reads_.size(); r++) {
            if (!reads_[r].first_of_pair) continue;
            search_mate(r, r + 1);
            search_mate(r + 1, r);
        }
        if (windows_.empty()) return;
        search_windows();
        settle_searched();
    }

    // Ends that still have no place: within twice the limit, then aligned with clipped ends as a chain would be.
    void rescue_poor() {
        clear_windows();
        for (size_t r = 0; r + 1 < reads_.size(); r++) {
            if (!reads_[r].first_of_pair) continue;
            if (places_[r + 1].empty()) search_mate(r, r + 1);
            if (places_[r].empty()) search_mate(r + 1, r);
        }
        if (windows_.empty()) return;
        for (VerifyTask& window : windows_) window.limit *= 2;
        VerifyBatch(reference_, *profiles_).run(windows_, VerifyMode::infix, false, results_);
        tasks_.clear();
        aligned_windows_.clear();
        for (size_t w = 0; w < windows_.size(); w++)
            if (results_[w].distance <= windows_[w].limit) add_poor(w);
        aligner_.run(tasks_, aligned_);
        for (size_t t = 0; t < tasks_.size(); t++) keep_poor(aligned_windows_[t], aligned_[t]);
    }

    void add_poor(size_t w) {
        const Place& place = searched_[w];
        const Read& read = reads_[place.read];
        const int64_t begin = int64_t(windows_[w].begin) + results_[w].end - read.length;
        tasks_.push_back({codes(place.read, place.reverse), read.length, 2 * windows_[w].limit + 1, begin - windows_[w].limit,
                          reference_.contig_offsets[place.contig], reference_.contig_offsets[place.contig + 1]});
        aligned_windows_.push_back(w);
    }

    // The best of those of a read, if it is worth as much as a chain's must be.
    void keep_poor(size_t w, const AffineResult& found) {
        const Place& place = searched_[w];
        const size_t r = place.read;
        if (found.score < std::max(kLeastLocalScore, best_score(locals_[r]) + 1)) return;
        const auto clipped = [](uint32_t operation) { return (operation & 15) == kCigarS ? int32_t(operation >> 4) : 0; };
        int32_t before = clipped(found.cigar.front()), behind = clipped(found.cigar.back());
        if (place.reverse) std::swap(before, behind);
        const int64_t position = found.begin - reference_.contig_offsets[place.contig];
        locals_[r] = {{place.contig, place.reverse, ChainKind::primary, 0, position, before, reads_[r].length - behind, found.score,
                       results_[w].distance, 0, 0, found.cigar}};
        places_[r].clear();
        add_local(r, 0);
    }
    static constexpr int32_t kLeastLocalScore = 30;

    // Windows for `mate`, seen from the best places of read r.
    void search_mate(size_t r, size_t mate) {
        const bool anchor_is_first = r < mate;
        const std::vector<Place>& anchors = places_[r];
        for (size_t i = 0; i < anchors.size() && i < kMostAnchors && anchors[i].score == anchors[0].score; i++) {
            const Place& anchor = anchors[i];
            if (fits_any(anchor, places_[mate], anchor_is_first)) continue;
            const MateWindow w = params_.pairs.mate_window(anchor.begin, anchor.end, anchor.reverse, anchor_is_first);
            add_window(mate, anchor.contig, w.reverse, 0, w.begin - reads_[mate].limit, w.end + reads_[mate].limit);
        }
    }

    bool fits_any(const Place& anchor, const std::vector<Place>& others, bool anchor_is_first) const {
        for (size_t j = 0; j < others.size() && j < kMostPairedPlaces; j++)
            if (params_.pairs.insert_size(anchor_is_first ? anchor : others[j], anchor_is_first ? others[j] : anchor) >= 0) return true;
        return false;
    }

    const ReferenceView& reference_;
    const MapParams params_;
    Seeder seeder_;
    std::optional<VerifyProfiles> profiles_;
    std::vector<Read> reads_;
    std::vector<std::vector<Place>> places_;
    AffineBatch aligner_;
    std::vector<AffineTask> tasks_;
    std::vector<size_t> aligned_windows_;  // of each task
    std::vector<AffineResult> aligned_;
    ChainMapper chainer_, dense_chainer_;
    std::vector<std::vector<ChainRecord>> locals_, chains_;
    std::vector<ChainQuery> queries_;
    std::vector<size_t> chained_, poor_;
    std::vector<uint8_t> codes_;
    std::vector<const uint8_t*> read_codes_;
    std::vector<int32_t> read_lengths_;
    std::vector<Candidate> candidates_;
    std::vector<VerifyTask> windows_;
    std::vector<Place> searched_;  // what each window is about
    std::vector<VerifyBest> results_;
    std::vector<std::pair<int64_t, uint32_t>> by_position_;  // the places of one read
    std::vector<uint32_t> rank_;
    std::vector<uint8_t> ruled_out_;
};

}  // namespace gpualign
