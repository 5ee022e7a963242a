// From a text to where patterns may lie in it, on the CPU: words looked up in the table of seeds, and vector lanes of
// patterns for those that have no seeds.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "algo/align/patterns/seeds.hpp"
#include "common/with_constant.hpp"
#include "align/patterns/blocks.hpp"
#include "align/patterns/climb.hpp"
#include "align/patterns/seed_table.hpp"
#include "align/patterns/text.hpp"
#include "simd/vector.hpp"
#include "stop.hpp"

namespace gpualign {

class SearchScan {
public:
    // Throws std::overflow_error where `out` gets far more than `most` places.
    SearchScan(const SearchPatterns& patterns, const SearchTables& tables, const SearchText& text,
        std::vector<SearchPlace>& out, size_t most)
        : patterns_(patterns), tables_(tables), text_(text), out_(out), most_(most), climb_(patterns, tables, text) {}

    void run() {
        if (tables_.has_seeds()) {
            slots_.assign(tables_.segments().size(), 0);
            with_constant<6, 7, 8, 9, 10, 11, 12>(
                tables_.table().bases, [&](auto bases) { look_up<decltype(bases)::value>(); });
            compare_segments(narrow_);
            compare_segments(wide_);
            around_ambiguous();
        }
        std::vector<int> narrow, wide;
        for (int s : tables_.dense()) {
            const int rows = patterns_.strand(s).rows();
            if (rows <= 64) (rows <= 32 ? narrow : wide).push_back(s);
        }
        in_lanes<uint32_t>(narrow);
        in_lanes<uint64_t>(wide);
        compare_long();
    }

    // An event that a device has found.
    void take(const SearchEvent& event) {
        if (event.segment & kSearchStrand) out_.push_back({int32_t(event.segment & ~kSearchStrand), event.begin});
        else add(tables_.segments()[event.segment], event.begin);
        if (out_.size() > most_) throw std::overflow_error("too many places");
    }

    // What a device does not look for.
    void beside_device() {
        around_ambiguous();
        compare_long();
    }

private:
    static constexpr int64_t kColumns = 1 << 14;  // between looks at whether to stop

    void check_stop() {
        if (stop_()) throw Stopped();
        if (out_.size() > most_) throw std::overflow_error("too many places");
    }

    // Patterns without seeds of more than 64 rows.
    void compare_long() {
        for (int s : tables_.dense())
            if (patterns_.strand(s).rows() > 64) in_blocks(s);
    }

    // Seeds are looked up in A, C, G and T, as which all symbols are packed, and devices know no others. Where a symbol
    // may match otherwise, all patterns may lie.
    void around_ambiguous() {
        const SearchSettings& settings = patterns_.settings();
        if (settings.max_ambiguous == 0 && !patterns_.ambiguous()) return;
        for (size_t r = 0; r < text_.packed.runs; r++) {
            const bool any = kBaseSets.of[text_.packed.run_bases[r]] == 15;
            if (any && settings.max_ambiguous == 0) continue;  // matches what matches all bases
            const int64_t begin = text_.packed.run_starts[r], end = text_.packed.run_ends[r];
            for (int s = 0; s < patterns_.strands(); s++) {
                if (!patterns_.wanted(s)) continue;
                // a hit with bases outside a run has no more of it than may be ambiguous; only small ones fit inside
                const int64_t most = settings.max_ambiguous,
                              least = patterns_.strand(s).rows() - patterns_.strand(s).limit;
                if (most == 0 || least <= most || end - begin <= 2 * most) around(s, begin, end);
                else around(s, begin, begin + most), around(s, end - most, end);
            }
            check_stop();
        }
    }

    // Wherever a pattern has one of the symbols [begin, end).
    void around(int strand, int64_t begin, int64_t end) {
        const SearchPattern& pattern = patterns_.strand(strand);
        for (int64_t from = begin - pattern.rows() - pattern.limit; from < end + pattern.limit;
            from += 1 + 2 * pattern.limit)
            out_.push_back({strand, from});
        out_.push_back({strand, end + pattern.limit});
    }

