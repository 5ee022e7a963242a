// Adapters, low qualities and poly-A at the ends of reads: what is kept of each, and what was found.
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "align/patterns/adapters.hpp"
#include "align/patterns/patterns.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "text/read_arrays.hpp"

namespace gpualign {
namespace {

// A read's symbols: 1 + a base, or 0, which matches nothing.
struct AdapterCodes {
    uint8_t code[256] = {};
    constexpr AdapterCodes() {
        const char* bases = "ACGTUacgtu";
        for (int i = 0; bases[i]; i++) code[uint8_t(bases[i])] = uint8_t(1 + (i % 5 < 4 ? i % 5 : 3));
    }
};
constexpr AdapterCodes kCodes;

// One adapter, or a 5' and a 3' adapter of a read.
struct AdapterGroup {
    int back = -1;                                     // number of the 3' adapter; the first one has the group's
    bool front_needed = false, back_needed = false;    // of two: both may be optional, but one is found
    uint8_t keeps = 0;                                 // of one: 5, 3, or 0: 5 where it begins with the read, else 3
};

struct AdapterHit {
    int group = -1, score = 0, errors = 0;
    AdapterMatch front, back;  // a length of 0: none
};

// Adapters ready to be looked for. Its methods keep scratch memory: each thread has a copy.
class AdapterSet {
public:
    AdapterSet(Input<uint8_t> symbols, Input<int64_t> offsets, Input<uint8_t> ends, Input<double> rates,
        Input<int32_t> overlaps, bool indels, Input<int32_t> back, Input<uint8_t> needed, Input<uint8_t> keeps)
        : adapters_(checked(symbols, offsets, ends, rates, overlaps, indels)), columns_(adapters_) {
        if (needed.size() != back.size() || keeps.size() != back.size() || back.size() > adapters_.size())
            throw nb::value_error("the groups' arrays differ in length");
        for (size_t g = 0; g < back.size(); g++) {
            const int second = back.data()[g];
            if (second >= int(adapters_.size())) throw nb::value_error("there is no such adapter");
            groups_.push_back({second, bool(needed.data()[g] & 1), bool(needed.data()[g] & 2), keeps.data()[g]});
        }
        for (const Adapter& each : adapters_) {
            const bool anchored =
                each.may(kReadStop) && !(each.may(kReadStart) || each.may(kAdapterStart) || each.may(kAdapterStop));
            reach_ = anchored && reach_ >= 0 && each.rows() <= 64 ? std::max(reach_, each.rows() + each.limit()) : -1;
        }
        if (groups_.size() < kManyGroups || adapters_.size() > groups_.size()) reach_ = -1;
    }

    // The best group: that of the highest score, of these with the fewest errors, of these the first.
    // lane: of the reads that run_reads() has looked at; -1: none.
    AdapterHit best(const uint8_t* read, int size, int lane) {
        if (reach_ < 0) return looked_for(read, size, lane);
        // barcodes at the beginning: most reads begin as others do, and no more of them decides
        std::string begin(read, read + std::min(size, reach_));
        if (size > reach_) begin.push_back(kMore);
        const auto known = known_.find(begin);
        if (known != known_.end()) return known->second;
        const AdapterHit hit = looked_for(read, size, lane);
        if (known_.size() < kMostKnown) known_.emplace(std::move(begin), hit);
        return hit;
    }

    // Whether several reads are looked at together.
    bool takes_reads() const {
        return adapters_.size() == 1 && adapters_[0].rows() <= 64 && adapters_[0].may(kReadStart) &&
               adapters_[0].may(kReadStop);
    }
    void run_reads(const std::vector<std::vector<uint8_t>>& reads) {
        constexpr int lanes = AdapterColumns::reads_at_once;
        alignas(64) int64_t sizes[lanes] = {};
        size_t longest = 0;
        for (const auto& read : reads) longest = std::max(longest, read.size());
        symbols_.assign(longest * lanes, 0);
        for (size_t lane = 0; lane < reads.size(); lane++) {
            sizes[lane] = int64_t(reads[lane].size());
            for (size_t i = 0; i < reads[lane].size(); i++) symbols_[i * lanes + lane] = reads[lane][i];
        }
        columns_.run_reads(symbols_.data(), sizes, int(longest));
    }

private:
    static constexpr size_t kManyGroups = 8, kMostKnown = size_t(1) << 16;
    static constexpr char kMore = 5;  // no symbol of a read

