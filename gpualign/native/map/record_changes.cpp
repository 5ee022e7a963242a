// Changes of records after mapping: those that bwa's users ask for, a minimum score (-T) and the 5'-most alignment of a
// split read as primary (-5); and of bisulfite reads mapped by both conversions, the better alignments.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "algo/map/chain/short_reads.hpp"
#include "text/record_arrays.hpp"

namespace gpualign {
namespace {

constexpr uint16_t kMateFlags = kFlagPaired | kFlagMateUnmapped | kFlagMateReverse | kFlagFirst | kFlagSecond;

class RecordChanges {
public:
    RecordChanges(const RecordsView& records, const uint8_t* mates, int32_t min_score, bool five_prime)
        : records_(records), mates_(mates), min_score_(min_score), five_prime_(five_prime) {}

    void read(size_t i, RecordsBuilder& out) {
        const size_t first = records_.primary(i), last = records_.primary(i + 1);
        const bool mapped = records_.mapped(first) && records_.score[first] >= min_score_;
        const bool proper = mapped && records_.flag[first] & kFlagProper && mate_mapped(i);
        if (!mapped) {
            Alignment unmapped;
            unmapped.flag =
                uint16_t((records_.flag[first] & ~(kMateFlags | kFlagProper | kFlagReverse)) | kFlagUnmapped);
            out.add(unmapped, {});
        } else {
            const size_t primary = five_prime_ ? nearest_five_prime(first, last) : first;
            add(primary, uint16_t((records_.flag[primary] & ~kFlagSupplementary) | (proper ? kFlagProper : 0)), proper,
                out);
            for (size_t r = first; r < last; r++) {
                if (r == primary || records_.score[r] < min_score_) continue;
                add(r, r == first ? uint16_t(records_.flag[r] | kFlagSupplementary) : records_.flag[r], proper, out);
            }
        }
        out.end_read();
    }

private:
    bool mate_mapped(size_t i) const {
        if (!mates_ || mates_[i] == kSingle) return true;
        const size_t mate = records_.primary(mates_[i] == kFirstMate ? i + 1 : i - 1);
        return records_.mapped(mate) && records_.score[mate] >= min_score_;
    }

    // The alignment of a split read that begins first on the read's forward strand.
    size_t nearest_five_prime(size_t first, size_t last) const {
        size_t best = first;
        for (size_t r = first + 1; r < last; r++)
            if (records_.flag[r] & kFlagSupplementary && records_.score[r] >= min_score_ &&
                query_begin(r) < query_begin(best))
                best = r;
        return best;
    }

    uint32_t query_begin(size_t r) const {
        const uint32_t *begin = records_.cigar_begin(r), *end = records_.cigar_end(r);
        return begin == end ? 0 : clipped_bases(records_.reverse(r) ? end[-1] : *begin);
    }

    void add(size_t r, uint16_t flag, bool proper, RecordsBuilder& out) {
        out.add(records_, r, uint16_t(flag & ~(kMateFlags | (proper ? 0 : kFlagProper))), records_.mapq[r]);
    }