    template <int Bases> void look_up() {
        const SearchTable table = tables_.table();
        const uint64_t* words = text_.packed.words;
        const int64_t total = text_.offsets[text_.sequences];
        constexpr uint64_t kMask = (uint64_t(1) << (2 * Bases)) - 1;
        // what comes before the text is of no matter
        for (int64_t end = 1; end < std::min<int64_t>(Bases, total + 1); end++)
            found(table, (packed_window(words, 0) << (2 * (Bases - end))) & kMask, end);
        constexpr int kStep = 16;
        size_t run = 0;
        const int stride = table.stride;
        for (int64_t at = 0; at + Bases <= total;) {
            // words that are all N need as many errors as they have bases
            while (run < text_.packed.runs && text_.packed.run_ends[run] <= at) run++;
            if (!patterns_.ambiguous() && run < text_.packed.runs && text_.packed.run_starts[run] <= at)
                at = std::max<int64_t>(at, int64_t(text_.packed.run_ends[run]) - Bases);
            if (at + Bases > total) break;
            int64_t stop = std::min(total, at + kColumns);
            if (run < text_.packed.runs && text_.packed.run_ends[run] - text_.packed.run_starts[run] > kColumns &&
                text_.packed.run_starts[run] > at)
                stop = std::min<int64_t>(stop, text_.packed.run_starts[run]);
            for (; at < stop; at += kStep) {
                const uint64_t window = packed_window(words, uint64_t(at));
                uint32_t hits = 0;
                const auto bit = [&](int i) {  // which of 64 bits it is are the low bits of the shifted window
                    return uint32_t(table.marked[window >> (2 * i + 6) & (kMask >> 6)] >> (window >> (2 * i) & 63) & 1);
                };
                if (stride == 1) {
#pragma GCC unroll 16
                    for (int i = kStep - 1; i >= 0; i--) hits = 2 * hits + bit(i);
                } else if (stride == 2) {
#pragma GCC unroll 8
                    for (int i = kStep - 2; i >= 0; i -= 2) hits = 4 * hits + bit(i);
                } else {
                    for (int i = 0; i < kStep; i += stride) hits |= bit(i) << i;
                }
                for (; hits; hits &= hits - 1) {
                    const int i = __builtin_ctz(hits);
                    if (at + i + Bases > total) break;
                    found(table, window >> (2 * i) & kMask, at + i + Bases);
                }
            }
            check_stop();
        }
    }

    void found(const SearchTable& table, uint64_t word, int64_t end) {
        if (!is_marked(table, word)) return;
        seeds_of(table, word, [&](const SearchSeed& seed) {
            if (table.segments[seed.segment].rows <= 32) narrow_.put(seed.segment, end - seed.rows, *this);
            else wide_.put(seed.segment, end - seed.rows, *this);
        });
    }

    // What the table has found, to be compared with segments: one in each lane of two vectors.
    struct Check {
        uint32_t segment;
        int64_t first, last;  // where the segment begins, about
    };
    template <class Bits> struct Checks {
        static constexpr int kVectors = 2, kLanes = Vec<Bits>::lanes, kAll = kVectors * kLanes;
        static constexpr int64_t kNear = 8;  // bases; words of one place are found side by side
        Check held[kAll];
        int count = 0;

        void put(uint32_t segment, int64_t begin, SearchScan& scan) {
            int& slot = scan.slots_[segment];
            if (slot < count && held[slot].segment == segment && begin >= held[slot].last - kNear &&
                begin <= held[slot].first + kNear) {
                held[slot].first = std::min(held[slot].first, begin);
                held[slot].last = std::max(held[slot].last, begin);
                return;
            }
            slot = count;
            held[count++] = {segment, begin, begin};
            if (count == kAll) scan.compare_segments(*this);
        }
    };

