// Candidate lines (TSV, BED6, PAF) to columns, and where they may be cut. No Python here: fuzz/candidates.cpp reads it
// too.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "text/messages.hpp"

namespace gpualign {

inline std::string shown(std::string_view text) { return printable(text.data(), text.data() + text.size(), 60); }

inline constexpr int kMaxFields = 12;  // PAF's

// The first fields of a line; returns how many there are, at most kMaxFields.
inline int split(std::string_view line, std::string_view* fields) {
    int count = 0;
    size_t at = 0;
    while (count < kMaxFields) {
        const size_t tab = line.find('\t', at);
        fields[count++] = line.substr(at, tab == std::string_view::npos ? tab : tab - at);
        if (tab == std::string_view::npos) break;
        at = tab + 1;
    }
    return count;
}

inline int64_t number(std::string_view text, int64_t line, const char* what) {
    int64_t value = 0;
    if (text.empty() || text.size() > 18) fail_at(line, std::string(what) + " is not a number: '" + shown(text) + "'");
    for (char c : text) {
        if (c < '0' || c > '9') fail_at(line, std::string(what) + " is not a number: '" + shown(text) + "'");
        value = value * 10 + (c - '0');
    }
    return value;
}

// 0 forward, 1 reverse, 2 both.
inline uint8_t strand_of(std::string_view text, int64_t line) {
    if (text == "+") return 0;
    if (text == "-") return 1;
    if (text == "." || text.empty()) return 2;
    fail_at(line, "strand is '" + shown(text) + "' (expected +, - or .)");
}

// Looks names up in `Names`, which has find(name): a number, or -1. Consecutive lines mostly have the same names.
template <class Names> class LastName {
public:
    explicit LastName(const Names& names) : names_(names) {}
    int32_t find(std::string_view name) {
        if (!known_ || name != last_) {
            number_ = names_.find(name);
            last_ = name;
            known_ = true;
        }
        return number_;
    }
    // The number, if the text at p is the name of the line before and a tab, which are skipped then; else -1.
    int32_t again(const char*& p, const char* end) const {
        const size_t size = last_.size();
        if (!known_ || size_t(end - p) <= size || p[size] != '\t' || !same(p, last_.data(), size)) return -1;
        p += size + 1;
        return number_;
    }

private:
    // std::memcmp without a call, which takes longer than comparing a name of typical length.
    static bool same(const char* a, const char* b, size_t size) {
        if (size < 8) {
            for (size_t i = 0; i < size; i++)
                if (a[i] != b[i]) return false;
            return true;
        }
        const auto eight = [](const char* text) {
            uint64_t value;
            std::memcpy(&value, text, 8);
            return value;
        };
        for (size_t i = 0; i + 8 < size; i += 8)
            if (eight(a + i) != eight(b + i)) return false;
        return eight(a + size - 8) == eight(b + size - 8);
    }

    const Names& names_;
    std::string_view last_;
    int32_t number_ = -1;
    bool known_ = false;
};

template <class Names, class Out>
void parse_candidate(
    std::string_view line, int64_t at, char kind, LastName<Names>& queries, LastName<Names>& targets, Out& out) {
    std::string_view f[kMaxFields];
    const int fields = split(line, f);
    std::string_view query, target, strand;
    int64_t begin, end, before = 0, after = 0;
    if (kind == 't') {
        if (fields < 4)
            fail_at(at, counted(size_t(fields), "column") + " (expected query, target, start, end, strand)");
        query = f[0], target = f[1], strand = fields > 4 ? f[4] : std::string_view();
        begin = number(f[2], at, "start");
        end = number(f[3], at, "end");
        if (begin < 1) fail_at(at, "start is 0 (positions count from 1)");
        begin--;
    } else if (kind == 'b') {
        if (fields < 6)
            fail_at(at, counted(size_t(fields), "column") + " (expected BED's chrom, start, end, name, score, strand)");
        target = f[0], query = f[3], strand = f[5];
        begin = number(f[1], at, "start");
        end = number(f[2], at, "end");
    } else {
        if (fields < 9) fail_at(at, counted(size_t(fields), "column") + " (expected PAF's twelve)");
        query = f[0], strand = f[4], target = f[5];
        before = number(f[2], at, "query start");
        after = number(f[1], at, "query length") - number(f[3], at, "query end");
        if (after < 0) fail_at(at, "the query's end lies beyond its length");
        begin = number(f[7], at, "target start");
        end = number(f[8], at, "target end");
    }
    if (end < begin) fail_at(at, "the end lies before the start");
    const int32_t q = queries.find(query), t = targets.find(target);
    if (q < 0) fail_at(at, "no query is named '" + shown(query) + "'");
    if (t < 0) fail_at(at, "no target is named '" + shown(target) + "'");
    const uint8_t s = strand_of(strand, at);
    if (s == 1) std::swap(before, after);
    out.add(q, t, begin, end, before, after, s);
}

// Parses a number and the tab after it; -1 for anything else.
inline int64_t number_before_tab(const char*& p, const char* end) {
    const char* const stop = std::min(p + 18, end);
    const char* at = p;
    int64_t value = 0;
    for (; at < stop && *at >= '0' && *at <= '9'; at++) value = value * 10 + (*at - '0');
    if (at == p || at == end || *at != '\t') return -1;
    p = at + 1;
    return value;
}

// The usual line of TSV, with the names of the line before, five columns and no fault: most are. Returns what follows
// it, or null, and then nothing was done.
template <class Names, class Out>
const char* parse_usual_line(
    const char* p, const char* end, const LastName<Names>& queries, const LastName<Names>& targets, Out& out) {
    const int32_t query = queries.again(p, end), target = query < 0 ? -1 : targets.again(p, end);
    if (target < 0) return nullptr;
    const int64_t first = number_before_tab(p, end), last = first < 1 ? -1 : number_before_tab(p, end);
    if (first < 1 || last < first - 1 || end - p < 2 || p[1] != '\n' || (*p != '+' && *p != '-' && *p != '.'))
        return nullptr;
    out.add(query, target, first - 1, last, 0, 0, *p == '+' ? 0 : *p == '-' ? 1 : 2);
    return p + 2;
}

// Lines to `out`, which has add() and reserve() as Windows.
template <class Names, class Out>
void parse_candidates(std::string_view text, char kind, const Names& queries, const Names& targets, Out& out) {
    LastName<Names> query_names(queries), target_names(targets);
    out.reserve(size_t(std::count(text.begin(), text.end(), '\n')) + 1);
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    for (size_t at = 0; at < text.size(); number++) {
        if (kind == 't')
            if (const char* next = parse_usual_line(text.data() + at, end, query_names, target_names, out)) {
                at = size_t(next - text.data());
                continue;
            }
        const size_t newline = text.find('\n', at);
        std::string_view line = text.substr(at, newline == std::string_view::npos ? newline : newline - at);
        at = newline == std::string_view::npos ? text.size() : newline + 1;
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (line.empty() || line[0] == '#') continue;
        if (kind == 't' && line.substr(0, 13) == "query\ttarget\t") continue;  // a header
        parse_candidate(line, number, kind, query_names, target_names, out);
    }
}

// Where the last line begins whose first column differs from the line before it; 0 when there is none. Lines from there
// on belong to a group that may go on.
inline int64_t last_group_border(const char* begin, const char* end, int column) {
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

}  // namespace gpualign
