// Bindings of the CPU side of `pairwise`: a list of pairs is sorted into groups of equal word size and, where it pays,
// of one query, and each group is aligned in the lanes of a vector.
#include <numeric>

#include "arrays.hpp"
#include "bindings.hpp"
#include "stop.hpp"
#include "align/score/engines.hpp"
#include "align/score/local_scores.hpp"

namespace gpualign {
namespace nw {
namespace {

struct Results {
    bool traced;
    std::vector<int32_t> score, spans, counts;
    std::vector<std::vector<uint32_t>> cigars;

    Results(size_t n, bool traced_) : traced(traced_), score(n) {
        if (!traced) return;
        spans.resize(4 * n);
        counts.resize(4 * n);
        cigars.resize(n);
    }

    void take(size_t at, Pair& pair, const Matching& matching) {
        score[at] = pair.score;
        if (!traced) return;
        int32_t* span = &spans[4 * at];
        span[0] = pair.start_i, span[1] = pair.end_i, span[2] = pair.start_j, span[3] = pair.end_j;
        int32_t matches = 0, columns = 0, opens = 0, gaps = 0;
        int64_t i = pair.start_i, j = pair.start_j;
        for (const uint32_t run : pair.cigar) {
            const int32_t length = int32_t(run >> 4), operation = int32_t(run & 15);
            if (operation == op_match) {
                for (int32_t k = 0; k < length; k++) matches += matching(pair.query[i + k], pair.target[j + k]);
                columns += length;
            } else {
                opens++;
                gaps += length;
            }
            i += operation == op_delete ? 0 : length;
            j += operation == op_insert ? 0 : length;
        }
        int32_t* count = &counts[4 * at];
        count[0] = matches, count[1] = columns - matches, count[2] = opens, count[3] = gaps;
        cigars[at] = std::move(pair.cigar);
    }
};

class Aligner {
public:
    Aligner(const Scheme& scheme, const Sequences& queries, const Sequences& targets, const Matching& matching,
        bool traced, int64_t table_bytes, int pair_threads)
        : scheme_(scheme), matching_(matching), queries_(queries), targets_(targets), traced_(traced),
          table_bytes_(table_bytes), pair_threads_(pair_threads) {}

    void run(const int32_t* query, const int32_t* target, const int32_t* band_low, const int32_t* band_high, size_t n,
        Results& results) {
        query_ = query, target_ = target, band_low_ = band_low, band_high_ = band_high;
        std::vector<uint32_t> lists[widths], local;
        for (size_t p = 0; p < n; p++) {
            Pair pair = load(p);
            if (pair.n == 0 || pair.m == 0) {
                align_empty(scheme_, pair);
                results.take(p, pair, matching_);
                continue;
            }
            if (!traced_ && scheme_.local) local.push_back(uint32_t(p));
            else lists[width_of(scheme_, pair, traced_, table_bytes_)].push_back(uint32_t(p));
        }
        sort_by_query(local);
        local = run_local(local_words_, run_local(local_bytes_, std::move(local), results), results);
        for (const uint32_t p : local) lists[width_of(scheme_, load(p), traced_, table_bytes_)].push_back(p);
        for (const Width width : {middle, wide, single}) align_long(width, lists[width], results);
        for (int width = 0; width < widths; width++) run_list(Width(width), lists[width], results);
    }

private:
    Pair load(size_t p) const {
        Pair pair{};
        pair.query = queries_.begin(query_[p]);
        pair.target = targets_.begin(target_[p]);
        pair.n = queries_.length(query_[p]);
        pair.m = targets_.length(target_[p]);
        pair.band_low = band_low_ ? band_low_[p] : -pair.n;
        pair.band_high = band_high_ ? band_high_[p] : pair.m;
        return pair;
    }

    // Takes long pairs out of a list: each fills all lanes by itself, which is worth it where they are few, and more so
    // where their values need wide lanes.
    void align_long(Width width, std::vector<uint32_t>& list, Results& results) {
        if (width == middle && int(list.size()) * 4 > lanes_of(width)) return;
        if (width == wide && traced_ && int(list.size()) * 2 > lanes_of(width)) return;
        const auto aligned = [&](uint32_t p) {
            Pair pair = load(p);
            const bool done = align_with_all_lanes(scheme_, pair, traced_, table_bytes_, pair_threads_);
            if (done) results.take(p, pair, matching_);
            return done;
        };
        list.erase(std::remove_if(list.begin(), list.end(), aligned), list.end());
    }

