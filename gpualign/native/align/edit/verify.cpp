// verify on the CPU: distances, ends and starts of (query, window) pairs; and the lines that say so.
#include <nanobind/stl/string.h>
#include <nanobind/stl/map.h>

#include <algorithm>
#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "align/edit/edit_path.hpp"
#include "align/edit/row.hpp"
#include "seeds/index/reference_arrays.hpp"
#include "align/edit/myers_batch.hpp"
#include "text/names.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

struct Pairs {
    Input<int32_t> query;
    Input<uint32_t> begin, end;
    Input<uint8_t> strand;
    Input<int32_t> limit;

    size_t size() const { return query.size(); }

    void check(const ReferenceView& reference, size_t queries) const {
        const size_t n = size();
        if (begin.size() != n || end.size() != n || strand.size() != n || limit.size() != queries)
            throw nb::value_error("the pairs' arrays differ in length");
        for (size_t i = 0; i < n; i++)
            if (query.data()[i] < 0 || size_t(query.data()[i]) >= queries || begin.data()[i] > end.data()[i] ||
                end.data()[i] > reference.bases || end.data()[i] - begin.data()[i] > 0x7FFFFFFEu)
                throw nb::value_error("a pair lies outside its query or reference");
    }
};

struct Outcome {
    std::vector<int32_t> distance, start, end;
};

// Pairs of which one side is empty need no matrix.
bool settle_empty(int64_t length, int64_t columns, VerifyMode mode, int32_t& distance, int32_t& end) {
    if (length > 0 && columns > 0) return false;
    const bool whole = mode == VerifyMode::global;
    distance = int32_t(length == 0 ? (whole ? columns : 0) : length);
    end = int32_t(whole ? columns : 0);
    return true;
}

void verify(const ReferenceView& reference, VerifyProfiles& profiles, const Pairs& pairs, VerifyMode mode, bool starts,
    Outcome& out) {
    const size_t n = pairs.size();
    out.distance.assign(n, -1);
    out.start.assign(n, 0);
    out.end.assign(n, 0);
    std::vector<VerifyTask> tasks;
    std::vector<uint32_t> members;
    std::vector<VerifyBest> results;
    VerifyBatch batch(reference, profiles);
    for (size_t i = 0; i < n; i++) {
        const uint32_t query = uint32_t(pairs.query.data()[i]), begin = pairs.begin.data()[i];
        const uint32_t columns = pairs.end.data()[i] - begin;
        const VerifyTask task{begin, columns, query * 2 + pairs.strand.data()[i], pairs.limit.data()[query]};
        if (settle_empty(profiles.length(task.profile), columns, mode, out.distance[i], out.end[i])) continue;
        tasks.push_back(task);
        members.push_back(uint32_t(i));
    }
    batch.run(tasks, mode, false, results);
    std::vector<VerifyTask> back_tasks;
    std::vector<uint32_t> back_members;
    for (size_t t = 0; t < tasks.size(); t++) {
        const size_t i = members[t];
        out.distance[i] = results[t].distance;
        out.end[i] = results[t].end;
        const bool within = results[t].distance <= tasks[t].limit;
        if (!starts || mode != VerifyMode::infix || !within || results[t].end == 0) continue;
        // the start: the same end, text and pattern reversed (as the other strand is), distance known
        const int64_t maximum = profiles.length(tasks[t].profile) + results[t].distance;
        const uint32_t columns = uint32_t(std::min<int64_t>(results[t].end, maximum));
        const uint32_t end = tasks[t].begin + uint32_t(results[t].end);
        back_tasks.push_back({end - columns, columns, tasks[t].profile ^ 1u, results[t].distance});
        back_members.push_back(uint32_t(i));
    }
    batch.run(back_tasks, VerifyMode::prefix, true, results);
    for (size_t t = 0; t < back_tasks.size(); t++) {
        const size_t i = back_members[t];
        out.start[i] = out.end[i] - results[t].end;
    }
    for (size_t i = 0; i < n; i++) {
        if (out.distance[i] <= pairs.limit.data()[pairs.query.data()[i]]) continue;
        out.distance[i] = -1;
        out.start[i] = out.end[i] = 0;
    }
}

