// Patterns as search compares them: symbols, limits, fixed rows, on both strands.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace gpualign {

// Numbered as gpualign/align/patterns/cpu.py does.
enum class SearchAlphabet { dna = 0, protein = 1, bytes = 2 };

struct SearchSettings {
    SearchAlphabet alphabet = SearchAlphabet::dna;
    int strands = 3;        // 1 plus, 2 minus, 3 both
    bool all_ends = false;  // else local minima
    int max_bulges = -1;    // insertions and deletions together; -1: no limit of their own
    int max_ambiguous = 0;  // ambiguous symbols of a target in a hit; 0: they match only what covers them
    double overhang = -1;   // of each row beyond an end of a target; negative: none is
};

// IUPAC codes as sets: bit c is base c. 0 for what is none.
struct BaseSets {
    uint8_t of[256] = {};
    constexpr BaseSets() {
        const char* codes = "ACGTURYSWKMBDHVN";
        const uint8_t sets[] = {1, 2, 4, 8, 8, 5, 10, 6, 9, 12, 3, 14, 13, 11, 7, 15};
        for (int i = 0; codes[i]; i++) of[uint8_t(codes[i])] = of[uint8_t(codes[i] | 32)] = sets[i];
    }
};
inline constexpr BaseSets kBaseSets;

inline uint8_t complement_set(uint8_t set) {
    return uint8_t((set & 1) << 3 | (set & 2) << 1 | (set & 4) >> 1 | (set & 8) >> 3);
}

// One pattern on one strand. Symbols are sets of bases, or bytes.
struct SearchPattern {
    std::vector<uint8_t> symbols, fixed;
    int limit = 0;
    bool has_fixed = false;

    int rows() const { return int(symbols.size()); }
};

class SearchPatterns {
public:
    SearchPatterns(const uint8_t* symbols, const int64_t* offsets, size_t count, const int32_t* limits,
        const uint8_t* fixed, const SearchSettings& settings)
        : settings_(settings), strands_(2 * count) {
        for (size_t p = 0; p < count; p++) {
            SearchPattern& plus = strands_[2 * p];
            for (int64_t i = offsets[p]; i < offsets[p + 1]; i++) {
                plus.symbols.push_back(dna() ? kBaseSets.of[symbols[i]] : symbols[i]);
                plus.fixed.push_back(fixed[i]);
                ambiguous_ |= dna() && (plus.symbols.back() & (plus.symbols.back() - 1));
                if (dna() && !plus.symbols.back())
                    throw std::invalid_argument("a pattern has a symbol that is no nucleotide code");
            }
            if (plus.symbols.empty()) throw std::invalid_argument("a pattern is empty");
            plus.limit = std::min(limits[p], plus.rows());
            plus.has_fixed = std::count(plus.fixed.begin(), plus.fixed.end(), 1) > 0;
            SearchPattern& minus = strands_[2 * p + 1] = plus;
            std::reverse(minus.symbols.begin(), minus.symbols.end());
            std::reverse(minus.fixed.begin(), minus.fixed.end());
            if (dna())
                for (uint8_t& symbol : minus.symbols) symbol = complement_set(symbol);
        }
    }

    const SearchSettings& settings() const { return settings_; }
    bool dna() const { return settings_.alphabet == SearchAlphabet::dna; }
    size_t count() const { return strands_.size() / 2; }
    // Pattern number / 2 on strand number % 2, as the forward strand of a text shows it.
    const SearchPattern& strand(int number) const { return strands_[size_t(number)]; }
    bool wanted(int number) const { return settings_.strands >> (number & 1) & 1; }
    int strands() const { return int(strands_.size()); }
    // Whether any has a symbol that stands for several bases.
    bool ambiguous() const { return ambiguous_; }
    // A symbol of a text has a code below this.
    int codes() const { return dna() ? 16 : 256; }

    // Whether a symbol of a pattern matches one of a text.
    bool matches(uint8_t symbol, uint8_t text) const {
        if (dna()) return settings_.max_ambiguous > 0 ? symbol & text : text && !(text & ~symbol);
        if (settings_.alphabet == SearchAlphabet::bytes || symbol == text) return symbol == text;
        switch (symbol) {
            case 'X': return true;
            case 'B': return text == 'D' || text == 'N';
            case 'Z': return text == 'E' || text == 'Q';
            case 'J': return text == 'I' || text == 'L';
        }
        return false;
    }
    // Whether hits need more than the edit distance.
    bool constrained(const SearchPattern& pattern) const {
        return pattern.has_fixed || settings_.overhang >= 0 ||
               (settings_.max_bulges >= 0 && settings_.max_bulges < pattern.limit);
    }

private:
    SearchSettings settings_;
    std::vector<SearchPattern> strands_;
    bool ambiguous_ = false;
};

}  // namespace gpualign
