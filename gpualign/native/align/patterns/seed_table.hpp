// The table of words that pieces of patterns can have in a text (algo/align/patterns/seeds.hpp), and which patterns are
// better compared with every base.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "algo/align/patterns/seeds.hpp"
#include "align/patterns/patterns.hpp"

namespace gpualign {

// What a step takes on a core, in nanoseconds; it decides between ways to the same hits.
struct SearchCosts {
    static double lookup(int bases) {
        return bases <= 8 ? 0.5 : bases == 9 ? 0.6 : bases == 10 ? 0.8 : bases == 11 ? 1.1 : 1.6;
    }
    // a good part of it is the memory of the table
    static double check(int rows, int limit) {
        return 35 + (rows <= 32 ? 0.4 : 0.9) * (std::min(rows, 64) + 2 * limit);
    }
    // A vector of patterns without seeds, and a longer pattern.
    static constexpr int kTogether = 2 * GPUALIGN_VECTOR_BYTES / 4;
    static double vectors(double narrow, double wide) {
        return 4.0 * (std::ceil(narrow / kTogether) + std::ceil(2 * wide / kTogether));
    }
    static double blocks(int rows, int limit) { return 4 + 2.5 * std::min(rows, 3 * limit + 64) / 64; }
    // Words of genomes are not random: so many times as many are found.
    static constexpr double kRepeats = 3;
    static double seed() { return 25; }
};

class SearchTables {
public:
    static constexpr int kMinBases = 6, kMaxBases = 12, kMaxErrors = 2;
    static constexpr int kMaxStride = 16;  // bases from a word that is looked up to the next one
    static constexpr double kMaxWords = 1e6;  // of a pattern

    // `text`: bases that are to be searched, about.
    SearchTables(const SearchPatterns& patterns, double text)
        : patterns_(patterns), pieces_(size_t(patterns.strands())) {
        for (int s = 0; s < patterns.strands(); s++)
            if (patterns.wanted(s)) wanted_.push_back(s);
        choose(std::max(text, 1e3));
        if (bases_) build();
    }

    bool has_seeds() const { return bases_ > 0; }
    SearchTable table() const {
        return {marked_.data(), ranks_.data(), firsts_.data(), seeds_.data(), segments_.data(), bases_, stride_};
    }
    const std::vector<int>& dense() const { return dense_; }
    const std::vector<SearchSegment>& segments() const { return segments_; }
    const std::vector<uint64_t>& marked() const { return marked_; }
    const std::vector<uint32_t>& ranks() const { return ranks_; }
    const std::vector<uint32_t>& firsts() const { return firsts_; }
    const std::vector<SearchSeed>& seeds() const { return seeds_; }

    // Rows and errors of the pieces of a strand that stand together; the first of them is a segment's.
    struct Group {
        int first, last, limit;
        bool whole;
    };
    // The level of a strand's segments, and a group of 2^level pieces.
    int level(int strand) const { return pieces_[size_t(strand)].level; }
    Group group(int strand, int piece, int level) const {
        const Pieces& p = pieces_[size_t(strand)];
        const int begin = piece >> level << level, end = std::min<int>(p.count(), begin + (1 << level));
        int errors = -1;
        for (int i = begin; i < end; i++) errors += p.errors[size_t(i)] + 1;
        return {p.begins[size_t(begin)], p.begins[size_t(end)], errors, begin == 0 && end == p.count()};
    }

private:
    struct Pieces {
        std::vector<int> begins, errors;  // one more begin than pieces
        int level = 0;
        int count() const { return int(errors.size()); }
    };
    struct Choice {
        double cost;
        int errors;
    };

    // Words that are marked for a piece, about.
    static double words(int bases, int errors) {
        return errors == 0 ? 1 : errors == 1 ? 6.0 * bases : 18.0 * bases * bases;
    }

    // The rows outside of which all are fixed, and so have no errors.
    static std::pair<int, int> span(const SearchPattern& pattern) {
        int first = 0, last = pattern.rows();
        while (first + 1 < last && pattern.fixed[size_t(first)]) first++;
        while (first + 1 < last && pattern.fixed[size_t(last - 1)]) last--;
        return {first, last};
    }

