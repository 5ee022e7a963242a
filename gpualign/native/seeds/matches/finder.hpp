// Search for matches on the CPU: seeds, their hits in the index, and the matches in order of (start, reference
// position).
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "seeds/matches/seeds.hpp"

namespace gpualign {

// Parameters of a search.
struct MemTask {
    IndexView index;
    SegmentedReference reference;
    TextView text;
    uint64_t text_length;
    int k, w;
    uint32_t min_length;  // at least w + k - 1
};

class MemFinder {
public:
    explicit MemFinder(const MemTask& task) : task_(task), scanner_(task.text, task.text_length, task.k, task.w) {}

    // Hands the matches with starts in [from, to) to `sink.put(const Mem*, size_t)`, a seed's at a time, in order.
    // Stops early after a seed when `sink.full()`. Returns the first start that was not searched.
    template <class Sink> uint64_t run(uint64_t from, uint64_t to, Sink& sink) {
        while (from < to) {
            const uint64_t block_end = std::min(to, from + SeedScanner::kBlock);
            const uint64_t reached = run_block(scanner_.scan(from, block_end), sink);
            if (reached) return reached;
            from = block_end;
            if (sink.full()) return from;
        }
        return to;
    }

    // Hands the ends of the matches that cover start `at` but begin before it to `add(end)`: what a filter that begins
    // in the middle of a sequence needs to know. Such a match, if it matters, is long enough to hold the window at
    // `at`, hence its canonical seed.
    template <class Add> void ends_before(uint64_t at, Add&& add) {
        for (const LookUp& look_up : scanner_.scan(at, at + 1)) {
            const uint32_t before = look_up.seed.position - uint32_t(at) + 1;
            uint32_t first, last;
            task_.index.find(look_up.hash, first, last);
            for (uint32_t i = first; i < last; i++) {
                const uint32_t r = entry_position(task_.index.entries[i]);
                if (entry_reverse(task_.index.entries[i]) != look_up.on_reverse || !reaches(look_up.seed, r, before))
                    continue;
                const Mem mem = extend_hit(task_.text, task_.reference, look_up.seed, r, task_.k, before, ~uint32_t(0));
                add(uint64_t(mem.start) + mem.length);
            }
        }
    }

private:
    struct Hit {
        uint32_t look_up, position;
    };
    static constexpr size_t kHits = 512;  // looked at together, at most
    static constexpr uint32_t kDrawnStarts = 8;  // a seed with at most so many starts is sorted without comparisons
    static constexpr size_t kAheadOffsets = 24, kAheadEntries = 8;  // look-ups between a prefetch and its use

    // Returns 0, or the start to continue from because the sink is full.
    template <class Sink> uint64_t run_block(const std::vector<LookUp>& look_ups, Sink& sink) {
        count_ = 0;
        found_.clear();
        current_ = 0;
        const size_t n = look_ups.size();
        for (size_t i = 0; i < std::min(n, kAheadOffsets); i++) prefetch_offsets(look_ups[i]);
        for (size_t i = 0; i < n; i++) {
            if (i + kAheadOffsets < n) prefetch_offsets(look_ups[i + kAheadOffsets]);
            if (i + kAheadEntries < n) prefetch_entries(look_ups[i + kAheadEntries]);
            uint32_t first, last;
            task_.index.find(look_ups[i].hash, first, last);
            for (uint32_t e = first; e < last; e++) {
                const uint64_t entry = task_.index.entries[e];
                const uint32_t r = entry_position(entry);
                __builtin_prefetch(task_.reference.words + r / kBasesPerWord);
                // half of the hits are on the other strand, unpredictably: branch-free
                hits_[count_] = {uint32_t(i), r};
                count_ += entry_reverse(entry) == look_ups[i].on_reverse;
                if (count_ == kHits && evaluate(look_ups, sink)) return next_start(look_ups[current_ - 1]);
            }
        }
        if (evaluate(look_ups, sink)) return next_start(look_ups[current_ - 1]);
        finish_seed(sink);
        return 0;
    }

    static uint64_t next_start(const LookUp& look_up) {
        return uint64_t(look_up.seed.position) - look_up.seed.minimum + 1;
    }

    void prefetch_offsets(const LookUp& look_up) const {
        __builtin_prefetch(task_.index.offsets + task_.index.split.bucket(look_up.hash));
    }
    void prefetch_entries(const LookUp& look_up) const {
        __builtin_prefetch(task_.index.entries + task_.index.offsets[task_.index.split.bucket(look_up.hash)]);
    }

    // Tests the gathered hits. Returns whether the sink became full after a seed; current_ - 1 is that seed.
    template <class Sink> bool evaluate(const std::vector<LookUp>& look_ups, Sink& sink) {
        for (size_t i = 0; i < count_; i++) {
            const Hit hit = hits_[i];
            if (hit.look_up != current_) {
                const uint32_t finished = current_;
                finish_seed(sink);
                current_ = hit.look_up;
                if (sink.full()) {
                    current_ = finished + 1;
                    return true;
                }
            }
            const MemSeed& seed = look_ups[hit.look_up].seed;
            uint32_t extent;
            if (!canonical_hit(task_.text, task_.reference, seed, hit.position, task_.k, extent)) continue;
            const Mem mem = extend_hit(task_.text, task_.reference, seed, hit.position, task_.k, extent, ~uint32_t(0));
            if (mem.length >= task_.min_length) found_.push_back(mem);
        }
        count_ = 0;
        return false;
    }

    template <class Sink> void finish_seed(Sink& sink) {
        if (found_.empty()) return;
        if (found_.size() > 1) order_found();
        sink.put(found_.data(), found_.size());
        found_.clear();
    }

    // Hits come in order of reference position, hence matches of equal start too. A seed has few starts: each is drawn
    // out in turn, without a branch that depends on the data.
    void order_found() {
        uint32_t lowest = found_[0].start, highest = lowest;
        for (const Mem& mem : found_) {
            lowest = std::min(lowest, mem.start);
            highest = std::max(highest, mem.start);
        }
        if (highest == lowest) return;
        if (highest - lowest > kDrawnStarts) {
            std::stable_sort(
                found_.begin(), found_.end(), [](const Mem& a, const Mem& b) { return a.start < b.start; });
            return;
        }
        ordered_.resize(found_.size() + 1);
        size_t n = 0;
        for (uint32_t start = lowest; start <= highest; start++)
            for (const Mem& mem : found_) {
                ordered_[n] = mem;
                n += mem.start == start;
            }
        std::copy(ordered_.begin(), ordered_.begin() + long(n), found_.begin());
    }

    // Whether a hit's left side matches at least `before` bases.
    bool reaches(const MemSeed& seed, uint32_t r, uint32_t before) const {
        const uint32_t available = r - task_.reference.segment_starts[segment_of(task_.reference, r)];
        const uint32_t wanted = before + uint32_t(task_.k);
        return available >= before && extend_left(task_.text, uint64_t(seed.position) + uint64_t(task_.k),
                                          task_.reference.words, uint64_t(r) + uint64_t(task_.k), wanted) == wanted;
    }

    const MemTask task_;
    SeedScanner scanner_;
    Hit hits_[kHits];
    size_t count_ = 0;
    std::vector<Mem> found_, ordered_;
    uint32_t current_ = 0;
};

}  // namespace gpualign
