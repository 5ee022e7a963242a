// Conversion of the cytosines of a batch of bisulfite reads, and reads that were not converted.
#include <algorithm>
#include <vector>

#include "arrays.hpp"
#include "records/methylation.hpp"
#include "bindings.hpp"
#include "seeds/index/reference_arrays.hpp"
#include "text/read_arrays.hpp"
#include "text/record_arrays.hpp"
#include "text/record_text.hpp"

namespace gpualign {
namespace {

constexpr size_t kContexts = 3;

// Cytosines of a context, methylated ones first; -1 for other calls. A table, as calls are unpredictable.
struct Places {
    int8_t of[128];
    constexpr Places() : of{} {
        for (int8_t& place : of) place = -1;
        for (int8_t place = 0; place < 6; place++) of[size_t("ZzXxHh"[place])] = place;
    }
};
constexpr Places places;

// Calls visit(query, reference) for each base of the read that is aligned to `cytosine`, numbered as in AlignedText.
template <class Visit>
void over_cytosines(const RecordText& text, char cytosine, std::vector<uint32_t>& at, Visit&& visit) {
    int64_t query = 0, reference = 0;
    text.operations(false, kCigarS, [&](uint32_t op, uint32_t n) {
        if (op == kCigarM) {
            at.resize(std::max(at.size(), size_t(n)));
            uint32_t found = 0;  // without branches, as bases are unpredictable
            for (uint32_t i = 0; i < n; i++) {
                at[found] = i;
                found += text.bases().reference(reference + i) == cytosine;
            }
            for (uint32_t f = 0; f < found; f++) visit(query + at[f], reference + at[f]);
        }
        if (!skips_reference(op)) query += n;
        if (op == kCigarM || skips_reference(op)) reference += n;
    });
}

auto count_conversions(const ReferenceArrays& reference, const Arrays& reads, const Arrays& alignments, int min_mapq,
    int min_quality, bool rrbs, int32_t max_unconverted) {
    const ReadArrays read_arrays(reads);
    const RecordArrays record_arrays(alignments);
    const ReferenceView view = reference.view();
    const ReadsView of_reads = read_arrays.view();
    const RecordsView records = record_arrays.view();
    const size_t n = read_arrays.reads();
    if (record_arrays.reads() != n) throw nb::value_error("the arrays of reads and alignments differ in length");
    std::vector<int64_t> positions, contigs(view.contigs * 2 * kContexts);
    std::vector<uint16_t> flags(records.flag, records.flag + records.record_offsets[n]);
    int64_t longest = 0, failed = 0;
    {
        nb::gil_scoped_release release;
        for (size_t i = 0; i < n; i++) longest = std::max(longest, of_reads.length(i));
        positions.resize(2 * size_t(longest) * 2 * kContexts);
        RecordText text(UnpackedBases(view), records);
        std::vector<uint32_t> at_cytosines;
        std::vector<uint8_t> unconverted(n);
        for (size_t i = 0; i < n; i++) {
            const uint64_t r = records.primary(i);
            if (!records.mapped(r)) continue;
            const int64_t length = of_reads.length(i);
            const bool reverse = records.reverse(r), g_to_a = reverse != bool(records.flag[r] & kFlagGToA);
            text.load(r, of_reads.bases_of(i), length);
            int64_t from = text.clipped_front(), to = length - text.clipped_back();
            if (rrbs) {
                const int64_t span = records.end(r) - records.position[r];
                const auto met = [&](int64_t at) { return text.bases().context(at); };
                const auto [begin, end] = without_filled_in(g_to_a, 0, span, met);
                from += begin;
                to -= span - end;
            }
            const bool second = of_reads.mates && of_reads.mates[i] == kSecondMate;
            const bool counts = records.mapq[r] >= min_mapq;
            int32_t left = 0;
            over_cytosines(text, g_to_a ? 'G' : 'C', at_cytosines, [&](int64_t query, int64_t reference) {
                const auto met = [&](int64_t at) { return text.bases().context(reference + at); };
                const int8_t place = places.of[size_t(methylation_call(g_to_a, text.bases().read(query), met))];
                if (place < 0 || query < from || query >= to) return;
                left += place == 2 || place == 4;
                const int64_t base = reverse ? length - 1 - query : query;
                if (!counts || (of_reads.qualities && of_reads.quality(i)[base] - 33 < min_quality)) return;
                positions[(size_t(base) * 2 + size_t(second)) * 2 * kContexts + size_t(place)]++;
                contigs[size_t(records.contig[r]) * 2 * kContexts + size_t(place)]++;
            });
            unconverted[i] = max_unconverted >= 0 && left > max_unconverted;
        }
        for (size_t i = 0; i < n; i++) {
            const uint64_t mate = of_reads.mate_of(i);
            if (!unconverted[i] && (mate == ReadsView::kNone || mate >= n || !unconverted[mate])) continue;
            failed++;
            for (uint64_t r = records.primary(i); r < records.primary(i + 1); r++) flags[r] |= kFlagQcFail;
        }
    }
    return tuple_of(to_numpy(std::move(flags)), to_numpy(std::move(positions)), to_numpy(std::move(contigs)), failed);
}

}  // namespace

void bind_conversions(nb::module_& m) {
    m.def("count_conversions", &count_conversions, nb::arg("reference"), nb::arg("reads"), nb::arg("alignments"),
        nb::arg("min_mapq"), nb::arg("min_quality"), nb::arg("rrbs"), nb::arg("max_unconverted"),
        "(flags, by position, by contig, failed): counts of methylated and converted bases of CpG, CHG and CHH in "
        "primary records, six for R1 and six for R2 at each position up to the longest read, and six for each contig; "
        "the records' flags, with 0x200 where a read of the template has more than max_unconverted methylated bases of "
        "CHG and CHH (-1: none is flagged), and the number of such reads.");
}

}  // namespace gpualign