    // Groups of one query in lanes that saturate, of a list in the order of the queries; returns what does not fit
    // them, or is too little of a query.
    template <class T>
    std::vector<uint32_t> run_local(LocalScores<T>& scores, std::vector<uint32_t> list, Results& results) {
        constexpr size_t lanes = size_t(LocalScores<T>::lanes);
        if (!scores.suits(scheme_)) return list;
        std::vector<uint32_t> left;
        for (size_t begin = 0, end; begin < list.size(); begin = end) {
            for (end = begin; end < list.size() && query_[list[end]] == query_[list[begin]]; end++) {
            }
            size_t at = begin;
            for (; at < end && (end - at) * 4 >= lanes; at = std::min(at + lanes, end)) {
                Pair pairs[lanes];
                const int count = int(std::min(lanes, end - at));
                for (int l = 0; l < count; l++) pairs[l] = load(list[at + l]);
                scores.run(scheme_, pairs, count);
                for (int l = 0; l < count; l++) {
                    if (pairs[l].score < 0) left.push_back(list[at + l]);
                    else results.take(list[at + l], pairs[l], matching_);
                }
            }
            left.insert(left.end(), list.begin() + long(at), list.begin() + long(end));
        }
        return left;
    }

    // By query, those of one by the target's length.
    void sort_by_query(std::vector<uint32_t>& list) const {
        std::sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
            const auto key = [&](uint32_t p) { return std::make_tuple(query_[p], targets_.length(target_[p]), p); };
            return key(a) < key(b);
        });
    }

    // Full groups of one query first; what is left over shares lanes with other queries.
    void run_list(Width width, std::vector<uint32_t>& list, Results& results) {
        const size_t lanes = size_t(lanes_of(width));
        sort_by_query(list);
        std::vector<uint32_t> rest;
        for (size_t begin = 0, end; begin < list.size(); begin = end) {
            for (end = begin; end < list.size() && query_[list[end]] == query_[list[begin]]; end++) {
            }
            size_t at = begin;
            for (; at < end && (end - at) * 2 >= lanes; at = std::min(at + lanes, end))
                run_group(width, &list[at], int(std::min(lanes, end - at)), true, results);
            rest.insert(rest.end(), list.begin() + long(at), list.begin() + long(end));
        }
        std::sort(rest.begin(), rest.end(), [&](uint32_t a, uint32_t b) {
            const auto key = [&](uint32_t p) {
                return std::make_tuple(queries_.length(query_[p]), targets_.length(target_[p]), p);
            };
            return key(a) < key(b);
        });
        // a group computes the diagonals of all its bands: of pairs of about the same lengths those with similar bands
        // go together
        for (size_t at = 0; band_high_ && at < rest.size(); at += 32 * lanes)
            std::sort(rest.begin() + long(at), rest.begin() + long(std::min(at + 32 * lanes, rest.size())),
                [&](uint32_t a, uint32_t b) {
                    return std::make_pair(band_high_[a], a) < std::make_pair(band_high_[b], b);
                });
        for (size_t at = 0; at < rest.size(); at += lanes)
            run_group(width, &rest[at], int(std::min(lanes, rest.size() - at)), false, results);
    }

    void run_group(Width width, const uint32_t* group, int count, bool shared, Results& results) {
        Pair pairs[Vec<int8_t>::lanes];
        for (int l = 0; l < count; l++) pairs[l] = load(group[l]);
        engines_.run(width, scheme_, pairs, count, shared, traced_, table_bytes_);
        for (int l = 0; l < count; l++) results.take(group[l], pairs[l], matching_);
    }

