// Bindings of `scores` on the CPU: targets of like length in the lanes of a vector, against one query after the other.
#include <limits>

#include "arrays.hpp"
#include "bindings.hpp"
#include "distances/results.hpp"
#include "pairwise/engines.hpp"

namespace gpualign {
namespace distances {
namespace {

constexpr int64_t kScoresAtOnce = 1 << 18;  // of queries and targets, which stay in the cache until they are put away

class ScoreRows {
public:
    ScoreRows(const nw::Scheme& scheme, const nw::Sequences& queries, const nw::Sequences& targets, int32_t minimum)
        : scheme_(scheme), queries_(queries), targets_(targets), least_(minimum) {}

    // The queries order[0, rows) and all targets, both in the order of their lengths; put(query, block) gets the scores of
    // each, kBeyond where they are less than the least.
    template <class Put>
    void run(const int32_t* order, int64_t rows, const int32_t* target_order, Put&& put) {
        const int64_t all = targets_.count, at_once = std::max<int64_t>(kGroup, kScoresAtOnce / std::max<int64_t>(1, rows) / kGroup * kGroup);
        for (int64_t begin = 0; begin < all; begin += at_once) {
            columns_ = std::min(at_once, all - begin);
            scores_.resize(size_t(rows * columns_));
            for (int64_t at = 0; at < columns_; at += kGroup)
                compute(order, rows, target_order + begin + at, int(std::min<int64_t>(kGroup, columns_ - at)), &scores_[size_t(at)]);
            for (int64_t r = 0; r < rows; r++)
                put(order[r], Block{&scores_[size_t(r * columns_)], 1, target_order + begin, columns_});
        }
    }

private:
    static constexpr int kGroup = Vec<int8_t>::lanes;

    // `out`: rows of columns_ scores each. Longer queries need wider words, and so fewer lanes.
    void compute(const int32_t* order, int64_t rows, const int32_t* targets, int count, int32_t* out) {
        for (int64_t first = 0, last; first < rows; first = last) {
            const nw::Width width = width_of(order[first], targets[count - 1]);
            for (last = first; last < rows && width_of(order[last], targets[count - 1]) == width; last++) {}
            const int lanes = nw::lanes_of(width);
            for (int at = 0; at < count; at += lanes) {
                kept_ = 0;
                for (int64_t r = first; r < last; r++)
                    align(width, order[r], targets + at, std::min(lanes, count - at), out + r * columns_ + at);
            }
        }
    }

    nw::Width width_of(int32_t query, int32_t target) const { return nw::width_of(scheme_, pair_of(query, target), false, 0); }

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

    // One query and `count` targets, which fit the lanes.
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
        const nw::Targets same = together != kept_ ? nw::Targets::to_be_kept : nw::Targets::as_before;
        engines_.run(width, scheme_, pairs, together, true, false, 0, same);
        kept_ = together;
        for (int l = 0; l < together; l++) out[place[l]] = kept(pairs[l].score);
    }

    int32_t kept(int32_t score) const { return score >= least_ ? score : kBeyond; }

    const nw::Scheme& scheme_;
    const nw::Sequences &queries_, &targets_;
    int32_t least_;
    int64_t columns_ = 0;
    int kept_ = 0;  // targets that the engine has seen last, of the same group
    nw::Engines engines_;
    std::vector<int32_t> scores_;
};

nw::Sequences sequences_of(const Input<uint8_t>& codes, const Input<int64_t>& offsets) {
    if (offsets.size() == 0 || offsets.data()[offsets.size() - 1] > int64_t(codes.size())) throw nb::value_error("offsets do not fit the codes");
    return {codes.data(), offsets.data(), int64_t(offsets.size()) - 1};
}

// What a call is given: the sets, which queries, the scheme.
struct ScoreCall {
    nw::Sequences queries, targets;
    nw::Scheme scheme;
    const int32_t *order, *target_order;
    int64_t rows;

    ScoreCall(const Input<uint8_t>& q, const Input<int64_t>& q_offsets, const Input<int32_t>& q_order, const Input<uint8_t>& t,
              const Input<int64_t>& t_offsets, const Input<int32_t>& t_order, int64_t first, int64_t last,
              const Input<int32_t>& scores, int symbols, bool match_mismatch, int open, int extend, bool local, int free_ends,
              const Input<int32_t>& end_gaps)
        : queries(sequences_of(q, q_offsets)), targets(sequences_of(t, t_offsets)), order(q_order.data() + first),
          target_order(t_order.data()), rows(last - first) {
        if (int64_t(q_order.size()) != queries.count || int64_t(t_order.size()) != targets.count || first < 0 || first > last ||
            last > queries.count || end_gaps.size() != 8 || symbols > 99 || int(scores.size()) != symbols * symbols)
            throw nb::value_error("arrays of unequal length");
        check(q_order, queries.count);
        check(t_order, targets.count);
        scheme = nw::scheme_of(scores.data(), symbols, open, extend, local, free_ends, end_gaps.data(), match_mismatch);
    }

