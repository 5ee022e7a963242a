// Bindings of `scores` on the CPU: targets of similar length in the lanes of a vector, against one query after the
// other.
#include <limits>

#include "arrays.hpp"
#include "bindings.hpp"
#include "align/matrix/outputs.hpp"
#include "align/score/engines.hpp"

namespace gpualign {
namespace distances {
namespace {

constexpr int64_t kScoresAtOnce = 1 << 18;  // queries x targets whose scores stay in the cache until they are stored

class ScoreRows {
public:
    ScoreRows(const nw::Scheme& scheme, const nw::Sequences& queries, const nw::Sequences& targets, int32_t minimum,
        const Stopping& stopping)
        : scheme_(scheme), queries_(queries), targets_(targets), least_(minimum), stopping_(stopping) {}

    // Computes the queries order[0, rows) against all targets, both sorted by length; put(row, lane, query, block)
    // receives the scores of each, kBeyond below the minimum.
    void run(const int32_t* order, int64_t rows, const int32_t* target_order, const Put& put) {
        const int64_t all = targets_.count,
                      at_once = std::max<int64_t>(kGroup, kScoresAtOnce / std::max<int64_t>(1, rows) / kGroup * kGroup);
        for (int64_t begin = 0; begin < all; begin += at_once) {
            columns_ = std::min(at_once, all - begin);
            scores_.resize(size_t(rows * columns_));
            for (int64_t at = 0; at < columns_; at += kGroup)
                compute(order, rows, target_order + begin + at, int(std::min<int64_t>(kGroup, columns_ - at)),
                    &scores_[size_t(at)]);
            for (int64_t r = 0; r < rows; r++)
                put(r, 0, order[r], Block{&scores_[size_t(r * columns_)], 1, target_order + begin, columns_});
        }
    }

private:
    static constexpr int kGroup = Vec<int8_t>::lanes;

    // `out`: rows of columns_ scores. Longer queries need wider scores, so they share a vector with fewer targets.
    void compute(const int32_t* order, int64_t rows, const int32_t* targets, int count, int32_t* out) {
        for (int64_t first = 0, last; first < rows; first = last) {
            const nw::Width width = width_of(order[first], targets[count - 1]);
            for (last = first; last < rows && width_of(order[last], targets[count - 1]) == width; last++) {
            }
            const int lanes = nw::lanes_of(width);
            for (int at = 0; at < count; at += lanes) {
                kept_ = 0;
                stopping_.check();
                for (int64_t r = first; r < last; r++)
                    align(width, order[r], targets + at, std::min(lanes, count - at), out + r * columns_ + at);
            }
        }
    }

    nw::Width width_of(int32_t query, int32_t target) const {
        return nw::width_of(scheme_, pair_of(query, target), false, 0);
    }

    nw::Pair pair_of(int32_t query, int32_t target) const {
        nw::Pair pair{};
        pair.query = queries_.begin(query);
        pair.target = targets_.begin(target);
        pair.n = queries_.length(query);
        pair.m = targets_.length(target);
        pair.band_low = -pair.n;
        pair.band_high = pair.m;
        return pair;
    }

    // Aligns one query with `count` targets, which fit the lanes.
    void align(nw::Width width, int32_t query, const int32_t* targets, int count, int32_t* out) {
        const bool alone = width == nw::wide || (width == nw::middle && 4 * count <= nw::lanes_of(width));
        nw::Pair pairs[kGroup];
        int place[kGroup], together = 0;
        for (int l = 0; l < count; l++) {
            nw::Pair pair = pair_of(query, targets[l]);
            const bool empty = pair.n == 0 || pair.m == 0;
            if (empty) nw::align_empty(scheme_, pair);
            if (empty || (alone && nw::align_with_all_lanes(scheme_, pair, false, 0, 1))) {
                out[l] = kept(pair.score);
                continue;
            }
            place[together] = l;
            pairs[together++] = std::move(pair);
        }
        if (!together) return;
        const nw::Profiles profiles = together != kept_ ? nw::Profiles::to_be_kept : nw::Profiles::as_before;
        engines_.run(width, scheme_, pairs, together, true, false, 0, profiles);
        kept_ = together;
        for (int l = 0; l < together; l++) out[place[l]] = kept(pairs[l].score);
    }

