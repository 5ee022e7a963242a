// An index of the words of sequences, the targets, that grows by batches of them. It finds the targets that have enough
// of a query's words to reach an identity; what it leaves out cannot.
//
// A query of n symbols is cut into p words side by side. An edit changes one of them at most, so of p words at least
// p - k stand unchanged in a target that k edits lead to. Words with ambiguity codes that match other symbols say
// nothing: where a query has such words, and for each such code of the target, one word less is needed. To count words,
// words of all positions of the targets are hashed into buckets of target numbers; words that share a bucket only make
// counts too high.
#pragma once
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "sequences/identity_bounds.hpp"
#include "sequences/sequence_set.hpp"

namespace gpualign {
namespace words {

// Calls found(value, last) for each word of `step` positions that has only symbols that equal themselves; last: the
// position of its last symbol.
template <class Found>
void each_word(const SequenceSet& set, int32_t sequence, int word, int step, const Found& found) {
    const uint8_t* symbols = set.begin(sequence);
    const int32_t n = set.length(sequence);
    uint64_t value = 0, highest = 1;
    for (int i = 1; i < word; i++) highest *= uint64_t(set.identical);
    int32_t known = 0, next = word - 1;
    for (int32_t i = 0; i < n; i++) {
        if (i >= word) value -= highest * (symbols[i - word] < set.identical ? symbols[i - word] : 0);
        value *= uint64_t(set.identical);
        if (symbols[i] < set.identical) value += symbols[i], known++;
        else known = 0;
        if (i != next) continue;
        next += step;
        if (known >= word) found(value, i);
    }
}

// Lists of targets by word, of the targets first ... last - 1.
struct Lists {
    int32_t first, last;
    int bits;
    bool direct;  // the word's value is its bucket
    std::vector<uint32_t> starts;
    std::vector<int32_t> targets;

    size_t bucket(uint64_t value) const {
        return size_t(direct ? value : (value * 0x9E3779B97F4A7C15u) >> (64 - bits));
    }

    void build(const SequenceSet& set, const std::vector<int32_t>& sequences, int word) {
        int64_t symbols = 0;
        for (int32_t t = first; t < last; t++) symbols += set.length(sequences[size_t(t)]);
        for (bits = 8; bits < 28 && (int64_t(1) << bits) < symbols; bits++) {
        }
        double words = 1;
        for (int i = 0; i < word; i++) words *= set.identical;
        direct = words <= double(int64_t(1) << bits);
        const size_t buckets = direct ? size_t(words) : size_t(1) << bits;
        starts.assign(buckets + 2, 0);  // counts two places on, so that beginnings move up as lists fill
        const std::vector<int32_t> borders = slices(set, sequences);
        Parts parts(buckets);
        const auto take = [&](size_t slice) {
            parts.take([&](const auto& put) { each(set, sequences, word, borders[slice], borders[slice + 1], put); });
        };
        for (size_t slice = 0; slice + 1 < borders.size(); slice++) {
            take(slice);
            for (size_t i = 0; i < parts.count; i++) starts[parts.entries[i].bucket + 2]++;
        }
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        targets.resize(starts.back());
        for (size_t slice = 0; slice + 1 < borders.size(); slice++) {
            if (borders.size() > 2) take(slice);
            for (size_t i = 0; i < parts.count; i++)
                targets[starts[parts.entries[i].bucket + 1]++] = parts.entries[i].target;
        }
    }

    int64_t bytes() const { return int64_t(starts.size() + targets.size()) * 4; }

private:
    struct Entry {
        uint32_t bucket;
        int32_t target;
    };

    // Words by parts of neighbouring buckets, those of a bucket in order. A part's buckets and lists fit a cache, so
    // that its words go to their lists several times as fast as in the order of the sequences.
    struct Parts {
        int shift = 0;
        std::unique_ptr<Entry[]> entries;  // not a vector, which would clear them
        size_t count = 0, capacity = 0;
        std::vector<uint32_t> begins;

        explicit Parts(size_t buckets) {
            while (buckets >> shift > 512) shift++;
            begins.resize((buckets >> shift) + 2);
        }

        template <class Words> void take(const Words& words) {
            std::fill(begins.begin(), begins.end(), 0);
            words([&](size_t at, int32_t) { begins[(at >> shift) + 1]++; });
            std::partial_sum(begins.begin(), begins.end(), begins.begin());
            count = begins.back();
            if (count > capacity) entries.reset(new Entry[count]), capacity = count;
            words([&](size_t at, int32_t target) { entries[begins[at >> shift]++] = {uint32_t(at), target}; });
        }
    };

