// FASTQ with sequences and qualities wrapped over several lines: a record ends where it has as many qualities as
// bases, so its end is known only from its begin. fastx_text.hpp parses records of four lines.
#pragma once
#include "text/fastx_text.hpp"

namespace gpualign {

// Whether the first record that does not have four lines has several lines of bases. Malformed text is reported by the
// parser.
inline bool is_wrapped_fastq(const char* begin, const char* end) {
    const auto bases = [](const Line& line) {
        return line.begin < line.end &&
               std::all_of(line.begin, line.end, [](char c) { return nucleotide.to[uint8_t(c)] != 0; });
    };
    Lines lines(begin, end);
    while (!lines.done()) {
        const Line head = lines.next();
        if (head.begin == head.end) continue;
        if (*head.begin != '@' || lines.done()) return false;
        const Line sequence = lines.next();
        if (lines.done()) return false;
        if (lines.peek() != '+') {
            if (!bases(sequence)) return false;
            while (!lines.done()) {
                if (lines.peek() == '+') return true;
                if (!bases(lines.next())) return false;
            }
            return true;
        }
        lines.next();
        if (lines.done()) return false;
        const Line quality = lines.next();
        if (quality.end - quality.begin != sequence.end - sequence.begin) return false;
    }
    return false;
}

template <class Into> void parse_wrapped_fastq(Lines& lines, Into& r, bool nucleotides, bool with_comments) {
    while (!lines.done()) {
        const long at = lines.number();
        const Line head = lines.next();
        if (head.begin == head.end) continue;
        if (*head.begin != '@')
            fail_at(at, "expected '@' at the start of a FASTQ record, found '" + printable(head.begin, head.end) + "'");
        r.header(head, at, with_comments);
        const size_t before = r.bases();
        while (!lines.done() && lines.peek() != '+') {
            const long number = lines.number();
            const Line line = lines.next();
            if (line.begin < line.end && *line.begin == '@')
                fail_at(number,
                    "record '" + r.last_name() + "': expected '+', found '" + printable(line.begin, line.end) + "'");
            r.sequence(line, number, nucleotides);
        }
        if (lines.done()) fail_cut_short(at, r);
        lines.next();
        const size_t length = r.bases() - before;
        size_t found = 0;
        for (long number = lines.number(); found < length; number = lines.number()) {
            if (lines.done()) fail_cut_short(at, r);
            const Line line = lines.next();
            found += size_t(line.end - line.begin);
            if (found > length) fail_of_lengths(number, r, length, found);
            add_qualities(line, number, r);
        }
        r.end_sequence();
    }
}

// Bytes of the complete records that a text begins with; all of a malformed text, which the parser then reports.
inline int64_t wrapped_fastq_border(const char* begin, const char* end) {
    const char* p = begin;
    const auto line = [&](int64_t& size) {  // moves to the next line; false if this one has no end
        const char* newline = static_cast<const char*>(memchr(p, '\n', size_t(end - p)));
        if (!newline) return false;
        size = newline - p - (newline > p && newline[-1] == '\r');
        p = newline + 1;
        return true;
    };
    int64_t border = 0, size = 0;
    while (p < end) {
        const char* head = p;
        if (!line(size)) return border;
        if (size > 0) {
            if (*head != '@') return end - begin;
            int64_t bases = 0, qualities = 0;
            for (; p < end && *p != '+'; bases += size) {
                if (*p == '@') return end - begin;
                if (!line(size)) return border;
            }
            if (p == end || !line(size)) return border;
            for (; qualities < bases; qualities += size)
                if (p == end || !line(size)) return border;
            if (qualities > bases) return end - begin;
        }
        border = p - begin;
    }
    return border;
}

}  // namespace gpualign
