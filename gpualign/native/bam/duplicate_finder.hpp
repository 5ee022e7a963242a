// Finds the duplicates among all templates of a run. Free of Python.
//
// Templates are distributed over many partitions by hash, so that equal ones meet; threads sort the partitions one by
// one.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "bam/optical.hpp"
#include "bam/template_ends.hpp"
#include "index/builder.hpp"
#include "stop.hpp"

namespace gpualign {

// Status of a template, as Python receives it.
enum DuplicateStatus : uint8_t { kNoDuplicate, kLibraryDuplicate, kOpticalDuplicate };

// A list that grows without copying.
class EndsList {
public:
    void push(const TemplateEnds& ends) {
        if (size_ % kBlock == 0) blocks_.emplace_back(new TemplateEnds[kBlock]);
        blocks_.back()[size_++ % kBlock] = ends;
    }
    size_t size() const { return size_; }
    // Moves the templates out.
    std::vector<TemplateEnds> take() {
        std::vector<TemplateEnds> all;
        all.reserve(size_);
        for (auto& block : blocks_) {
            all.insert(all.end(), block.get(), block.get() + std::min(kBlock, size_ - all.size()));
            block.reset();
        }
        blocks_.clear();
        size_ = 0;
        return all;
    }
    template <class Visit> void each(Visit&& visit) const {
        for (size_t i = 0; i < size_; i++) visit(blocks_[i / kBlock][i % kBlock]);
    }

private:
    static constexpr size_t kBlock = 256;
    std::vector<std::unique_ptr<TemplateEnds[]>> blocks_;
    size_t size_ = 0;
};

struct DuplicateCounts {
    int64_t unpaired = 0, pairs = 0, optical_pairs = 0;  // numbers of duplicates

    DuplicateCounts& operator+=(const DuplicateCounts& other) {
        unpaired += other.unpaired, pairs += other.pairs, optical_pairs += other.optical_pairs;
        return *this;
    }
};

// Number of sets of equal pairs by size: all; optical duplicates, with the one that they copy; without optical
// duplicates.
using SetSizes = std::array<std::map<int64_t, int64_t>, 3>;

class DuplicateFinder {
public:
    // optical_distance: in pixels; 0: optical duplicates are not distinguished.
    DuplicateFinder(size_t libraries, uint32_t optical_distance)
        : optical_distance_(optical_distance), counts_(libraries), duplicates_(libraries), pairs_(kParts),
          singles_(kParts) {}

    // Adds the ends of the next batch, which has `templates` templates. Throws std::invalid_argument.
    void add(const TemplateEnds* ends, size_t count, int64_t templates) {
        if (templates_ + templates > int64_t(UINT32_MAX))
            throw std::invalid_argument("more than 4,294,967,295 templates");
        for (size_t i = 0; i < count; i++) {
            TemplateEnds given = ends[i];
            if (given.library() >= counts_.size() || given.number >= templates)
                throw std::invalid_argument("no ends of templates");
            given.number += uint32_t(templates_);
            if (given.second == kNoEnd) singles_[part_of(single_hash(given.first, given.group))].push(given);
            else pairs_[part_of(pair_hash(given))].push(given);
        }
        templates_ += templates;
    }

    LibraryCounts& counts(size_t library) { return counts_[library]; }

    // Finds the duplicates; called once. Throws Stopped.
    void finish(int threads) {
        status_.assign(size_t(templates_), kNoDuplicate);
        fill_filter(threads);
        const auto in_parts = [&](auto&& task) {
            parallel_for(threads, kParts, [&](size_t part, int) {
                if (all_work_is_to_stop.load(std::memory_order_relaxed)) return;
                task(part);
            });
            if (all_work_is_to_stop.load(std::memory_order_relaxed)) throw Stopped();
        };
        in_parts([&](size_t part) { find_pairs(part); });
        in_parts([&](size_t part) { find_singles(part); });
        filter_ = {};
    }

    std::vector<uint8_t>& status() { return status_; }
    const std::vector<DuplicateCounts>& duplicates() const { return duplicates_; }
    const SetSizes& set_sizes() const { return set_sizes_; }
    size_t libraries() const { return counts_.size(); }

private:
    static constexpr size_t kPartBits = 8, kParts = size_t(1) << kPartBits;
    static constexpr uint64_t kEndOfPair =
        0;  // `second` of an entry that represents a mate of a pair among single reads

    static size_t part_of(uint64_t hash) { return size_t(hash >> (64 - kPartBits)); }
    static uint64_t single_hash(uint64_t end, uint64_t group) { return mix(mix(end) ^ group); }
    static uint64_t pair_hash(const TemplateEnds& pair) {
        return mix(single_hash(pair.first, pair.group) ^ pair.second);
    }

    // Bloom filter with one hash and 16 bits per single read, so that few ends of pairs need to be compared.
    void fill_filter(int threads) {
        size_t maximum = 0;
        for (const EndsList& list : singles_) maximum = std::max(maximum, list.size());
        if (maximum == 0) return;
        filter_bits_ = 64;
        while (filter_bits_ < 16 * maximum) filter_bits_ *= 2;
        filter_.assign(kParts * filter_bits_ / 64, 0);
        parallel_for(threads, kParts, [&](size_t part, int) {
            singles_[part].each([&](const TemplateEnds& single) {
                const auto [word, bit] = filter_bit(single_hash(single.first, single.group));
                filter_[word] |= bit;
            });
        });
    }
    std::pair<size_t, uint64_t> filter_bit(uint64_t hash) const {
        const size_t at = part_of(hash) * filter_bits_ + (hash & (filter_bits_ - 1));
        return {at / 64, uint64_t(1) << at % 64};
    }

