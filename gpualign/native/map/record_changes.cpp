// Changes of records that bwa's users ask for: a minimum score (-T), and the 5'-most alignment of a split read as
// primary (-5).
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
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
        if (begin == end) return 0;
        const uint32_t at = records_.reverse(r) ? end[-1] : *begin;
        return (at & 15) == kCigarS ? at >> 4 : 0;
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

// Quality that an edit less than in the other direction is worth.
constexpr int32_t kQualityOfEdit = 15;

// Of two mappings of the same reads, for each template the one with the higher score, the first of equal ones. Its
// qualities are no higher than the difference allows.
auto better_templates(
    const Arrays& first, const Arrays& second, const std::optional<Input<uint8_t>>& mates, int32_t edit_cost) {
    const RecordArrays both[2] = {RecordArrays(first), RecordArrays(second)};
    const size_t n = both[0].reads();
    if (both[1].reads() != n || (mates && mates->size() != n)) throw nb::value_error("the same reads");
    RecordsBuilder out;
    {
        nb::gil_scoped_release release;
        out.reserve(n);
        const RecordsView views[2] = {both[0].view(), both[1].view()};
        for (size_t from = 0, to; from < n; from = to) {
            to = from + 1;
            if (mates && mates->data()[from] == kFirstMate && to < n && mates->data()[to] == kSecondMate) to++;
            int32_t score[2] = {0, 0};
            for (int way = 0; way < 2; way++)
                for (size_t i = from; i < to; i++) {
                    const size_t primary = views[way].primary(i);
                    if (views[way].mapped(primary)) score[way] += views[way].score[primary];
                }
            const RecordsView& better = views[score[1] > score[0]];
            const int32_t more = std::abs(score[0] - score[1]);
            const auto quality = uint8_t(std::min(60, kQualityOfEdit * more / std::max(1, edit_cost)));
            for (size_t i = from; i < to; i++) {
                for (size_t r = better.primary(i); r < better.primary(i + 1); r++)
                    out.add(better, r, better.flag[r], std::min(better.mapq[r], quality));
                out.end_read();
            }
        }
    }
    return out.arrays();
}

}  // namespace

void bind_record_changes(nb::module_& m) {
    m.def("change_records", &change_records, nb::arg("alignments"), nb::arg("mates").none(), nb::arg("min_score"),
        nb::arg("five_prime"),
        "The fields of records.Alignments: reads whose primary score is below min_score are unmapped, other records "
        "below it are left "
        "out; with five_prime, of a split read's alignments the one that begins first in the read is primary; flags of "
        "pairs are set "
        "anew.");
    m.def("better_templates", &better_templates, nb::arg("first"), nb::arg("second"), nb::arg("mates").none(),
        nb::arg("edit_cost"),
        "For each template the better of two mappings, as the fields of records.Alignments; edit_cost: what a mismatch "
        "takes off a score.");
}

}  // namespace gpualign