    const Scheme& scheme_;
    const Matching matching_;
    const Sequences &queries_, &targets_;
    bool traced_;
    int64_t table_bytes_;
    int pair_threads_;
    const int32_t *query_ = nullptr, *target_ = nullptr, *band_low_ = nullptr, *band_high_ = nullptr;
    Engines engines_;
    LocalScores<int8_t> local_bytes_;
    LocalScores<int16_t> local_words_;
};

auto align_pairs(Input<uint8_t> query_codes, Input<int64_t> query_offsets, Input<uint8_t> target_codes,
    Input<int64_t> target_offsets, Input<int32_t> query, Input<int32_t> target, Input<int32_t> band_low,
    Input<int32_t> band_high, Input<int32_t> scores, int symbols, int identical, uint64_t bases, bool match_mismatch,
    int open, int extend, bool local, int free_ends, Input<int32_t> end_gaps, bool traced, int64_t table_bytes,
    int pair_threads) {
    const Sequences queries{query_codes.data(), query_offsets.data(), int64_t(query_offsets.size()) - 1};
    const Sequences targets{target_codes.data(), target_offsets.data(), int64_t(target_offsets.size()) - 1};
    const size_t n = query.size();
    const bool banded = band_low.size() == n && n > 0;
    if (target.size() != n || end_gaps.size() != 8 || int(scores.size()) != symbols * symbols || symbols > 99 ||
        (bases && symbols > 16))
        throw nb::value_error("arrays of unequal length");
    for (size_t p = 0; p < n; p++) {
        if (query.data()[p] < 0 || query.data()[p] >= queries.count || target.data()[p] < 0 ||
            target.data()[p] >= targets.count)
            throw nb::value_error("a pair names no sequence");
    }
    Scheme scheme = scheme_of(scores.data(), symbols, open, extend, local, free_ends, end_gaps.data(), match_mismatch);
    if (bases) scheme.find_unambiguous(identical);
    Results results(n, traced);
    std::vector<uint32_t> cigar;
    std::vector<int64_t> cigar_offsets{0};
    try {
        nb::gil_scoped_release release;
        Aligner aligner(scheme, queries, targets, {bases, identical, 0}, traced, table_bytes, pair_threads);
        aligner.run(query.data(), target.data(), banded ? band_low.data() : nullptr,
            banded ? band_high.data() : nullptr, n, results);
        for (const std::vector<uint32_t>& one : results.cigars) {
            cigar.insert(cigar.end(), one.begin(), one.end());
            cigar_offsets.push_back(int64_t(cigar.size()));
        }
    } catch (const Stopped&) {
        if (PyErr_Occurred()) throw nb::python_error();
        throw;
    }
    return tuple_of(to_numpy(std::move(results.score)), to_numpy(std::move(results.spans)),
        to_numpy(std::move(results.counts)), to_numpy(std::move(cigar)), to_numpy(std::move(cigar_offsets)));
}

}  // namespace
}  // namespace nw

void bind_pairwise(nb::module_& m) {
    m.def("align_pairs", &nw::align_pairs, nb::arg("query_codes"), nb::arg("query_offsets"), nb::arg("target_codes"),
        nb::arg("target_offsets"), nb::arg("query"), nb::arg("target"), nb::kw_only(), nb::arg("band_low"),
        nb::arg("band_high"), nb::arg("scores"), nb::arg("symbols"), nb::arg("identical"), nb::arg("bases") = 0,
        nb::arg("match_mismatch"), nb::arg("open"), nb::arg("extend"), nb::arg("local"), nb::arg("free_ends"),
        nb::arg("end_gaps"), nb::arg("traced"), nb::arg("table_bytes"), nb::arg("pair_threads") = 1,
        "Align pairs of sequences: (score (p,), spans (4p,), counts (4p,), cigar, cigar_offsets (p + 1,)). Free ends "
        "are bits, end gaps (open, extend) of query start and end, target start and end: (8,), no more than of other "
        "gaps, 0 where free or local. Spans are query start and end, target start and end, half-open; counts are "
        "matches, mismatches, gaps, gap symbols; a cigar is BAM words from the start. Without `traced` all but the "
        "scores are empty. One long pair may have `pair_threads`. identical, bases: of Matching "
        "(cuda/algo/align/matching.hpp). Raises what a signal's handler raises while one is aligned, in the main "
        "thread.");
    m.def(
        "stop_all_work", [] { all_work_is_to_stop = true; },
        "Alignments of long pairs, in whatever thread, raise soon.");
}

}  // namespace gpualign