    // Templates of a list sorted by key, the best of equal ones first.
    static std::vector<TemplateEnds> sorted(EndsList& list) {
        std::vector<TemplateEnds> all = list.take();
        std::sort(all.begin(), all.end(), [](const TemplateEnds& a, const TemplateEnds& b) {
            return std::tie(a.first, a.group, a.second, b.score, a.number) <
                   std::tie(b.first, b.group, b.second, a.score, b.number);
        });
        return all;
    }

    // Calls visit(begin, end) for each set of equal templates.
    template <class Equal, class Visit>
    static void each_set(const std::vector<TemplateEnds>& all, Equal&& equal, Visit&& visit) {
        for (size_t begin = 0, end; begin < all.size(); begin = end) {
            for (end = begin + 1; end < all.size() && equal(all[begin], all[end]); end++) {
            }
            visit(all.data() + begin, all.data() + end);
        }
    }

    void find_pairs(size_t part) {
        const std::vector<TemplateEnds> all = sorted(pairs_[part]);
        OpticalDuplicates optical(optical_distance_);
        std::vector<DuplicateCounts> duplicates(counts_.size());
        std::map<int64_t, int64_t> sizes[3];
        int64_t alone = 0;
        const auto equal = [](const TemplateEnds& a, const TemplateEnds& b) {
            return a.first == b.first && a.second == b.second && a.group == b.group;
        };
        each_set(all, equal, [&](const TemplateEnds* begin, const TemplateEnds* end) {
            const auto size = int64_t(end - begin);
            if (size == 1) {
                alone++;
                return;
            }
            const auto copies = int64_t(mark(begin, end, optical));
            DuplicateCounts& counts = duplicates[begin->library()];
            counts.pairs += size - 1;
            counts.optical_pairs += copies;
            sizes[0][size]++;
            if (copies) sizes[1][copies + 1]++;
            sizes[2][size - copies]++;
        });
        if (alone) sizes[0][1] += alone, sizes[2][1] += alone;
        if (!filter_.empty()) pass_to_singles(all);
        const std::lock_guard lock(totals_lock_);
        for (size_t i = 0; i < duplicates.size(); i++) duplicates_[i] += duplicates[i];
        for (size_t kind = 0; kind < 3; kind++)
            for (const auto& [size, count] : sizes[kind]) set_sizes_[kind][size] += count;
    }

    // Marks all templates of a set but the best; returns the number of optical duplicates.
    size_t mark(const TemplateEnds* begin, const TemplateEnds* end, OpticalDuplicates& optical) {
        for (const TemplateEnds* at = begin + 1; at < end; at++) status_[at->number] = kLibraryDuplicate;
        if (optical_distance_ == 0) return 0;
        return optical.find(
            begin, size_t(end - begin), [&](const TemplateEnds& copy) { status_[copy.number] = kOpticalDuplicate; });
    }

    // A single read that begins where a mate of a pair does is the duplicate, whatever its qualities.
    void pass_to_singles(const std::vector<TemplateEnds>& pairs) {
        for (const TemplateEnds& pair : pairs) {
            for (const uint64_t end : {pair.first, pair.second}) {
                const uint64_t hash = single_hash(end, pair.group);
                const auto [word, bit] = filter_bit(hash);
                if (!(filter_[word] & bit)) continue;
                const std::lock_guard lock(locks_[part_of(hash)]);
                singles_[part_of(hash)].push({end, kEndOfPair, pair.group, kNowhere, 0, 0});
            }
        }
    }

    void find_singles(size_t part) {
        const std::vector<TemplateEnds> all = sorted(singles_[part]);
        OpticalDuplicates optical(optical_distance_);
        std::vector<DuplicateCounts> duplicates(counts_.size());
        const auto equal = [](const TemplateEnds& a, const TemplateEnds& b) {
            return a.first == b.first && a.group == b.group;
        };
        each_set(all, equal, [&](const TemplateEnds* begin, const TemplateEnds* end) {
            if (begin->second != kEndOfPair) {
                mark(begin, end, optical);
                duplicates[begin->library()].unpaired += end - begin - 1;
                return;
            }
            for (const TemplateEnds* at = begin; at < end; at++) {
                if (at->second == kEndOfPair) continue;
                status_[at->number] = kLibraryDuplicate;
                duplicates[begin->library()].unpaired++;
            }
        });
        const std::lock_guard lock(totals_lock_);
        for (size_t i = 0; i < duplicates.size(); i++) duplicates_[i] += duplicates[i];
    }

    uint32_t optical_distance_;
    int64_t templates_ = 0;
    std::vector<LibraryCounts> counts_;
    std::vector<DuplicateCounts> duplicates_;
    SetSizes set_sizes_;
    std::vector<EndsList> pairs_, singles_;
    std::vector<uint64_t> filter_;
    size_t filter_bits_ = 0;
    std::vector<uint8_t> status_;
    std::mutex totals_lock_;
    std::array<std::mutex, kParts> locks_;
};

}  // namespace gpualign
