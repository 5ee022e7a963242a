// Candidate lines (TSV, BED6, PAF) to arrays, names looked up.
#include <nanobind/stl/string.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "arrays.hpp"
#include "bindings.hpp"

namespace gpualign {
namespace {

[[noreturn]] void fail(int64_t line, const std::string& what) {
    // gpualign/io/candidates.py splits this into a line number and a sentence
    throw nb::value_error((std::to_string(line) + "\t" + what).c_str());
}

std::string shown(std::string_view text) {
    std::string out;
    for (char c : text.substr(0, 60)) out += c >= 32 && c < 127 ? c : '?';
    return out;
}

// Names to their numbers. The text is kept by the caller's arrays.
class NameIndex {
public:
    NameIndex(Input<uint8_t> names, Input<int64_t> offsets) : names_(names), offsets_(offsets) {
        const char* text = reinterpret_cast<const char*>(names.data());
        const int64_t* at = offsets.data();
        const size_t n = offsets.size() - 1;
        index_.reserve(n);
        for (size_t i = 0; i < n; i++)
            if (!index_.emplace(std::string_view(text + at[i], size_t(at[i + 1] - at[i])), int32_t(i)).second && repeated_ < 0)
                repeated_ = int64_t(i);
    }
    // Number of a name, -1 when there is none.
    int32_t find(std::string_view name) const {
        const auto found = index_.find(name);
        return found == index_.end() ? -1 : found->second;
    }
    int64_t repeated() const { return repeated_; }  // the first name that was there before; -1: none

private:
    Input<uint8_t> names_;
    Input<int64_t> offsets_;
    std::unordered_map<std::string_view, int32_t> index_;
    int64_t repeated_ = -1;
};

constexpr int kMostFields = 12;

// The first fields of a line; returns how many there are, at most kMostFields.
int split(std::string_view line, std::string_view* fields) {
    int count = 0;
    size_t at = 0;
    while (count < kMostFields) {
        const size_t tab = line.find('\t', at);
        fields[count++] = line.substr(at, tab == std::string_view::npos ? tab : tab - at);
        if (tab == std::string_view::npos) break;
        at = tab + 1;
    }
    return count;
}

int64_t number(std::string_view text, int64_t line, const char* what) {
    int64_t value = 0;
    if (text.empty() || text.size() > 18) fail(line, std::string(what) + " is not a number: '" + shown(text) + "'");
    for (char c : text) {
        if (c < '0' || c > '9') fail(line, std::string(what) + " is not a number: '" + shown(text) + "'");
        value = value * 10 + (c - '0');
    }
    return value;
}

// 0 forward, 1 reverse, 2 both.
uint8_t strand_of(std::string_view text, int64_t line) {
    if (text == "+") return 0;
    if (text == "-") return 1;
    if (text == "." || text.empty()) return 2;
    fail(line, "strand is '" + shown(text) + "' (expected +, - or .)");
}

struct Columns {
    std::vector<int32_t> query, target;
    std::vector<int64_t> begin, end;
    std::vector<int32_t> before, after;  // query bases outside the aligned part (PAF), on the target's strand
    std::vector<uint8_t> strand;
};

void parse_line(std::string_view line, int64_t at, char kind, const NameIndex& queries, const NameIndex& targets, Columns& out) {
    std::string_view f[kMostFields];
    const int fields = split(line, f);
    std::string_view query, target, strand;
    int64_t begin, end, before = 0, after = 0;
    if (kind == 't') {
        if (fields < 4) fail(at, std::to_string(fields) + " columns (expected query, target, start, end, strand)");
        query = f[0], target = f[1], strand = fields > 4 ? f[4] : std::string_view();
        begin = number(f[2], at, "start");
        end = number(f[3], at, "end");
        if (begin < 1) fail(at, "start is 0 (positions count from 1)");
        begin--;
    } else if (kind == 'b') {
        if (fields < 6) fail(at, std::to_string(fields) + " columns (expected BED's chrom, start, end, name, score, strand)");
        target = f[0], query = f[3], strand = f[5];
        begin = number(f[1], at, "start");
        end = number(f[2], at, "end");
    } else {
        if (fields < 9) fail(at, std::to_string(fields) + " columns (expected PAF's twelve)");
        query = f[0], strand = f[4], target = f[5];
        before = number(f[2], at, "query start");
        after = number(f[1], at, "query length") - number(f[3], at, "query end");
        if (after < 0) fail(at, "the query's end lies behind its length");
        begin = number(f[7], at, "target start");
        end = number(f[8], at, "target end");
    }
    if (end < begin) fail(at, "the end lies before the start");
    const int32_t q = queries.find(query), t = targets.find(target);
    if (q < 0) fail(at, "no query is named '" + shown(query) + "'");
    if (t < 0) fail(at, "no target is named '" + shown(target) + "'");
    const uint8_t s = strand_of(strand, at);
    if (s == 1) std::swap(before, after);
    out.query.push_back(q);
    out.target.push_back(t);
    out.begin.push_back(begin);
    out.end.push_back(end);
    out.before.push_back(int32_t(std::min<int64_t>(before, INT32_MAX)));
    out.after.push_back(int32_t(std::min<int64_t>(after, INT32_MAX)));
    out.strand.push_back(s);
}

nb::tuple parse_candidates(nb::bytes data, const std::string& kind, const NameIndex& queries, const NameIndex& targets) {
    Columns out;
    const char* begin = data.c_str();
    const std::string_view text(begin, data.size());
    {
        nb::gil_scoped_release release;
        int64_t number = 0;
        for (size_t at = 0; at < text.size(); number++) {
            const size_t newline = text.find('\n', at);
            std::string_view line = text.substr(at, newline == std::string_view::npos ? newline : newline - at);
            at = newline == std::string_view::npos ? text.size() : newline + 1;
            if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
            if (line.empty() || line[0] == '#') continue;
            if (kind[0] == 't' && line.substr(0, 13) == "query\ttarget\t") continue;  // a header
            parse_line(line, number, kind[0], queries, targets, out);
        }
    }
    return nb::make_tuple(to_numpy(std::move(out.query)), to_numpy(std::move(out.target)), to_numpy(std::move(out.begin)),
                          to_numpy(std::move(out.end)), to_numpy(std::move(out.before)), to_numpy(std::move(out.after)),
                          to_numpy(std::move(out.strand)));
}

// Where the last line begins whose first column differs from the line before it; 0 when there is none. Lines from there
// on belong to a group that may go on.
int64_t last_group_border(nb::bytes data, int column) {
    const char* begin = data.c_str();
    const char* end = begin + data.size();
    nb::gil_scoped_release release;
    const auto name_of = [&](const char* line, const char* stop) {
        for (int i = 0; i < column; i++) {
            const void* tab = memchr(line, '\t', size_t(stop - line));
            if (!tab) return std::string_view();
            line = static_cast<const char*>(tab) + 1;
        }
        const void* tab = memchr(line, '\t', size_t(stop - line));
        return std::string_view(line, size_t((tab ? static_cast<const char*>(tab) : stop) - line));
    };
    const void* newline = memrchr(begin, '\n', size_t(end - begin));
    if (!newline) return 0;
    const char* stop = static_cast<const char*>(newline);  // end of the last whole line
    std::string_view last;
    bool have = false;
    while (true) {
        const void* before = stop > begin ? memrchr(begin, '\n', size_t(stop - begin)) : nullptr;
        const char* start = before ? static_cast<const char*>(before) + 1 : begin;
        const std::string_view name = name_of(start, stop);
        if (have && name != last) return stop + 1 - begin;
        last = name;
        have = true;
        if (!before) return 0;
        stop = static_cast<const char*>(before);
    }
}

// A batch's queries, each once, in the order in which they occur; and each pair's number among them.
nb::tuple gather_queries(Input<int32_t> query, Input<uint8_t> bases, Input<int64_t> offsets) {
    std::vector<int32_t> local(query.size());
    std::vector<int32_t> ids;
    std::vector<uint8_t> letters;
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
            letters.insert(letters.end(), bases.data() + offsets.data()[q], bases.data() + offsets.data()[q + 1]);
            local_offsets.push_back(int64_t(letters.size()));
        }
    }
    return nb::make_tuple(to_numpy(std::move(local)), to_numpy(std::move(ids)), to_numpy(std::move(letters)),
                          to_numpy(std::move(local_offsets)));
}

}  // namespace

void bind_candidates(nb::module_& m) {
    nb::class_<NameIndex>(m, "NameIndex", "Names to their numbers.")
        .def(nb::init<Input<uint8_t>, Input<int64_t>>(), nb::arg("names"), nb::arg("offsets"))
        .def("find", [](const NameIndex& self, const std::string& name) { return self.find(name); })
        .def_prop_ro("repeated", &NameIndex::repeated);
    m.def("parse_candidates", &parse_candidates, nb::arg("data"), nb::arg("kind"), nb::arg("queries"), nb::arg("targets"),
          "Lines of kind 't' (TSV), 'b' (BED6) or 'p' (PAF) to (query, target, begin, end, before, after, strand). "
          "Raises ValueError('LINE_OFFSET\\tWHAT').");
    m.def("last_group_border", &last_group_border, nb::arg("data"), nb::arg("column"),
          "Bytes before the last run of whole lines with the same text in a column (0 when there is but one run).");
    m.def("gather_queries", &gather_queries, nb::arg("query"), nb::arg("bases"), nb::arg("offsets"),
          "(local, ids, bases, offsets): the queries that a batch names, each once.");
}

}  // namespace gpualign