    template <class Put>
    void run(int32_t minimum, Put&& put) const {
        try {
            nb::gil_scoped_release release;
            ScoreRows(scheme, queries, targets, minimum).run(order, rows, target_order, put);
        } catch (const Stopped&) {
            if (PyErr_Occurred()) throw nb::python_error();
            throw;
        }
    }

private:
    static void check(const Input<int32_t>& order, int64_t count) {
        for (size_t i = 0; i < order.size(); i++)
            if (order.data()[i] < 0 || order.data()[i] >= count) throw nb::value_error("there is no such sequence");
    }
};

using Matrix = nb::ndarray<int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void dense_scores(const ScoreCall& call, const Matrix& out) {
    if (out.shape(0) != size_t(call.queries.count) || out.shape(1) != size_t(call.targets.count)) throw nb::value_error("out has another shape");
    const Dense dense{out.data(), call.targets.count, false};
    call.run(INT32_MIN, [&](int32_t query, const Block& block) { dense.take(0, query, block); });
}

void nearest_scores(const ScoreCall& call, int32_t minimum, bool with_itself, const Matrix& out_targets,
    const Matrix& out_values) {
    const size_t maximum = out_targets.shape(1);
    if (out_targets.shape(0) != size_t(call.queries.count) || out_values.shape(0) != out_targets.shape(0) ||
        out_values.shape(1) != maximum)
        throw nb::value_error("out has another shape");
    std::vector<Best> best(size_t(call.queries.count));
    std::vector<int64_t> seen(best.size(), 0);
    call.run(minimum, [&](int32_t query, const Block& block) {
        Best& mine = best[size_t(query)];
        int64_t& count = seen[size_t(query)];
        if (count == 0) mine.start(int64_t(maximum));
        mine.take(0, with_itself ? query : -1, block, true);
        count += block.count;
        if (count == call.targets.count) mine.write(out_targets.data() + size_t(query) * maximum,
            out_values.data() + size_t(query) * maximum, true);
    });
}

nb::tuple scores_from(const ScoreCall& call, int32_t minimum, bool with_itself) {
    Pairs pairs;
    call.run(minimum, [&](int32_t query, const Block& block) {
        for (int64_t i = 0; i < block.count; i++) {
            if (block.values[i] == kBeyond || (with_itself && block.targets[i] <= query)) continue;
            pairs.query.push_back(query);
            pairs.target.push_back(block.targets[i]);
            pairs.value.push_back(block.values[i]);
        }
    });
    return nb::make_tuple(to_numpy(std::move(pairs.query)), to_numpy(std::move(pairs.target)), to_numpy(std::move(pairs.value)));
}

}  // namespace

}  // namespace distances

void bind_scores(nb::module_& m) {
    using namespace distances;
    using Codes = Input<uint8_t>;
    using Offsets = Input<int64_t>;
    using Numbers = Input<int32_t>;
    const auto named = [&](const char* name, auto function, auto... more) {
        m.def(name, function, nb::arg("queries"), nb::arg("query_offsets"), nb::arg("query_order"), nb::arg("targets"),
              nb::arg("target_offsets"), nb::arg("target_order"), nb::arg("first"), nb::arg("last"), nb::kw_only(), nb::arg("scores"),
              nb::arg("symbols"), nb::arg("match_mismatch"), nb::arg("open"), nb::arg("extend"), nb::arg("local"), nb::arg("free_ends"),
              nb::arg("end_gaps"), more...);
    };
    named(
        "dense_scores",
        [](Codes q, Offsets qo, Numbers qr, Codes t, Offsets to, Numbers tr, int64_t first, int64_t last, Numbers s, int symbols,
           bool mm, int open, int extend, bool local, int free, Numbers ends, Matrix out) {
            dense_scores(ScoreCall(q, qo, qr, t, to, tr, first, last, s, symbols, mm, open, extend, local, free, ends), out);
        },
        nb::arg("out"));
    named(
        "nearest_scores",
        [](Codes q, Offsets qo, Numbers qr, Codes t, Offsets to, Numbers tr, int64_t first, int64_t last, Numbers s, int symbols,
           bool mm, int open, int extend, bool local, int free, Numbers ends, int32_t minimum, bool with_itself,
               Matrix out_targets,
           Matrix out_values) {
            nearest_scores(ScoreCall(q, qo, qr, t, to, tr, first, last, s, symbols, mm, open, extend, local, free, ends), minimum,
                           with_itself, out_targets, out_values);
        },
        nb::arg("minimum"), nb::arg("with_itself"), nb::arg("out_targets"), nb::arg("out_values"));
    named(
        "scores_from",
        [](Codes q, Offsets qo, Numbers qr, Codes t, Offsets to, Numbers tr, int64_t first, int64_t last, Numbers s, int symbols,
           bool mm, int open, int extend, bool local, int free, Numbers ends, int32_t minimum, bool with_itself) {
            return scores_from(ScoreCall(q, qo, qr, t, to, tr, first, last, s, symbols, mm, open, extend, local, free,
                ends), minimum,
                               with_itself);
        },
        nb::arg("minimum"), nb::arg("with_itself"));
}

}  // namespace gpualign
