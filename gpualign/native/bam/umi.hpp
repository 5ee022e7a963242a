// Unique molecular identifiers as numbers, and which of them are the same but for errors. Free of Python.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bam/record_order.hpp"

namespace gpualign {

// Up to 42 bases of 3 bits, first one highest; 0 is no base.
struct Umi {
    uint64_t high = 0, low = 0;

    static constexpr size_t kWordBases = 21, kMostBases = 2 * kWordBases;
    static constexpr uint64_t kStrand = uint64_t(1) << 63;  // in `high`: of the second strand of a duplex

    bool operator==(const Umi& other) const { return high == other.high && low == other.low; }
    bool operator<(const Umi& other) const { return high != other.high ? high < other.high : low < other.low; }

    void put(size_t i, uint64_t code) {
        (i < kWordBases ? high : low) |= code << 3 * (kWordBases - 1 - i % kWordBases);
    }
    uint64_t at(size_t i) const { return (i < kWordBases ? high : low) >> 3 * (kWordBases - 1 - i % kWordBases) & 7; }
    size_t bases() const {
        size_t n = 0;
        while (n < kMostBases && at(n)) n++;
        return n;
    }
    Umi without_strand() const { return {high & ~kStrand, low}; }

    // Bases that differ.
    int distance(const Umi& other) const { return differing(high ^ other.high) + differing(low ^ other.low); }

private:
    static int differing(uint64_t bits) {
        constexpr uint64_t kOnes = 0x1249249249249249;  // the lowest bit of each base
        return __builtin_popcountll((bits | bits >> 1 | bits >> 2) & kOnes);
    }
};

// A UMI as it is spelt: one or several parts of bases between '+', '-' or '_', each with an 'r' before it if it is
// reverse-complemented. What else is in it is compared as it is.
struct SpeltUmi {
    Umi umi;
    uint64_t rest = 0;  // hash of the lengths of the parts, and of parts that are no bases

    // swapped: the second part first.
    static SpeltUmi of(std::string_view text, bool swapped) {
        std::string_view parts[kMostParts];
        size_t count = 0;
        for (size_t begin = 0; begin <= text.size() && count < kMostParts; count++) {
            const size_t end = std::min(text.find_first_of("+-_", begin), text.size());
            parts[count] = text.substr(begin, end - begin);
            begin = end + 1;
        }
        if (swapped && count == 2) std::swap(parts[0], parts[1]);
        SpeltUmi spelt;
        size_t bases = 0;
        for (size_t i = 0; i < count; i++) {
            std::string_view part = parts[i];
            if (part.size() > 1 && part[0] == 'r' && is_bases(part.substr(1))) part.remove_prefix(1);
            if (is_bases(part) && bases + part.size() <= Umi::kMostBases) {
                for (const char c : part) spelt.umi.put(bases++, code(c));
                spelt.rest = mix(spelt.rest + part.size() + 1);
            } else {
                spelt.rest = hash_text(part, spelt.rest + i + 1);
            }
        }
        return spelt;
    }

private:
    static constexpr size_t kMostParts = 8;

    static uint64_t code(char c) {
        switch (c & ~0x20) {
            case 'A': return 1;
            case 'C': return 2;
            case 'G': return 3;
            case 'T': return 4;
            case 'N': return 5;
            default: return 0;
        }
    }
    static bool is_bases(std::string_view text) {
        return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return code(c) != 0; });
    }
};

// Directional adjacency, as UMI-tools has it: a UMI is an error of another one within the distance that was seen at
// least 2 n - 1 times, n being how often it was seen itself; and so are those that come from it in turn.
class UmiClusters {
public:
    explicit UmiClusters(int distance) : distance_(distance) {}