    // Computes the edit distances of all held segments at once, and keeps the windows where one is within its limit.
    template <class Bits> void compare_segments(Checks<Bits>& checks) {
        using Word = Vec<Bits>;
        using Score = Vec<std::make_signed_t<Bits>>;
        constexpr int kVectors = Checks<Bits>::kVectors, kLanes = Word::lanes, kAll = Checks<Bits>::kAll;
        constexpr int kBits = 8 * int(sizeof(Bits)), kBases = kBits / 2;
        const int64_t total = text_.offsets[text_.sequences];
        Bits eq[4][kAll] = {}, windows[kAll] = {};
        std::make_signed_t<Bits> rows[kAll] = {}, limits[kAll] = {};
        int64_t first[kAll] = {}, columns = 0;
        for (int l = 0; l < checks.count; l++) {
            const Check& check = checks.held[l];
            const SearchSegment& segment = tables_.segments()[check.segment];
            for (int base = 0; base < 4; base++) eq[base][l] = Bits(segment.eq[base] >> (64 - kBits));
            rows[l] = segment.rows, limits[l] = segment.limit;
            first[l] = std::max<int64_t>(0, check.first - segment.limit);
            columns = std::max(columns, std::min(total, check.last + segment.rows + segment.limit) - first[l]);
        }
        for (int l = checks.count; l < kAll; l++) limits[l] = -1;
        // the rows of a base by its two bits: a ^ (low & c) ^ (high & g) ^ (low & high & t)
        Word a[kVectors], c[kVectors], g[kVectors], t[kVectors];
        Score score[kVectors], limit[kVectors], near[kVectors];
        SearchColumn<Word> column[kVectors];
        for (int v = 0; v < kVectors; v++) {
            const auto of = [&](int base) { return Word::load(&eq[base][v * kLanes]); };
            a[v] = of(0), c[v] = of(0) ^ of(1), g[v] = of(0) ^ of(2), t[v] = of(0) ^ of(1) ^ of(2) ^ of(3);
            score[v] = Score::load(&rows[v * kLanes]), limit[v] = Score::load(&limits[v * kLanes]);
            near[v] = Score(0);
            column[v].start();
        }
        for (int64_t at = 0; at < columns; at += kBases) {
            for (int l = 0; l < checks.count; l++)
                windows[l] = Bits(packed_window(text_.packed.words, uint64_t(std::min(total, first[l] + at))));
            Word window[kVectors];
            for (int v = 0; v < kVectors; v++) window[v] = Word::load(&windows[v * kLanes]);
            const int n = int(std::min<int64_t>(kBases, columns - at));
            for (int j = 0; j < n; j++)
                for (int v = 0; v < kVectors; v++) {
                    const Word low = Word(0) - (window[v] & Word(1)), high = Word(0) - (window[v] >> 1 & Word(1));
                    Word up, down;
                    column[v].step(a[v] ^ (low & c[v]) ^ (high & (g[v] ^ (low & t[v]))), up, down);
                    window[v] = window[v] >> 2;
                    score[v] = score[v] - (up.template as<std::make_signed_t<Bits>>() >> (kBits - 1)) +
                               (down.template as<std::make_signed_t<Bits>>() >> (kBits - 1));
                    near[v] = near[v] | (limit[v] > score[v] - Score(1));
                }
        }
        for (int l = 0; l < checks.count; l++) {
            const Check& check = checks.held[l];
            const SearchSegment& segment = tables_.segments()[check.segment];
            if (!near[l / kLanes][l % kLanes]) continue;
            for (int64_t begin = check.first; begin < check.last; begin += 1 + patterns_.strand(segment.strand).limit)
                add(segment, begin - segment.above);
            add(segment, check.last - segment.above);
        }
        checks.count = 0;
    }

    void add(const SearchSegment& segment, int64_t begin) {
        if (!out_.empty() && out_.back().strand == segment.strand && out_.back().begin == begin) return;
        if (climb_.reaches(segment, begin)) out_.push_back({segment.strand, begin});
    }

    // Calls each(sequence, its first position, symbols, count) for parts of all sequences.
    template <class Each> void in_parts(Each&& each) {
        std::vector<uint8_t> codes(static_cast<size_t>(kColumns));
        for (size_t s = 0; s < text_.sequences; s++)
            for (int64_t at = text_.offsets[s]; at < text_.offsets[s + 1]; at += kColumns) {
                const int64_t stop = std::min(text_.offsets[s + 1], at + kColumns);
                text_.codes(at, stop, codes.data());
                each(s, at, codes.data(), stop - at);
                check_stop();
            }
    }

    void in_blocks(int strand) {
        const SearchPattern& pattern = patterns_.strand(strand);
        blocks_.load(patterns_, pattern, 0, pattern.rows());
        std::vector<uint8_t> codes;
        for (size_t s = 0; s < text_.sequences; s++)  // of a part, symbols before it that matter are repeated
            for (int64_t at = text_.offsets[s]; at < text_.offsets[s + 1]; at += kColumns) {
                const int64_t first = std::max(text_.offsets[s], at - pattern.rows() - pattern.limit);
                const int64_t stop = std::min(text_.offsets[s + 1], at + kColumns);
                codes.resize(size_t(stop - first));
                text_.codes(first, stop, codes.data());
                blocks_.run(codes.data(), stop - first, pattern.limit, [&](int64_t column, int) {
                    out_.push_back({strand, first + column + 1 - pattern.rows()});
                    return true;
                });
                check_stop();
            }
    }

