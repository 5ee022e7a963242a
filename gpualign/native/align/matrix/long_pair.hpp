// The edit distance of one long pair, with or without a limit, by all lanes of a vector together.
//
// Pairs with very few errors are computed by O(ND) (align/matrix/reached_rows.hpp). Others begin with a narrow band
// (align/matrix/sliding_band.hpp), which gives the cost of some alignment, an upper bound; if the band holds as many
// errors, it is the distance. If the bound fits a wider band of the lanes, that comes next.
//
// Otherwise the query is cut into strips of rows. Within a strip each lane has a tile of W words, the top one in the
// last lane, and is one column behind the lane above it, whose last row it takes: a step of all lanes is one step of
// StripedColumn (algo/align/edit/myers_striped.hpp). Symbols are bit planes: a row matches a column if all planes
// agree.
//
// While the bound is far above what the band holds, the band is doubled; the final pass uses the bound as its limit
// and skips columns of a strip that cannot be on a path within it (algo/align/matrix/strip.hpp).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "algo/align/edit/myers_striped.hpp"
#include "algo/align/matrix/strip.hpp"
#include "align/matrix/long_lanes.hpp"
#include "align/matrix/reached_rows.hpp"
#include "align/matrix/sliding_band.hpp"

namespace gpualign {
namespace distances {

template <class Symbol> class LongPair {
public:
    static constexpr int64_t kNone = -1;  // beyond the limit

    explicit LongPair(size_t symbols) : codes_(symbols) {}

    // Returns the distance, or kNone beyond `limit`. `check` is called regularly and may throw.
    int64_t run(
        const Symbol* query, int64_t n, const Symbol* target, int64_t m, int64_t limit, std::function<void()> check) {
        check_ = std::move(check);
        size_ = {n, m};
        const int64_t apart = n > m ? n - m : m - n;
        if (apart > limit) return kNone;
        if (n == 0 || m == 0) return apart;
        if (const int64_t few = std::min(limit, near_errors()); apart <= few) {
            const int64_t found = ReachedRows<Symbol>(query, n, target, m).run(int32_t(few));
            if (found >= 0 || few == limit) return found;
        }
        load(query, target);
        int64_t bound = std::max(n, m), margin = 64;
        while (4 * margin * margin < bound) margin *= 2;  // random gaps lead about this far from the diagonal
        for (int64_t wanted = std::min(limit, n / kUsualErrors), passes = 0; passes < 2;
            wanted = std::min(limit, bound), passes++) {
            int words = 1;
            while (words < kSlidingWords && held(words) < wanted) words++;
            if (held(words) < wanted) {  // the band is too narrow for a proof, but gives a bound
                if (passes) break;
                for (words = 1; words < kSlidingWords && held(words) < 2 * margin; words++) {
                }
            }
            if (2 * apart > held(words) || std::min(n, m) < 64 * words) break;
            bound = std::min(bound, slide(words));
            if (bound <= held(words)) return bound <= limit ? bound : kNone;
            if (limit <= held(words)) return kNone;
            margin = std::max<int64_t>(margin, (held(words) - apart) / 2);
        }
        return in_strips(query, target, bound, margin, limit);
    }

private:
    static constexpr int64_t kUsualErrors = 20;  // symbols per error that the first band assumes
    static constexpr int kSlidingWords = 4;
    static constexpr int64_t kWorthLast =
        128;  // the final pass uses a bound of up to so many times the band's margin as its limit

    // Errors up to which O(ND) takes less than a fifth of the time of the first band.
    int64_t near_errors() const { return int64_t(std::sqrt(double(std::max(size_.n, size_.m))) / 2); }

    static int64_t held(int words) { return words * 64 * (kLanes - 1) + kLanes - 4; }

    int64_t slide(int words) {
        return with_planes([&](auto planes) {
            constexpr int P = decltype(planes)::value;
            int64_t cost = 0;
            with_words(words, [&](auto w) {
                constexpr int W = std::min(decltype(w)::value, kSlidingWords);
                using Code = std::conditional_t<(P > 8), uint32_t, uint8_t>;
                static_assert(SlidingBand<Code, P, W>::kErrors == W * 64 * (kLanes - 1) + kLanes - 4, "as in held()");
                cost = SlidingBand<Code, P, W>(coded<Code>()).run();
            });
            return cost;
        });
    }

    // Starts from a bound that a band of the given margin gave, or can give.
    int64_t in_strips(const Symbol* query, const Symbol* target, int64_t bound, int64_t margin, int64_t limit) {
        const int64_t n = size_.n, m = size_.m, apart = n > m ? n - m : m - n;
        load_texts();
        const auto wide_pass = [&] {
            return with_planes([&](auto planes) { return band_pass<decltype(planes)::value>(margin); });
        };
        if (bound == std::max(n, m)) bound = std::min(bound, wide_pass());
        while (bound > apart + 2 * margin + 1) {  // otherwise it is proved, as paths out of the band cost more
            if (std::min(bound, limit) <= kWorthLast * margin) break;
            margin *= 2;
            bound = std::min(bound, wide_pass());
        }
        if (bound <= apart + 2 * margin + 1) return bound <= limit ? bound : kNone;
        const int64_t last = std::min(bound, limit);
        if (few_errors(last)) return ReachedRows<Symbol>(query, n, target, m).run(int32_t(last));
        return with_planes([&](auto planes) { return pruned_pass<decltype(planes)::value>(last); });
    }

    // Whether O(ND) is faster than strips, by measured nanoseconds per row and column; the rows grow with half the
    // square of the errors, as paths narrow towards the end.
    bool few_errors(int64_t limit) const {
        constexpr double kRow = 1.5, kColumn = 6;
        const double strip = 64.0 * kLanes, errors = double(limit);
        return limit <= kMaxReached &&
               kRow / 2 * errors * errors < kColumn * double(size_.n) / strip * (0.75 * errors + strip);
    }
    static constexpr int64_t kMaxReached = 1 << 12;  // errors for which the rows stay in the cache

    template <class Pass> int64_t with_planes(Pass&& pass) { return with_constant<2, 3, 5, 8, 21>(planes_, pass); }

    // Encodes the query's symbols from 0 on; all others of the target share one more code.
    void load(const Symbol* query, const Symbol* target) {
        const int64_t n = size_.n, m = size_.m;
        if constexpr (sizeof(Symbol) == 1) {
            query_.resize(size_t(n));
            target_.resize(size_t(m));
            planes_ = 2;
            if (bases(query, n, query_.data()) && bases(target, m, target_.data())) return;
        }
        codes_.clear();
        for (int64_t i = 0; i < n; i++) codes_.add(query[i]);
        const uint32_t other = uint32_t(codes_.count()) - 1;  // no target symbol needs it if the query has them all
        bool foreign = false;
        for (int64_t j = 0; j < m; j++) foreign |= codes_[target[j]] == 0;
        const uint32_t maximum = other - !foreign;
        planes_ = maximum < 4 ? 2 : maximum < 8 ? 3 : maximum < 32 ? 5 : maximum < 256 ? 8 : 21;
        const auto code = [&](auto& query_codes, auto& target_codes) {
            using Code = typename std::remove_reference_t<decltype(query_codes)>::value_type;
            query_codes.resize(size_t(n));
            target_codes.resize(size_t(m));
            for (int64_t i = 0; i < n; i++) query_codes[size_t(i)] = Code(codes_[query[i]] - 1);
            for (int64_t j = 0; j < m; j++) {
                const uint32_t at = codes_[target[j]];
                target_codes[size_t(j)] = Code(at ? at - 1 : other);
            }
        };
        if (planes_ <= 8) code(query_, target_);
        else code(wide_query_, wide_target_);
    }

    // Encodes A, C, G and T by two of their bits; false for any other text.
    static bool bases(const uint8_t* __restrict text, int64_t count, uint8_t* __restrict codes) {
        uint8_t others = 0;
        for (int64_t i = 0; i < count; i++) {
            const uint8_t code = text[i] >> 1 & 3, rest = text[i] & ~6;
            codes[i] = code;
            others |= uint8_t(rest ^ (code == 2 ? 'T' & ~6 : 'A'));
        }
        return !others;
    }

    template <class Code> CodedPair<Code> coded() const {
        if constexpr (sizeof(Code) == 1) return {query_.data(), target_.data(), size_.n, size_.m};
        else return {wide_query_.data(), wide_target_.data(), size_.n, size_.m};
    }
    uint32_t query_code(int64_t i) const { return planes_ <= 8 ? query_[size_t(i)] : wide_query_[size_t(i)]; }
    uint32_t target_code(int64_t j) const { return planes_ <= 8 ? target_[size_t(j)] : wide_target_[size_t(j)]; }

    // The target's planes, with padding for lanes that are behind, and ahead at the end.
    void load_texts() {
        const int64_t m = size_.m;
        texts_.clear();
        for (int p = 0; p < planes_; p++) {
            BytePlane plane(size_t(m) + 2 * kLanes, 0);
            for (int64_t j = 0; j < m; j++) plane[size_t(j + kLanes)] = int8_t(-int(target_code(j) >> p & 1));
            texts_.push_back(std::move(plane));
        }
        ups_.assign(size_t(m) + 2 * kLanes, 1);
        downs_.assign(size_t(m) + 2 * kLanes, 0);
        built_words_ = 0;
    }

    // The query's planes, in strips whose lanes have `words` words each; patterns are aligned to the end of their
    // tiles.
    void build(int words) {
        if (built_words_ == words) return;
        built_words_ = words;
        const int64_t tile = int64_t(words) * 64, strip = tile * kLanes;
        strips_ = (size_.n + strip - 1) / strip;
        pad_ = strips_ * strip - size_.n;
        const size_t each = size_t(planes_ + 1) * size_t(words);
        rows_.assign(size_t(strips_) * each, Word(0));
        uint64_t* all = reinterpret_cast<uint64_t*>(rows_.data());
        int64_t i = -pad_;
        for (int64_t s = 0; s < strips_; s++)
            for (int t = 0; t < kLanes; t++) {
                uint64_t* lane = all + size_t(s) * each * kLanes + size_t(kLanes - 1 - t);
                for (int b = 0; b < 64; b++)
                    for (int w = 0; w < words; w++, i++) {
                        if (i < 0) continue;
                        uint64_t* at = lane + w * kLanes;
                        for (int p = 0; p < planes_; p++, at += words * kLanes)
                            *at |= uint64_t(query_code(i) >> p & 1) << b;
                        *at |= uint64_t(1) << b;
                    }
            }
    }

    int64_t strip_rows() const { return int64_t(built_words_) * 64 * kLanes; }
    int64_t top_of(int64_t strip) const { return std::max<int64_t>(0, strip * strip_rows() - pad_); }

    // Cost of the best alignment on the diagonals -margin to (m - n) + margin (or vice versa).
    template <int Planes> int64_t band_pass(int64_t margin) {
        const int words = margin <= 512 ? 1 : margin <= 2048 ? 2 : 4;
        build(words);
        const int64_t ahead = size_.m - size_.n, low = std::min<int64_t>(0, ahead) - margin,
                      high = std::max<int64_t>(0, ahead) + margin;
        int64_t distance = 0, column = 0,
                reached = size_.m;  // D of the row above in that column; columns that the row has
        std::fill(ups_.begin(), ups_.end(), 1);
        std::fill(downs_.begin(), downs_.end(), 0);
        for (int64_t s = 0; s < strips_; s++) {
            const int64_t top = top_of(s), bottom = (s + 1) * strip_rows() - pad_;
            const int64_t first = std::min(size_.m, std::max<int64_t>(0, top + low)),
                          last = std::min(size_.m, std::max<int64_t>(first, bottom + high));
            forget(reached, last);
            distance += sum(column, first) + (bottom - top);
            column = first;
            run_strip<Planes>(words, s, first, last);
            reached = last;
        }
        return distance + sum(column, size_.m);
    }

    // The distance if it is at most `limit`, else kNone.
    template <int Planes> int64_t pruned_pass(int64_t limit) {
        const int words = limit <= 1024 ? 1 : limit <= 8192 ? 2 : 4;
        build(words);
        std::fill(ups_.begin(), ups_.end(), 1);
        std::fill(downs_.begin(), downs_.end(), 0);
        int64_t reached = size_.m;
        // in row 0 the distance is the column
        const int64_t ahead = size_.m - size_.n, maximum = std::min(size_.m, (limit + ahead) / 2);
        Entries entries{0, maximum, maximum};
        int64_t distance = 0;  // in column entries.first
        for (int64_t s = 0;; s++) {
            const int64_t top = top_of(s), bottom = (s + 1) * strip_rows() - pad_;
            const int64_t first = entries.first, last = last_column(size_, limit, entries, top, bottom);
            forget(reached, last);
            run_strip<Planes>(words, s, first, last);
            reached = last;
            distance += bottom - top;
            if (s == strips_ - 1) {
                const int64_t found = distance + sum(first, last) + (size_.m - last);
                return found <= limit ? found : kNone;
            }
            int64_t at_last = distance + sum(first, last);
            entries = {first, last, 0};
            for (;; entries.first++) {
                if (distance + size_.rest(bottom, entries.first) <= limit) break;
                if (entries.first == last) return kNone;
                distance += change(entries.first);
            }
            while (at_last + size_.rest(bottom, entries.last) > limit) at_last -= change(--entries.last);
            entries.last_distance = at_last;
        }
    }

    // Columns from `reached` on, which the strip above did not compute, take +1 from it.
    void forget(int64_t reached, int64_t last) {
        for (int64_t j = reached; j < last + kLanes; j++) ups_[size_t(j)] = 1, downs_[size_t(j)] = 0;
    }
    int64_t change(int64_t j) const { return int64_t(ups_[size_t(j)]) - int64_t(downs_[size_t(j)]); }
    int64_t sum(int64_t from, int64_t to) const {
        int64_t total = 0;
        for (int64_t j = from; j < to; j++) total += change(j);
        return total;
    }

    template <int Planes> void run_strip(int words, int64_t strip, int64_t first, int64_t last) {
        if (first >= last) return;
        check_();
        with_constant<1, 2, 4>(words, [&](auto w) { run_words<Planes, decltype(w)::value>(strip, first, last); });
    }

    // Columns [first, last): on entry ups_ and downs_ are those of the row above the strip, on return those of its
    // last row.
    template <int Planes, int W> __attribute__((noinline)) void run_words(int64_t strip, int64_t first, int64_t last) {
        const Word* rows = &rows_[size_t(strip) * size_t(planes_ + 1) * W];
        StripedColumn<Word, W> column;
        column.start(rows + Planes * W);
        Word up(0), down(0);
        const int8_t* texts[Planes];
        for (int p = 0; p < Planes; p++)
            texts[p] = texts_[size_t(p)].data() + 1;  // lane l is at column j - kLanes + 1 + l
        const auto step = [&](int64_t j)
                              __attribute__((always_inline)) {  // always inlined, which keeps the column in registers
                                  Word eq[W];
                                  for (int w = 0; w < W; w++) eq[w] = rows[Planes * W + w];
                                  for (int p = 0; p < Planes; p++) {
                                      const Word symbol = load_mask(texts[p] + j);
                                      for (int w = 0; w < W; w++) eq[w] = and_equal(eq[w], rows[p * W + w], symbol);
                                  }
                                  const Word above_up = from_above(up, Word::load(&ups_[size_t(j)])),
                                             above_down = from_above(down, Word::load(&downs_[size_t(j)]));
                                  column.step(eq, above_up, above_down, up, down);
                                  up = up >> 63;
                                  down = down >> 63;
                              };
        int64_t j = first;
        for (; j < first + kLanes - 1; j++) {  // lanes start one after the other
            const StripedColumn<Word, W> before = column;
            step(j);
            Word begun(0);
            for (int l = 0; l < kLanes; l++) begun.set(l, j - (kLanes - 1 - l) >= first ? ~uint64_t(0) : 0);
            for (int w = 0; w < W; w++) {
                column.vp[w] = select(begun, column.vp[w], before.vp[w]);
                column.vn[w] = select(begun, column.vn[w], before.vn[w]);
            }
        }
        for (; j < last + kLanes - 1; j++) {
            step(j);
            // lane 0 has the strip's last row; values of the other lanes are overwritten later
            up.store(&ups_[size_t(j - kLanes + 1)]);
            down.store(&downs_[size_t(j - kLanes + 1)]);
        }
    }

    Codes<Symbol> codes_;
    PairSize size_{0, 0};
    std::function<void()> check_;
    int planes_ = 2, built_words_ = 0;
    int64_t strips_ = 0, pad_ = 0;
    std::vector<uint8_t> query_, target_;  // encoded
    std::vector<uint32_t> wide_query_, wide_target_;
    std::vector<BytePlane> texts_;
    std::vector<Word> rows_;
    std::vector<uint64_t> ups_, downs_;
};

}  // namespace distances
}  // namespace gpualign
