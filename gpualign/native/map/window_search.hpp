// Searches windows of the reference for the reads of a block, in batches.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "algo/map/mate_rescue.hpp"
#include "align/edit/myers_batch.hpp"
#include "map/read_block.hpp"

namespace gpualign {

class WindowSearch {
public:
    WindowSearch(const ReferenceView& reference, const AffineScores& scores, ReadBlock& block)
        : reference_(reference), scores_(scores), block_(block) {}

    // Loads the bases of the block's reads.
    void load(const uint8_t* bases, const int64_t* offsets, size_t reads, const Conversion* conversions) {
        profiles_.emplace(bases, offsets, reads);
        conversions_ = conversions;
        clear();
    }

    // From now on read r is so many of its first bases.
    void set_length(size_t r, int32_t length) { profiles_->set_length(r, length); }

    void clear() {
        windows_.clear();
        searched_.clear();
    }

    // Adds the window [begin, end), clipped to the contig, to be searched within the limit.
    void add(size_t r, uint32_t contig, bool reverse, int32_t seed_hits, int64_t begin, int64_t end, int32_t limit) {
        clip_to_contig(reference_.contig_offsets, contig, begin, end);
        const Read& read = block_.read(r);
        if (begin >= end || read.length == 0) return;
        reference_.prefetch(begin - reference_.contig_offsets[contig], int32_t(contig), end - begin);
        windows_.push_back({uint32_t(begin), uint32_t(end - begin), uint32_t(2 * r + reverse), limit});
        searched_.push_back({uint32_t(r), contig, reverse, seed_hits, 0, 0, 0, 0, -1, 0});
    }

    size_t size() const { return windows_.size(); }

    // Searches the windows; adds the best locus of each that is within the limit.
    void run() {
        measure();
        for (size_t w = 0; w < windows_.size(); w++) {
            const Locus& locus = searched_[w];
            Read& read = block_.read(locus.read);
            if (aligns_end_to_end(read.length, results_[w].distance, windows_[w].limit))
                block_.loci(locus.read)
                    .push_back(
                        end_to_end_locus(locus.read, read.length, read.ambiguous, scores_, locus.contig, locus.reverse,
                            locus.seed_hits, results_[w].distance, int64_t(windows_[w].begin) + results_[w].end));
            else read.failed = std::max(read.failed, locus.seed_hits);
        }
    }

    // Also settles the loci of the reads that were searched for; the windows of a read are adjacent.
    void run_and_settle() {
        run();
        size_t last = ~size_t(0);
        for (const Locus& locus : searched_) {
            if (locus.read != last) block_.settle(locus.read);
            last = locus.read;
        }
    }

    // Computes only the distances, up to twice the limit.
    void measure_wider() {
        for (VerifyTask& window : windows_) window.limit *= 2;
        measure();
    }
    // Calls visit(read, w) for each window that was searched; those that it adds take their place.
    template <class Visit> void replace(Visit&& visit) {
        replaced_.swap(windows_);
        replaced_of_.swap(searched_);
        clear();
        for (size_t w = 0; w < replaced_.size(); w++) visit(size_t(replaced_of_[w].read), w);
    }
    // Window w of those that are replaced.
    SearchedWindow replaced(size_t w) const {
        const int64_t begin = replaced_[w].begin;
        return {begin, begin + replaced_[w].columns, replaced_of_[w].contig, replaced_of_[w].reverse != 0,
            results_[w].distance, begin + results_[w].end};
    }

private:
    void measure() {
        if (conversions_)
            ConvertedBatch(reference_, *profiles_, conversions_).run(windows_, VerifyMode::infix, false, results_);
        else VerifyBatch(reference_, *profiles_).run(windows_, VerifyMode::infix, false, results_);
    }

    const ReferenceView& reference_;
    const AffineScores scores_;
    ReadBlock& block_;
    std::optional<VerifyProfiles> profiles_;
    const Conversion* conversions_ = nullptr;
    std::vector<VerifyTask> windows_;
    std::vector<Locus> searched_;  // read and strand of each window
    std::vector<VerifyTask> replaced_;
    std::vector<Locus> replaced_of_;
    std::vector<VerifyBest> results_;
};

}  // namespace gpualign
