// Bounded-gap alignments to tab-separated rows.
#include <cstdio>
#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "text/names.hpp"
#include "text/text.hpp"

namespace gpualign {
namespace {

void append_score(std::string& out, int32_t score, int scale) {
    if (scale == 1) return append_number(out, score);
    char buffer[32];
    out.append(buffer, size_t(std::snprintf(buffer, sizeof buffer, "%.9g", double(score) / scale)));
}

// I12@57: 12 symbols of the pattern, the first of them its 57th; D3@80: 3 symbols of the text, the first its 80th.
void append_gaps(std::string& out, const int32_t* list, int32_t gaps) {
    if (gaps == 0) out += '*';
    for (int32_t q = 0; q < gaps; q++, list += 3) {
        if (q) out += ',';
        out += list[2] > 0 ? 'I' : 'D';
        append_number(out, std::abs(list[2]));
        out += '@';
        append_number(out, (list[2] > 0 ? list[0] : list[1]) + 1);
    }
}

void append_cigar(std::string& out, const int32_t* list, int32_t gaps, int64_t pattern_length) {
    int64_t i = 0;
    if (gaps == 0 && pattern_length == 0) out += '*';
    for (int32_t q = 0; q < gaps; q++, list += 3) {
        if (list[0] > i) append_number(out, list[0] - i), out += 'M';
        append_number(out, std::abs(list[2]));
        out += list[2] > 0 ? 'I' : 'D';
        i = list[0] + (list[2] > 0 ? list[2] : 0);
    }
    if (pattern_length > i) append_number(out, pattern_length - i), out += 'M';
}

nb::bytes gapsmis_rows(Input<uint8_t> pattern_names, Input<int64_t> pattern_name_offsets, Input<uint8_t> text_names,
    Input<int64_t> text_name_offsets, Input<int64_t> pattern_offsets, Input<int64_t> text_offsets,
    Input<int32_t> pattern_ids, Input<int32_t> text_ids, Input<int32_t> score, Input<int32_t> gaps,
    Input<int32_t> start, Input<int32_t> end, Input<int32_t> gap_list, int max_gaps, bool traced, int scale) {
    const size_t n = pattern_ids.size();
    if (text_ids.size() != n || score.size() != n || gaps.size() != n || start.size() != n || end.size() != n ||
        (traced && gap_list.size() != 3 * n * size_t(max_gaps)))
        throw nb::value_error("columns differ in length");
    std::string out;
    {
        nb::gil_scoped_release released;
        const Names patterns{pattern_names.data(), pattern_name_offsets.data()};
        const Names texts{text_names.data(), text_name_offsets.data()};
        out.reserve(n * 64);
        for (size_t k = 0; k < n; k++) {
            const int32_t p = pattern_ids.data()[k], t = text_ids.data()[k], count = gaps.data()[k];
            const int64_t m = pattern_offsets.data()[p + 1] - pattern_offsets.data()[p];
            const int32_t* list = gap_list.data() + 3 * k * size_t(max_gaps);
            const auto field = [&](auto append) {
                out += '\t';
                if (count < 0) out += '*';
                else append();
            };
            out += patterns[p];
            out += '\t';
            out += texts[t];
            field([&] { append_score(out, score.data()[k], scale); });
            field([&] { append_number(out, count); });
            if (traced) field([&] { append_gaps(out, list, count); });
            out += '\t';
            append_number(out, m);
            out += '\t';
            append_number(out, text_offsets.data()[t + 1] - text_offsets.data()[t]);
            if (traced) field([&] { append_number(out, start.data()[k] + 1); });
            field([&] { append_number(out, end.data()[k]); });
            if (traced) field([&] { append_cigar(out, list, count, m); });
            out += '\n';
        }
    }
    return nb::bytes(out.data(), out.size());
}

}  // namespace

void bind_gapsmis_format(nb::module_& m) {
    m.def("gapsmis_rows", &gapsmis_rows, nb::arg("pattern_names"), nb::arg("pattern_name_offsets"),
        nb::arg("text_names"), nb::arg("text_name_offsets"), nb::arg("pattern_offsets"), nb::arg("text_offsets"),
        nb::arg("pattern_ids"), nb::arg("text_ids"), nb::kw_only(), nb::arg("score"), nb::arg("gaps"), nb::arg("start"),
        nb::arg("end"), nb::arg("gap_list"), nb::arg("max_gaps"), nb::arg("traced"), nb::arg("scale"),
        "Rows of `pairwise --max-gaps`; scores are divided by scale. Without traceback the columns gaps, tstart and "
        "cigar are left out.");
}

}  // namespace gpualign
