// From where patterns may lie to hits: exact distances, the rule of which ends are hits, and their alignments.
//
// On a strand, a text is read in the pattern's direction: hits on the minus strand are those in the reverse complement.
// A pattern has a hit where the distance of its ends in the text rises after it has fallen, at the last of equal ones
// (as in Sassy). To be the same wherever a text is cut, at most kPlateau equal ones are looked at.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "align/patterns/blocks.hpp"
#include "align/patterns/matrix.hpp"
#include "align/patterns/scan.hpp"
#include "align/patterns/text.hpp"

namespace gpualign {

inline constexpr int kPlateau = 256;

// Which hits count: those that begin in [begin, end) of a sequence, which the text may have with more on either side.
struct SearchShare {
    int64_t begin, end;
    bool left_open, right_open;  // the target goes on
};

struct SearchHits {
    std::vector<int32_t> pattern, sequence, distance, pattern_start, pattern_end;
    std::vector<uint8_t> minus;
    std::vector<int64_t> start, end;
    std::vector<uint32_t> operations;
    std::vector<int64_t> operation_ends;
};

class HitFinder {
public:
    // Throws std::overflow_error where there are more than `most` hits, which would take too much memory.
    HitFinder(
        const SearchPatterns& patterns, const SearchText& text, const std::vector<SearchShare>& shares, size_t most)
        : patterns_(patterns), text_(text), shares_(shares), most_(most), matrix_(patterns) {
        if (patterns.dna() && patterns.settings().max_ambiguous > 0) max_ambiguous_ = patterns.settings().max_ambiguous;
    }

    void run(std::vector<SearchPlace>& places, SearchHits& out) {
        add_overhangs(places);
        std::sort(places.begin(), places.end());
        for (size_t i = 0, settled = 0; i < places.size();) {
            const int strand = places[i].strand, k = patterns_.strand(strand).limit;
            const int64_t first = places[i].begin;
            int64_t last = first;
            for (; i < places.size() && places[i].strand == strand && places[i].begin <= last + 2 * k + 1; i++)
                last = places[i].begin;
            settle(strand, first - k, last + k);
            if (++settled % 256 == 0 && stop_()) throw Stopped();
        }
        finish(out);
    }

private:
    struct End {
        int64_t at;
        int value;
    };
    struct Hit {
        int32_t sequence, pattern, distance, pattern_start, pattern_end;
        bool minus;
        int64_t start, end;
        size_t first_operation, last_operation;
    };

    // With overhangs a pattern may lie at both ends of every sequence.
    void add_overhangs(std::vector<SearchPlace>& places) const {
        if (patterns_.settings().overhang < 0) return;
        for (size_t s = 0; s < text_.sequences; s++)
            for (int strand = 0; strand < patterns_.strands(); strand++) {
                if (!patterns_.wanted(strand) || text_.length(s) == 0) continue;
                const SearchPattern& pattern = patterns_.strand(strand);
                const int64_t first = text_.offsets[s], last = text_.offsets[s + 1];
                for (int64_t at = first - pattern.rows(); at <= first + pattern.limit; at++)
                    places.push_back({strand, at});
                for (int64_t at = last - pattern.rows() - pattern.limit; at <= last; at++)
                    places.push_back({strand, at});
            }
    }

    // Begins [first, last] of a pattern, in all sequences that have them.
    void settle(int strand, int64_t first, int64_t last) {
        const int m = patterns_.strand(strand).rows();
        // what a strand's reader meets last: the last symbol, or on the minus strand the first
        const bool minus = strand & 1;
        const int64_t from = minus ? first : first + m - 1, to = minus ? last : last + m - 1,
                      total = text_.offsets[text_.sequences];
        if (to < text_.offsets[0] || from >= total) return;
        for (size_t s = text_.sequence_of(std::max(text_.offsets[0], from));
            s < text_.sequences && text_.offsets[s] <= to; s++) {
            const int64_t begin = std::max(from, text_.offsets[s]), end = std::min(to, text_.offsets[s + 1] - 1);
            if (begin > end) continue;
            if (minus) ends(strand, s, text_.offsets[s + 1] - end, text_.offsets[s + 1] - begin);
            else ends(strand, s, begin + 1 - text_.offsets[s], end + 1 - text_.offsets[s]);
        }
    }

    // Hits that end after `first` to `last` symbols of a sequence as the strand reads it; there are none next to them.
    void ends(int strand, size_t sequence, int64_t first, int64_t last) {
        const bool minus = strand & 1;
        const SearchPattern& pattern = patterns_.strand(minus ? strand - 1 : strand);
        const SearchShare& share = shares_[sequence];
        const int64_t length = text_.length(sequence), reach = pattern.rows() + pattern.limit;
        const bool begin_open = minus ? share.right_open : share.left_open,
                   end_open = minus ? share.left_open : share.right_open;
        if (begin_open) first = std::max(first, reach);  // before, the values are not known
        if (first > last) return;
        const int64_t origin = std::max<int64_t>(0, first - reach);
        text_.read(sequence, minus, origin, last, window_);
        ends_.clear();
        const bool at_begin = origin == 0 && !begin_open, at_end = last == length && !end_open;
        if (at_begin && first == 1 && patterns_.settings().overhang >= 0 &&
            matrix_.hung(pattern.rows()) <= pattern.limit)
            ends_.push_back({0, matrix_.hung(pattern.rows())});  // no hit, but the next ones follow it
        const bool constrained = patterns_.constrained(pattern);
        if (!constrained && loaded_ != strand) blocks_.load(patterns_, pattern, 0, pattern.rows()), loaded_ = strand;
        // An alignment has every symbol between its ends, so a limit of ambiguous ones is a limit of where it begins,
        // the same one for all ends up to the next ambiguous symbol.
        const int64_t size = last - origin;
        for (int64_t done = 0, stop; done < size; done = stop) {
            const int64_t from = first_of(done + 1, reach);
            stop = last_of(from, size);
            const auto each = [&](int64_t column, int value) {
                const int64_t end = from + column + 1;
                if (end > done && origin + end >= first && value <= pattern.limit)
                    ends_.push_back({origin + end, value});
                return true;
            };
            const uint8_t* text = window_.data() + from;
            traced_ = !constrained && blocks_.one_word() && from == 0 && stop == size;
            if (constrained)
                matrix_.profile(pattern, text, stop - from, at_begin && from == 0, at_end && stop == size, each);
            else if (traced_) blocks_.run_traced(text, size, pattern.limit, columns_, each);
            else blocks_.run(text, stop - from, pattern.limit, each);
        }
        for (size_t i = 0; i < ends_.size(); i++) {
            if (i % 256 == 255 && stop_()) throw Stopped();
            if (ends_[i].at > 0 && (patterns_.settings().all_ends || is_minimum(i)))
                align(strand, pattern, sequence, origin, ends_[i], at_begin, at_end && ends_[i].at == length);
        }
    }

