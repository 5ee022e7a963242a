// Finds the duplicates among all templates of a run. Free of Python.
//
// Templates are in parts by hash, so that equal ones meet; threads sort the parts one by one.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "common/parallel_for.hpp"
#include "records/hash_parts.hpp"
#include "records/optical.hpp"
#include "records/template_ends.hpp"
#include "records/template_join.hpp"
#include "stop.hpp"

namespace gpualign {

// Status of a template, as Python receives it.
enum DuplicateStatus : uint8_t { kNoDuplicate, kLibraryDuplicate, kOpticalDuplicate };

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
    // optical_distance: in pixels; 0: optical duplicates are not distinguished. umi_distance: bases by which UMIs of
    // one molecule differ; -1: batches have none. far_errors: and those of UMIs seen once, where that is likelier than
    // chance. sets: keep what sizes() and molecules() tell.
    DuplicateFinder(size_t libraries, uint32_t optical_distance, int umi_distance, bool far_errors, bool sets)
        : optical_distance_(optical_distance), umi_distance_(umi_distance), with_far_errors_(far_errors),
          with_sets_(sets), counts_(libraries), duplicates_(libraries), given_(2 * kHashParts),
          ends_of_pairs_(kHashParts) {}

    // Adds the ends of the next batch of templates, grouped by part_of, and a UMI for each template if they count.
    // Throws std::invalid_argument.
    void add(std::shared_ptr<const TemplateEnds> ends, size_t count, std::vector<uint32_t> begins, const Umi* umis,
        int64_t templates) {
        given_.add(std::move(ends), count, std::move(begins), uint32_t(templates_));
        number(umis, templates);
    }

    // Adds the records of the next batch, grouped by RecordEnds::part_of, whose templates are anywhere in the input:
    // each record counts as one. Throws std::invalid_argument.
    void add_records(
        std::shared_ptr<const RecordEnds> records, size_t count, std::vector<uint32_t> begins, const Umi* umis) {
        join_.add(std::move(records), count, std::move(begins), uint32_t(templates_));
        number(umis, int64_t(count));
    }

    // Pairs first.
    static size_t part_of(const TemplateEnds& ends) {
        return ends.second == kNoEnd ? kHashParts + hash_part(hash_of_single(ends)) : hash_part(pair_hash(ends));
    }

    LibraryCounts& counts(size_t library) { return counts_[library]; }

    // Finds the duplicates; called once. Throws Stopped, and std::invalid_argument.
    void finish(int threads) {
        status_.assign(size_t(templates_), kNoDuplicate);
        if (with_sets_) sizes_.assign(size_t(templates_), 0), kept_.assign(size_t(templates_), kNobody);
        if (!join_.empty()) {
            join_.finish(threads, with_umis(), counts_,
                [&](std::vector<TemplateEnds>&& templates, const std::vector<uint32_t>& sources) {
                    if (umi_distance_ >= 0)
                        for (size_t i = 0; i < templates.size(); i++) umis_[templates[i].number] = umis_[sources[i]];
                    std::vector<uint32_t> begins = group_by_part(templates, 2 * kHashParts, part_of);
                    const std::lock_guard lock(totals_lock_);
                    given_.add(std::move(templates), std::move(begins), 0);
                });
        }
        fill_filter(threads);
        const auto in_parts = [&](auto&& task) {
            parallel_for(threads, kHashParts, [&](size_t part, int) {
                if (all_work_is_to_stop.load(std::memory_order_relaxed)) return;
                task(part);
            });
            if (all_work_is_to_stop.load(std::memory_order_relaxed)) throw Stopped();
        };
        if (with_far_errors_) {
            in_parts([&](size_t part) { measure_far_errors(part); });
            far_errors_.measured();
        }
        in_parts([&](size_t part) { find_pairs(part); });
        in_parts([&](size_t part) { find_singles(part); });
        filter_ = {};
        given_.clear();
        join_.spread(threads, status_);
        join_.spread(threads, sizes_);
        join_.spread(threads, kept_);
    }

    std::vector<uint8_t>& status() { return status_; }
    // Number of templates in the set of each kept template, itself included; 0 for others.
    std::vector<uint32_t>& sizes() { return sizes_; }
    // The number of each template's molecule, in the order of their first templates; kNobody of unmapped ones.
    std::vector<uint32_t> molecules() const {
        std::vector<uint32_t> of_kept(kept_.size(), kNobody), numbers(kept_.size(), kNobody);
        uint32_t next = 0;
        for (size_t i = 0; i < kept_.size(); i++) {
            if (kept_[i] == kNobody) continue;
            uint32_t& number = of_kept[kept_[i]];
            if (number == kNobody) number = next++;
            numbers[i] = number;
        }
        return numbers;
    }
    // 'A' or 'B' for the strand of each template of a duplex; 0 if it is unknown.
    std::vector<uint8_t> strands() const {
        std::vector<uint8_t> strands;
        for (const Umi& umi : umis_)
            strands.push_back(umi.high & Umi::kStrand ? 'A' : umi.low & Umi::kStrand ? 'B' : 0);
        return strands;
    }
    const std::vector<DuplicateCounts>& duplicates() const { return duplicates_; }
    const SetSizes& set_sizes() const { return set_sizes_; }
    size_t libraries() const { return counts_.size(); }
    bool with_umis() const { return umi_distance_ >= 0; }

private:
    static constexpr uint32_t kNobody = ~uint32_t(0);
    static constexpr uint64_t kEndOfPair =
        0;  // `second` of an entry that represents a mate of a pair among single reads

