// Candidate lines (TSV, BED6, PAF) to arrays, names looked up.
#include <nanobind/stl/string.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "arrays.hpp"
#include "bindings.hpp"
#include "verify/candidate_text.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

// Names to their numbers. The text is kept by the caller's arrays.
class NameIndex {
public:
    NameIndex(Input<uint8_t> names, Input<int64_t> offsets) : names_(names), offsets_(offsets) {
        const char* text = reinterpret_cast<const char*>(names.data());
        const int64_t* at = offsets.data();
        const size_t n = offsets.size() - 1;
        nb::gil_scoped_release release;
        while (slots_.size() < 2 * n) slots_.resize(2 * slots_.size());
        for (size_t i = 0; i < n; i++) {
            const std::string_view name(text + at[i], size_t(at[i + 1] - at[i]));
            const size_t hash = std::hash<std::string_view>()(name), slot = slot_of(name, hash);
            if (slots_[slot].number >= 0 && repeated_ < 0) repeated_ = int64_t(i);
            if (slots_[slot].number < 0) slots_[slot] = {uint32_t(hash >> 32), int32_t(i)};
        }
    }
    // Number of a name, -1 when there is none.
    int32_t find(std::string_view name) const {
        return slots_[slot_of(name, std::hash<std::string_view>()(name))].number;
    }
    int64_t repeated() const { return repeated_; }  // the first name that was there before; -1: none

private:
    Input<uint8_t> names_;
    Input<int64_t> offsets_;
    struct Entry {
        uint32_t tag = 0;  // upper half of the name's hash
        int32_t number = -1;
    };

    std::string_view name(int32_t i) const {
        const int64_t begin = offsets_.data()[i], end = offsets_.data()[i + 1];
        return {reinterpret_cast<const char*>(names_.data()) + begin, size_t(end - begin)};
    }
    // Where a name is, or the free slot where it would be.
    size_t slot_of(std::string_view wanted, size_t hash) const {
        const size_t mask = slots_.size() - 1;
        size_t slot = hash & mask;
        while (slots_[slot].number >= 0 && (slots_[slot].tag != uint32_t(hash >> 32) || name(slots_[slot].number) != wanted))
            slot = (slot + 1) & mask;
        return slot;
    }

    std::vector<Entry> slots_ = std::vector<Entry>(16);  // a power of two, half of them free
    int64_t repeated_ = -1;
};

nb::tuple candidates_of(TextInput data, const std::string& kind, const NameIndex& queries, const NameIndex& targets) {
    CandidateColumns out;
    const char* begin = begin_of(data);
    const std::string_view text(begin, data.size());
    {
        nb::gil_scoped_release release;
        parse_candidates(text, kind[0], queries, targets, out);
    }
    return nb::make_tuple(to_numpy(std::move(out.query)), to_numpy(std::move(out.target)), to_numpy(std::move(out.begin)),
                          to_numpy(std::move(out.end)), to_numpy(std::move(out.before)), to_numpy(std::move(out.after)),
                          to_numpy(std::move(out.strand)));
}

int64_t group_border(TextInput data, int column) {
    const char* begin = begin_of(data);
    const size_t size = data.size();
    nb::gil_scoped_release release;
    return last_group_border(begin, begin + size, column);
}

// A batch's queries, each once, in the order in which they occur; and each pair's number among them.
nb::tuple gather_queries(Input<int32_t> query, Input<uint8_t> bases, Input<int64_t> offsets) {
    std::vector<int32_t> local(query.size());
    std::vector<int32_t> ids;
    std::vector<uint8_t> sequence;
    std::vector<int64_t> local_offsets{0};
    const size_t queries = offsets.size() - 1;
    for (size_t i = 0; i < query.size(); i++)
        if (query.data()[i] < 0 || size_t(query.data()[i]) >= queries) throw nb::value_error("a pair names no query");
    {
        nb::gil_scoped_release release;
        std::unordered_map<int32_t, int32_t> seen;
        for (size_t i = 0; i < query.size(); i++) {
            const int32_t q = query.data()[i];
            if (i > 0 && q == query.data()[i - 1]) {
                local[i] = local[i - 1];
                continue;
            }
            const auto [at, fresh] = seen.emplace(q, int32_t(ids.size()));
            local[i] = at->second;
            if (!fresh) continue;
            ids.push_back(q);
            sequence.insert(sequence.end(), bases.data() + offsets.data()[q], bases.data() + offsets.data()[q + 1]);
            local_offsets.push_back(int64_t(sequence.size()));
        }
    }
    return nb::make_tuple(to_numpy(std::move(local)), to_numpy(std::move(ids)), to_numpy(std::move(sequence)),
                          to_numpy(std::move(local_offsets)));
}

}  // namespace

void bind_candidates(nb::module_& m) {
    nb::class_<NameIndex>(m, "NameIndex", "Names to their numbers.")
        .def(nb::init<Input<uint8_t>, Input<int64_t>>(), nb::arg("names"), nb::arg("offsets"))
        .def("find", [](const NameIndex& self, const std::string& name) { return self.find(name); })
        .def_prop_ro("repeated", &NameIndex::repeated);
    m.def("parse_candidates", &candidates_of, nb::arg("data"), nb::arg("kind"), nb::arg("queries"), nb::arg("targets"),
          "Lines of kind 't' (TSV), 'b' (BED6) or 'p' (PAF) to (query, target, begin, end, before, after, strand). "
          "Raises ValueError('LINE_OFFSET\\tWHAT').");
    m.def("last_group_border", &group_border, nb::arg("data"), nb::arg("column"),
          "Bytes before the last run of whole lines with the same text in a column (0 when there is but one run).");
    m.def("gather_queries", &gather_queries, nb::arg("query"), nb::arg("bases"), nb::arg("offsets"),
          "(local, ids, bases, offsets): the queries that a batch names, each once.");
}

}  // namespace gpualign
