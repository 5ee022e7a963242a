// Mate rescue: mates are searched for, without seeds, where the other mate implies that they lie.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "map/affine_batch.hpp"
#include "algo/map/mate_rescue.hpp"
#include "map/local_finder.hpp"
#include "map/window_search.hpp"

namespace gpualign {

class MateFinder {
public:
    MateFinder(const ReferenceView& reference, const MapParams& params, ReadBlock& block, WindowSearch& search)
        : reference_(reference), params_(params), block_(block), search_(search), aligner_(reference, params.scores) {}

    // Rescues mates within the limit, near each best locus of the other mate.
    void run() {
        search_.clear();
        for_each_mate([&](size_t r, size_t mate) { look_near(r, mate, limit_near(block_.read(mate))); });
        search_.run_and_settle();
        look_for_suboptimal();
    }

    // Rescues mates without a locus: where they fit within twice the limit, or anywhere in the window, they are
    // aligned with clipped ends, as a chain would be.
    void run_clipped() {
        search_.clear();
        for_each_mate([&](size_t r, size_t mate) {
            const Read& read = block_.read(mate);
            if (wants_clipped_mate(params_.rules, uint32_t(block_.loci(mate).size()), read.length, read.limit))
                look_near(r, mate, read.limit);
        });
        if (!search_.size()) return;
        search_.measure_wider();
        tasks_.clear();
        aligned_windows_.clear();
        for (size_t w = 0; w < search_.size(); w++) align(w);
        aligner_.run(tasks_, aligned_);
        for (size_t t = 0; t < tasks_.size(); t++) keep(aligned_windows_[t], aligned_[t]);
    }

private:
    template <class Visit> void for_each_mate(Visit&& visit) {
        for (size_t r = 0; r + 1 < block_.size(); r++) {
            if (!block_.read(r).first_of_pair) continue;
            visit(r, r + 1);
            visit(r + 1, r);
        }
    }

    int32_t limit_near(const Read& read) const {
        return limit_near_mate(read.length, read.limit, params_.rules.pairs.max);
    }

    // Adds windows for `mate`, implied by the best loci of read r.
    void look_near(size_t r, size_t mate, int32_t max_edits) {
        if (!is_looked_for(params_.rules, block_.read(mate).length, max_edits)) return;
        for_each_mate_window(OneLane(), params_.rules.pairs, block_.view(r), block_.view(mate), r < mate,
            block_.read(std::min(r, mate)).tie_break, [&](uint32_t contig, bool reverse, int64_t begin, int64_t end) {
                search_.add(mate, contig, reverse, 0, begin, end, max_edits);
            });
    }

    void look_for_suboptimal() {
        suboptimal_.clear();
        for (size_t w = 0; w < search_.size(); w++) {
            const Locus& locus = search_.about(w);
            const Read& read = block_.read(locus.read);
            if (read.length >= kShortMate || search_.distance(w) > search_.limit(w)) continue;
            for_each_side(search_.begin(w), search_.after(w), search_.end(w), read.length, read.limit,
                [&](int64_t begin, int64_t end) { suboptimal_.push_back({locus, begin, end}); });
        }
        search_.clear();
        for (const SuboptimalWindow& r : suboptimal_)
            search_.add(r.about.read, r.about.contig, r.about.reverse, 0, r.begin, r.end);
        search_.run_and_settle();
    }

    void align(size_t w) {
        const Locus& locus = search_.about(w);
        const int32_t length = block_.read(locus.read).length;
        const MateBand on = clipped_mate_band(
            length, search_.limit(w), search_.begin(w), search_.after(w), search_.distance(w), search_.end(w));
        if (!on.band) return;
        tasks_.push_back({block_.codes(locus.read, locus.reverse), length, on.band, on.diagonal,
            reference_.contig_offsets[locus.contig], reference_.contig_offsets[locus.contig + 1], kFreeEnd, kFreeEnd,
            -1, on_strand(block_.read(locus.read).conversion, locus.reverse)});
        aligned_windows_.push_back(w);
    }

    // Keeps the alignment if it beats the read's best one and is worth as much as a chain's must be.
    void keep(size_t w, const AffineResult& found) {
        const Locus& locus = search_.about(w);
        const size_t r = locus.read;
        if (!clipped_mate_is_better(params_.scores, found.score, block_.best_local_score(r))) return;
        ChainRecord record{};
        record.contig = locus.contig;
        record.position = found.begin - reference_.contig_offsets[locus.contig];
        record.cigar = found.cigar;
        set_clipped_mate(params_.scores, block_.read(r).length, locus.reverse, found.cigar.front(), found.cigar.back(),
            found.score, record);
        block_.locals(r) = {std::move(record)};
        block_.loci(r).clear();
        block_.add_local(r, 0);
    }

    // Another window for a short mate.
    struct SuboptimalWindow {
        Locus about;
        int64_t begin, end;
    };

    const ReferenceView& reference_;
    const MapParams& params_;
    ReadBlock& block_;
    WindowSearch& search_;
    AffineBatch aligner_;
    std::vector<SuboptimalWindow> suboptimal_;
    std::vector<AffineTask> tasks_;
    std::vector<size_t> aligned_windows_;  // one per task
    std::vector<AffineResult> aligned_;
};

}  // namespace gpualign