    // Borders of slices of targets whose words Parts holds at once.
    std::vector<int32_t> slices(const SequenceSet& set, const std::vector<int32_t>& sequences) const {
        constexpr int64_t most_symbols = 1 << 24;
        std::vector<int32_t> borders{first};
        int64_t symbols = 0;
        for (int32_t t = first; t < last; t++) {
            if (symbols && symbols + set.length(sequences[size_t(t)]) > most_symbols) borders.push_back(t), symbols = 0;
            symbols += set.length(sequences[size_t(t)]);
        }
        borders.push_back(last);
        return borders;
    }

    // put(bucket, target) for each word of the targets from ... to - 1, in order.
    template <class Put>
    void each(const SequenceSet& set, const std::vector<int32_t>& sequences, int word, int32_t from, int32_t to,
        const Put& put) const {
        for (int32_t target = from; target < to; target++)
            each_word(
                set, sequences[size_t(target)], word, 1, [&](uint64_t value, int32_t) { put(bucket(value), target); });
    }
};

class WordIndex {
public:
    WordIndex(const SequenceSet& set, int word, const IdentityBounds& bounds)
        : set_(set), word_(word), bounds_(bounds) {}

    int32_t size() const { return int32_t(sequences_.size()); }

    // Other arrays with the same sequences.
    void extend(const uint8_t* codes, const int64_t* offsets) { set_.codes = codes, set_.offsets = offsets; }

    void add(const int32_t* sequences, size_t count) {
        if (!count) return;
        int32_t first = size();
        sequences_.insert(sequences_.end(), sequences, sequences + count);
        for (size_t i = 0; i < count; i++) {
            lengths_.push_back(set_.length(sequences[i]));
            longest_ = std::max(longest_, lengths_.back());
            shortest_ = std::min(shortest_, lengths_.back());
            ambiguous_.push_back(set_.ambiguous(sequences[i]));
            if (ambiguous_.back()) with_codes_.push_back(int32_t(ambiguous_.size() - 1));
        }
        if (!word_) return;
        // few lists, and each target in few builds of them
        while (!lists_.empty() && lists_.back()->last - lists_.back()->first <= 3 * (size() - first)) {
            first = lists_.back()->first;
            lists_.pop_back();
        }
        lists_.push_back(std::make_unique<Lists>());
        lists_.back()->first = first, lists_.back()->last = size();
        lists_.back()->build(set_, sequences_, word_);
    }

    int64_t bytes() const {
        int64_t sum = int64_t(sequences_.size()) * 12;
        for (const auto& lists : lists_) sum += lists->bytes();
        return sum;
    }

    // What one thread needs to look queries up.
    struct Scratch {
        struct Span {
            const int32_t *begin, *end;
        };
        struct Word {
            int64_t total;
            size_t first;  // of its spans
            int32_t number;  // in the query
        };
        std::vector<uint16_t> counts;  // of each target, 0 between queries
        std::vector<uint64_t> segments;  // of each target, those of the query of which it has a word; 0 as well
        std::vector<int32_t> met;  // those with a count
        std::vector<Span> spans;
        std::vector<std::pair<uint64_t, int32_t>> values;  // of words, and their numbers
        std::vector<Word> words;
    };

    // Of the targets from ... to - 1 the one that has most of the query's rarest words, the first of equal ones; -1 if
    // none has any. It is likely to be the nearest, and what it reaches, others have to reach.
    int32_t most_words(int32_t query, int32_t from, int32_t to, Scratch& scratch) const {
        if (from >= to || !word_ || set_.length(query) / word_ > UINT16_MAX) return -1;
        look_up(query, from, to, scratch);
        begin_count(scratch, 0);
        auto& words = scratch.words;
        std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.total < b.total; });
        size_t some = 0;
        for (int64_t entries = 0; some < words.size() && (some < counted_words || entries < to - from); some++)
            entries += words[some].total;
        count(scratch, 0, some, 0);
        int32_t best = -1;
        uint16_t most = 0;
        for (const int32_t target : scratch.met) {
            const uint16_t words = std::exchange(scratch.counts[size_t(target)], uint16_t(0));
            if (words < most || (words == most && target > best)) continue;
            most = words, best = target;
        }
        return best;
    }

