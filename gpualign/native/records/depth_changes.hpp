// Changes of the depth of coverage in one batch of records sorted by coordinate. Free of Python.
//
// Batches are processed in any thread. Bases that both mates cover count once; mates may be in two batches, so those
// that cannot be resolved within their batch are passed on in the order of records.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "records/tags.hpp"
#include "records/template_ends.hpp"

namespace gpualign {

// Contig and position in one number that sorts like the file.
using Locus = uint64_t;
inline Locus locus(int64_t contig, int64_t position) { return uint64_t(contig) << 32 | uint64_t(position); }

struct DepthChange {
    Locus at;
    int64_t by;  // 0: marks a contig that has records
    bool operator<(const DepthChange& other) const { return at < other.at; }
};

// Intervals of aligned bases of a record.
using Segments = std::vector<std::pair<Locus, Locus>>;

// Calls take(begin, end) for the intervals that both cover.
template <class Take> void each_overlap(const Segments& a, const Segments& b, Take&& take) {
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const Locus begin = std::max(a[i].first, b[j].first), end = std::min(a[i].second, b[j].second);
        if (begin < end) take(begin, end);
        if (a[i].second < b[j].second) i++;
        else j++;
    }
}

// First mates that overlap the other one, kept until it comes. Among equal keys the latest is taken, so that the
// result does not depend on where batches are cut.
class WaitingMates {
public:
    struct Mate {
        Locus other;  // where the other mate begins
        Segments segments;
    };

    void put(uint64_t key, Mate mate) { mates_[key].push_back(std::move(mate)); }
    bool has(uint64_t key) const { return mates_.count(key); }
    // Removes and returns a mate's segments; empty if there is none.
    Segments take(uint64_t key) {
        const auto found = mates_.find(key);
        if (found == mates_.end()) return {};
        Segments segments = std::move(found->second.back().segments);
        found->second.pop_back();
        if (found->second.empty()) mates_.erase(found);
        return segments;
    }
    // Drops mates whose other mate should have come before `at`.
    void drop_before(Locus at) {
        for (auto mate = mates_.begin(); mate != mates_.end();) {
            if (mate->second.back().other < at) mate = mates_.erase(mate);
            else ++mate;
        }
    }
    template <class Visit> void each(Visit&& visit) const {
        for (const auto& [key, mates] : mates_)
            for (const Mate& mate : mates) visit(key, mate);
    }

private:
    std::unordered_map<uint64_t, std::vector<Mate>> mates_;  // mates of one key wait for the same position
};

class DepthChanges {
public:
    // A mate that is not resolved within this batch: it meets the one that waits, if there is one, or else waits
    // itself if it may.
    struct Open {
        uint64_t key;
        bool meets, waits;
        WaitingMates::Mate mate;
    };

    // Processes the records of a batch. Throws std::invalid_argument if they are not sorted, or damaged.
    DepthChanges(const uint8_t* records, size_t size, size_t contigs) : ring_(kFirstWindow), marks_(kFirstWindow / 64) {
        for (BamRecords left(records, size); left.more();) {
            const BamRecord record = left.next();
            if (record.contig() < 0) continue;
            if (size_t(record.contig()) >= contigs) throw std::invalid_argument("a record of no contig");
            add(record);
        }
        advance(furthest_ + 1);
        waiting_.each([&](uint64_t key, const WaitingMates::Mate& mate) {
            if (mate.other >= last_) open_.push_back({key, false, true, mate});
        });
        ring_ = {}, marks_ = {}, waiting_ = {};
    }

    bool any() const { return any_; }
    // Positions of the first and the last record.
    Locus first() const { return first_; }
    Locus last() const { return last_; }
    const std::vector<DepthChange>& changes() const { return changes_; }
    const std::vector<Open>& open() const { return open_; }

private:
    // Records that do not count: unmapped, secondary, failing filters, duplicates.
    static constexpr uint16_t kSkipped = kFlagUnmapped | kFlagSecondary | kFlagQcFail | kFlagDuplicate;
    static constexpr size_t kFirstWindow = 1 << 14;

    void add(const BamRecord& record) {
        const Locus at = locus(record.contig(), record.position());
        if (any_ && at < last_) throw std::invalid_argument("records are not sorted by coordinate");
        if (!any_) first_ = at;
        if (!any_ || at >> 32 != last_ >> 32) next_contig(at);
        any_ = true;
        last_ = at;
        if (record.is(kSkipped)) return;
        find_segments(record, at);
        advance(at);
        for (const auto& [begin, end] : segments_) count(begin, end, 1);
        if (record.is(kFlagProper) && !record.is(kFlagSupplementary) && record.contig() == record.mate_contig())
            count_overlap_once(record, at);
    }

