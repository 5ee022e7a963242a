// What differs in alignments that are given as MUMmer's deltas, a base at a time.
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "common/parallel_for.hpp"

namespace gpualign {
namespace {

// Bits of A, C, G and T that an IUPAC code stands for; 0: it is none.
struct CodeSets {
    uint8_t of[256] = {};
    uint8_t complement[256] = {};
    constexpr CodeSets() {
        const char symbols[] = "ACGTURYSWKMBDHVN", others[] = "TGCAAYRSWMKVHDBN";
        const uint8_t sets[] = {1, 2, 4, 8, 8, 5, 10, 6, 9, 12, 3, 14, 13, 11, 7, 15};
        for (int c = 0; c < 256; c++) complement[c] = uint8_t(c);
        for (int i = 0; i < 16; i++) {
            of[uint8_t(symbols[i])] = sets[i];
            complement[uint8_t(symbols[i])] = uint8_t(others[i]);
        }
    }
};
constexpr CodeSets kCodes;

struct Differences {
    std::vector<int32_t> alignment;
    std::vector<int64_t> reference, query;
    std::vector<uint8_t> reference_base, query_base;

    void add(int32_t number, int64_t a, int64_t b, uint8_t base_a, uint8_t base_b) {
        alignment.push_back(number);
        reference.push_back(a);
        query.push_back(b);
        reference_base.push_back(base_a);
        query_base.push_back(base_b);
    }
    void append(const Differences& other) {
        const auto join = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
        join(alignment, other.alignment);
        join(reference, other.reference);
        join(query, other.query);
        join(reference_base, other.reference_base);
        join(query_base, other.query_base);
    }
};

// Alignments of sequences, checked: every base that they name is there.
struct AlignedSequences {
    Input<uint8_t> reference;
    Input<int64_t> contig_offsets;
    Input<uint8_t> query;
    Input<int64_t> query_offsets;
    Input<int32_t> contig, record;
    Input<uint8_t> reverse;
    Input<int64_t> spans, deltas, delta_offsets;

    size_t size() const { return contig.size(); }

    void check() const {
        const size_t n = size();
        if (record.size() != n || reverse.size() != n || spans.size() != 4 * n || delta_offsets.size() != n + 1 ||
            size_t(delta_offsets.data()[n]) > deltas.size())
            throw nb::value_error("arrays of unequal length");
        for (size_t i = 0; i < n; i++) {
            const int64_t* span = spans.data() + 4 * i;
            if (size_t(contig.data()[i]) + 1 >= contig_offsets.size() ||
                size_t(record.data()[i]) + 1 >= query_offsets.size())
                throw nb::index_error("an alignment of no sequence");
            const int64_t* a = contig_offsets.data() + contig.data()[i];
            const int64_t* b = query_offsets.data() + record.data()[i];
            int64_t rows = span[1] - span[0], columns = span[3] - span[2];
            if (span[0] < 0 || rows < 0 || span[1] > a[1] - a[0] || span[2] < 0 || columns < 0 || span[3] > b[1] - b[0])
                throw nb::index_error("an alignment outside its sequences");
            for (int64_t d = delta_offsets.data()[i]; d < delta_offsets.data()[i + 1]; d++) {
                const int64_t delta = deltas.data()[d], pairs = std::abs(delta) - 1;
                rows -= pairs + (delta > 0);
                columns -= pairs + (delta < 0);
                if (delta == 0 || rows < 0 || columns < 0) throw nb::index_error("a delta leaves its alignment");
            }
            if (rows != columns) throw nb::index_error("the deltas do not end with their alignment");
        }
    }

