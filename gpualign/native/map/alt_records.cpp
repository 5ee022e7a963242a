// Joins the records of a read on the primary assembly with those on ALT contigs, as bwa mem does (README-alt.md in
// bwa's repository): the best locus and its mapping quality are chosen on the primary assembly alone. A better hit on
// an ALT contig is reported as supplementary, any other hit as secondary.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "text/record_arrays.hpp"

namespace gpualign {
namespace {

constexpr uint16_t kKept = kFlagReverse;  // of the flags of an ALT record

// Mapping quality of a hit on an ALT contig, bounded by its lead over the hit on the primary assembly. Heuristic: at
// an error rate of 1.7 % an edit is worth 13 (3 e / (1 - e), as in mapping_quality.hpp); half an edit is worth
// nothing.
uint8_t alt_mapq(uint8_t among_alt, int32_t lead, int32_t edit_cost) {
    if (2 * lead <= edit_cost) return 0;
    return uint8_t(std::min(13 * lead / edit_cost, int32_t(among_alt)));
}

class AltRecords {
public:
    AltRecords(const RecordsView& primary, const RecordsView& alt, int32_t edit_cost, int32_t max_secondary)
        : primary_(primary), alt_(alt), edit_cost_(edit_cost), max_secondary_(max_secondary) {}

    void read(size_t i, RecordsBuilder& out) {
        const size_t p = primary_.primary(i), a = alt_.primary(i);
        if (!primary_.mapped(p) && alt_.mapped(a)) return out.add_read(alt_, i);
        secondary_.clear();
        for (size_t r = p; r < primary_.primary(i + 1); r++) {
            if (primary_.flag[r] & kFlagSecondary) secondary_.push_back({&primary_, r});
            else out.add(primary_, r, primary_.flag[r], primary_.mapq[r]);
        }
        if (alt_.mapped(a)) take_alt(i, primary_.score[p], out);
        std::stable_sort(
            secondary_.begin(), secondary_.end(), [](const Hit& x, const Hit& y) { return x.score() > y.score(); });
        if (secondary_.size() > size_t(max_secondary_)) secondary_.resize(size_t(max_secondary_));
        for (const Hit& hit : secondary_)
            out.add(*hit.records, hit.record, uint16_t((hit.records->flag[hit.record] & kKept) | kFlagSecondary), 0);
        out.end_read();
    }

private:
    struct Hit {
        const RecordsView* records;
        size_t record;
        int32_t score() const { return records->score[record]; }
    };

    void take_alt(size_t i, int32_t primary_score, RecordsBuilder& out) {
        const size_t a = alt_.primary(i);
        const bool reported = alt_.score[a] > primary_score;
        if (reported)
            out.add(alt_, a, uint16_t((alt_.flag[a] & kKept) | kFlagSupplementary),
                alt_mapq(alt_.mapq[a], alt_.score[a] - primary_score, edit_cost_));
        for (size_t r = a; r < alt_.primary(i + 1); r++)
            if (!(r == a && reported) && !(alt_.flag[r] & kFlagSupplementary)) secondary_.push_back({&alt_, r});
    }

    const RecordsView primary_, alt_;
    const int32_t edit_cost_, max_secondary_;
    std::vector<Hit> secondary_;
};

auto join_alt_records(const Arrays& of_primary, const Arrays& of_alt, int32_t edit_cost, int32_t max_secondary) {
    const RecordArrays primary(of_primary), alt(of_alt);
    if (primary.reads() != alt.reads()) throw nb::value_error("the records are not of the same reads");
    RecordsBuilder out;
    {
        nb::gil_scoped_release release;
        out.reserve(primary.reads());
        AltRecords records(primary.view(), alt.view(), edit_cost, max_secondary);
        for (size_t i = 0; i < primary.reads(); i++) records.read(i, out);
    }
    return out.arrays();
}

}  // namespace

void bind_alt_records(nb::module_& m) {
    m.def("join_alt_records", &join_alt_records, nb::arg("primary"), nb::arg("alt"), nb::arg("edit_cost"),
        nb::arg("max_secondary"),
        "The fields of Alignments of reads that were mapped to the primary assembly and to ALT contigs.");
}

}  // namespace gpualign
