// From a segment of a long pattern that has been found to the whole pattern.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "align/patterns/blocks.hpp"
#include "align/patterns/seed_table.hpp"
#include "align/patterns/text.hpp"

namespace gpualign {

// A pattern's strand, and where in the text it may begin, about: within its limit of it.
struct SearchPlace {
    int32_t strand;
    int64_t begin;
    bool operator<(const SearchPlace& other) const {
        return strand != other.strand ? strand < other.strand : begin < other.begin;
    }
};

// Follows an event of a segment up to its whole pattern, group by group of pieces.
class SearchClimb {
public:
    SearchClimb(const SearchPatterns& patterns, const SearchTables& tables, const SearchText& text)
        : patterns_(patterns), tables_(tables), text_(text), total_(text.offsets[text.sequences]) {}

    bool reaches(const SearchSegment& segment, int64_t begin) {
        for (int level = tables_.level(segment.strand);; level++) {
            const SearchTables::Group g = tables_.group(segment.strand, segment.piece, level);
            if (g.whole) return true;
            if (level > tables_.level(segment.strand) && !near(segment.strand, g, begin)) return false;
        }
    }

private:
    bool near(int strand, const SearchTables::Group& g, int64_t begin) {
        if (loaded_ != std::make_pair(strand, g.first) || last_ != g.last) {
            blocks_.load(patterns_, patterns_.strand(strand), g.first, g.last);
            loaded_ = {strand, g.first}, last_ = g.last;
        }
        const int64_t from = std::max<int64_t>(0, begin + g.first - g.limit),
                      to = std::min(total_, begin + g.last + g.limit);
        if (from >= to) return false;
        codes_.resize(size_t(to - from));
        text_.codes(from, to, codes_.data());
        bool found = false;
        blocks_.run(codes_.data(), to - from, g.limit, [&](int64_t, int) { return found = true, false; });
        return found;
    }

    const SearchPatterns& patterns_;
    const SearchTables& tables_;
    const SearchText& text_;
    const int64_t total_;
    SearchBlocks blocks_;
    std::pair<int, int> loaded_{-1, -1};
    int last_ = -1;
    std::vector<uint8_t> codes_;
};

}  // namespace gpualign