    AdapterHit looked_for(const uint8_t* read, int size, int lane) {
        AdapterHit best;
        if (lane >= 0) columns_.take(lane);
        else scan(read, size, 0, groups_.size());
        found_.clear();
        for (size_t g = 0; g < groups_.size(); g++)
            if (candidate(g, size) || (groups_[g].back >= 0 && !groups_[g].front_needed)) found_.push_back(g);
        matches_.resize(groups_.size());
        for (size_t g : found_)
            if (!align(g, read, size, matches_[g])) matches_[g].length = 0;
        for (size_t g : found_) {
            AdapterHit hit = hit_of(g, read, size);
            if (hit.group >= 0 &&
                (best.group < 0 || hit.score > best.score || (hit.score == best.score && hit.errors < best.errors)))
                best = hit;
        }
        return best;
    }

    static std::vector<Adapter> checked(const Input<uint8_t>& symbols, const Input<int64_t>& offsets,
        const Input<uint8_t>& ends, const Input<double>& rates, const Input<int32_t>& overlaps, bool indels) {
        const size_t count = ends.size();
        if (offsets.size() != count + 1 || rates.size() != count || overlaps.size() != count ||
            offsets.data()[0] != 0 || uint64_t(offsets.data()[count]) != symbols.size())
            throw nb::value_error("the adapters' arrays differ in length");
        std::vector<Adapter> adapters;
        for (size_t a = 0; a < count; a++) {
            std::vector<uint8_t> sets;
            for (int64_t i = offsets.data()[a]; i < offsets.data()[a + 1]; i++)
                sets.push_back(kBaseSets.of[symbols.data()[i]]);
            if (sets.empty()) throw nb::value_error("an adapter is empty");
            adapters.emplace_back(std::move(sets), ends.data()[a], rates.data()[a], overlaps.data()[a], indels);
        }
        return adapters;
    }

    void scan(const uint8_t* read, int size, size_t begin, size_t end) {
        int from = size, to = 0;
        for (size_t a = begin; a < end; a++) {
            const Adapter& each = adapters_[a];
            const int reach = each.rows() + each.limit();
            from = std::min(from, each.may(kReadStop) ? 0 : std::max(0, size - reach));
            to = std::max(to, each.may(kReadStart) ? size : std::min(size, reach));
        }
        columns_.run(read, from, to, begin, end);
    }
    bool candidate(size_t a, int size) const {
        const Adapter& each = adapters_[a];
        return each.rows() > 64 || columns_.last(a) >= (each.may(kReadStop) ? 0 : size) ||
               (each.may(kAdapterStop) && columns_.ends_within(each, a));
    }
    // Aligns the adapter where its columns say that it may be.
    bool align(size_t a, const uint8_t* read, int size, AdapterMatch& match) {
        Adapter& each = adapters_[a];
        const int reach = each.rows() + each.limit();
        if (each.rows() > 64)
            return each.align(read, size, 0, each.may(kReadStart) ? size : std::min(size, reach), match);
        if (!candidate(a, size)) return false;
        const bool within = each.may(kAdapterStop) && columns_.ends_within(each, a);
        const int first = columns_.first(a) < 0 ? size : columns_.first(a);
        const int from = each.may(kReadStart) ? std::max(0, first - reach) : 0;
        return each.align(read, size, from, within || !each.may(kReadStop) ? size : columns_.last(a), match);
    }

    AdapterHit hit_of(size_t g, const uint8_t* read, int size) {
        const AdapterGroup& group = groups_[g];
        const AdapterMatch& match = matches_[g];
        AdapterHit hit;
        if (group.back < 0) {
            if (!match.length) return hit;
            const bool front = group.keeps == 5 || (group.keeps == 0 && match.start == 0);
            (front ? hit.front : hit.back) = match;
        } else {
            if (!match.length && group.front_needed) return hit;
            hit.front = match;
            const int begin = match.length ? match.stop : 0;
            const size_t a = size_t(group.back);
            scan(read + begin, size - begin, a, a + 1);
            if (align(a, read + begin, size - begin, hit.back)) hit.back.start += begin, hit.back.stop += begin;
            else hit.back.length = 0;
            if (!hit.back.length && (group.back_needed || !match.length)) return hit;
        }
        hit.group = int(g);
        hit.score = hit.front.score * (hit.front.length > 0) + hit.back.score * (hit.back.length > 0);
        hit.errors = hit.front.errors * (hit.front.length > 0) + hit.back.errors * (hit.back.length > 0);
        return hit;
    }

