// Bindings of `distances` on the CPU: queries against all targets, a group of queries in the lanes of a vector.
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "algo/align/matrix/reach.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "align/matrix/band_rows.hpp"
#include "align/matrix/edit_rows.hpp"
#include "align/matrix/lcs_rows.hpp"
#include "align/matrix/long_pair.hpp"
#include "align/matrix/outputs.hpp"
#include "align/matrix/text_pair.hpp"

namespace gpualign {
namespace distances {
namespace {

constexpr int kIndel = 3;             // in addition to VerifyMode: insertions and deletions only
constexpr int64_t kLong = 4096;       // symbols of queries that are computed alone with all lanes
constexpr int64_t kTargetsAtOnce = 2048;  // whose values stay in the cache until they are stored

// Parameters of all pairs.
struct Question {
    int mode;
    const int32_t* limits;  // by the length of the longer sequence, or null
    size_t known_limits;
    bool half;  // a set against itself: each pair once

    int64_t limit(int64_t length) const {
        return limits ? limits[std::min<int64_t>(length, int64_t(known_limits) - 1)] : INT64_MAX;
    }
};

template <class Symbol> class Rows {
public:
    using Set = SymbolSet<Symbol>;

    Rows(const Set& queries, const Set& targets, const Question& question, const Stopping& stopping)
        : queries_(queries), targets_(targets), question_(question), symbols_(symbols(queries, targets)),
          edit_(symbols_, VerifyMode(question.mode == kIndel ? 0 : question.mode)), band_(symbols_), lcs_(symbols_),
          alone_(symbols_), stopping_(stopping) {}

    // Computes queries order[first, last) against target_order[...]; put(row, lane, query, block) receives the values
    // of each.
    void run(const int32_t* order, int64_t first, int64_t last, const int32_t* target_order, const Put& put) {
        const int64_t targets = targets_.count;
        for (int64_t at = first; at < last; at += kLanes) {
            const int count = int(std::min<int64_t>(kLanes, last - at));
            const Way way = take(order + at, count);
            // sorted by length; in a set against itself earlier pairs are already done
            for (int64_t begin = question_.half ? at : 0; begin < targets; begin += kTargetsAtOnce) {
                stopping_.check();
                const int64_t these = std::min(kTargetsAtOnce, targets - begin);
                values_.resize(size_t(these) * kLanes);
                compute(way, order + at, count, target_order + begin, these);
                const Block block{values_.data(), kLanes, target_order + begin, these};
                for (int l = 0; l < count; l++) {
                    // in the first block of a set against itself, earlier lanes have done these
                    const int64_t done = question_.half && begin == at ? l : 0;
                    put(at - first + l, l, order[at + l],
                        Block{block.values + done * kLanes, kLanes, block.targets + done, these - done});
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
            for (int64_t length = longest + 1;
                BandRows<Symbol>::suits(maximum) && length - longest <= question_.limit(length); length++) {
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
        const int64_t found = alone_.run(queries_.begin(query), n, targets_.begin(target), m,
            question_.limit(std::max(n, m)), [&] { stopping_.check(); });
        return found < 0 ? kBeyond : int32_t(found);
    }

    const Set &queries_, &targets_;
    const Question& question_;
    size_t symbols_;
    EditRows<Symbol> edit_;
    BandRows<Symbol> band_;
    LcsRows<Symbol> lcs_;
    LongPair<Symbol> alone_;
    const Stopping& stopping_;
    std::vector<int32_t> values_;
};

template <class Symbol> SymbolSet<Symbol> set_of(const Input<Symbol>& symbols, const Input<int64_t>& offsets) {
    if (offsets.size() == 0 || offsets.data()[0] != 0 || offsets.data()[offsets.size() - 1] != int64_t(symbols.size()))
        throw nb::value_error("offsets do not fit the symbols");
    for (size_t i = 1; i < offsets.size(); i++)
        if (offsets.data()[i] < offsets.data()[i - 1]) throw nb::value_error("offsets must not fall");
    return {symbols.data(), offsets.data(), int64_t(offsets.size()) - 1};
}

template <class Symbol> struct DistanceCall : Stopping {
    static constexpr bool kLargest = false;  // lower values are better
    SymbolSet<Symbol> queries, targets;
    Input<Symbol> query_symbols, target_symbols;
    Input<int64_t> query_offsets, target_offsets;
    Input<int32_t> query_order, target_order, limits;
    int mode;
    bool with_itself;

    DistanceCall(Input<Symbol> q, Input<int64_t> q_offsets, Input<int32_t> q_order, Input<Symbol> t,
        Input<int64_t> t_offsets, Input<int32_t> t_order, int mode_, bool with_itself_, Input<int32_t> limits_)
        : queries(set_of(q, q_offsets)), targets(set_of(t, t_offsets)), query_symbols(q), target_symbols(t),
          query_offsets(q_offsets), target_offsets(t_offsets), query_order(q_order), target_order(t_order),
          limits(limits_), mode(mode_), with_itself(with_itself_) {
        check_order(query_order, queries.count);
        check_order(target_order, targets.count);
        if (mode < 0 || mode > kIndel || (with_itself && queries.count != targets.count))
            throw nb::value_error("no such mode, or sets");
        int64_t longest = 0;
        for (int64_t i = 0; i < queries.count; i++) longest = std::max(longest, queries.length(i));
        for (int64_t i = 0; i < targets.count; i++) longest = std::max(longest, targets.length(i));
        if (limits.size() && int64_t(limits.size()) <= longest) throw nb::value_error("a limit for every length");
        if (longest > INT32_MAX / 4) throw nb::value_error("sequences of less than 2^29 symbols");
    }
    bool symmetric() const { return with_itself && (mode == int(VerifyMode::global) || mode == kIndel); }
    bool skips(int32_t query, int32_t target) const { return with_itself && target == query; }
    int32_t order(int64_t row) const { return query_order.data()[row]; }

    void run(int64_t first, int64_t last, bool half, const Put& put) const {
        const Question question{mode, limits.size() ? limits.data() : nullptr, limits.size(), half};
        Rows<Symbol>(queries, targets, question, *this).run(query_order.data(), first, last, target_order.data(), put);
    }
};

template <class Symbol> void bind_of(nb::module_& m, const char* name) {
    nb::class_<DistanceCall<Symbol>> type(m, name, "Distances of all pairs of two sets of sequences.");
    type.def(nb::init<Input<Symbol>, Input<int64_t>, Input<int32_t>, Input<Symbol>, Input<int64_t>, Input<int32_t>, int,
                 bool, Input<int32_t>>(),
        nb::arg("queries"), nb::arg("query_offsets"), nb::arg("query_order"), nb::arg("targets"),
        nb::arg("target_offsets"), nb::arg("target_order"), nb::kw_only(), nb::arg("mode"), nb::arg("with_itself"),
        nb::arg("limits"));
    bind_outputs(type);
}

}  // namespace
}  // namespace distances

void bind_distances(nb::module_& m) {
    distances::bind_of<uint8_t>(m, "ByteDistances");
    distances::bind_of<uint32_t>(m, "WideDistances");
    m.attr("INDEL") = distances::kIndel;
    m.attr("REACH_SPARE_WORDS") = int(reach::kSpareWords);
    m.attr("REACH_KEPT") = int(reach::kKept);
    m.def("text_distance", distances::text_distance, nb::arg("a"), nb::arg("b"), nb::arg("limit"),
        nb::sig("def text_distance(a: str | bytes, b: str | bytes, limit: int) -> int"),
        "The edit distance of two texts, str by code points; -1 beyond the limit. A negative limit is none.");
    m.def("text_similarity", distances::text_similarity, nb::arg("a"), nb::arg("b"), nb::arg("cutoff"),
        nb::sig("def text_similarity(a: str | bytes, b: str | bytes, cutoff: int) -> int"),
        "Length of the longer text less the distance; 0 below the cutoff.");
    m.def("text_share", distances::text_share, nb::arg("a"), nb::arg("b"), nb::arg("cutoff"), nb::arg("similar"),
        nb::sig("def text_share(a: str | bytes, b: str | bytes, cutoff: float, similar: bool) -> float"),
        "The distance as a share of the longer text's length, or 1 less that; 1 or 0 beyond the cutoff.");
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
            std::vector<size_t> shape;
            for (size_t i = 0; i < array.ndim(); i++) shape.push_back(array.shape(i));
            const nb::dlpack::dtype type = array.dtype();
            const char* kind = type.code == uint8_t(nb::dlpack::dtype_code::Int)    ? "i"
                               : type.code == uint8_t(nb::dlpack::dtype_code::UInt) ? "u"
                                                                                    : "f";
            return tuple_of(reinterpret_cast<uintptr_t>(array.data()), shape, kind, int(type.bits));
        },
        nb::arg("array"), nb::sig("def dlpack_array(array: object) -> tuple[int, list[int], str, int]"),
        "Address, shape, NumPy kind and bits of an array of any device that speaks DLPack.");
}

}  // namespace gpualign