auto verify_pairs(const ReferenceArrays& reference, Input<uint8_t> bases, Input<int64_t> offsets, Input<int32_t> query,
    Input<uint32_t> begin, Input<uint32_t> end, Input<uint8_t> strand, Input<int32_t> limit, int mode, bool starts) {
    const Pairs pairs{query, begin, end, strand, limit};
    const ReferenceView view = reference.view();
    const size_t queries = offsets.size() - 1;
    Outcome out;
    {
        nb::gil_scoped_release release;
        pairs.check(view, queries);
        VerifyProfiles profiles(bases.data(), offsets.data(), queries);
        verify(view, profiles, pairs, VerifyMode(mode), starts, out);
    }
    return tuple_of(to_numpy(std::move(out.distance)), to_numpy(std::move(out.start)), to_numpy(std::move(out.end)));
}

// A bit a base, 1 where it is A, C, G or T: the words from the one numbered `first` on.
void fill_acgt_mask(const ReferenceArrays& reference, uint64_t first, Mutable<uint32_t> words) {
    nb::gil_scoped_release release;
    const ReferenceView view = reference.view();
    std::fill_n(words.data(), words.size(), ~uint32_t(0));
    const uint64_t begin = 32 * first, end = begin + 32 * words.size();
    size_t run = size_t(std::upper_bound(view.run_ends, view.run_ends + view.runs, begin) - view.run_ends);
    for (; run < view.runs && view.run_starts[run] < end; run++) {
        const uint64_t run_end = std::min<uint64_t>(view.run_ends[run], end);
        for (uint64_t i = std::max<uint64_t>(view.run_starts[run], begin); i < run_end;) {
            const uint64_t stop = std::min<uint64_t>((i / 32 + 1) * 32, run_end);
            const uint32_t length = uint32_t(stop - i);
            words.data()[i / 32 - first] &= ~((length == 32 ? ~uint32_t(0) : (uint32_t(1) << length) - 1) << (i % 32));
            i = stop;
        }
    }
}

// Pairs with what was found, whose alignments are wanted.
struct Found {
    const ReferenceArrays& reference;
    Input<uint8_t> bases;
    Input<int64_t> offsets;
    Input<int32_t> query;
    Input<uint32_t> begin;
    Input<uint8_t> strand;
    Input<int32_t> distance, start, end;

    size_t size() const { return query.size(); }
    bool hit(size_t i) const { return distance.data()[i] >= 0; }
    int64_t query_length(size_t i) const {
        return offsets.data()[query.data()[i] + 1] - offsets.data()[query.data()[i]];
    }
    // Where a distance was found, in packed positions.
    uint64_t from(size_t i) const { return uint64_t(begin.data()[i]) + uint64_t(start.data()[i]); }
    uint64_t to(size_t i) const { return uint64_t(begin.data()[i]) + uint64_t(end.data()[i]); }
};

class Cigars {
public:
    explicit Cigars(const Found& found) : found_(found), view_(found.reference.view()) {}

    // The CIGAR of a hit; "*" where both sides are empty.
    void append(std::string& out, size_t i) {
        const int64_t length = found_.query_length(i);
        const uint64_t from = found_.from(i), to = found_.to(i);
        const uint8_t* sequence = found_.bases.data() + found_.offsets.data()[found_.query.data()[i]];
        query_.resize(size_t(length));
        for (int64_t j = 0; j < length; j++)
            query_[size_t(j)] =
                found_.strand.data()[i] ? complement_code(base_code(sequence[length - 1 - j])) : base_code(sequence[j]);
        target_.resize(size_t(to - from));
        view_.codes(from, to, target_.data());
        const int32_t distance = found_.distance.data()[i];
        const bool aligned = path_.align(query_.data(), length, target_.data(), int64_t(to - from), distance, cigar_);
        out += aligned && !cigar_.empty() ? cigar_ : "*";
    }

private:
    const Found& found_;
    ReferenceView view_;
    EditPath path_;
    std::vector<uint8_t> query_, target_;
    std::string cigar_;
};

