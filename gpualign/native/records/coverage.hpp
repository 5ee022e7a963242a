// Depth of coverage along a genome, from batches of records sorted by coordinate, with mosdepth's rules. Free of
// Python.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "records/depth_changes.hpp"

namespace gpualign {

struct ContigCoverage {
    int32_t contig;
    int64_t bases;                // sum of depths
    int64_t maximum;              // maximum depth
    std::vector<int64_t> depths;  // positions of each depth
};

// Accumulates the changes of consecutive batches. Everything before a batch's last record is final.
class CoverageCounter {
public:
    // `names`: of the contigs if bedGraph is wanted, else empty.
    CoverageCounter(std::vector<int64_t> lengths, std::vector<std::string> names)
        : lengths_(std::move(lengths)), names_(std::move(names)) {}

    size_t contig_count() const { return lengths_.size(); }

    // Throws std::invalid_argument if records are not sorted.
    void add(const DepthChanges& range) {
        if (!range.any()) return;
        if (range.first() < last_) throw std::invalid_argument("records are not sorted by coordinate");
        last_ = range.last();
        for (const DepthChanges::Open& open : range.open()) settle(open);
        std::sort(later_.begin(), later_.end());
        apply(range.changes(), last_);
        waiting_.drop_before(last_);
    }

    void finish() {
        apply({}, ~Locus(0));
        next_contig(int32_t(lengths_.size()));
    }

    // bedGraph lines since the last call.
    std::vector<uint8_t> take_lines() { return std::exchange(lines_, {}); }
    const std::vector<ContigCoverage>& contigs() const { return contigs_; }

private:
    static constexpr int64_t kMaxDepth =
        400000;  // higher depths count as this in the distribution, similar to mosdepth

    void settle(const DepthChanges::Open& open) {
        if (open.waits && !(open.meets && waiting_.has(open.key))) return waiting_.put(open.key, open.mate);
        each_overlap(waiting_.take(open.key), open.mate.segments, [&](Locus begin, Locus end) {
            later_.push_back({begin, -1});
            later_.push_back({end, 1});
        });
    }

    // Applies the changes of a batch, and pending ones of earlier batches, up to `end`.
    void apply(const std::vector<DepthChange>& changes, Locus end) {
        std::vector<DepthChange> left;
        auto a = changes.begin();
        auto b = later_.begin();
        while (a != changes.end() || b != later_.end()) {
            const Locus at = b == later_.end() || (a != changes.end() && a->at <= b->at) ? a->at : b->at;
            int64_t by = 0;
            for (; a != changes.end() && a->at == at; ++a) by += a->by;
            for (; b != later_.end() && b->at == at; ++b) by += b->by;
            if (at < end) change_depth(at, by);
            else left.push_back({at, by});
        }
        later_ = std::move(left);
    }

    void change_depth(Locus at, int64_t by) {
        const auto contig = int32_t(at >> 32);
        if (contig != contig_) next_contig(contig);
        if (by == 0) return;
        end_run(std::min(int64_t(at & UINT32_MAX), lengths_[size_t(contig)]));
        depth_ += by;
    }

    void end_run(int64_t end) {
        if (end <= run_) return;
        const auto bin = size_t(std::min(depth_, kMaxDepth));
        ContigCoverage& contig = contigs_.back();
        if (bin >= contig.depths.size()) contig.depths.resize(std::max(bin + 1, 2 * contig.depths.size()));
        contig.depths[bin] += end - run_;
        contig.bases += depth_ * (end - run_);
        contig.maximum = std::max(contig.maximum, depth_);
        if (!names_.empty()) line(contig_, run_, end, depth_);
        run_ = end;
    }

    void next_contig(int32_t contig) {
        if (contig_ >= 0) finish_contig();
        for (int32_t empty = contig_ + 1; empty < contig && !names_.empty(); empty++)
            line(empty, 0, lengths_[size_t(empty)], 0);
        contig_ = contig;
        run_ = depth_ = 0;
        if (size_t(contig) < lengths_.size()) contigs_.push_back({contig, 0, 0, {}});
    }

    void finish_contig() {
        end_run(lengths_[size_t(contig_)]);
        std::vector<int64_t>& depths = contigs_.back().depths;
        while (!depths.empty() && depths.back() == 0) depths.pop_back();
        depths.shrink_to_fit();
    }

    void line(int32_t contig, int64_t begin, int64_t end, int64_t depth) {
        if (end <= begin) return;
        const std::string& name = names_[size_t(contig)];
        lines_.insert(lines_.end(), name.begin(), name.end());
        for (const int64_t number : {begin, end, depth}) {
            char text[24] = {'\t'};
            lines_.insert(lines_.end(), text, std::to_chars(text + 1, text + sizeof text, number).ptr);
        }
        lines_.push_back('\n');
    }

    std::vector<int64_t> lengths_;
    std::vector<std::string> names_;
    Locus last_ = 0;                  // last record so far
    WaitingMates waiting_;
    std::vector<DepthChange> later_;  // pending changes at or after the last record, sorted
    int32_t contig_ = -1;
    int64_t run_ = 0, depth_ = 0;  // begin and depth of the current run
    std::vector<ContigCoverage> contigs_;
    std::vector<uint8_t> lines_;
};

}  // namespace gpualign
