// Bindings of `distances` on the CPU: queries against all targets, a group of queries in the lanes of a vector.
#include <stdexcept>

#include "algo/distances/reach.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "distances/band_rows.hpp"
#include "distances/edit_rows.hpp"
#include "distances/lcs_rows.hpp"
#include "distances/long_pair.hpp"
#include "distances/results.hpp"

namespace gpualign {
namespace distances {
namespace {

constexpr int kIndel = 3;             // a mode besides those of VerifyMode: insertions and deletions alone
constexpr int64_t kLong = 4096;       // symbols of queries that have all lanes for themselves
constexpr int64_t kTargetsAtOnce = 2048;  // whose values stay in the cache until they are put away

// What is asked of each pair.
struct Question {
    int mode;
    const int32_t* limits;  // by the length of the longer sequence; null: none
    size_t known_limits;
    bool half;  // of a set with itself: a pair once is enough

    int64_t limit(int64_t length) const { return limits ? limits[std::min<int64_t>(length, int64_t(known_limits) - 1)] : INT64_MAX; }
};

template <class Symbol>
class Rows {
public:
    using Set = SymbolSet<Symbol>;

    Rows(const Set& queries, const Set& targets, const Question& question)
        : queries_(queries), targets_(targets), question_(question), symbols_(symbols(queries, targets)),
          edit_(symbols_, VerifyMode(question.mode == kIndel ? 0 : question.mode)), band_(symbols_), lcs_(symbols_), alone_(symbols_) {}

    // Queries order[first, last) against targets target_order[...]; put(lane, query, block) gets all values of each.
    template <class Start, class Put>
    void run(const int32_t* order, int64_t first, int64_t last, const int32_t* target_order, Start&& start, Put&& put) {
        const int64_t targets = targets_.count;
        for (int64_t at = first; at < last; at += kLanes) {
            const int count = int(std::min<int64_t>(kLanes, last - at));
            const Way way = take(order + at, count);
            start(order + at, count);
            // both are in the order of lengths, so that of a set with itself the pairs before have been met
            for (int64_t begin = question_.half ? at : 0; begin < targets; begin += kTargetsAtOnce) {
                const int64_t these = std::min(kTargetsAtOnce, targets - begin);
                values_.resize(size_t(these) * kLanes);
                compute(way, order + at, count, target_order + begin, these);
                const Block block{values_.data(), kLanes, target_order + begin, these};
                for (int l = 0; l < count; l++) {
                    // of a group with itself the lanes before this one have done so
                    const int64_t done = question_.half && begin == at ? l : 0;
                    put(l, order[at + l], Block{block.values + done * kLanes, kLanes, block.targets + done, these - done});
                }
            }
        }
    }

private:
    enum Way { edit, band, lcs, alone };

    static size_t symbols(const Set& queries, const Set& targets) {
        if (sizeof(Symbol) == 1) return 256;
        Symbol maximum = 0;
        for (const Set* set : {&queries, &targets})
            for (int64_t i = 0; i < set->total(); i++) maximum = std::max(maximum, set->symbols[i]);
        if (maximum > 0x10FFFF) throw std::invalid_argument("symbols are numbers up to 0x10FFFF");
        return size_t(maximum) + 1;
    }

    Way take(const int32_t* members, int count) {
        if (question_.mode == kIndel) {
            lcs_.take(queries_, members, count);
            return lcs;
        }
        int64_t longest = 0;
        for (int l = 0; l < count; l++) longest = std::max(longest, queries_.length(members[l]));
        if (question_.limits && question_.mode == int(VerifyMode::global)) {
            // a target within the limit is not much longer
            int64_t maximum = question_.limit(longest);
            for (int64_t length = longest + 1; BandRows<Symbol>::suits(maximum) &&
                length - longest <= question_.limit(length); length++) {
                maximum = std::max(maximum, question_.limit(length));
                if (length >= int64_t(question_.known_limits)) break;
            }
            if (BandRows<Symbol>::suits(maximum) && 2 * maximum + 1 < longest) {
                band_.take(queries_, members, count, maximum);
                return band;
            }
        }
        // so few that most lanes would be idle
        if (question_.mode == int(VerifyMode::global) && longest * kLanes >= kLong * count) return alone;
        edit_.take(queries_, members, count);
        return edit;
    }

