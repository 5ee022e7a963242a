// Unique molecular identifiers as numbers, and which of them are the same but for errors. Free of Python.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "records/record_order.hpp"

namespace gpualign {

// Up to 42 bases of 3 bits, first one highest; 0 is no base.
struct Umi {
    uint64_t high = 0, low = 0;

    static constexpr size_t kWordBases = 21, kMostBases = 2 * kWordBases;
    static constexpr uint64_t kStrand = uint64_t(1) << 63;  // of a duplex: in `high` the first one, in `low` the second

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
    Umi without_strand() const { return {high & ~kStrand, low & ~kStrand}; }

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
    static constexpr const char* kSeparators = "+-_";

    Umi umi;
    uint64_t rest = 0;  // hash of the lengths of the parts, and of parts that are no bases
    bool two_parts = false;

    // swapped: the second part first, if there are two.
    static SpeltUmi of(std::string_view text, bool swapped) {
        std::string_view parts[kMostParts];
        size_t count = 0;
        for (size_t begin = 0; begin <= text.size() && count < kMostParts; count++) {
            const size_t end = std::min(text.find_first_of(kSeparators, begin), text.size());
            parts[count] = text.substr(begin, end - begin);
            begin = end + 1;
        }
        SpeltUmi spelt;
        spelt.two_parts = count == 2 && !parts[0].empty() && !parts[1].empty();
        if (swapped && spelt.two_parts) std::swap(parts[0], parts[1]);
        size_t bases = 0;
        for (size_t i = 0; i < count; i++) {
            std::string_view part = parts[i];
            if (part.size() > 1 && part[0] == 'r' && is_bases(part.substr(1))) part.remove_prefix(1);
            if (is_bases(part) && bases + part.size() <= Umi::kMostBases) {
                for (const char c : part) spelt.umi.put(bases++, code(c));
                spelt.rest = mix((spelt.rest ^ kOfBases) + part.size());
            } else {
                spelt.rest = hash_text(part, spelt.rest + i + 1);
            }
        }
        return spelt;
    }

private:
    static constexpr size_t kMostParts = 8;
    static constexpr uint64_t kOfBases = 0x9e3779b97f4a7c15;  // a length is no text

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

// How often a UMI that was seen once is an error of another one two or three bases away, and how often it is there by
// chance: measured over all places, by the number of bases.
class FarErrors {
public:
    static constexpr int kNearest = 2, kFarthest = 3;

    // Adds the counts of one position: `templates` with UMIs of `bases` bases. Singleton UMIs without a neighbour at
    // Hamming distance 1 were compared with others, `pairs` in all, up to distance `reach`. found[d]: singleton UMIs
    // whose nearest neighbour is at distance d.
    void note(size_t bases, uint64_t templates, int reach, uint64_t pairs, const uint64_t* found) {
        OfBases& of = of_bases_[bases];
        of.templates += templates;
        for (int d = kNearest; d <= reach; d++) of.pairs[d] += pairs, of.found[d] += found[d];
    }
    void add(const FarErrors& other) {
        for (size_t bases = 0; bases < of_bases_.size(); bases++) {
            OfBases& of = of_bases_[bases];
            const OfBases& more = other.of_bases_[bases];
            of.templates += more.templates;
            for (int d = 0; d <= kFarthest; d++) of.pairs[d] += more.pairs[d], of.found[d] += more.found[d];
        }
    }
    void measured() {
        for (size_t bases = 0; bases < of_bases_.size(); bases++) {
            const OfBases& of = of_bases_[bases];
            for (int d = kNearest; d <= kFarthest; d++) {
                // whole numbers, so that no instruction set rounds otherwise
                const double by_chance = std::ceil(double(of.pairs[d]) * chance(bases, d)), found = double(of.found[d]);
                rates_[bases][size_t(d)] = found > by_chance ? (found - by_chance) / double(of.templates) : 0;
            }
        }
        is_measured_ = true;
    }

    // Whether a UMI seen once is rather an error of a molecule with `templates` templates at a distance than one of
    // `alone` molecules that are seen once at that place. Before rates are measured: whether it may be.
    bool likely(size_t bases, int distance, uint64_t templates, uint64_t alone) const {
        const double rate = is_measured_ ? rates_[bases][size_t(distance)] : kMostErrors;
        return rate > 0 && double(templates) * rate >= double(alone) * chance(bases, distance);
    }

private:
    static constexpr double kMostErrors = 0.1;

    struct OfBases {
        uint64_t templates = 0, pairs[kFarthest + 1] = {}, found[kFarthest + 1] = {};
    };

    // The share of all sequences that differ from one in exactly `distance` bases.
    static double chance(size_t bases, int distance) {
        if (bases < size_t(distance)) return 1;
        double sequences = 1;
        for (int i = 0; i < distance; i++) sequences = sequences * 3 * double(bases - size_t(i)) / double(i + 1);
        return std::ldexp(sequences, -2 * int(bases));
    }