    // found(target) for those of the targets from ... to - 1 that a query may reach the identity of the bounds with,
    // ascending.
    template <class Found>
    void candidates(int32_t query, int32_t from, int32_t to, const IdentityBounds& bounds, Scratch& scratch,
        const Found& found) const {
        const int32_t n = set_.length(query);
        if (from >= to) return;
        if (!counts_words(n, bounds)) {
            for (int32_t target = from; target < to; target++)
                if (bounds.possible(n, lengths_[size_t(target)])) found(target);
            return;
        }
        look_up(query, from, to, scratch);
        std::vector<typename Scratch::Word>& words = scratch.words;
        const int32_t left_out = set_.codes_match ? n / word_ - int32_t(words.size()) : 0;
        const int32_t fewest = fewest_needed(n, bounds) - left_out;  // of a target without codes
        const auto begin_codes = std::lower_bound(with_codes_.begin(), with_codes_.end(), from),
                   end_codes = std::lower_bound(begin_codes, with_codes_.end(), to);
        if (int32_t(words.size()) < fewest && begin_codes == end_codes) return;
        // the longest lists cost most and say least: they are only searched for what the others leave
        std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.total < b.total; });
        int32_t searched = std::clamp(fewest - counted_least, 0, int32_t(words.size()));
        size_t counted = words.size() - size_t(searched);
        // definition 2: which words are lacked says more than how many
        const int32_t segment_words = bounds.definition == 2 ? (n / word_ + 63) / 64 : 0;
        const int32_t segments = segment_words ? n / word_ / segment_words : 0;
        const uint64_t with_codes = segment_words && left_out ? segments_with_codes(words, segments, segment_words) : 0;
        begin_count(scratch, segment_words);
        count(scratch, 0, counted, segment_words);
        if (searched && search_costs_more(scratch, counted, fewest - searched)) {
            count(scratch, counted, words.size(), segment_words);
            counted = words.size(), searched = 0;
        }
        std::vector<uint16_t>& counts = scratch.counts;
        std::vector<int32_t>& met = scratch.met;
        const int32_t least = std::max(0, fewest - searched);
        const auto consider = [&](int32_t target) {
            int32_t count = counts[size_t(target)], left = searched;
            counts[size_t(target)] = 0;
            uint64_t has = segment_words ? std::exchange(scratch.segments[size_t(target)], 0) | with_codes : 0;
            if (count < least - ambiguous_[size_t(target)]) return;
            const int32_t m = lengths_[size_t(target)];
            if (!bounds.possible(n, m)) return;
            const int32_t needed = bounds.words_needed(n, m, word_) - left_out - ambiguous_[size_t(target)];
            for (size_t w = counted; w < words.size() && (count < needed || segment_words) && count + left >= needed;
                w++, left--)
                for (size_t s = 0; s < lists_.size(); s++) {
                    const auto& span = scratch.spans[words[w].first + s];
                    if (std::binary_search(span.begin, span.end, target)) {
                        count++;
                        if (segment_words) has |= uint64_t(1) << words[w].number / segment_words;
                        break;
                    }
                }
            if (count < needed) return;
            if (segment_words && !bounds.interval_reachable(n, m, ~has, segments, segment_words * word_, segment_words,
                                     ambiguous_[size_t(target)]))
                return;
            found(target);
        };
        // most targets have none of the words
        if (!least || met.size() > size_t(to - from) / 8) {
            for (int32_t target = from; target < to; target++) consider(target);
        } else {
            for (auto at = begin_codes; at != end_codes; at++)
                if (!counts[size_t(*at)]) met.push_back(*at);
            std::sort(met.begin(), met.end());
            for (const int32_t target : met) consider(target);
        }
    }

    // Whether some targets need words of a query of n symbols; there may be too many to count.
    bool counts_words(int32_t n, const IdentityBounds& bounds) const {
        return word_ && n / word_ <= UINT16_MAX && bounds.words_needed(n, n, word_) > 0;
    }

    const SequenceSet& set() const { return set_; }
    const IdentityBounds& bounds() const { return bounds_; }
    int32_t sequence(int32_t target) const { return sequences_[size_t(target)]; }
    int32_t length(int32_t target) const { return lengths_[size_t(target)]; }
    int32_t ambiguous(int32_t target) const { return ambiguous_[size_t(target)]; }