    const RecordsView records_;
    const uint8_t* mates_;
    const int32_t min_score_;
    const bool five_prime_;
};

auto change_records(
    const Arrays& alignments, const std::optional<Input<uint8_t>>& mates, int32_t min_score, bool five_prime) {
    const RecordArrays records(alignments);
    const size_t n = records.reads();
    if (mates && mates->size() != n) throw nb::value_error("one mate number per read");
    RecordsBuilder out;
    {
        nb::gil_scoped_release release;
        out.reserve(n);
        RecordChanges changes(records.view(), mates ? mates->data() : nullptr, min_score, five_prime);
        for (size_t i = 0; i < n; i++) changes.read(i, out);
        if (mates) out.set_pair_flags(mates->data());
    }
    return out.arrays();
}

// Calls visit(from, to) for the reads of each template.
template <class Visit> void each_template(const std::optional<Input<uint8_t>>& mates, size_t reads, Visit&& visit) {
    for (size_t from = 0, to; from < reads; from = to) {
        to = from + 1;
        if (mates && mates->data()[from] == kFirstMate && to < reads && mates->data()[to] == kSecondMate) to++;
        visit(from, to);
    }
}

// The conversion of each read that its template's bases suggest: the one whose base, C or G, they lack. Those of a
// directional library where both are as rare.
auto likely_conversions(Input<uint8_t> bases, Input<int64_t> offsets, const std::optional<Input<uint8_t>>& mates) {
    const size_t n = offsets.size() - 1;
    if (mates && mates->size() != n) throw nb::value_error("one mate number per read");
    std::vector<uint8_t> conversions(n);
    {
        nb::gil_scoped_release release;
        const auto is_second = [&](size_t i) { return mates && mates->data()[i] == kSecondMate; };
        each_template(mates, n, [&](size_t from, size_t to) {
            int64_t converted = 0, other = 0;  // bases that a directional library converts, and that the other converts
            for (size_t i = from; i < to; i++) {
                const uint8_t *const begin = bases.data() + offsets.data()[i],
                                     *end = bases.data() + offsets.data()[i + 1];
                const auto c = std::count(begin, end, 'C'), g = std::count(begin, end, 'G');
                converted += is_second(i) ? g : c;
                other += is_second(i) ? c : g;
            }
            for (size_t i = from; i < to; i++)
                conversions[i] =
                    uint8_t(is_second(i) == (converted <= other) ? Conversion::g_to_a : Conversion::c_to_t);
        });
    }
    return to_numpy(std::move(conversions));
}

// 1 for the reads of templates of which each read is aligned end to end, as short reads are; pairs properly.
auto mapped_end_to_end(
    const Arrays& alignments, Input<int64_t> base_offsets, const std::optional<Input<uint8_t>>& mates, bool paired) {
    const RecordArrays arrays(alignments);
    const RecordsView records = arrays.view();
    const size_t n = arrays.reads();
    if (base_offsets.size() != n + 1 || (mates && mates->size() != n)) throw nb::value_error("the same reads");
    std::vector<uint8_t> whole(n);
    {
        nb::gil_scoped_release release;
        const auto is_whole = [&](size_t i, bool proper) {
            const size_t r = records.primary(i);
            if (!records.mapped(r) || base_offsets.data()[i + 1] - base_offsets.data()[i] > kLongestEndToEnd)
                return false;
            return (!proper || records.flag[r] & kFlagProper) && !clipped_bases(*records.cigar_begin(r)) &&
                   !clipped_bases(records.cigar_end(r)[-1]);
        };
        each_template(mates, n, [&](size_t from, size_t to) {
            bool all = true;
            for (size_t i = from; i < to; i++) all = all && is_whole(i, paired && to > from + 1);
            std::fill(whole.begin() + ptrdiff_t(from), whole.begin() + ptrdiff_t(to), uint8_t(all));
        });
    }
    return to_numpy(std::move(whole));
}

// MAPQ for each edit by which one conversion is better than the other.
constexpr int32_t kQualityOfEdit = 15;

// For each template that of two mappings of its reads which has the higher score; of equal ones that of a
// directional library. Its qualities are no higher than the difference allows. The second mapping is in two parts:
// `ends` has the reads of `whole`, `rest` the others; `conversions` are those of the first one.
auto better_templates(const Arrays& first, const Arrays& ends, const Arrays& rest, Input<uint8_t> whole,
    Input<uint8_t> conversions, const std::optional<Input<uint8_t>>& mates, int32_t edit_cost) {
    const RecordArrays arrays[] = {RecordArrays(first), RecordArrays(ends), RecordArrays(rest)};
    const size_t n = arrays[0].reads();
    if (arrays[1].reads() + arrays[2].reads() != n || whole.size() != n || conversions.size() != n ||
        arrays[1].reads() != n - size_t(std::count(whole.data(), whole.data() + n, uint8_t(0))) ||
        (mates && mates->size() != n))
        throw nb::value_error("the same reads");
    RecordsBuilder out;
    {
        nb::gil_scoped_release release;
        out.reserve(n);
        const RecordsView views[] = {arrays[0].view(), arrays[1].view(), arrays[2].view()};
        size_t next[] = {0, 0, 0};
        each_template(mates, n, [&](size_t from, size_t to) {
            const size_t pair[] = {0, whole.data()[from] ? size_t(1) : size_t(2)}, reads = to - from;
            int32_t score[] = {0, 0};
            for (int mapping = 0; mapping < 2; mapping++)
                for (size_t i = next[pair[mapping]]; i < next[pair[mapping]] + reads; i++) {
                    const RecordsView& view = views[pair[mapping]];
                    if (view.mapped(view.primary(i))) score[mapping] += view.score[view.primary(i)];
                }
            const bool directional = Conversion(conversions.data()[from]) == Conversion::c_to_t;
            const size_t better = pair[score[1] > score[0] || (score[1] == score[0] && !directional)];
            const int32_t more = std::abs(score[0] - score[1]);
            const auto quality = uint8_t(std::min(60, kQualityOfEdit * more / std::max(1, edit_cost)));
            const RecordsView& view = views[better];
            for (size_t i = next[better]; i < next[better] + reads; i++) {
                for (size_t r = view.primary(i); r < view.primary(i + 1); r++)
                    out.add(view, r, view.flag[r], std::min(view.mapq[r], quality));
                out.end_read();
            }
            for (const size_t mapping : pair) next[mapping] += reads;
        });
    }
    return out.arrays();
}

}  // namespace

void bind_record_changes(nb::module_& m) {
    m.def("change_records", &change_records, nb::arg("alignments"), nb::arg("mates").none(), nb::arg("min_score"),
        nb::arg("five_prime"),
        "The fields of Alignments: reads whose primary score is below min_score are unmapped, other records below it "
        "are left out; with five_prime, of a split read's alignments the one that begins first in the read is primary; "
        "flags of pairs are set anew.");
    m.def("likely_conversions", &likely_conversions, nb::arg("bases"), nb::arg("base_offsets"), nb::arg("mates").none(),
        "uint8 (n,): the conversion of each bisulfite read that the bases of its template suggest.");
    m.def("mapped_end_to_end", &mapped_end_to_end, nb::arg("alignments"), nb::arg("base_offsets"),
        nb::arg("mates").none(), nb::arg("paired"),
        "uint8 (n,): 1 for short reads aligned end to end, whose mate is so too; paired: mates are a proper pair.");
    m.def("better_templates", &better_templates, nb::arg("first"), nb::arg("ends"), nb::arg("rest"), nb::arg("whole"),
        nb::arg("conversions"), nb::arg("mates").none(), nb::arg("edit_cost"),
        "For each template the better of two mappings, as the fields of Alignments. The second one is given as that of "
        "the reads whose `whole` is not 0, and that of the others; conversions are those of the first; edit_cost: what "
        "a mismatch takes off a score.");
}

}  // namespace gpualign