    std::vector<Adapter> adapters_;
    AdapterColumns columns_;
    std::vector<AdapterGroup> groups_;
    std::vector<size_t> found_;
    std::vector<AdapterMatch> matches_;
    int reach_ = 0;  // bases of a read that decide which adapter it begins with; -1: all may
    std::unordered_map<std::string, AdapterHit> known_;  // by these bases
    std::vector<uint8_t> symbols_;
};

// [begin, end) of the qualities that are kept: the sums of what they lack from each end are largest there (bwa's
// trimming). A cutoff of 0 trims nothing.
std::pair<int, int> good_qualities(const char* quality, int size, int front, int back) {
    int begin = 0, end = size;
    for (int i = 0, sum = 0, best = 0; front && i < size && (sum += front - (quality[i] - 33)) >= 0; i++)
        if (sum > best) best = sum, begin = i + 1;
    for (int i = size, sum = 0, best = 0; back && i > 0 && (sum += back - (quality[i - 1] - 33)) >= 0; i--)
        if (sum > best) best = sum, end = i - 1;
    return begin < end ? std::pair(begin, end) : std::pair(0, 0);
}

// Length of the tail of A, of at least 3 bases and with at most a fifth of others: +1 a base, -2 another, the highest
// sum. `code` at `step` from `end`; T from the beginning for second mates.
int tail_length(const uint8_t* codes, int size, uint8_t code, bool from_begin) {
    int best = 0, length = 0, score = 0, others = 0;
    for (int i = 0; i < size; i++) {
        const bool same = codes[from_begin ? i : size - 1 - i] == code;
        score += same ? 1 : -2;
        others += !same;
        if (score > best && others * 5 <= i + 1) best = score, length = i + 1;
    }
    return length < 3 ? 0 : length;
}

auto trim_reads(const Arrays& reads, const std::optional<AdapterSet>& adapters, int skip, int times, int quality_front,
    int quality_back, int poly_a) {
    const ReadArrays arrays(reads);
    const ReadsView view = arrays.view();
    const size_t count = arrays.reads();
    std::vector<int64_t> begin(count), end(count), good_begin(count), good_end(count);
    std::vector<int64_t> poly(count);
    std::vector<int32_t> found;  // of each hit: read, group, and of both ends bases removed and errors
    {
        nb::gil_scoped_release release;
        std::optional<AdapterSet> set = adapters;
        const bool together = set && set->takes_reads();
        std::vector<std::vector<uint8_t>> codes(AdapterColumns::reads_at_once);
        for (size_t r = 0; r < count; r++) {
            const size_t lane = r % codes.size();
            if (lane == 0) {
                for (size_t n = 0; n < codes.size(); n++) {
                    codes[n].clear();
                    const size_t each = r + n;
                    if (each >= count) continue;
                    const int size = int(view.length(each));
                    int first = std::min(skip, size), last = size;
                    if (view.qualities && (quality_front || quality_back)) {
                        const auto [from, to] =
                            good_qualities(view.quality(each) + first, size - first, quality_front, quality_back);
                        last = first + to, first += from;
                    }
                    good_begin[each] = first, good_end[each] = last;
                    codes[n].resize(size_t(last - first));
                    const char* bases = view.bases_of(each) + first;
                    for (int i = 0; i < last - first; i++) codes[n][size_t(i)] = kCodes.code[uint8_t(bases[i])];
                }
                if (together) set->run_reads(codes);
            }
            const uint8_t* read = codes[lane].data();
            int first = 0, last = int(codes[lane].size());  // of what is left
            for (int time = 0; set && time < times; time++) {
                const AdapterHit hit = set->best(read + first, last - first, together && time == 0 ? int(lane) : -1);
                if (hit.group < 0) break;
                const int removed_front = hit.front.length ? hit.front.stop : 0,
                          removed_back = hit.back.length ? last - first - hit.back.start : 0;
                found.insert(found.end(), {int32_t(r), hit.group, hit.front.length ? removed_front : -1,
                                              hit.front.errors, hit.back.length ? removed_back : -1, hit.back.errors});
                first += removed_front, last -= removed_back;
            }
            if (poly_a) {
                const int tail = tail_length(read + first, last - first, poly_a == 1 ? 1 : 4, poly_a == 2);
                (poly_a == 1 ? last : first) += poly_a == 1 ? -tail : tail;
                poly[r] = tail;
            }
            begin[r] = good_begin[r] + first, end[r] = good_begin[r] + last;
        }
    }
    return tuple_of(to_numpy(std::move(begin)), to_numpy(std::move(end)), to_numpy(std::move(good_begin)),
        to_numpy(std::move(good_end)), to_numpy(std::move(poly)), to_numpy(std::move(found)));
}

auto cut_reads(const Arrays& reads, Input<int64_t> begin, Input<int64_t> end, Input<int64_t> masked_begin,
    Input<int64_t> masked_end) {
    const ReadArrays arrays(reads);
    const ReadsView view = arrays.view();
    const size_t count = arrays.reads();
    for (const auto& each : {begin, end, masked_begin, masked_end})
        if (each.size() != count) throw nb::value_error("one interval per read");
    std::vector<uint8_t> bases, qualities;
    std::vector<int64_t> offsets{0};
    {
        nb::gil_scoped_release release;
        bases.reserve(size_t(view.base_offsets[count] - view.base_offsets[0]));
        if (view.qualities) qualities.reserve(bases.capacity());
        for (size_t r = 0; r < count; r++) {
            const int64_t first = begin.data()[r], last = end.data()[r];
            if (first < 0 || first > last || last > view.length(r)) throw std::out_of_range("a cut is not in its read");
            const char* from = view.bases_of(r);
            bases.insert(bases.end(), from + first, from + last);
            const auto mask = [&](int64_t a, int64_t b) {
                const auto at = bases.end() - (last - first);
                if (a < b) std::fill(at + (a - first), at + (b - first), uint8_t('N'));
            };
            mask(first, std::min(masked_begin.data()[r], last));
            mask(std::max(masked_end.data()[r], first), last);
            if (view.qualities) qualities.insert(qualities.end(), view.quality(r) + first, view.quality(r) + last);
            offsets.push_back(int64_t(bases.size()));
        }
    }
    std::optional<Output<uint8_t>> kept;
    if (view.qualities) kept = to_numpy(std::move(qualities));
    return tuple_of(to_numpy(std::move(bases)), to_numpy(std::move(offsets)), std::move(kept));
}

}  // namespace

void bind_trim(nb::module_& m) {
    nb::class_<AdapterSet>(m, "AdapterSet")
        .def(nb::init<Input<uint8_t>, Input<int64_t>, Input<uint8_t>, Input<double>, Input<int32_t>, bool,
                 Input<int32_t>, Input<uint8_t>, Input<uint8_t>>(),
            nb::kw_only(), nb::arg("symbols"), nb::arg("offsets"), nb::arg("ends"), nb::arg("rates"),
            nb::arg("overlaps"), nb::arg("indels"), nb::arg("back"), nb::arg("needed"), nb::arg("keeps"));
    m.def("trim_reads", &trim_reads, nb::arg("reads"), nb::arg("adapters").none(), nb::arg("skip"), nb::arg("times"),
        nb::arg("quality_front"), nb::arg("quality_back"), nb::arg("poly_a"),
        "What is kept of each read, [begin, end); the same before adapters are removed; bases of poly-A (1: A at the "
        "end, 2: T at the beginning); and six numbers for each adapter found: read, group, then bases removed (-1: not "
        "found) and errors at the 5' and at the 3' end. skip: bases that are cut off first.");
    m.def("cut_reads", &cut_reads, nb::arg("reads"), nb::arg("begin"), nb::arg("end"), nb::arg("masked_begin"),
        nb::arg("masked_end"),
        "[begin, end) of each read: (bases, base_offsets, qualities), with N outside of [masked_begin, masked_end).");
}

}  // namespace gpualign