    void next_contig(Locus at) {
        advance(furthest_ + 1);
        changes_.push_back({at >> 32 << 32, 0});
        begin_ = at, furthest_ = 0, reach_ = 0;
    }

    // Segments end at deletions and skips, not at insertions.
    void find_segments(const BamRecord& record, Locus at) {
        segments_.clear();
        const BamCigar cigar(record);
        for (size_t i = 0; i < cigar.size(); i++) {
            const uint32_t operation = cigar[i] & 15;
            const uint64_t length = cigar[i] >> 4;
            if (operation == kCigarD || operation == kCigarN) at += length;
            if (operation != kCigarM && operation != 7 && operation != 8) continue;
            if (!segments_.empty() && segments_.back().second == at) segments_.back().second += length;
            else segments_.emplace_back(at, at + length);
            at += length;
        }
        end_ = at;
    }

    // Bases that both mates cover count once: the first of two overlapping mates waits for the other.
    void count_overlap_once(const BamRecord& record, Locus at) {
        const Locus other = locus(record.contig(), record.mate_position());
        const bool overlaps = end_ > other;
        if (at < other) {
            if (!overlaps) return;
            reach_ = std::max(reach_, end_);
            return waiting_.put(key(record, at, other), {other, segments_});
        }
        const bool twins = at == other;
        if (other > first_ && at >= reach_ && !twins) return;  // the other mate was in this batch
        const uint64_t pair = key(record, other, at);
        if (other <= first_ && (twins || !waiting_.has(pair)))
            return open_.push_back({pair, true, twins && overlaps, {at, segments_}});
        if (twins && overlaps && !waiting_.has(pair)) {
            reach_ = std::max(reach_, end_);
            return waiting_.put(pair, {other, segments_});
        }
        each_overlap(waiting_.take(pair), segments_, [&](Locus begin, Locus end) { count(begin, end, -1); });
    }

    // Key of a pair: its name, and where its mates begin.
    static uint64_t key(const BamRecord& record, Locus first, Locus second) {
        return hash_text(record.name(), mix(mix(first) ^ second));
    }

    void count(Locus begin, Locus end, int32_t by) {
        change(begin, by);
        change(end, -by);
    }

    void change(Locus at, int32_t by) {
        if (at - begin_ >= ring_.size()) widen(at);
        const size_t i = size_t(at) & (ring_.size() - 1);
        ring_[i] += by;
        marks_[i / 64] |= uint64_t(1) << i % 64;
        furthest_ = std::max(furthest_, at);
    }

    void widen(Locus at) {
        size_t size = ring_.size();
        while (at - begin_ >= size) size *= 2;
        std::vector<int32_t> ring(size);
        std::vector<uint64_t> marks(size / 64);
        each_change(furthest_ + 1, [&](Locus locus, int32_t by) {
            const size_t i = size_t(locus) & (size - 1);
            ring[i] = by;
            marks[i / 64] |= uint64_t(1) << i % 64;
        });
        ring_ = std::move(ring);
        marks_ = std::move(marks);
    }

    // Calls visit(locus, change) for the changes before `end`, in order, and clears them.
    template <class Visit> void each_change(Locus end, Visit&& visit) {
        const size_t mask = ring_.size() - 1;
        for (Locus at = begin_; at < end;) {
            const size_t i = size_t(at) & mask;
            const uint64_t left = marks_[i / 64] >> i % 64;
            if (left == 0) {
                at += 64 - i % 64;
                continue;
            }
            at += uint64_t(__builtin_ctzll(left));
            if (at >= end) return;
            const size_t found = size_t(at) & mask;
            marks_[found / 64] &= ~(uint64_t(1) << found % 64);
            visit(at, std::exchange(ring_[found], 0));
            at++;
        }
    }

    void advance(Locus to) {
        each_change(std::min(to, furthest_ + 1), [&](Locus at, int32_t by) {
            if (by) changes_.push_back({at, by});
        });
        begin_ = to;
    }

    std::vector<int32_t> ring_;    // depth change per position from begin_ on, as a ring buffer
    std::vector<uint64_t> marks_;  // a bit per position that was changed
    Locus first_ = 0, last_ = 0;
    Locus begin_ = 0, furthest_ = 0;
    Locus end_ = 0, reach_ = 0;  // end of the current record; furthest end of the waiting mates
    bool any_ = false;
    Segments segments_;  // of the current record
    WaitingMates waiting_;
    std::vector<DepthChange> changes_;
    std::vector<Open> open_;
};

}  // namespace gpualign
