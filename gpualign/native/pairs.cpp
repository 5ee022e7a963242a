// Read pairs: two files into one batch of neighbours, and neighbours of one file into pairs.
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "mapper.hpp"

namespace gpualign {
namespace {

struct Source {
    const uint8_t *names, *bases, *qualities;
    const int64_t *name_offsets, *base_offsets;

    // The template's name: without /1 or /2, or .1 or .2 as some archives write them, at the end.
    std::pair<const uint8_t*, int64_t> name(size_t i, bool with_dots) const {
        const uint8_t* p = names + name_offsets[i];
        int64_t n = name_offsets[i + 1] - name_offsets[i];
        if (n > 2 && (p[n - 1] == '1' || p[n - 1] == '2') && (p[n - 2] == '/' || (with_dots && p[n - 2] == '.'))) n -= 2;
        return {p, n};
    }
    std::string full_name(size_t i) const {
        return std::string(names + name_offsets[i], names + name_offsets[i + 1]);
    }
};

bool same(std::pair<const uint8_t*, int64_t> a, std::pair<const uint8_t*, int64_t> b) {
    return a.second == b.second && std::equal(a.first, a.first + a.second, b.first);
}

// Names of two ends are one template's when they are equal, or equal but for /1 and /2 or .1 and .2.
bool one_template(const Source& a, size_t i, const Source& b, size_t j, bool& dots) {
    dots = false;
    if (same(a.name(i, false), b.name(j, false))) return true;
    dots = same(a.name(i, true), b.name(j, true)) && a.full_name(i) != b.full_name(j);
    return dots;
}

struct Joined {
    std::vector<uint8_t> names, bases, qualities, mates;
    std::vector<int64_t> name_offsets{0}, base_offsets{0};

    void add(const Source& s, size_t i, bool paired, bool dots, Mate mate) {
        const auto name = paired ? s.name(i, dots) : std::make_pair(s.names + s.name_offsets[i], s.name_offsets[i + 1] - s.name_offsets[i]);
        names.insert(names.end(), name.first, name.first + name.second);
        name_offsets.push_back(int64_t(names.size()));
        bases.insert(bases.end(), s.bases + s.base_offsets[i], s.bases + s.base_offsets[i + 1]);
        base_offsets.push_back(int64_t(bases.size()));
        if (s.qualities) qualities.insert(qualities.end(), s.qualities + s.base_offsets[i], s.qualities + s.base_offsets[i + 1]);
        mates.push_back(mate);
    }

    nb::tuple arrays(bool with_qualities) {
        nb::object quality = with_qualities ? nb::cast(to_numpy(std::move(qualities))) : nb::none();
        return nb::make_tuple(to_numpy(std::move(names)), to_numpy(std::move(name_offsets)), to_numpy(std::move(bases)),
                              to_numpy(std::move(base_offsets)), quality, to_numpy(std::move(mates)));
    }
};

Source source_of(const Input<uint8_t>& names, const Input<int64_t>& name_offsets, const Input<uint8_t>& bases,
                 const Input<int64_t>& base_offsets, const std::optional<Input<uint8_t>>& qualities) {
    return {names.data(), bases.data(), qualities ? qualities->data() : nullptr, name_offsets.data(), base_offsets.data()};
}

nb::tuple join_pairs(Input<uint8_t> names1, Input<int64_t> name_offsets1, Input<uint8_t> bases1, Input<int64_t> base_offsets1,
                     std::optional<Input<uint8_t>> qualities1, Input<uint8_t> names2, Input<int64_t> name_offsets2,
                     Input<uint8_t> bases2, Input<int64_t> base_offsets2, std::optional<Input<uint8_t>> qualities2,
                     int64_t from1, int64_t from2, int64_t count, bool check_names) {
    const Source a = source_of(names1, name_offsets1, bases1, base_offsets1, qualities1);
    const Source b = source_of(names2, name_offsets2, bases2, base_offsets2, qualities2);
    if (from1 < 0 || from2 < 0 || count < 0 || size_t(from1 + count) >= base_offsets1.size() || size_t(from2 + count) >= base_offsets2.size())
        throw nb::index_error("more pairs than records");
    const bool with_qualities = a.qualities && b.qualities;
    Joined joined;
    for (int64_t i = 0; i < count; i++) {
        bool dots;
        const size_t x = size_t(from1 + i), y = size_t(from2 + i);
        if (!one_template(a, x, b, y, dots) && check_names)
            throw nb::value_error(("the ends of a pair are named '" + a.full_name(x) + "' and '" + b.full_name(y) +
                                   "' (sort both files alike, or give --no-check-names)").c_str());
        joined.add(a, x, true, dots, kFirstMate);
        joined.add(b, y, true, dots, kSecondMate);
    }
    return joined.arrays(with_qualities);
}

nb::tuple pair_neighbours(Input<uint8_t> names, Input<int64_t> name_offsets, Input<uint8_t> bases, Input<int64_t> base_offsets,
                          std::optional<Input<uint8_t>> qualities) {
    const Source s = source_of(names, name_offsets, bases, base_offsets, qualities);
    const size_t n = base_offsets.size() - 1;
    Joined joined;
    for (size_t i = 0; i < n; i++) {
        bool dots = false;
        const bool paired = i + 1 < n && one_template(s, i, s, i + 1, dots);
        joined.add(s, i, paired, dots, paired ? kFirstMate : kSingle);
        if (paired) joined.add(s, ++i, true, dots, kSecondMate);
    }
    return joined.arrays(qualities.has_value());
}

}  // namespace

void bind_pairs(nb::module_& m) {
    m.def("join_pairs", &join_pairs, nb::arg("names1"), nb::arg("name_offsets1"), nb::arg("bases1"), nb::arg("base_offsets1"),
          nb::arg("qualities1").none(), nb::arg("names2"), nb::arg("name_offsets2"), nb::arg("bases2"), nb::arg("base_offsets2"),
          nb::arg("qualities2").none(), nb::arg("from1"), nb::arg("from2"), nb::arg("count"), nb::arg("check_names"),
          "Records from1.. of one batch and from2.. of another as neighbours: (names, name_offsets, bases, base_offsets, "
          "qualities | None, mates). Raises ValueError where names differ.");
    m.def("pair_neighbours", &pair_neighbours, nb::arg("names"), nb::arg("name_offsets"), nb::arg("bases"), nb::arg("base_offsets"),
          nb::arg("qualities").none(), "The same batch with neighbours of one name made pairs, and what each record is.");
}

}  // namespace gpualign