private:
    static constexpr int32_t counted_least = 3;
    static constexpr size_t counted_words = 16;  // for the likely nearest

    // The least number of words that any target needs to have in common with the query: that of the shortest, of the
    // longest, or of one as long as the query. May be 0.
    int32_t fewest_needed(int32_t n, const IdentityBounds& bounds) const {
        return std::min({bounds.words_needed(n, longest_, word_), bounds.words_needed(n, shortest_, word_),
            bounds.words_needed(n, std::clamp(n, shortest_, longest_), word_)});
    }

    void begin_count(Scratch& scratch, int32_t segment_words) const {
        if (scratch.counts.size() < lengths_.size()) scratch.counts.resize(lengths_.size());
        if (segment_words && scratch.segments.size() < lengths_.size()) scratch.segments.resize(lengths_.size());
        scratch.met.clear();
    }

    // Counts the words `begin` ... `end` - 1 of a look-up in each target, and marks their segments of segment_words
    // words each; 0: no segments.
    void count(Scratch& scratch, size_t begin, size_t end, int32_t segment_words) const {
        std::vector<uint16_t>& counts = scratch.counts;
        for (size_t w = begin; w < end; w++)
            for (size_t s = 0; s < lists_.size(); s++) {
                const auto& span = scratch.spans[scratch.words[w].first + s];
                const uint64_t bit = segment_words ? uint64_t(1) << scratch.words[w].number / segment_words : 0;
                int32_t before = -1;  // a target that has a word twice counts once
                for (const int32_t* at = span.begin; at < span.end; before = *at++) {
                    if (*at == before) continue;
                    if (!counts[size_t(*at)]++) scratch.met.push_back(*at);
                    if (segment_words) scratch.segments[size_t(*at)] |= bit;
                }
            }
    }

    // Whether it costs more to search the words from `counted` on for each target with `least` of those before, than to
    // count them as well.
    bool search_costs_more(const Scratch& scratch, size_t counted, int32_t least) const {
        constexpr int64_t search_cost = 8;  // entries counted in the time of a binary search
        int64_t entries = 0;
        for (size_t w = counted; w < scratch.words.size(); w++) entries += scratch.words[w].total;
        const int64_t left = std::count_if(scratch.met.begin(), scratch.met.end(),
            [&](int32_t target) { return scratch.counts[size_t(target)] >= least; });
        return left * int64_t(scratch.words.size() - counted) * search_cost > entries;
    }

    // A bit for each segment of the query that has a word with codes.
    static uint64_t segments_with_codes(
        const std::vector<typename Scratch::Word>& words, int32_t segments, int32_t segment_words) {
        int32_t known[65] = {};
        for (const auto& word : words) known[std::min(segments, word.number / segment_words)]++;
        uint64_t result = 0;
        for (int32_t i = 0; i < segments; i++) result |= uint64_t(known[i] < segment_words) << i;
        return result;
    }

    void look_up(int32_t query, int32_t from, int32_t to, Scratch& scratch) const {
        scratch.words.clear();
        scratch.spans.clear();
        scratch.values.clear();
        each_word(set_, query, word_, word_, [&](uint64_t value, int32_t last) {
            scratch.values.emplace_back(value, last / word_);
            for (const auto& lists : lists_) __builtin_prefetch(&lists->starts[lists->bucket(value)]);
        });
        for (const auto& [value, number] : scratch.values) {
            const size_t first = scratch.spans.size();
            int64_t total = 0;
            for (const auto& lists : lists_) {
                const size_t at = lists->bucket(value);
                const int32_t *begin = lists->targets.data() + lists->starts[at],
                              *end = lists->targets.data() + lists->starts[at + 1];
                __builtin_prefetch(begin);
                if (lists->first < from) begin = std::lower_bound(begin, end, from);
                if (lists->last > to) end = std::lower_bound(begin, end, to);
                total += end - begin;
                scratch.spans.push_back({begin, end});
            }
            scratch.words.push_back({total, first, number});
        }
    }

    SequenceSet set_;
    int word_;
    IdentityBounds bounds_;
    int32_t longest_ = 0, shortest_ = INT32_MAX;
    std::vector<int32_t> sequences_, lengths_, ambiguous_;  // of each target
    std::vector<int32_t> with_codes_;  // targets with ambiguous symbols
    std::vector<std::unique_ptr<Lists>> lists_;
};

}  // namespace words
}  // namespace gpualign
