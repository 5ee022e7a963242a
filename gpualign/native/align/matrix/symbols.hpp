// Sets of sequences over any alphabet, and groups of queries that share the lanes of a vector.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/with_constant.hpp"
#include "simd/vector.hpp"

namespace gpualign {
namespace distances {

using Word = Vec<uint64_t>;
using Count = Vec<int64_t>;
constexpr int kLanes = Word::lanes;

// Symbols are bytes, or code points and other numbers.
template <class Symbol> struct SymbolSet {
    const Symbol* symbols;
    const int64_t* offsets;
    int64_t count;

    int64_t length(int64_t i) const { return offsets[i + 1] - offsets[i]; }
    const Symbol* begin(int64_t i) const { return symbols + offsets[i]; }
    int64_t total() const { return offsets[count]; }
};

// Consecutive codes for the symbols of a group of queries, from 1 on; 0 for all others.
template <class Symbol> class Codes {
public:
    // `symbols`: exclusive upper bound of the symbols that are looked up.
    explicit Codes(size_t symbols) : code_(symbols, 0) {}

    void clear() {
        for (const Symbol symbol : used_) code_[symbol] = 0;
        used_.clear();
    }
    void add(Symbol symbol) {
        if (code_[symbol]) return;
        used_.push_back(symbol);
        code_[symbol] = uint32_t(used_.size());
    }
    uint32_t operator[](Symbol symbol) const { return code_[symbol]; }
    size_t count() const { return used_.size() + 1; }

private:
    std::vector<uint32_t> code_;
    std::vector<Symbol> used_;
};

// Up to kLanes queries of similar length; unused lanes repeat the first.
template <class Symbol> struct Group {
    const Symbol* text[kLanes];
    int64_t length[kLanes], shortest, longest;

    Group(const SymbolSet<Symbol>& queries, const int32_t* members, int count, Codes<Symbol>& codes) {
        codes.clear();
        longest = 0;
        shortest = INT64_MAX;
        for (int l = 0; l < kLanes; l++) {
            const int32_t query = members[l < count ? l : 0];
            text[l] = queries.begin(query);
            length[l] = queries.length(query);
            longest = std::max(longest, length[l]);
            shortest = std::min(shortest, length[l]);
            if (l < count)
                for (int64_t i = 0; i < length[l]; i++) codes.add(text[l][i]);
        }
    }
    Count lengths() const {
        Count all(0);
        for (int l = 0; l < kLanes; l++) all.set(l, length[l]);
        return all;
    }
};

// Number of bits set in W words per lane, W < 32.
template <int W> GPUALIGN_HD Count count_bits(const Word* words) {
    Word bytes(uint64_t(0));
    for (int w = 0; w < W; w++) {
        Word x = words[w];
        x = x - (x >> 1 & Word(0x5555555555555555u));
        x = (x & Word(0x3333333333333333u)) + (x >> 2 & Word(0x3333333333333333u));
        bytes = bytes + ((x + (x >> 4)) & Word(0x0F0F0F0F0F0F0F0Fu));
    }
    bytes = (bytes & Word(0x00FF00FF00FF00FFu)) + (bytes >> 8 & Word(0x00FF00FF00FF00FFu));
    bytes = bytes + (bytes >> 16);
    return ((bytes + (bytes >> 32)) & Word(0xFFFFu)).template as<int64_t>();
}

GPUALIGN_HD void store_counts(Count values, int32_t* out) {
    for (int l = 0; l < kLanes; l++) out[l] = int32_t(values[l]);
}

// Tiles of a pattern: as few as possible, of equal size, of at most kMaxWords words.
constexpr int kMaxWords = 8;
struct Tiles {
    int count, words;  // words per tile

    explicit Tiles(int64_t length) {
        const int64_t all = std::max<int64_t>(1, (length + 63) / 64);
        count = int((all + kMaxWords - 1) / kMaxWords);
        words = int((all + count - 1) / count);
    }
    int64_t rows() const { return int64_t(count) * words * 64; }
};

// Calls use(std::integral_constant) for words from 1 to kMaxWords.
template <class Use> void with_words(int words, Use&& use) { with_constant<1, 2, 3, 4, 5, 6, 7, 8>(words, use); }

template <class Symbol> struct Text {
    const Symbol* symbols;
    int64_t length;
};

// Calls run(std::integral_constant, texts, at) for targets order[at], N at a time, and one at a time at the end.
template <int N, class Symbol, class Run>
void each_together(const SymbolSet<Symbol>& targets, const int32_t* order, int64_t count, Run&& run) {
    for (int64_t at = 0; at < count;) {
        const int taken = at + N <= count ? N : 1;
        Text<Symbol> texts[N];
        for (int i = 0; i < taken; i++) texts[i] = {targets.begin(order[at + i]), targets.length(order[at + i])};
        if (taken == N) run(std::integral_constant<int, N>(), texts, at);
        else run(std::integral_constant<int, 1>(), texts, at);
        at += taken;
    }
}

// Targets per group of queries at once: a column's operations depend on each other, so few words would leave the
// processor idle.
constexpr int at_once(int words) { return words <= 1 ? 4 : words <= 3 ? 2 : 1; }

}  // namespace distances
}  // namespace gpualign