    // What a pattern costs a base with seeds, and of how many errors a piece.
    Choice choice(const SearchPattern& pattern, int bases, int stride, double text) const {
        Choice best{1e300, -1};
        const auto [first, last] = span(pattern);
        double choices = 0;
        for (int i = first; i < last; i++) choices += std::log2(double(__builtin_popcount(pattern.symbols[size_t(i)])));
        const double ambiguous = std::exp2(choices / (last - first) * bases);
        for (int errors = 0; errors <= std::min(kMaxErrors, pattern.limit); errors++) {
            const int count = pattern.limit / (errors + 1) + 1;
            if ((last - first) / count < bases + stride - 1) continue;
            const double marked = count * stride * words(bases, errors) * ambiguous;
            if (marked > kMaxWords) continue;
            const double found = SearchCosts::kRepeats * marked / stride / std::exp2(2 * bases);
            const double cost =
                found * SearchCosts::check(pattern.rows(), pattern.limit) + marked * SearchCosts::seed() / text;
            if (cost < best.cost) best = {cost, errors};
        }
        return best;
    }

    // Those with seeds, by words of so many bases, where seeds cost less than `most`; what all patterns cost together.
    double plan(int bases, int stride, double text, double most, std::vector<int>& errors) const {
        double cost = bases ? SearchCosts::lookup(bases) / stride + 0.05 + std::exp2(2 * bases) / 8 / text : 0,
               narrow = 0, wide = 0;
        errors.clear();
        for (int s : wanted_) {
            const SearchPattern& pattern = patterns_.strand(s);
            const Choice seeds = bases ? choice(pattern, bases, stride, text) : Choice{1e300, -1};
            const double alone = pattern.rows() > 64 ? SearchCosts::blocks(pattern.rows(), pattern.limit) : most;
            errors.push_back(seeds.cost < alone ? seeds.errors : -1);
            if (errors.back() >= 0) cost += seeds.cost;
            else if (pattern.rows() > 64) cost += SearchCosts::blocks(pattern.rows(), pattern.limit);
            else (pattern.rows() <= 32 ? narrow : wide)++;
        }
        return cost + SearchCosts::vectors(narrow, wide);
    }

    void choose(double text) {
        if (!patterns_.dna()) return void(dense_ = wanted_);
        double least = 1e300;
        std::vector<int> errors, best;
        for (int bases = 0; bases <= kMaxBases; bases == 0 ? bases = kMinBases : bases++)
            for (int stride = 1; stride <= kMaxStride; stride *= 2)
                for (double most : {0.4, 1e3}) {  // as a lane of a full vector costs, or wherever there are seeds
                    const double cost = plan(bases, stride, text, most, errors);
                    if (cost < least) least = cost, bases_ = bases, stride_ = stride, best = errors;
                }
        bool any = false;
        for (size_t i = 0; i < wanted_.size(); i++)
            if (best[i] < 0) dense_.push_back(wanted_[i]);
            else cut(wanted_[i], best[i]), any = true;
        if (!any) bases_ = 0;
    }

    void cut(int strand, int errors) {
        const SearchPattern& pattern = patterns_.strand(strand);
        const auto [first, last] = span(pattern);
        Pieces& pieces = pieces_[size_t(strand)];
        const int count = pattern.limit / (errors + 1) + 1;
        for (int i = 0; i <= count; i++) pieces.begins.push_back(first + int(int64_t(last - first) * i / count));
        pieces.errors.assign(size_t(count), errors);
        pieces.errors.back() -= count * (errors + 1) - (pattern.limit + 1);
        while ((1 << pieces.level) < count) {
            bool fits = true;
            for (int i = 0; i < count && fits; i += 2 << pieces.level) {
                const Group g = group(strand, i, pieces.level + 1);
                fits = g.last - g.first <= 64;
            }
            if (!fits) break;
            pieces.level++;
        }
    }

    void build() {
        std::vector<std::pair<uint32_t, SearchSeed>> found;
        for (int s : wanted_) {
            const Pieces& pieces = pieces_[size_t(s)];
            for (int i = 0; i < pieces.count(); i++) {
                if (i % (1 << pieces.level) == 0) add_segment(s, i, pieces.level);
                const SearchSegment& segment = segments_.back();
                for (int back = 0; back < stride_; back++) {  // one of so many words that end in turn is looked up
                    const int last = pieces.begins[size_t(i) + 1] - back;
                    const SearchSeed seed{uint32_t(segments_.size() - 1), last - segment.above};
                    add_words(patterns_.strand(s), pieces.begins[size_t(i)], last, pieces.errors[size_t(i)], back > 0,
                        seed, found);
                }
            }
        }
        index(found);
    }