    void number(const Umi* umis, int64_t templates) {
        if (templates_ + templates > int64_t(UINT32_MAX))
            throw std::invalid_argument("more than 4,294,967,295 templates");
        if (umi_distance_ >= 0) umis_.insert(umis_.end(), umis, umis + templates);
        templates_ += templates;
    }

    static uint64_t single_hash(uint64_t end, uint64_t group) { return mix(mix(end) ^ group); }
    static uint64_t hash_of_single(const TemplateEnds& single) { return single_hash(single.first, single.group); }
    static uint64_t pair_hash(const TemplateEnds& pair) {
        return mix(single_hash(pair.first, pair.group) ^ pair.second);
    }

    // Bloom filter with one hash and 16 bits per single read, so that few ends of pairs need to be compared.
    void fill_filter(int threads) {
        size_t maximum = 0;
        for (size_t part = 0; part < kHashParts; part++) maximum = std::max(maximum, given_.size(kHashParts + part));
        if (maximum == 0) return;
        filter_bits_ = 64;
        while (filter_bits_ < 16 * maximum) filter_bits_ *= 2;
        filter_.assign(kHashParts * filter_bits_ / 64, 0);
        parallel_for(threads, kHashParts, [&](size_t part, int) {
            for (const TemplateEnds& single : given_.of(kHashParts + part)) {
                const auto [word, bit] = filter_bit(hash_of_single(single));
                filter_[word] |= bit;
            }
        });
    }
    std::pair<size_t, uint64_t> filter_bit(uint64_t hash) const {
        const size_t at = hash_part(hash) * filter_bits_ + (hash & (filter_bits_ - 1));
        return {at / 64, uint64_t(1) << at % 64};
    }

    std::vector<TemplateEnds> sorted_pairs(size_t part) const { return sorted(given_.of(part), pair_hash); }
    std::vector<TemplateEnds> sorted_singles(size_t part) const {
        std::vector<TemplateEnds> singles = given_.of(kHashParts + part);
        singles.insert(singles.end(), ends_of_pairs_[part].begin(), ends_of_pairs_[part].end());
        return sorted(singles, hash_of_single);
    }

    // Equal templates next to each other, the best first.
    template <class Hash> std::vector<TemplateEnds> sorted(const std::vector<TemplateEnds>& all, Hash&& hash) const {
        for (const TemplateEnds& ends : all)
            if (ends.library() >= counts_.size() || ends.number >= templates_)
                throw std::invalid_argument("no ends of templates");
        return sorted_in_buckets(all, hash, [](const TemplateEnds& a, const TemplateEnds& b) {
            return std::tie(a.first, a.group, a.second, b.score, a.number) <
                   std::tie(b.first, b.group, b.second, a.score, b.number);
        });
    }

    static bool equal_pairs(const TemplateEnds& a, const TemplateEnds& b) {
        return a.first == b.first && a.second == b.second && a.group == b.group;
    }
    static bool equal_singles(const TemplateEnds& a, const TemplateEnds& b) {
        return a.first == b.first && a.group == b.group;
    }

    // Calls visit(begin, end) for each run of equal templates.
    template <class Equal, class Visit>
    static void each_place(std::vector<TemplateEnds>& all, Equal&& equal, Visit&& visit) {
        for (size_t begin = 0, end; begin < all.size(); begin = end) {
            for (end = begin + 1; end < all.size() && equal(all[begin], all[end]); end++) {
            }
            visit(all.data() + begin, all.data() + end);
        }
    }

    // Calls visit(begin, end) for each set of templates of a molecule.
    template <class Equal, class Visit>
    void each_set(std::vector<TemplateEnds>& all, Equal&& equal, Visit&& visit) const {
        MoleculeSplitter split(UmiClusters(umi_distance_, with_far_errors_ ? &far_errors_ : nullptr));
        each_place(all, equal, [&](TemplateEnds* begin, TemplateEnds* end) {
            if (umi_distance_ < 0 || end == begin + 1) visit(begin, end);
            else split(begin, end, umis_, visit);
        });
    }

    // Divides equal templates by their UMIs.
    class MoleculeSplitter {
    public:
        explicit MoleculeSplitter(UmiClusters clusters) : clusters_(std::move(clusters)) {}