    // Returns the cluster of each UMI, numbered from 0.
    const std::vector<uint32_t>& operator()(const std::vector<Umi>& umis) {
        count(umis);
        clusters_.assign(umis.size(), 0);
        if (seen_.size() == 1) return clusters_;
        if (distance_ > 0) find_neighbours();
        order_.resize(seen_.size());
        for (uint32_t i = 0; i < order_.size(); i++) order_[i] = i;
        std::stable_sort(
            order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return seen_[a].count > seen_[b].count; });
        uint32_t next = 0;
        for (const uint32_t i : order_)
            if (seen_[i].cluster == kNone) spread(i, next++);
        for (uint32_t i = 0; i < umis.size(); i++) clusters_[places_[i]] = seen_[of_place_[i]].cluster;
        return clusters_;
    }

private:
    static constexpr uint32_t kNone = ~uint32_t(0);
    static constexpr size_t kFew = 64;

    struct Seen {
        Umi umi;
        uint32_t count, cluster;
    };

    void count(const std::vector<Umi>& umis) {
        seen_.clear();
        places_.resize(umis.size());
        of_place_.resize(umis.size());
        for (uint32_t i = 0; i < umis.size(); i++) places_[i] = i;
        std::sort(places_.begin(), places_.end(), [&](uint32_t a, uint32_t b) { return umis[a] < umis[b]; });
        for (size_t i = 0; i < umis.size(); i++) {
            const Umi& umi = umis[places_[i]];
            if (seen_.empty() || !(seen_.back().umi == umi)) seen_.push_back({umi, 0, kNone});
            seen_.back().count++;
            of_place_[i] = uint32_t(seen_.size() - 1);
        }
    }

    void find_neighbours() {
        neighbours_.assign(seen_.size(), {});
        if (seen_.size() <= kFew) {
            for (uint32_t a = 0; a < seen_.size(); a++)
                for (uint32_t b = a + 1; b < seen_.size(); b++) join(a, b);
            return;
        }
        // of UMIs within the distance at least one of so many parts is the same
        const size_t bases = seen_[0].umi.bases(), parts = size_t(distance_) + 1;
        for (size_t part = 0; part < parts; part++) {
            const size_t begin = bases * part / parts, end = bases * (part + 1) / parts;
            keys_.clear();
            for (uint32_t i = 0; i < seen_.size(); i++) keys_.push_back({part_of(seen_[i].umi, begin, end), i});
            std::sort(keys_.begin(), keys_.end(),
                [](const Keyed& a, const Keyed& b) { return a.umi < b.umi || (a.umi == b.umi && a.index < b.index); });
            for (size_t i = 0; i < keys_.size(); i++)
                for (size_t j = i + 1; j < keys_.size() && keys_[j].umi == keys_[i].umi; j++)
                    join(keys_[i].index, keys_[j].index);
        }
    }
    void join(uint32_t a, uint32_t b) {
        if (seen_[a].umi.distance(seen_[b].umi) > distance_) return;
        const uint64_t of_a = seen_[a].count, of_b = seen_[b].count;
        if (of_a + 1 >= 2 * of_b) neighbours_[a].push_back(b);
        if (of_b + 1 >= 2 * of_a) neighbours_[b].push_back(a);
    }

    static Umi part_of(const Umi& umi, size_t begin, size_t end) {
        Umi part;
        for (size_t i = begin; i < end; i++) part.put(i, umi.at(i));
        return part;
    }

    void spread(uint32_t from, uint32_t cluster) {
        seen_[from].cluster = cluster;
        if (distance_ == 0) return;
        waiting_.assign(1, from);
        while (!waiting_.empty()) {
            const uint32_t at = waiting_.back();
            waiting_.pop_back();
            for (const uint32_t next : neighbours_[at]) {
                if (seen_[next].cluster != kNone) continue;
                seen_[next].cluster = cluster;
                waiting_.push_back(next);
            }
        }
    }

    struct Keyed {
        Umi umi;
        uint32_t index;
    };

    int distance_;
    std::vector<Seen> seen_;
    std::vector<uint32_t> places_, of_place_, clusters_, order_, waiting_;
    std::vector<std::vector<uint32_t>> neighbours_;
    std::vector<Keyed> keys_;
};

}  // namespace gpualign