    void add_segment(int strand, int piece, int level) {
        const SearchPattern& pattern = patterns_.strand(strand);
        Group g = group(strand, piece, level);
        if (g.whole && pattern.rows() <= 64) g.first = 0, g.last = pattern.rows();  // fixed rows, too
        g.first = std::max(g.first, g.last - 64);
        segments_.push_back(segment_of(pattern, strand, g.first, g.last, g.limit, piece));
    }

public:
    // Rows of a pattern, 64 or fewer.
    static SearchSegment segment_of(
        const SearchPattern& pattern, int strand, int first, int last, int limit, int piece) {
        SearchSegment segment{{0, 0, 0, 0}, last - first, limit, first, strand, piece, 0};
        for (int base = 0; base < 4; base++)
            for (int i = first; i < last; i++)
                if (pattern.symbols[size_t(i)] >> base & 1) segment.eq[base] |= uint64_t(1) << (64 - last + i);
        return segment;
    }

private:
    // The words of text in which an alignment of rows [first, last) with so many errors can end. The word is made from
    // its end; bit i of reached[e] says that i rows, from the last one on, are aligned with at most e errors. No
    // alignment needs to end with a deletion, as it ends one symbol earlier without it; but one may go on after the
    // word, `within` it. Rows and symbols after the word need not be as many: what differs is an insertion or deletion
    // at the word's end.
    void add_words(const SearchPattern& pattern, int first, int last, int errors, bool within, SearchSeed seed,
        std::vector<std::pair<uint32_t, SearchSeed>>& found) const {
        first = std::max(first, last - bases_ - errors);
        uint32_t eq[4] = {};
        for (int base = 0; base < 4; base++)
            for (int i = first; i < last; i++)
                if (pattern.symbols[size_t(i)] >> base & 1) eq[base] |= 1u << (last - 1 - i);
        uint32_t reached[kMaxErrors + 1];
        for (int e = 0; e <= errors; e++) reached[e] = (2u << e) - 1;
        grow(eq, 1u << (last - first), errors, within ? ~0u : ~1u, 0, 0, reached, seed, found);
    }

    void grow(const uint32_t* eq, uint32_t all, int errors, uint32_t deletions, int depth, uint32_t word,
        const uint32_t* reached, SearchSeed seed, std::vector<std::pair<uint32_t, SearchSeed>>& found) const {
        if (depth == bases_) return void(found.emplace_back(word, seed));
        const uint32_t rows = 2 * all - 1;
        for (uint32_t base = 0; base < 4; base++) {
            uint32_t next[kMaxErrors + 1];
            next[0] = ((reached[0] & eq[base]) << 1) | (reached[0] & all);  // what is wholly aligned stays so
            for (int e = 1; e <= errors; e++)
                next[e] = (((reached[e] & eq[base]) << 1) | (reached[e] & all) | (reached[e - 1] & deletions) |
                              (reached[e - 1] << 1) | (next[e - 1] << 1)) &
                          rows;
            if (next[errors])
                grow(eq, all, errors, deletions, depth + 1, word | base << (2 * (bases_ - 1 - depth)), next, seed,
                    found);
        }
    }

    // Seeds in the order of their words.
    void index(const std::vector<std::pair<uint32_t, SearchSeed>>& found) {
        marked_.assign(size_t(std::max(1.0, std::exp2(2 * bases_ - 6))), 0);
        for (const auto& [word, seed] : found) marked_[word >> 6] |= uint64_t(1) << (word & 63);
        uint32_t rank = 0;
        for (uint64_t bits : marked_) ranks_.push_back(rank), rank += uint32_t(bits_of(bits));
        firsts_.assign(rank + 2, 0);
        const auto first_of = [&](uint32_t word) { return &firsts_[rank_of(marked_.data(), ranks_.data(), word)]; };
        for (const auto& [word, seed] : found) first_of(word)[2]++;
        for (size_t i = 2; i < firsts_.size(); i++) firsts_[i] += firsts_[i - 1];
        seeds_.resize(found.size());
        for (const auto& [word, seed] : found) seeds_[first_of(word)[1]++] = seed;
        firsts_.pop_back();
    }

    const SearchPatterns& patterns_;
    std::vector<Pieces> pieces_;
    std::vector<int> wanted_, dense_;
    int bases_ = 0, stride_ = 1;
    std::vector<uint64_t> marked_;
    std::vector<uint32_t> ranks_, firsts_;
    std::vector<SearchSeed> seeds_;
    std::vector<SearchSegment> segments_;
};

}  // namespace gpualign