        // The order within a molecule stays.
        template <class Visit>
        void operator()(TemplateEnds* begin, TemplateEnds* end, const std::vector<Umi>& umis, Visit&& visit) {
            take_umis(begin, end, umis);
            const std::vector<uint32_t>& of = clusters_(umis_);
            const size_t molecules = clusters_.count();
            if (molecules == 1) {
                visit(begin, end);
                return;
            }
            ends_.assign(molecules, 0);
            for (const uint32_t molecule : of) ends_[molecule]++;
            size_t sum = 0;
            for (size_t& at : ends_) sum += std::exchange(at, sum);
            templates_.assign(begin, end);
            for (size_t i = 0; i < templates_.size(); i++) begin[ends_[of[i]]++] = templates_[i];
            for (size_t i = 0; i < molecules; i++) visit(begin + (i ? ends_[i - 1] : 0), begin + ends_[i]);
        }

        void measure(
            const TemplateEnds* begin, const TemplateEnds* end, const std::vector<Umi>& umis, FarErrors& errors) {
            take_umis(begin, end, umis);
            clusters_.measure(umis_, errors);
        }

    private:
        void take_umis(const TemplateEnds* begin, const TemplateEnds* end, const std::vector<Umi>& umis) {
            umis_.clear();
            for (const TemplateEnds* at = begin; at < end; at++) umis_.push_back(umis[at->number].without_strand());
        }

        UmiClusters clusters_;
        std::vector<Umi> umis_;
        std::vector<TemplateEnds> templates_;
        std::vector<size_t> ends_;
    };

    void measure_far_errors(size_t part) {
        FarErrors errors;
        MoleculeSplitter split(UmiClusters(umi_distance_, &far_errors_));
        const auto measure = [&](std::vector<TemplateEnds> all, auto&& equal) {
            each_place(all, equal, [&](const TemplateEnds* begin, const TemplateEnds* end) {
                if (end > begin + 1) split.measure(begin, end, umis_, errors);
            });
        };
        measure(sorted_pairs(part), equal_pairs);
        measure(sorted_singles(part), equal_singles);
        const std::lock_guard lock(totals_lock_);
        far_errors_.add(errors);
    }

    // Notes that these templates are of one molecule, of which the given one is kept.
    void note_set(const TemplateEnds* begin, const TemplateEnds* end, uint32_t kept, uint32_t size) {
        if (!with_sets_) return;
        sizes_[kept] = size;
        for (const TemplateEnds* at = begin; at < end; at++)
            if (at->second != kEndOfPair) kept_[at->number] = kept;
    }

    void find_pairs(size_t part) {
        std::vector<TemplateEnds> all = sorted_pairs(part);
        OpticalDuplicates optical(optical_distance_);
        std::vector<DuplicateCounts> duplicates(counts_.size());
        std::map<int64_t, int64_t> sizes[3];
        int64_t alone = 0;
        each_set(all, equal_pairs, [&](const TemplateEnds* begin, const TemplateEnds* end) {
            const auto size = int64_t(end - begin);
            note_set(begin, end, begin->number, uint32_t(size));
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
            const uint64_t group = pair.group & ~TemplateEnds::kSecondStrand;
            for (const uint64_t end : {pair.first, pair.second}) {
                const uint64_t hash = single_hash(end, group);
                const auto [word, bit] = filter_bit(hash);
                if (!(filter_[word] & bit)) continue;
                const std::lock_guard lock(locks_[hash_part(hash)]);
                ends_of_pairs_[hash_part(hash)].push_back({end, kEndOfPair, group, kNowhere, 0, pair.number});
            }
        }
    }

    void find_singles(size_t part) {
        std::vector<TemplateEnds> all = sorted_singles(part);
        OpticalDuplicates optical(optical_distance_);
        std::vector<DuplicateCounts> duplicates(counts_.size());
        each_set(all, equal_singles, [&](const TemplateEnds* begin, const TemplateEnds* end) {
            if (begin->second != kEndOfPair) {
                note_set(begin, end, begin->number, uint32_t(end - begin));
                mark(begin, end, optical);
                duplicates[begin->library()].unpaired += end - begin - 1;
                return;
            }
            // of the first pair's molecule
            if (with_sets_) note_set(begin, end, kept_[begin->number], sizes_[kept_[begin->number]]);
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
    int umi_distance_;
    bool with_far_errors_, with_sets_;
    FarErrors far_errors_;
    int64_t templates_ = 0;
    TemplateJoin join_;
    std::vector<Umi> umis_;
    std::vector<uint32_t> sizes_, kept_;
    std::vector<LibraryCounts> counts_;
    std::vector<DuplicateCounts> duplicates_;
    SetSizes set_sizes_;
    GroupedBatches<TemplateEnds> given_;                    // grouped by part_of
    std::vector<std::vector<TemplateEnds>> ends_of_pairs_;  // where a single read begins, by the part of that
    std::vector<uint64_t> filter_;
    size_t filter_bits_ = 0;
    std::vector<uint8_t> status_;
    std::mutex totals_lock_;
    std::array<std::mutex, kHashParts> locks_;
};

}  // namespace gpualign