    // A pattern a lane, two vectors side by side, as a column's operations depend on each other.
    template <class Bits> void in_lanes(const std::vector<int>& strands) {
        constexpr int kVectors = 2, kLanes = kVectors * Vec<Bits>::lanes;
        for (size_t first = 0; first < strands.size(); first += kLanes)
            compare<Bits, kVectors>(strands.data() + first, int(std::min<size_t>(kLanes, strands.size() - first)));
    }

    template <class Bits, int Vectors> void compare(const int* strands, int count) {
        using Word = Vec<Bits>;
        using Signed = std::make_signed_t<Bits>;
        using Score = Vec<Signed>;
        constexpr int kBits = 8 * int(sizeof(Bits)), kLanes = Word::lanes;
        const int codes = patterns_.codes();
        std::vector<Word> eq(size_t(codes) * Vectors, Word(0));
        Score rows[Vectors], above[Vectors];  // the first value beyond the limit
        for (int v = 0; v < Vectors; v++) rows[v] = Score(1), above[v] = Score(0);
        for (int l = 0; l < count; l++) {
            const SearchPattern& pattern = patterns_.strand(strands[l]);
            const int v = l / kLanes, lane = l % kLanes;
            rows[v].set(lane, Signed(pattern.rows()));
            above[v].set(lane, Signed(pattern.limit + 1));
            for (int code = 0; code < codes; code++) {
                Bits bits = 0;
                for (int i = 0; i < pattern.rows(); i++)
                    if (patterns_.matches(pattern.symbols[size_t(i)], uint8_t(code)))
                        bits |= Bits(1) << (kBits - pattern.rows() + i);
                eq[size_t(code) * Vectors + v].set(lane, bits);
            }
        }
        SearchColumn<Word> column[Vectors];
        Score score[Vectors];
        for (int v = 0; v < Vectors; v++) column[v].start(), score[v] = rows[v];
        size_t sequence = 0;
        in_parts([&](size_t s, int64_t at, const uint8_t* symbols, int64_t n) {
            if (s != sequence)
                for (int v = 0; v < Vectors; v++) column[v].start(), score[v] = rows[v];
            sequence = s;
            const auto advance = [&](int64_t j, Score* near) {
                for (int v = 0; v < Vectors; v++) {
                    Word up, down;
                    column[v].step(eq[size_t(symbols[j]) * Vectors + v], up, down);
                    // a difference of 1 is the highest bit, and -1 when that is shifted as a sign
                    score[v] = score[v] - (up.template as<Signed>() >> (kBits - 1)) +
                               (down.template as<Signed>() >> (kBits - 1));
                    near[v] = above[v] > score[v];
                }
            };
            constexpr int64_t kAtOnce = 16;  // columns, of which it is known whether any has a hit
            for (int64_t j = 0; j < n; j += kAtOnce) {
                const int64_t stop = std::min(n, j + kAtOnce);
                SearchColumn<Word> begun[Vectors];
                Score began[Vectors], all(0), near[Vectors];
                for (int v = 0; v < Vectors; v++) begun[v] = column[v], began[v] = score[v];
                for (int64_t i = j; i < stop; i++) {
                    advance(i, near);
                    for (int v = 0; v < Vectors; v++) all = all | near[v];
                }
                if (!any(all)) continue;
                for (int v = 0; v < Vectors; v++) column[v] = begun[v], score[v] = began[v];
                for (int64_t i = j; i < stop; i++) {
                    advance(i, near);
                    for (int v = 0; v < Vectors; v++) {
                        if (!any(near[v])) continue;
                        for (int l = v * kLanes; l < std::min(count, (v + 1) * kLanes); l++)
                            if (near[v][l % kLanes])
                                out_.push_back({strands[l], at + i + 1 - patterns_.strand(strands[l]).rows()});
                    }
                }
            }
        });
    }

    const SearchPatterns& patterns_;
    const SearchTables& tables_;
    const SearchText& text_;
    std::vector<SearchPlace>& out_;
    const size_t most_;
    SearchClimb climb_;
    SearchBlocks blocks_;
    StopAsked stop_;
    Checks<uint32_t> narrow_;
    Checks<uint64_t> wide_;
    std::vector<int> slots_;  // of each segment, where it is among the checks, if it is
};

}  // namespace gpualign
