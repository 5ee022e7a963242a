// verify on a device: a batch's pairs sorted into launches of one kernel and one shape each.
#include <algorithm>
#include <cstring>

#include "abi/verify.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "seeds/index/reference_arrays.hpp"

namespace gpualign {
namespace {

// What decides whether the band's kernel takes a pair, and with how wide a window (cuda/verify_band.cu).
struct Bands {
    const int32_t* words;  // of the windows there are, ascending
    size_t sizes;
    int64_t columns;  // for which a window stands still
    double share;     // of the pattern's words that a window may have at most

    // Rows of the window that a pair takes (BandPlan::fits), 0 where no window is large enough.
    uint8_t rows(int64_t length, int64_t columns_of_pair, int64_t limit) const {
        const int64_t needed = columns_of_pair - length + 2 * limit + columns;
        const bool fits = limit < length && columns_of_pair >= length && needed <= 32 * words[sizes - 1];
        return fits ? uint8_t(needed) : uint8_t(0);
    }

    // Words of a window that holds so many rows, 0 where it is not worth its profile.
    uint8_t of(uint8_t widest, int64_t length) const {
        if (widest == 0) return 0;
        const int32_t* size = std::find_if(words, words + sizes, [&](int32_t w) { return widest <= 32 * w; });
        return *size <= share * double(length) / 32 ? uint8_t(*size) : uint8_t(0);
    }
};

constexpr size_t kKeys = 1 << 10;  // shape * 16 + band * 2 + runs

struct Sorted {
    std::vector<int64_t> order;
    std::vector<uint32_t> tasks;  // a VerifyTask is four of them
    std::vector<uint8_t> bands;
    std::vector<int32_t> keys;
    std::vector<int64_t> firsts;
};

struct Pairs {
    const int32_t* query;
    const uint32_t *begin, *end;
    const uint8_t* strand;
    const int32_t* limit;   // of each query
    const int32_t* length;  // of each query
    const uint8_t* shape;   // of each query
    size_t n, queries;
};

Sorted sort_tasks(const ReferenceView& reference, const Pairs& pairs, bool infix, const Bands& bands) {
    constexpr uint16_t kNone = 0xFFFF;
    std::vector<uint8_t> rows(pairs.n), widest(pairs.queries, 0);
    std::vector<uint16_t> key(pairs.n);
    for (size_t i = 0; i < pairs.n; i++) {
        const size_t q = size_t(pairs.query[i]);
        const bool runs = reference.runs && reference.has_run(pairs.begin[i], pairs.end[i]);
        const int64_t columns = int64_t(pairs.end[i]) - pairs.begin[i];
        if (infix && !runs) rows[i] = bands.rows(pairs.length[q], columns, pairs.limit[q]);
        widest[q] = std::max(widest[q], rows[i]);
        key[i] = pairs.length[q] > 0 && columns > 0 ? uint16_t(pairs.shape[q] * 16 + runs) : kNone;
    }
    Sorted out;
    out.bands.resize(pairs.queries);
    for (size_t q = 0; q < pairs.queries; q++) out.bands[q] = bands.of(widest[q], pairs.length[q]);
    std::vector<int64_t> next(kKeys + 1, 0);
    for (size_t i = 0; i < pairs.n; i++) {
        if (key[i] == kNone) continue;
        const uint8_t band = out.bands[size_t(pairs.query[i])];
        if (rows[i] > 0 && rows[i] <= 32 * band) key[i] = uint16_t(key[i] + band * 2);
        next[size_t(key[i]) + 1]++;
    }
    for (size_t k = 0; k < kKeys; k++) {
        if (next[k + 1] > 0) {
            out.keys.push_back(int32_t(k));
            out.firsts.push_back(next[k]);
        }
        next[k + 1] += next[k];
    }
    out.firsts.push_back(next[kKeys]);
    out.order.resize(size_t(next[kKeys]));
    out.tasks.resize(4 * out.order.size());
    for (size_t i = 0; i < pairs.n; i++) {
        if (key[i] == kNone) continue;
        const size_t at = size_t(next[key[i]]++), q = size_t(pairs.query[i]);
        out.order[at] = int64_t(i);
        const VerifyTask task{
            pairs.begin[i], pairs.end[i] - pairs.begin[i], uint32_t(q * 2 + pairs.strand[i]), pairs.limit[q]};
        std::memcpy(out.tasks.data() + 4 * at, &task, sizeof task);
    }
    return out;
}

auto sort_verify_tasks(const ReferenceArrays& reference, Input<int32_t> query, Input<uint32_t> begin,
    Input<uint32_t> end, Input<uint8_t> strand, Input<int32_t> limits, Input<int32_t> lengths, Input<uint8_t> shapes,
    bool infix, Input<int32_t> band_words, int band_columns, double band_share) {
    const size_t n = query.size(), queries = lengths.size();
    if (begin.size() != n || end.size() != n || strand.size() != n || limits.size() != queries ||
        shapes.size() != queries)
        throw nb::value_error("the pairs' arrays differ in length");
    if (band_words.size() == 0 || 32 * band_words.data()[band_words.size() - 1] > 255)
        throw nb::value_error("windows have 1 to 7 words");
    for (size_t q = 0; q < queries; q++)
        if (shapes.data()[q] >= kKeys / 16) throw nb::value_error("there are too many shapes");
    const ReferenceView view = reference.view();
    for (size_t i = 0; i < n; i++)
        if (query.data()[i] < 0 || size_t(query.data()[i]) >= queries || begin.data()[i] > end.data()[i])
            throw nb::value_error("a pair lies outside its query or reference");
    Sorted sorted;
    {
        nb::gil_scoped_release release;
        const Pairs pairs{query.data(), begin.data(), end.data(), strand.data(), limits.data(), lengths.data(),
            shapes.data(), n, queries};
        sorted = sort_tasks(view, pairs, infix, {band_words.data(), band_words.size(), band_columns, band_share});
    }
    return tuple_of(to_numpy(std::move(sorted.order)), to_numpy(std::move(sorted.tasks)),
        to_numpy(std::move(sorted.bands)), to_numpy(std::move(sorted.keys)), to_numpy(std::move(sorted.firsts)));
}

}  // namespace

void bind_verify_tasks(nb::module_& m) {
    m.def("sort_verify_tasks", &sort_verify_tasks, nb::arg("reference"), nb::arg("query"), nb::arg("begin"),
        nb::arg("end"), nb::arg("strand"), nb::arg("limits"), nb::arg("lengths"), nb::arg("shapes"), nb::arg("infix"),
        nb::arg("band_words"), nb::arg("band_columns"), nb::arg("band_share"),
        "(order int64 (t,), tasks uint32 (4 t,): begin, columns, query * 2 + strand, limit; bands uint8 (queries,); "
        "keys int32 (g,): shape * 16 + band * 2 + whether the window touches bases other than A, C, G and T; firsts "
        "int64 (g + 1,)): the pairs with two sides, sorted by key and else in their order.");
}

}  // namespace gpualign