    void compute(Way way, const int32_t* members, int count, const int32_t* targets, int64_t n) {
        int32_t* out = values_.data();
        if (way == band) {
            band_.run(targets_, targets, n, question_.limits, out);
            return;
        }
        if (way == alone) {
            for (int64_t i = 0; i < n; i++)
                for (int l = 0; l < count; l++) out[i * kLanes + l] = distance_alone(members[l], targets[i]);
            return;
        }
        if (way == edit) edit_.run(targets_, targets, n, out);
        else lcs_.run(targets_, targets, n, out);
        if (way == edit && !question_.limits) return;
        for (int64_t i = 0; i < n; i++) {
            const int64_t m = targets_.length(targets[i]);
            for (int l = 0; l < count; l++) {
                int32_t& value = out[i * kLanes + l];
                const int64_t length = queries_.length(members[l]);
                if (way == lcs) value = int32_t(length + m - 2 * int64_t(value));
                const bool whole = way == lcs || question_.mode == int(VerifyMode::global);
                if (value > question_.limit(whole ? std::max(length, m) : length)) value = kBeyond;
            }
        }
    }

    int32_t distance_alone(int32_t query, int32_t target) {
        const int64_t n = queries_.length(query), m = targets_.length(target);
        const int64_t found = alone_.run(queries_.begin(query), n, targets_.begin(target), m, question_.limit(std::max(n, m)));
        return found < 0 ? kBeyond : int32_t(found);
    }

    const Set &queries_, &targets_;
    const Question& question_;
    size_t symbols_;
    EditRows<Symbol> edit_;
    BandRows<Symbol> band_;
    LcsRows<Symbol> lcs_;
    LongPair<Symbol> alone_;
    std::vector<int32_t> values_;
};

void check_order(const int32_t* order, size_t n, int64_t count) {
    for (size_t i = 0; i < n; i++)
        if (order[i] < 0 || order[i] >= count) throw nb::value_error("there is no such sequence");
}

template <class Symbol>
SymbolSet<Symbol> set_of(const Input<Symbol>& symbols, const Input<int64_t>& offsets) {
    if (offsets.size() == 0 || offsets.data()[0] != 0 || offsets.data()[offsets.size() - 1] != int64_t(symbols.size()))
        throw nb::value_error("offsets do not fit the symbols");
    for (size_t i = 1; i < offsets.size(); i++)
        if (offsets.data()[i] < offsets.data()[i - 1]) throw nb::value_error("offsets must not fall");
    return {symbols.data(), offsets.data(), int64_t(offsets.size()) - 1};
}

using Matrix = nb::ndarray<int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Symbol>
struct Call {
    SymbolSet<Symbol> queries, targets;
    Question question;
    const int32_t *order, *target_order;
    int64_t first, last;

