// SINTAX (Edgar 2016, bioRxiv 074161): which reference has most of 32 random words of 8 bases of a query, 100 times.
// References stand in order of length, then of input, so the first of the highest count is the one that vsearch takes.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "seeds/words/word_rows.hpp"

namespace gpualign {
namespace sintax {

using words::Bits;
using words::block_sequences;
using words::block_vectors;
using words::Counts;
using words::QueryWords;
using words::WordRows;

constexpr int subset_words = words::rows_added, bootstraps = 100, ranks = 9;

// Numbers that follow from a seed (splitmix64).
struct Random {
    uint64_t state;

    uint64_t next() {
        uint64_t z = state += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        return z ^ z >> 31;
    }
    uint32_t below(uint32_t n) { return uint32_t((next() >> 32) * n >> 32); }
};

inline uint64_t hash_of(std::string_view text) {  // FNV-1a
    uint64_t hash = 0xCBF29CE484222325u;
    for (const char c : text) hash = (hash ^ uint8_t(c)) * 0x100000001B3u;
    return hash;
}

struct Best {
    uint32_t count = 1;  // a single word says nothing
    int32_t place = -1;
};

// One strand of a query.
class Strand {
public:
    Strand(const WordRows& index, std::string_view sequence, bool minus)
        : index_(index), query_(index, sequence, minus), seed_(hash_of(sequence)) {
        if (query_.size() < subset_words) return;
        // how many of all words a reference has at most, by 512 references
        most_.resize(index.blocks() * block_vectors);
        for (size_t block = 0; block < index.blocks(); block++) {
            const uint64_t* const* const rows = query_.rows(block);
            for (int vector = 0; vector < block_vectors; vector++) {
                Counts counts;
                for (uint32_t i = 0; i < query_.size(); i += subset_words) counts.add(rows + i, vector * 8);
                const auto [count, at] = counts.highest();
                most_[block * block_vectors + size_t(vector)] = count;
                if (count > nearest_.count) nearest_ = {count, int32_t(block * block_sequences) + vector * 512 + at};
            }
        }
    }

    // Words of the reference that has most of them.
    uint32_t most() const { return nearest_.place < 0 ? 0 : nearest_.count; }

    // The best reference of each bootstrap; none of queries with less than 32 different words.
    std::array<Best, bootstraps> classify() {
        std::array<Best, bootstraps> best;
        if (nearest_.place < 0) return best;
        // words are drawn with repetition, of which each counts once; the row size() has no references
        Random random{seed_};
        const uint32_t none = query_.size();
        std::array<std::array<uint32_t, subset_words>, bootstraps> subsets;
        std::array<uint32_t, bootstraps> drawn{};
        const std::vector<uint8_t> of_nearest = query_.words_of(nearest_.place);
        for (size_t b = 0; b < bootstraps; b++) {
            subsets[b].fill(none);
            uint32_t count = 0;
            for (int i = 0; i < subset_words; i++) {
                const uint32_t x = random.below(none);
                const auto end = subsets[b].begin() + drawn[b];
                if (std::find(subsets[b].begin(), end, x) == end) subsets[b][drawn[b]++] = x, count += of_nearest[x];
            }
            if (count > 1) best[b] = {count, nearest_.place};
        }
        for (size_t block = 0; block < index_.blocks(); block++) {
            // only block 0 begins the lists again
            if (block && !possible(block, best)) continue;
            const uint64_t* const* const rows = query_.rows(block);
            for (size_t b = 0; b < bootstraps; b++) {
                const uint64_t* chosen[subset_words];
                for (int i = 0; i < subset_words; i++) chosen[i] = rows[subsets[b][size_t(i)]];
                for (int vector = 0; vector < block_vectors; vector++) {
                    const int32_t first = int32_t(block * block_sequences) + vector * 512;
                    const uint32_t needed = needed_from(best[b], first);
                    if (most_[size_t(first) / 512] < needed) continue;
                    if (!may_count(chosen, drawn[b], vector * 8, needed)) continue;
                    Counts counts;
                    counts.add(chosen, vector * 8);
                    const auto [count, at] = counts.highest();
                    const Best here{count, first + at};
                    if (here.count > best[b].count || (here.count == best[b].count && here.place < best[b].place))
                        best[b] = here;
                }
            }
        }
        return best;
    }

private:
    // What a reference must count to be better: of equal ones the first is.
    static uint32_t needed_from(const Best& best, int32_t first) { return best.count + (first >= best.place); }

    bool possible(size_t block, const std::array<Best, bootstraps>& best) const {
        const uint32_t most =
            *std::max_element(&most_[block * block_vectors], &most_[(block + 1) * block_vectors - 1] + 1);
        return std::any_of(best.begin(), best.end(),
            [&](const Best& each) { return most >= needed_from(each, int32_t(block * block_sequences)); });
    }

    // False if no reference lacks so few of the words that it counts `needed`. less[j]: references that lack at most j.
    static bool may_count(const uint64_t* const* rows, uint32_t count, int at, uint32_t needed) {
        constexpr uint32_t most = 5;
        if (needed > count) return false;
        const uint32_t lacked = count - needed;
        if (lacked > most) return true;
        Bits less[most + 1];
        for (Bits& bits : less) bits = ~Bits{};
        for (uint32_t i = 0; i < count; i++) {
            Bits row;
            std::memcpy(&row, rows[i] + at, sizeof row);
            for (uint32_t j = lacked; j > 0; j--) less[j] = (less[j] & row) | less[j - 1];
            less[0] &= row;
            if (i % 4 == 3 && !Counts::any(less[lacked])) return false;
        }
        return Counts::any(less[lacked]);
    }

    const WordRows& index_;
    QueryWords query_;
    uint64_t seed_;
    std::vector<uint32_t> most_;
    Best nearest_;
};

// Names by rank on which the bootstraps of a query agree.
struct Classified {
    int32_t successful = 0;  // bootstraps that have found a reference
    bool minus = false;
    std::array<int32_t, ranks> name, count;
};

// names: int32 (references, ranks), numbers of names, 0: none. As in vsearch each rank has the most frequent name (the
// first of equal ones) of those bootstraps that agree on all ranks above it.
inline void vote(
    const WordRows& index, const std::array<Best, bootstraps>& best, const int32_t* names, Classified& result) {
    std::vector<const int32_t*> left;
    for (const Best& each : best)
        if (each.place >= 0) left.push_back(names + size_t(index.number(each.place)) * ranks);
    result.successful = int32_t(left.size());
    for (size_t rank = 0; rank < ranks; rank++) {
        int32_t most = 0, chosen = 0;
        for (size_t i = 0; i < left.size(); i++) {
            const int32_t name = left[i][rank];
            const auto same = [&](const int32_t* other) { return other[rank] == name; };
            if (std::any_of(left.begin(), left.begin() + ptrdiff_t(i), same)) continue;
            const int32_t count = int32_t(std::count_if(left.begin(), left.end(), same));
            if (count > most) most = count, chosen = name;
        }
        result.name[rank] = chosen, result.count[rank] = most;
        left.erase(
            std::remove_if(left.begin(), left.end(), [&](const int32_t* other) { return other[rank] != chosen; }),
            left.end());
    }
}

}  // namespace sintax
}  // namespace gpualign