    int32_t kept(int32_t score) const { return score >= least_ ? score : kBeyond; }

    const nw::Scheme& scheme_;
    const nw::Sequences &queries_, &targets_;
    int32_t least_;
    const Stopping& stopping_;
    int64_t columns_ = 0;
    int kept_ = 0;  // targets of the same group that the engine has seen last
    nw::Engines engines_;
    std::vector<int32_t> scores_;
};

nw::Sequences sequences_of(const Input<uint8_t>& codes, const Input<int64_t>& offsets) {
    if (offsets.size() == 0 || offsets.data()[offsets.size() - 1] > int64_t(codes.size()))
        throw nb::value_error("offsets do not fit the codes");
    return {codes.data(), offsets.data(), int64_t(offsets.size()) - 1};
}

struct ScoreCall : Stopping {
    static constexpr bool kLargest = true;
    nw::Sequences queries, targets;
    Input<uint8_t> query_codes, target_codes;
    Input<int64_t> query_offsets, target_offsets;
    Input<int32_t> query_order, target_order, scores;
    nw::Scheme scheme;
    int32_t minimum;
    bool with_itself;

    ScoreCall(Input<uint8_t> q, Input<int64_t> q_offsets, Input<int32_t> q_order, Input<uint8_t> t,
        Input<int64_t> t_offsets, Input<int32_t> t_order, Input<int32_t> scores_, int symbols, bool match_mismatch,
        int open, int extend, bool local, int free_ends, const Input<int32_t>& end_gaps, int32_t minimum_,
        bool with_itself_)
        : queries(sequences_of(q, q_offsets)), targets(sequences_of(t, t_offsets)), query_codes(q), target_codes(t),
          query_offsets(q_offsets), target_offsets(t_offsets), query_order(q_order), target_order(t_order),
          scores(scores_), minimum(minimum_), with_itself(with_itself_) {
        check_order(query_order, queries.count);
        check_order(target_order, targets.count);
        if (end_gaps.size() != 8 || symbols > 99 || int(scores.size()) != symbols * symbols)
            throw nb::value_error("arrays of unequal length");
        scheme = nw::scheme_of(scores.data(), symbols, open, extend, local, free_ends, end_gaps.data(), match_mismatch);
    }
    bool symmetric() const { return false; }  // gaps may cost less in one sequence than in the other
    bool skips(int32_t query, int32_t target) const { return with_itself && target <= query; }
    int32_t order(int64_t row) const { return query_order.data()[row]; }

    void run(int64_t first, int64_t last, bool, const Put& put) const {
        ScoreRows(scheme, queries, targets, minimum, *this)
            .run(query_order.data() + first, last - first, target_order.data(), put);
    }
};

}  // namespace
}  // namespace distances

void bind_scores(nb::module_& m) {
    using Codes = Input<uint8_t>;
    using Offsets = Input<int64_t>;
    using Numbers = Input<int32_t>;
    nb::class_<distances::ScoreCall> type(m, "AllScores", "Alignment scores of all pairs of two sets of sequences.");
    type.def(nb::init<Codes, Offsets, Numbers, Codes, Offsets, Numbers, Numbers, int, bool, int, int, bool, int,
                 Numbers, int32_t, bool>(),
        nb::arg("queries"), nb::arg("query_offsets"), nb::arg("query_order"), nb::arg("targets"),
        nb::arg("target_offsets"), nb::arg("target_order"), nb::kw_only(), nb::arg("scores"), nb::arg("symbols"),
        nb::arg("match_mismatch"), nb::arg("open"), nb::arg("extend"), nb::arg("local"), nb::arg("free_ends"),
        nb::arg("end_gaps"), nb::arg("minimum"), nb::arg("with_itself"));
    distances::bind_outputs(type);
}

}  // namespace gpualign