    bool is_minimum(size_t i) const {
        const auto adjacent = [&](size_t j) { return ends_[j].at + 1 == ends_[j + 1].at; };
        if (i + 1 < ends_.size() && adjacent(i) && ends_[i + 1].value <= ends_[i].value) return false;
        for (size_t j = i; j > 0 && i - j < size_t(kPlateau); j--) {
            if (!adjacent(j - 1)) return true;
            if (ends_[j - 1].value != ends_[i].value) return ends_[j - 1].value > ends_[i].value;
        }
        return true;
    }

    void align(int strand, const SearchPattern& pattern, size_t sequence, int64_t origin, const End& end, bool at_begin,
        bool at_end) {
        const bool minus = strand & 1;
        const int64_t first = origin + first_of(end.at - origin, pattern.rows() + end.value);
        const size_t operation = operations_.size();
        const SearchAlignment found = traced_
                                          ? follow(pattern, end.at - origin, end.value, first - origin)
                                          : matrix_.trace(pattern, window_.data() + (first - origin), end.at - first,
                                                at_begin && first == 0, at_end, end.value, operations_);
        const int64_t start = first + found.start, length = text_.length(sequence);
        Hit hit{int32_t(sequence), strand >> 1, end.value, found.pattern_start, found.pattern_end, minus,
            minus ? length - end.at : start, minus ? length - start : end.at, operation, operations_.size()};
        const SearchShare& share = shares_[sequence];
        if (hit.start < share.begin || hit.start >= share.end) return operations_.resize(operation);
        if (hits_.size() == most_) throw std::overflow_error("too many hits");
        hits_.push_back(hit);
    }

    // From the columns of the window; `first` of its symbols are left out of the alignment's start.
    SearchAlignment follow(const SearchPattern& pattern, int64_t length, int value, int64_t first) {
        const size_t begin = operations_.size();
        const int64_t before = blocks_.walk(window_.data(), length, columns_, value,
            [&](char operation) { SearchMatrix::put(operations_, begin, operation); });
        std::reverse(operations_.begin() + ptrdiff_t(begin), operations_.end());
        return {before - first, 0, pattern.rows()};
    }

    // The first symbol of the longest interval before `end`, of at most `longest` symbols, that has no more ambiguous
    // ones than a hit may have; and the end of the longest one from `begin` on.
    int64_t first_of(int64_t end, int64_t longest) const {
        int64_t first = end;
        for (int left = max_ambiguous_; first > std::max<int64_t>(0, end - longest); first--)
            if ((left -= is_ambiguous(first - 1)) < 0) break;
        return first;
    }
    int64_t last_of(int64_t begin, int64_t size) const {
        for (int left = max_ambiguous_; begin < size; begin++)
            if ((left -= is_ambiguous(begin)) < 0) break;
        return begin;
    }
    bool is_ambiguous(int64_t at) const { return window_[size_t(at)] & (window_[size_t(at)] - 1); }

    void finish(SearchHits& out) {
        const auto key = [](const Hit& h) {
            return std::make_tuple(h.sequence, h.start, h.end, h.pattern, h.minus, h.distance);
        };
        std::sort(hits_.begin(), hits_.end(), [&](const Hit& a, const Hit& b) { return key(a) < key(b); });
        out.operation_ends.push_back(0);
        for (const Hit& hit : hits_) {
            out.pattern.push_back(hit.pattern);
            out.sequence.push_back(hit.sequence);
            out.distance.push_back(hit.distance);
            out.pattern_start.push_back(hit.pattern_start);
            out.pattern_end.push_back(hit.pattern_end);
            out.minus.push_back(hit.minus);
            out.start.push_back(hit.start);
            out.end.push_back(hit.end);
            out.operations.insert(out.operations.end(), operations_.begin() + ptrdiff_t(hit.first_operation),
                operations_.begin() + ptrdiff_t(hit.last_operation));
            out.operation_ends.push_back(int64_t(out.operations.size()));
        }
    }

    const SearchPatterns& patterns_;
    const SearchText& text_;
    const std::vector<SearchShare>& shares_;
    const size_t most_;
    SearchMatrix matrix_;
    SearchBlocks blocks_;
    StopAsked stop_;
    int loaded_ = -1, max_ambiguous_ = std::numeric_limits<int>::max();
    bool traced_ = false;  // columns_ has the whole window
    std::vector<uint8_t> window_;
    std::vector<SearchBlocks::Trace> columns_;
    std::vector<End> ends_;
    std::vector<Hit> hits_;
    std::vector<uint32_t> operations_;
};

}  // namespace gpualign
