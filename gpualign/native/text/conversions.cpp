// Conversion of the cytosines of a batch of bisulfite reads, and reads that were not converted.
#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "bam/methylation.hpp"
#include "bindings.hpp"
#include "index/reference_arrays.hpp"
#include "text/read_arrays.hpp"
#include "text/record_arrays.hpp"
#include "text/record_text.hpp"

namespace gpualign {
namespace {

constexpr uint16_t kFlagFailed = 0x200;
constexpr size_t kContexts = 3;

// Cytosines of a context, methylated ones first.
int place_of(char call) {
    switch (call) {
        case 'Z': return 0;
        case 'z': return 1;
        case 'X': return 2;
        case 'x': return 3;
        case 'H': return 4;
        case 'h': return 5;
        default: return -1;
    }
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
        Text calls;
        std::vector<uint8_t> unconverted(n);
        for (size_t i = 0; i < n; i++) {
            const uint64_t r = records.primary(i);
            if (!records.mapped(r)) continue;
            const int64_t length = of_reads.length(i);
            const bool reverse = records.reverse(r), g_to_a = reverse != bool(records.flag[r] & kFlagGToA);
            text.load(r, of_reads.bases_of(i), length);
            calls.clear();
            calls.reserve(size_t(length) + Text::kSpare);
            text.methylation(g_to_a, true, calls);
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
            for (int64_t at = from; at < to; at++) {
                const int place = place_of(calls.data()[at]);
                if (place < 0) continue;
                left += place == 2 || place == 4;
                const int64_t base = reverse ? length - 1 - at : at;
                if (!counts || (of_reads.qualities && of_reads.quality(i)[base] - 33 < min_quality)) continue;
                positions[(size_t(base) * 2 + size_t(second)) * 2 * kContexts + size_t(place)]++;
                contigs[size_t(records.contig[r]) * 2 * kContexts + size_t(place)]++;
            }
            unconverted[i] = max_unconverted >= 0 && left > max_unconverted;
        }
        for (size_t i = 0; i < n; i++) {
            const uint64_t mate = of_reads.mate_of(i);
            if (!unconverted[i] && (mate == ReadsView::kNone || mate >= n || !unconverted[mate])) continue;
            failed++;
            for (uint64_t r = records.primary(i); r < records.primary(i + 1); r++) flags[r] |= kFlagFailed;
        }
    }
    return tuple_of(to_numpy(std::move(flags)), to_numpy(std::move(positions)), to_numpy(std::move(contigs)), failed);
}

}  // namespace

void bind_conversions(nb::module_& m) {
    m.def("count_conversions", &count_conversions, nb::arg("reference"), nb::arg("reads"), nb::arg("alignments"),
        nb::arg("min_mapq"), nb::arg("min_quality"), nb::arg("rrbs"), nb::arg("max_unconverted"),
        "(flags, by position, by contig, failed): counts of methylated and converted bases of CpG, CHG and CHH in "
        "primary records, six for R1 and six for R2 at each position up to the longest read, and six for each "
        "contig; the records' flags, with 0x200 where a read of the template has more than max_unconverted methylated "
        "bases of CHG "
        "and CHH (-1: none is flagged), and the number of such reads.");
}

}  // namespace gpualign
