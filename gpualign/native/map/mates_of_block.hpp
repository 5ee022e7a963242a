// Mate rescue (algo/map/mate_rescue.hpp) for the reads of a block.
#pragma once
#include <cstdint>
#include <vector>

#include "algo/map/mate_rescue.hpp"
#include "map/affine_batch.hpp"
#include "map/local_finder.hpp"
#include "map/window_search.hpp"

namespace gpualign {

class MatesOfBlock {
public:
    MatesOfBlock(const ReferenceView& reference, const MapperParams& params, ReadBlock& block, WindowSearch& search)
        : reference_(reference), params_(params), block_(block), search_(search),
          aligner_(reference, params.rules.scores) {}

    template <class Visit> void for_each(Visit&& visit) const {
        for (size_t r = 0; r + 1 < block_.size(); r++) {
            if (!block_.read(r).first_of_pair) continue;
            visit(r + 1);
            visit(r);
        }
    }
    size_t other(size_t mate) const { return is_second(mate) ? mate - 1 : mate + 1; }
    bool is_second(size_t mate) const { return !block_.read(mate).first_of_pair; }
    const Read& read(size_t mate) const { return block_.read(mate); }
    LociView loci(size_t mate) const { return block_.view(mate); }

    void clear() { search_.clear(); }
    void add(size_t mate, uint32_t contig, bool reverse, int64_t begin, int64_t end, int32_t limit) {
        search_.add(mate, contig, reverse, 0, begin, end, limit);
    }
    template <class Visit> void replace_windows(Visit&& visit) { search_.replace(visit); }
    SearchedWindow window(size_t w) const { return search_.replaced(w); }
    void search() { search_.run_and_settle(); }
    void measure() { search_.measure_wider(); }

    void align(size_t mate, const SearchedWindow& window, const MateBand& on) {
        tasks_.push_back({block_.codes(mate, window.reverse), block_.read(mate).length, on.band, on.diagonal,
            reference_.contig_offsets[window.contig], reference_.contig_offsets[window.contig + 1], kFreeEnd, kFreeEnd,
            -1, on_strand(block_.read(mate).conversion, window.reverse)});
        of_tasks_.push_back({mate, window});
    }
    void keep_aligned() {
        aligner_.run(tasks_, aligned_);
        for (size_t t = 0; t < tasks_.size(); t++) keep(of_tasks_[t].mate, of_tasks_[t].window, aligned_[t]);
        tasks_.clear();
        of_tasks_.clear();
    }

private:
    // Keeps the alignment if it beats the read's best one and is worth as much as a chain's must be.
    void keep(size_t r, const SearchedWindow& window, const AffineResult& found) {
        if (!clipped_mate_is_better(params_.rules.scores, found.score, block_.best_local_score(r))) return;
        ChainRecord record{};
        record.contig = window.contig;
        record.position = found.begin - reference_.contig_offsets[window.contig];
        record.cigar = found.cigar;
        set_clipped_mate(params_.rules.scores, block_.read(r).length, window.reverse, found.cigar.front(),
            found.cigar.back(), found.score, record);
        block_.locals(r) = {std::move(record)};
        block_.loci(r).clear();
        block_.add_local(r, 0);
    }

    struct MateInWindow {
        size_t mate;
        SearchedWindow window;
    };

    const ReferenceView& reference_;
    const MapperParams& params_;
    ReadBlock& block_;
    WindowSearch& search_;
    AffineBatch aligner_;
    std::vector<AffineTask> tasks_;
    std::vector<MateInWindow> of_tasks_;
    std::vector<AffineResult> aligned_;
};

}  // namespace gpualign
