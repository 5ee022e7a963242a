// Depth of coverage along a genome, from records sorted by coordinate, as mosdepth counts it. No Python here.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bam/tags.hpp"
#include "bam/template_ends.hpp"

namespace gpualign {

struct ContigCoverage {
    int32_t contig;
    int64_t bases;                // sum of depths
    int64_t maximum;                 // depth
    std::vector<int64_t> depths;  // positions of each depth
};

// Depths change where alignments begin and end. These changes are held for as far as the alignments at hand reach; what lies
// before the next record is final.
class CoverageCounter {
public:
    // names: of the contigs where lines of bedGraph are wanted, else none.
    CoverageCounter(std::vector<int64_t> lengths, std::vector<std::string> names)
        : lengths_(std::move(lengths)), names_(std::move(names)), changes_(kFirstWindow), marks_(kFirstWindow / 64) {}

    // Throws std::invalid_argument where records are not sorted, or damaged.
    void add(const BamRecord& record) {
        if (record.contig() < 0) return;
        if (size_t(record.contig()) >= lengths_.size()) throw std::invalid_argument("a record of no contig");
        if (record.contig() != contig_) next_contig(record.contig());
        if (record.position() < begin_) throw std::invalid_argument("records are not sorted by coordinate");
        if (record.is(kSkipped)) return;
        find_segments(record);
        advance(record.position());
        for (const Segment& segment : segments_) count(segment, 1);
        if (record.is(kFlagProper) && !record.is(kFlagSupplementary)) count_overlap_once(record);
    }

    void finish() { next_contig(int32_t(lengths_.size())); }

    // Lines of bedGraph since the last call.
    std::vector<uint8_t> take_lines() { return std::exchange(lines_, {}); }
    const std::vector<ContigCoverage>& contigs() const { return contigs_; }

private:
    using Segment = std::pair<int64_t, int64_t>;

    // Unmapped, secondary, not passing filters, duplicates.
    static constexpr uint16_t kSkipped = kFlagUnmapped | kFlagSecondary | 0x200 | 0x400;
    static constexpr size_t kFirstWindow = 1 << 14;
    static constexpr int64_t kMaxDepth = 400000;  // what is deeper counts as this in the distribution, about as mosdepth has it

    // Aligned bases; an insertion does not end a segment.
    void find_segments(const BamRecord& record) {
        segments_.clear();
        const BamCigar cigar(record);
        int64_t at = record.position();
        for (size_t i = 0; i < cigar.size(); i++) {
            const uint32_t operation = cigar[i] & 15;
            const int64_t length = cigar[i] >> 4;
            if (operation == kCigarD || operation == kCigarN) at += length;
            if (operation != kCigarM && operation != 7 && operation != 8) continue;
            if (!segments_.empty() && segments_.back().second == at) segments_.back().second += length;
            else segments_.emplace_back(at, at + length);
            at += length;
        }
        end_ = at;
    }

    void count(const Segment& segment, int32_t by) {
        change(segment.first, by);
        change(segment.second, -by);
    }

    // What both mates cover counts once: the first of two that overlap waits for the other.
    void count_overlap_once(const BamRecord& record) {
        const uint64_t name = hash_text(record.name());
        const int64_t mate = record.mate_position(), position = record.position();
        const auto waiting = waiting_.find(name);
        if (record.contig() == record.mate_contig() && end_ > mate &&
            (position < mate || (position == mate && waiting == waiting_.end()))) {
            waiting_[name] = segments_;
            return;
        }
        if (waiting == waiting_.end()) return;
        const std::vector<Segment>& other = waiting->second;
        for (size_t i = 0, j = 0; i < other.size() && j < segments_.size();) {
            const Segment both(std::max(other[i].first, segments_[j].first), std::min(other[i].second, segments_[j].second));
            if (both.first < both.second) count(both, -1);
            if (other[i].second < segments_[j].second) i++;
            else j++;
        }
        waiting_.erase(waiting);
    }

    void change(int64_t position, int32_t by) {
        if (position - begin_ >= int64_t(changes_.size())) widen(position);
        const size_t at = size_t(position) & (changes_.size() - 1);
        changes_[at] += by;
        marks_[at / 64] |= uint64_t(1) << at % 64;
        furthest_ = std::max(furthest_, position);
    }

    void widen(int64_t position) {
        size_t size = changes_.size();
        while (position - begin_ >= int64_t(size)) size *= 2;
        std::vector<int32_t> changes(size);
        std::vector<uint64_t> marks(size / 64);
        each_change(furthest_ + 1, [&](int64_t p, int32_t by) {
            const size_t at = size_t(p) & (size - 1);
            changes[at] = by;
            marks[at / 64] |= uint64_t(1) << at % 64;
        });
        changes_ = std::move(changes);
        marks_ = std::move(marks);
    }

    // visit(position, change) for those before `end`, in order, and forgets them.
    template <class Visit>
    void each_change(int64_t end, Visit&& visit) {
        const size_t mask = changes_.size() - 1;
        for (int64_t position = begin_; position < end;) {
            const size_t at = size_t(position) & mask;
            const uint64_t left = marks_[at / 64] >> at % 64;
            if (left == 0) {
                position += int64_t(64 - at % 64);
                continue;
            }
            position += __builtin_ctzll(left);
            if (position >= end) return;
            const size_t found = size_t(position) & mask;
            marks_[found / 64] &= ~(uint64_t(1) << found % 64);
            visit(position, std::exchange(changes_[found], 0));
            position++;
        }
    }

    void advance(int64_t position) {
        each_change(std::min(position, furthest_ + 1), [&](int64_t at, int32_t by) {
            if (by == 0) return;
            end_run(std::min(at, lengths_[size_t(contig_)]));
            depth_ += by;
        });
        begin_ = position;
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
        if (contig < contig_) throw std::invalid_argument("records are not sorted by coordinate");
        if (contig_ >= 0) finish_contig();
        for (int32_t empty = contig_ + 1; empty < contig && !names_.empty(); empty++) line(empty, 0, lengths_[size_t(empty)], 0);
        contig_ = contig;
        begin_ = run_ = depth_ = 0;
        furthest_ = -1;
        waiting_.clear();
        if (size_t(contig) < lengths_.size()) contigs_.push_back({contig, 0, 0, {}});
    }

    void finish_contig() {
        advance(furthest_ + 1);
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
    std::vector<int32_t> changes_;  // of the depth at a position, from begin_ on, as a ring
    std::vector<uint64_t> marks_;   // a bit for each that was touched
    int32_t contig_ = -1;
    int64_t begin_ = 0, furthest_ = -1;
    int64_t run_ = 0, depth_ = 0;  // where the run of equal depth at hand begins
    int64_t end_ = 0;              // of the record at hand
    std::vector<Segment> segments_;
    std::unordered_map<uint64_t, std::vector<Segment>> waiting_;  // of first mates, by a hash of their names
    std::vector<ContigCoverage> contigs_;
    std::vector<uint8_t> lines_;
};

}  // namespace gpualign