    // Goes through alignment i: pair(a, b, base, base) for each pair of bases, gap(a, b, of_reference, base) for each
    // base alone; a and b are positions from 0, b on the strand that is aligned.
    template <class Pair, class Gap> void walk(size_t i, Pair&& pair, Gap&& gap) const {
        const int64_t* span = spans.data() + 4 * i;
        const int64_t length = query_length(i);
        const bool backwards = reverse.data()[i];
        const uint8_t* const rows = reference.data() + contig_offsets.data()[contig.data()[i]];
        const uint8_t* const columns = query.data() + query_offsets.data()[record.data()[i]];
        const auto base = [&](int64_t b) {
            return backwards ? kCodes.complement[columns[length - 1 - b]] : columns[b];
        };
        int64_t a = span[0], b = backwards ? length - span[3] : span[2];
        const auto pairs = [&](int64_t until) {
            for (; a < until; a++, b++) pair(a, b, rows[a], base(b));
        };
        for (int64_t d = delta_offsets.data()[i]; d < delta_offsets.data()[i + 1]; d++) {
            const int64_t delta = deltas.data()[d];
            pairs(a + std::abs(delta) - 1);
            gap(a, b, delta > 0, delta > 0 ? rows[a] : base(b));
            (delta > 0 ? a : b)++;
        }
        pairs(span[1]);
    }
    int64_t query_length(size_t i) const {
        const int64_t* b = query_offsets.data() + record.data()[i];
        return b[1] - b[0];
    }
};

// Positions count from 1 on the forward strands; that of a missing base is the base before it on the strand that is
// aligned. Codes that have a base in common do not differ.
void compare(const AlignedSequences& sequences, size_t i, Differences& found) {
    const int64_t length = sequences.query_length(i);
    const bool reverse = sequences.reverse.data()[i];
    const auto position = [&](int64_t b) { return reverse ? length - b : b + 1; };
    sequences.walk(
        i,
        [&](int64_t a, int64_t b, uint8_t one, uint8_t other) {
            if (one != other && !(kCodes.of[one] & kCodes.of[other]))
                found.add(int32_t(i), a + 1, position(b), one, other);
        },
        [&](int64_t a, int64_t b, bool of_reference, uint8_t base) {
            if (of_reference) found.add(int32_t(i), a + 1, reverse ? length - b : b, base, '.');
            else found.add(int32_t(i), a, position(b), '.', base);
        });
}

// BAM words of one path, of = X I D; only A, C, G and T are equal.
void path_of(const AlignedSequences& sequences, size_t i, std::vector<uint32_t>& path) {
    constexpr uint32_t insertion = 1, deletion = 2, equal = 7, different = 8, longest = (1u << 28) - 1;
    const auto push = [&](uint32_t operation) {
        if (path.empty() || (path.back() & 15) != operation || path.back() >> 4 == longest) path.push_back(operation);
        path.back() += 16;
    };
    sequences.walk(
        i,
        [&](int64_t, int64_t, uint8_t one, uint8_t other) {
            const uint8_t set = kCodes.of[one];
            push(one == other && (set & (set - 1)) == 0 ? equal : different);
        },
        [&](int64_t, int64_t, bool of_reference, uint8_t) { push(of_reference ? deletion : insertion); });
}

auto alignment_differences(const AlignedSequences& sequences, int threads) {
    Differences all;
    {
        nb::gil_scoped_release release;
        std::vector<Differences> parts(sequences.size());
        parallel_for(threads, parts.size(), [&](size_t i, int) { compare(sequences, i, parts[i]); });
        for (const Differences& part : parts) all.append(part);
    }
    return tuple_of(to_numpy(std::move(all.alignment)), to_numpy(std::move(all.reference)),
        to_numpy(std::move(all.query)), to_numpy(std::move(all.reference_base)), to_numpy(std::move(all.query_base)));
}

auto alignment_paths(const AlignedSequences& sequences, int threads) {
    std::vector<uint32_t> all;
    std::vector<int64_t> offsets{0};
    {
        nb::gil_scoped_release release;
        std::vector<std::vector<uint32_t>> parts(sequences.size());
        parallel_for(threads, parts.size(), [&](size_t i, int) { path_of(sequences, i, parts[i]); });
        for (const std::vector<uint32_t>& part : parts) {
            all.insert(all.end(), part.begin(), part.end());
            offsets.push_back(int64_t(all.size()));
        }
    }
    return tuple_of(to_numpy(std::move(all)), to_numpy(std::move(offsets)));
}

}  // namespace

void bind_differences(nb::module_& m) {
    nb::class_<AlignedSequences>(m, "AlignedSequences", "Alignments as deltas, with their sequences.")
        .def(
            "__init__",
            [](AlignedSequences* self, Input<uint8_t> reference, Input<int64_t> contig_offsets, Input<uint8_t> query,
                Input<int64_t> query_offsets, Input<int32_t> contig, Input<int32_t> record, Input<uint8_t> reverse,
                Input<int64_t> spans, Input<int64_t> deltas, Input<int64_t> delta_offsets) {
                const AlignedSequences sequences{reference, contig_offsets, query, query_offsets, contig, record,
                    reverse, spans, deltas, delta_offsets};
                sequences.check();
                new (self) AlignedSequences(sequences);
            },
            nb::arg("reference"), nb::arg("contig_offsets"), nb::arg("query"), nb::arg("query_offsets"), nb::kw_only(),
            nb::arg("contig"), nb::arg("record"), nb::arg("reverse"), nb::arg("spans"), nb::arg("deltas"),
            nb::arg("delta_offsets"),
            "Spans: start and end in the contig and in the record, half-open, forward. IndexError: an alignment that "
            "does not fit its sequences.")
        .def("differences", &alignment_differences, nb::arg("threads"),
            "(alignment, reference position, query position, reference base, query base) of each base that differs. "
            "Positions count from 1; '.' is a missing base, whose position is that of the base before it. The query's "
            "base is on the strand that is aligned.")
        .def("paths", &alignment_paths, nb::arg("threads"), "(BAM words of = X I D, offsets (n + 1)).");
}

}  // namespace gpualign