    std::array<OfBases, Umi::kMostBases + 1> of_bases_{};
    std::array<std::array<double, kFarthest + 1>, Umi::kMostBases + 1> rates_{};
    bool is_measured_ = false;
};

// Directional adjacency, as UMI-tools has it: a UMI is an error of another one within the distance that was seen at
// least 2 n - 1 times, n being how often it was seen itself; and so are those that come from it in turn.
class UmiClusters {
public:
    // far: whether UMIs that were seen once may be errors of others farther away, too; null: they are not.
    UmiClusters(int distance, const FarErrors* far) : distance_(distance), far_(far) {}

    // Returns the cluster of each UMI, numbered from 0.
    const std::vector<uint32_t>& operator()(const std::vector<Umi>& umis) {
        find(umis);
        if (far_ && molecules_.size() > 1) join_far();
        clusters_.resize(umis.size());
        for (const Keyed& at : sorted_) clusters_[at.index] = molecules_[seen_[at.of].molecule].joined;
        return clusters_;
    }
    size_t count() const { return count_; }

    // Adds what is to be known of the place to `errors`, whose rates are not known yet.
    void measure(const std::vector<Umi>& umis, FarErrors& errors) {
        find(umis);
        uint64_t pairs = 0, found[FarErrors::kFarthest + 1] = {};
        const int reach = this->reach();
        if (reach >= FarErrors::kNearest) {
            find_far_pairs(reach);
            uint32_t last = kNone;
            for (const FarPair& pair : far_pairs_) {
                if (pair.from != last) found[pair.distance]++;
                last = pair.from;
            }
            for (uint32_t i = 1; i < molecules_.size(); i++)
                if (molecules_[i].templates == 1) pairs += i;
        }
        errors.note(molecules_[0].umi.bases(), umis.size(), reach, pairs, found);
    }

private:
    static constexpr uint32_t kNone = ~uint32_t(0);
    static constexpr size_t kFew = 64;

    struct Seen {
        Umi umi;
        uint32_t count, molecule;
    };
    struct Molecule {
        Umi umi;  // that was seen most often
        uint32_t templates, joined;
    };
    struct FarPair {
        uint32_t from;  // seen once
        int distance;
        uint32_t to;

        bool operator<(const FarPair& other) const {
            if (from != other.from) return from < other.from;
            return distance != other.distance ? distance < other.distance : to < other.to;
        }
    };
    struct Keyed {
        Umi umi;
        uint32_t index, of;
    };

    void find(const std::vector<Umi>& umis) {
        count(umis);
        molecules_.clear();
        order_.resize(seen_.size());
        for (uint32_t i = 0; i < order_.size(); i++) order_[i] = i;
        std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
            return seen_[a].count != seen_[b].count ? seen_[a].count > seen_[b].count : a < b;
        });
        if (distance_ > 0) find_neighbours();
        for (const uint32_t i : order_)
            if (seen_[i].molecule == kNone) spread(i);
        count_ = molecules_.size();
    }

    void count(const std::vector<Umi>& umis) {
        seen_.clear();
        sorted_.clear();
        for (uint32_t i = 0; i < umis.size(); i++) sorted_.push_back({umis[i], i, 0});
        std::sort(sorted_.begin(), sorted_.end(), [](const Keyed& a, const Keyed& b) { return a.umi < b.umi; });
        for (Keyed& at : sorted_) {
            if (seen_.empty() || !(seen_.back().umi == at.umi)) seen_.push_back({at.umi, 0, kNone});
            seen_.back().count++;
            at.of = uint32_t(seen_.size() - 1);
        }
    }

    // Calls visit(a, b, distance) for all pairs within `limit` of `items`, a before b; for some of many of them more
    // than once.
    template <class Item, class Visit> void each_pair(const std::vector<Item>& items, int limit, Visit&& visit) {
        const auto compare = [&](uint32_t a, uint32_t b) {
            const int distance = items[a].umi.distance(items[b].umi);
            if (distance <= limit) visit(a, b, distance);
        };
        if (items.size() <= kFew) {
            for (uint32_t b = 1; b < items.size(); b++)
                for (uint32_t a = 0; a < b; a++) compare(a, b);
            return;
        }
        // of UMIs within the distance at least one of so many parts is the same
        const size_t bases = items[0].umi.bases(), parts = size_t(limit) + 1;
        for (size_t part = 0; part < parts; part++) {
            const size_t begin = bases * part / parts, end = bases * (part + 1) / parts;
            keys_.clear();
            for (uint32_t i = 0; i < items.size(); i++) keys_.push_back({part_of(items[i].umi, begin, end), i, 0});
            std::sort(keys_.begin(), keys_.end(),
                [](const Keyed& a, const Keyed& b) { return a.umi < b.umi || (a.umi == b.umi && a.index < b.index); });
            for (size_t i = 0; i < keys_.size(); i++)
                for (size_t j = i + 1; j < keys_.size() && keys_[j].umi == keys_[i].umi; j++)
                    compare(keys_[i].index, keys_[j].index);
        }
    }