auto verify_cigars(const ReferenceArrays& reference, Input<uint8_t> bases, Input<int64_t> offsets, Input<int32_t> query,
    Input<uint32_t> begin, Input<uint8_t> strand, Input<int32_t> distance, Input<int32_t> start, Input<int32_t> end) {
    const Found found{reference, bases, offsets, query, begin, strand, distance, start, end};
    std::string text;
    std::vector<int64_t> ends{0};
    {
        nb::gil_scoped_release release;
        Cigars cigars(found);
        for (size_t i = 0; i < found.size(); i++) {
            if (found.hit(i)) cigars.append(text, i);
            ends.push_back(int64_t(text.size()));
        }
    }
    return tuple_of(nb::bytes(text.data(), text.size()), to_numpy(std::move(ends)));
}

Output<uint8_t> verify_lines(const ReferenceArrays& reference, Input<uint8_t> bases, Input<int64_t> offsets,
    Input<int32_t> query, Input<uint32_t> begin, Input<uint8_t> strand, Input<int32_t> distance, Input<int32_t> start,
    Input<int32_t> end, Input<int32_t> target, Input<uint8_t> query_names, Input<int64_t> query_name_offsets,
    Input<uint8_t> target_names, Input<int64_t> target_name_offsets, bool with_cigar) {
    const Found found{reference, bases, offsets, query, begin, strand, distance, start, end};
    const Names queries{query_names.data(), query_name_offsets.data()};
    const Names targets{target_names.data(), target_name_offsets.data()};
    Text out;
    {
        nb::gil_scoped_release release;
        const int64_t* contig_offsets = reference.view().contig_offsets;
        Cigars cigars(found);
        std::string cigar;
        out.reserve(found.size() * 64);
        for (size_t i = 0; i < found.size(); i++) {
            const int32_t t = target.data()[i];
            const auto first = int64_t(found.from(i)), columns = int64_t(found.to(i)) - first;
            put_verify_row(out, VerifyRow{queries[query.data()[i]], targets[t], found.query_length(i),
                                    first - contig_offsets[t], columns, distance.data()[i], strand.data()[i] != 0});
            if (with_cigar) {
                cigar.assign(1, '\t');
                if (found.hit(i)) cigars.append(cigar, i);
                else cigar += '*';
                out.put(cigar);
            }
            out.put('\n');
        }
    }
    return to_numpy(std::move(out));
}

}  // namespace

void bind_verify(nb::module_& m) {
    m.def("verify_modes", [] {
        return std::map<std::string, int>{{"infix", int(VerifyMode::infix)}, {"prefix", int(VerifyMode::prefix)},
            {"global", int(VerifyMode::global)}};
    });
    m.def("fill_acgt_mask", &fill_acgt_mask, nb::arg("reference"), nb::arg("first"), nb::arg("words"),
        "Fill uint32 words, the first of them numbered `first`: bit i % 32 of word i / 32 is set where base i is A, C, "
        "G or T.");
    m.def("verify_pairs", &verify_pairs, nb::arg("reference"), nb::arg("bases"), nb::arg("offsets"), nb::arg("query"),
        nb::arg("begin"), nb::arg("end"), nb::arg("strand"), nb::arg("limit"), nb::arg("mode"),
        nb::arg("starts") = true,
        "(distance, start, end) int32 (n,): errors or -1 beyond the query's limit, and the half-open interval within "
        "the window [begin, end) of the reference. strand: 0 forward, 1 reverse; mode: of verify_modes. Without "
        "`starts` infix starts stay 0, which saves the second pass.");
    m.def("verify_cigars", &verify_cigars, nb::kw_only(), nb::arg("reference"), nb::arg("bases"), nb::arg("offsets"),
        nb::arg("query"), nb::arg("begin"), nb::arg("strand"), nb::arg("distance"), nb::arg("start"), nb::arg("end"),
        "(text, offsets int64 (n + 1,)): the CIGARs of verify's results one after the other, none for a pair beyond "
        "its limit.");
    m.def("verify_lines", &verify_lines, nb::kw_only(), nb::arg("reference"), nb::arg("bases"), nb::arg("offsets"),
        nb::arg("query"), nb::arg("begin"), nb::arg("strand"), nb::arg("distance"), nb::arg("start"), nb::arg("end"),
        nb::arg("target"), nb::arg("query_names"), nb::arg("query_name_offsets"), nb::arg("target_names"),
        nb::arg("target_name_offsets"), nb::arg("cigar"), "The TSV lines of verify's results.");
}

}  // namespace gpualign
