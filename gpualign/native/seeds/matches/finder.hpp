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

    // Hands the matches with starts in [from, to) to `sink.put(const Mem*, size_t)`, a seed's at a time, in order, but
    // for some that end by `sink.passed()`. Stops early after a seed when `sink.full()`. Returns the first start that
    // was not searched.
    //
    // A match that begins later and ends after `passed` holds the window that ends with the base after it, or begins
    // after that window: what lies in between need not be searched, if the index, which may lack seeds, has that
    // window's.
    template <class Sink> uint64_t run(uint64_t from, uint64_t to, Sink& sink) {
        const uint64_t window = uint64_t(task_.w) + uint64_t(task_.k) - 1;
        while (from < to) {
            const uint64_t block_end = std::min(to, from + kBlock);
            const uint64_t reached = run_block(scanner_.scan(from, block_end), sink);
            if (reached) return reached;
            from = block_end;
            if (sink.full()) return from;
            const uint64_t passed = sink.passed();
            if (passed + 1 <= from + window || from == to) continue;
            const uint64_t at = passed + 1 - window, next = std::min(at, to);
            const bool known = matches_over(at, at - from + 1, [&](const Mem& mem) {
                if (mem.start >= from && mem.start < next && mem.length >= task_.min_length) found_.push_back(mem);
            });
            if (!known) found_.clear();
            found_.erase(std::remove_if(found_.begin(), found_.end(), [&](const Mem& mem) { return !has_seed(mem); }),
                found_.end());
            finish_seed(sink);
            if (known) from = next;
        }
        return to;
    }

    // Hands the ends of the matches that cover start `at` but begin before it to `add(end)`: what a filter that begins
    // in the middle of a sequence needs to know.
    template <class Add> void ends_before(uint64_t at, Add&& add) {
        matches_over(at, 1, [&](const Mem& mem) { add(uint64_t(mem.start) + mem.length); });
    }

private:
    struct Hit {
        uint32_t look_up, position;
    };
    static constexpr uint64_t kBlock = 1024;  // starts that are searched at a time
    static constexpr size_t kHits = 512;  // looked at together, at most
    static constexpr uint32_t kDrawnStarts = 8;  // a seed with at most so many starts is sorted without comparisons
    static constexpr size_t kAheadOffsets = 24, kAheadEntries = 8;  // look-ups between a prefetch and its use

    // Hands over the matches that begin before `at` and hold the window there, hence its canonical seed, without what
    // lies more than `limit` bases before `at`. Returns whether the index surely has all of that seed's positions.
    template <class Take> bool matches_over(uint64_t at, uint64_t limit, Take&& take) {
        bool known = true;
        for (const LookUp& look_up : scanner_.scan(at, at + 1)) {
            const uint32_t k = uint32_t(task_.k), before = look_up.seed.position - uint32_t(at);
            uint32_t first, last;
            task_.index.find(look_up.hash, first, last);
            known = known && first < last;
            for (uint32_t i = first; i < last; i++) {
                const uint32_t r = entry_position(task_.index.entries[i]);
                if (entry_reverse(task_.index.entries[i]) != look_up.on_reverse) continue;
                const uint32_t available = r - task_.reference.segment_starts[segment_of(task_.reference, r)];
                const uint32_t same =
                    extend_left(task_.text, uint64_t(look_up.seed.position) + k, task_.reference.words, uint64_t(r) + k,
                        uint32_t(std::min<uint64_t>(available, before + limit)) + k);
                if (same > before + k)
                    take(extend_hit(task_.text, task_.reference, look_up.seed, r, task_.k, same - k, ~uint32_t(0)));
            }
        }
        return known;
    }

    // Whether the index has the canonical seed of a match.
    bool has_seed(const Mem& mem) {
        const LookUp look_up = scanner_.scan(mem.start, uint64_t(mem.start) + 1).front();
        uint32_t first, last;
        task_.index.find(look_up.hash, first, last);
        return std::any_of(task_.index.entries + first, task_.index.entries + last, [&](uint64_t entry) {
            return entry_position(entry) == mem.reference + (look_up.seed.position - mem.start);
        });
    }

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

    const MemTask task_;
    SeedScanner scanner_;
    Hit hits_[kHits];
    size_t count_ = 0;
    std::vector<Mem> found_, ordered_;
    uint32_t current_ = 0;
};

}  // namespace gpualign
