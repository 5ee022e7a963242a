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

}  // namespace

void bind_record_changes(nb::module_& m) {
    m.def("change_records", &change_records, nb::arg("alignments"), nb::arg("mates").none(), nb::arg("min_score"),
        nb::arg("five_prime"),
        "The fields of records.Alignments: reads whose primary score is below min_score are unmapped, other records "
        "below it are left "
        "out; with five_prime, of a split read's alignments the one that begins first in the read is primary; flags of "
        "pairs are set "
        "anew.");
}

}  // namespace gpualign