    static Umi part_of(const Umi& umi, size_t begin, size_t end) {
        Umi part;
        for (size_t i = begin; i < end; i++) part.put(i, umi.at(i));
        return part;
    }

    // Lists, for each UMI, those that may come from it.
    void find_neighbours() {
        edges_.clear();
        begins_.assign(seen_.size() + 1, 0);
        each_pair(seen_, distance_, [&](uint32_t a, uint32_t b, int) {
            const uint64_t of_a = seen_[a].count, of_b = seen_[b].count;
            if (of_a + 1 >= 2 * of_b) edges_.emplace_back(a, b), begins_[a + 1]++;
            if (of_b + 1 >= 2 * of_a) edges_.emplace_back(b, a), begins_[b + 1]++;
        });
        for (size_t i = 1; i < begins_.size(); i++) begins_[i] += begins_[i - 1];
        neighbours_.resize(edges_.size());
        for (const auto& [from, to] : edges_) neighbours_[--begins_[from + 1]] = to;  // now begins_[i + 1] begins i
    }

    void spread(uint32_t from) {
        const auto molecule = uint32_t(molecules_.size());
        molecules_.push_back({seen_[from].umi, seen_[from].count, molecule});
        seen_[from].molecule = molecule;
        if (distance_ == 0) return;
        waiting_.assign(1, from);
        while (!waiting_.empty()) {
            const uint32_t at = waiting_.back();
            waiting_.pop_back();
            const size_t end = at + 2 < begins_.size() ? begins_[at + 2] : neighbours_.size();
            for (size_t i = begins_[at + 1]; i < end; i++) {
                const uint32_t next = neighbours_[i];
                if (seen_[next].molecule != kNone) continue;
                seen_[next].molecule = molecule;
                molecules_.back().templates += seen_[next].count;
                waiting_.push_back(next);
            }
        }
    }

    // How far an error of a UMI may be from it at this place, if it is likely anywhere.
    int reach() {
        const auto is_alone = [](const Molecule& molecule) { return molecule.templates == 1; };
        const auto by_size = [](const Molecule& a, const Molecule& b) { return a.templates < b.templates; };
        alone_ = size_t(std::count_if(molecules_.begin(), molecules_.end(), is_alone));
        if (alone_ == 0) return 0;
        const uint32_t most = std::max_element(molecules_.begin(), molecules_.end(), by_size)->templates;
        int reach = FarErrors::kFarthest;
        while (reach >= FarErrors::kNearest && !far_->likely(molecules_[0].umi.bases(), reach, most, alone_)) reach--;
        return reach;
    }

    // Finds pairs of a molecule seen once and one before it, nearest first.
    void find_far_pairs(int reach) {
        far_pairs_.clear();
        each_pair(molecules_, reach, [&](uint32_t a, uint32_t b, int distance) {
            if (molecules_[b].templates == 1) far_pairs_.push_back({b, distance, a});
        });
        std::sort(far_pairs_.begin(), far_pairs_.end());
    }

    void join_far() {
        const int reach = this->reach();
        if (reach < FarErrors::kNearest) return;
        find_far_pairs(reach);
        const size_t bases = molecules_[0].umi.bases();
        for (size_t i = 0; i < far_pairs_.size(); i++) {
            const FarPair& pair = far_pairs_[i];
            Molecule& from = molecules_[pair.from];
            const Molecule& to = molecules_[pair.to];
            if (from.joined != pair.from || to.joined != pair.to) continue;
            if (far_->likely(bases, pair.distance, to.templates, alone_)) from.joined = pair.to;
            else  // only the nearest one counts
                while (i + 1 < far_pairs_.size() && far_pairs_[i + 1].from == pair.from) i++;
        }
        count_ = 0;  // numbers without gaps; a molecule that another one joins is before it
        for (uint32_t i = 0; i < molecules_.size(); i++) {
            Molecule& molecule = molecules_[i];
            molecule.joined = molecule.joined == i ? uint32_t(count_++) : molecules_[molecule.joined].joined;
        }
    }

    int distance_;
    const FarErrors* far_;
    size_t count_ = 0, alone_ = 0;
    std::vector<Keyed> sorted_, keys_;
    std::vector<Seen> seen_;
    std::vector<Molecule> molecules_;
    std::vector<FarPair> far_pairs_;
    std::vector<std::pair<uint32_t, uint32_t>> edges_;
    std::vector<uint32_t> begins_, neighbours_, clusters_, order_, waiting_;
};

}  // namespace gpualign