    Call(const Input<Symbol>& q, const Input<int64_t>& q_offsets, const Input<int32_t>& q_order, const Input<Symbol>& t,
         const Input<int64_t>& t_offsets, const Input<int32_t>& t_order, int64_t first_, int64_t last_, int mode,
         bool half, const Input<int32_t>& limits)
        : queries(set_of(q, q_offsets)), targets(set_of(t, t_offsets)),
          question{mode, limits.size() ? limits.data() : nullptr, limits.size(), half},
          order(q_order.data()), target_order(t_order.data()), first(first_), last(last_) {
        if (q_order.size() != size_t(queries.count) || t_order.size() != size_t(targets.count) || first < 0 || first > last ||
            last > queries.count || mode < 0 || mode > kIndel || (half && queries.count != targets.count))
            throw nb::value_error("arrays of unequal length");
        check_order(order, size_t(queries.count), queries.count);
        check_order(target_order, size_t(targets.count), targets.count);
        int64_t longest = 0;
        for (int64_t i = 0; i < queries.count; i++) longest = std::max(longest, queries.length(i));
        for (int64_t i = 0; i < targets.count; i++) longest = std::max(longest, targets.length(i));
        if (question.limits && int64_t(limits.size()) <= longest) throw nb::value_error("a limit for every length");
        if (longest > INT32_MAX / 4) throw nb::value_error("sequences of less than 2^29 symbols");
    }
    template <class Start, class Put>
    void run(Start&& start, Put&& put) {
        nb::gil_scoped_release release;
        Rows<Symbol>(queries, targets, question).run(order, first, last, target_order, start, put);
    }
};

template <class Symbol>
void bind_of(nb::module_& m) {
    const auto named = [&](const char* name, auto function, auto... more) {
        m.def(name, function, nb::arg("queries"), nb::arg("query_offsets"), nb::arg("query_order"), nb::arg("targets"),
              nb::arg("target_offsets"), nb::arg("target_order"), nb::arg("first"), nb::arg("last"), nb::kw_only(),
              nb::arg("mode"), nb::arg("with_itself"), nb::arg("limits"), more...);
    };
    using Symbols = Input<Symbol>;
    using Offsets = Input<int64_t>;
    using Numbers = Input<int32_t>;
    named(
        "dense_distances",
        [](Symbols q, Offsets qo, Numbers qr, Symbols t, Offsets to, Numbers tr, int64_t first, int64_t last, int mode,
           bool with_itself, Numbers limits, Matrix out) {
            const bool half = with_itself && (mode == int(VerifyMode::global) || mode == kIndel);
            Call<Symbol> call(q, qo, qr, t, to, tr, first, last, mode, half, limits);
            if (out.shape(0) != size_t(call.queries.count) || out.shape(1) != size_t(call.targets.count))
                throw nb::value_error("out has another shape");
            const Dense dense{out.data(), call.targets.count, half};
            call.run([](const int32_t*, int) {}, [&](int l, int32_t query, const Block& block) { dense.take(l, query, block); });
        },
        nb::arg("out"));
    named(
        "nearest_distances",
        [](Symbols q, Offsets qo, Numbers qr, Symbols t, Offsets to, Numbers tr, int64_t first, int64_t last, int mode,
           bool with_itself, Numbers limits, Matrix out_targets, Matrix out_values) {
            Call<Symbol> call(q, qo, qr, t, to, tr, first, last, mode, false, limits);
            const size_t maximum = out_targets.shape(1);
            if (out_targets.shape(0) != size_t(call.queries.count) || out_values.shape(0) != out_targets.shape(0) ||
                out_values.shape(1) != maximum)
                throw nb::value_error("out has another shape");
            Best best[kLanes];
            int64_t seen[kLanes];
            call.run(
                [&](const int32_t*, int count) {
                    for (int l = 0; l < count; l++) best[l].start(int64_t(maximum)), seen[l] = 0;
                },
                [&](int l, int32_t query, const Block& block) {
                    best[l].take(l, with_itself ? query : -1, block, false);
                    seen[l] += block.count;
                    if (seen[l] == call.targets.count)
                        best[l].write(out_targets.data() + size_t(query) * maximum, out_values.data() + size_t(query) * maximum,
                                      false);
                });
        },
        nb::arg("out_targets"), nb::arg("out_values"));
    named("distances_within",
          [](Symbols q, Offsets qo, Numbers qr, Symbols t, Offsets to, Numbers tr, int64_t first, int64_t last, int mode,
             bool with_itself, Numbers limits) {
              const bool half = with_itself && (mode == int(VerifyMode::global) || mode == kIndel);
              Call<Symbol> call(q, qo, qr, t, to, tr, first, last, mode, half, limits);
              Pairs pairs;
              call.run([](const int32_t*, int) {},
                       [&](int l, int32_t query, const Block& block) { pairs.take(l, query, block, with_itself, half); });
              return nb::make_tuple(to_numpy(std::move(pairs.query)), to_numpy(std::move(pairs.target)), to_numpy(std::move(pairs.value)));
          });
}

}  // namespace
}  // namespace distances

void bind_distances(nb::module_& m) {
    distances::bind_of<uint8_t>(m);
    distances::bind_of<uint32_t>(m);
    m.attr("DISTANCE_MODES") = [] {
        nb::dict modes;
        modes["infix"] = int(VerifyMode::infix);
        modes["prefix"] = int(VerifyMode::prefix);
        modes["global"] = int(VerifyMode::global);
        modes["indel"] = distances::kIndel;
        return modes;
    }();
    m.attr("REACH_TILE") = nb::make_tuple(reach::kWidth, reach::kOwned);
    m.def(
        "symbols_that_occur",
        [](Input<uint8_t> symbols) {
            std::vector<uint8_t> seen(256, 0);
            const uint8_t* all = symbols.data();
            for (size_t i = 0, n = symbols.size(); i < n; i++) seen[all[i]] = 1;
            return to_numpy(std::move(seen));
        },
        nb::arg("symbols"), "uint8 (256,), 1 for each symbol that there is.");
    m.def(
        "dlpack_array",
        [](nb::ndarray<nb::ro, nb::c_contig> array) {
            nb::list shape;
            for (size_t i = 0; i < array.ndim(); i++) shape.append(array.shape(i));
            const nb::dlpack::dtype type = array.dtype();
            const char* kind = type.code == uint8_t(nb::dlpack::dtype_code::Int) ? "i" : type.code == uint8_t(nb::dlpack::dtype_code::UInt) ? "u" : "f";
            return nb::make_tuple(reinterpret_cast<uintptr_t>(array.data()), shape, kind, int(type.bits));
        },
        nb::arg("array"), "Address, shape, NumPy kind and bits of an array of any device that speaks DLPack.");
}

}  // namespace gpualign
