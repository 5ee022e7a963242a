// Parses FASTA and FASTQ text, and finds record borders. Free of Python, so that fuzz/fastx.cpp can include it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "algo/text/fastq.hpp"
#include "simd/blocks.hpp"
#include "text/messages.hpp"

namespace gpualign {

// nucleotide_of() as a table.
struct NucleotideTable {
    uint8_t to[256] = {};
    constexpr NucleotideTable() {
        for (int i = 0; i < 256; i++) to[i] = nucleotide_of(uint8_t(i));
    }
};
inline constexpr NucleotideTable nucleotide;

struct Line {
    const char* begin;
    const char* end;  // without LF or CR LF
};

// Copies a line of A, C, G, T and N only; false if it has other characters.
inline bool copy_usual_bases(const Line& line, uint8_t* out) {
    uint8_t others = 0;
    const char* const text = line.begin;
    in_blocks(line.end - line.begin, [&](ptrdiff_t at, auto count) {
        uint8_t symbols[count], differ = 0;
        std::memcpy(symbols, text + at, count);
        for (ptrdiff_t i = 0; i < count; i++)
            differ |= std::min(differs_from_bases(symbols[i]), uint8_t(symbols[i] ^ 'N'));
        std::memcpy(out + at, symbols, count);
        others |= differ;
    });
    return others == 0;
}

inline bool all_are_qualities(const Line& line) {
    uint8_t others = 0;
    const char* const text = line.begin;
    in_blocks(line.end - line.begin, [&](ptrdiff_t at, auto count) {
        uint8_t symbols[count], differ = 0;
        std::memcpy(symbols, text + at, count);
        for (ptrdiff_t i = 0; i < count; i++) differ |= uint8_t(!is_quality(symbols[i]));
        others |= differ;
    });
    return others == 0;
}

class Lines {
public:
    Lines(const char* begin, const char* end) : p_(begin), end_(end) {}
    bool done() const { return p_ >= end_; }
    long number() const { return number_; }  // lines consumed so far
    char peek() const { return *p_; }
    bool in_last_line() const { return done() && end_[-1] != '\n'; }  // the file may have been cut there
    Line next() {
        const char* newline = static_cast<const char*>(memchr(p_, '\n', size_t(end_ - p_)));
        const char* stop = newline ? newline : end_;
        Line line{p_, stop};
        if (line.end > line.begin && line.end[-1] == kReturn) line.end--;
        p_ = newline ? newline + 1 : end_;
        number_++;
        return line;
    }

private:
    const char* p_;
    const char* end_;
    long number_ = 0;
};

inline const char* const kFourLines =
    " (FASTQ has four lines a record, or several lines of bases from its first records on)";

inline void append(std::vector<uint8_t>& bytes, const char* begin, const char* end) {
    bytes.insert(bytes.end(), reinterpret_cast<const uint8_t*>(begin), reinterpret_cast<const uint8_t*>(end));
}

// The names and comments of records.
struct RecordNames {
    std::vector<uint8_t> names, comments;
    std::vector<int64_t> name_offsets{0}, comment_offsets{0};

    size_t records() const { return name_offsets.size() - 1; }

    // Parses the first line of a record; `line_offset` is its line number in the text.
    void header(const Line& line, long line_offset, bool with_comments) {
        const char* p = line.begin + 1;
        const char* stop = p;
        while (stop < line.end && !ends_name(*stop)) stop++;
        // with CR line ends a FASTA file is a single line, and shows no other sign of it
        const char* checked = *line.begin == '>' ? line.end : stop;
        if (std::find(p, checked, kReturn) != checked)
            fail_at(line_offset, "a carriage return within a line (of an old Mac file? tr '\\r' '\\n' converts it)");
        if (stop == p)
            fail_at(line_offset, std::string("a record has no name (put one after the '") + *line.begin + "')");
        append(names, p, stop);
        name_offsets.push_back(int64_t(names.size()));
        if (with_comments) {
            while (stop < line.end && ends_name(*stop)) stop++;
            append(comments, stop, line.end);
            comment_offsets.push_back(int64_t(comments.size()));
        }
    }

    // The name of record i, for messages.
    std::string name(size_t i) const {
        const char* text = reinterpret_cast<const char*>(names.data());
        return printable(text + name_offsets[i], text + name_offsets[i + 1], 80);
    }
    std::string last_name() const { return name(records() - 1); }
};

// Appends a line of a sequence without white space.
inline void append_sequence(
    std::vector<uint8_t>& bases, const Line& line, long line_offset, bool nucleotides, const RecordNames& records) {
    const size_t start = bases.size();
    bases.resize(start + size_t(line.end - line.begin));
    uint8_t* out = bases.data() + start;
    if (copy_usual_bases(line, out)) return;
    if (!nucleotides) {
        for (const char* p = line.begin; p < line.end; p++)
            if (*p != ' ' && *p != '\t') *out++ = uint8_t(*p);
    } else {
        for (const char* p = line.begin; p < line.end; p++) {
            const uint8_t base = nucleotide.to[uint8_t(*p)];
            if (base) {
                *out++ = base;
            } else if (*p != ' ' && *p != '\t') {
                fail_at(line_offset, "record '" + records.last_name() + "': '" + printable(p, p + 1) +
                                         "' is not a nucleotide (expected ACGTUN or an IUPAC code)");
            }
        }
    }
    bases.resize(size_t(out - bases.data()));
}

// Output of the parsers below, which accept any class like it.
struct Records : RecordNames {
    std::vector<uint8_t> symbols, quality_symbols;
    std::vector<int64_t> base_offsets{0};

    // Number of complete records.
    size_t whole() const { return base_offsets.size() - 1; }
    size_t bases() const { return symbols.size(); }
    void sequence(const Line& line, long line_offset, bool nucleotides) {
        append_sequence(symbols, line, line_offset, nucleotides, *this);
    }
    void end_sequence() { base_offsets.push_back(int64_t(symbols.size())); }
    void qualities(const Line& line) { append(quality_symbols, line.begin, line.end); }
};

template <class Into> void parse_fasta(Lines& lines, Into& r, bool nucleotides, bool with_comments) {
    while (!lines.done()) {
        const long at = lines.number();
        const Line line = lines.next();
        if (line.begin == line.end) continue;
        if (*line.begin == '>') {
            if (r.records() > r.whole()) r.end_sequence();
            r.header(line, at, with_comments);
        } else if (*line.begin != ';') {  // old-style comment lines
            if (r.records() == 0) fail_at(at, "text before the first '>'");
            r.sequence(line, at, nucleotides);
        }
    }
    if (r.records() > r.whole()) r.end_sequence();
}

template <class Into> [[noreturn]] void fail_cut_short(long line_offset, const Into& r) {
    const std::string after = r.whole() ? " (the last whole record is '" + r.name(r.whole() - 1) + "')" : "";
    fail_at(line_offset, "FASTQ record cut short" + after);
}

template <class Into>
[[noreturn]] void fail_of_lengths(long line_offset, const Into& r, size_t bases, size_t qualities) {
    fail_at(line_offset, "record '" + r.last_name() + "': " + counted(bases, "base") + " but " +
                             counted(qualities, "quality", "qualities"));
}

template <class Into> void add_qualities(const Line& line, long line_offset, Into& r) {
    if (!all_are_qualities(line))
        fail_at(line_offset, "record '" + r.last_name() + "': a quality is not a printable character");
    r.qualities(line);
}

template <class Into> void parse_fastq(Lines& lines, Into& r, bool nucleotides, bool with_comments) {
    while (!lines.done()) {
        const long at = lines.number();
        const Line head = lines.next();
        if (head.begin == head.end) {  // blank lines between records are harmless
            continue;
        }
        if (*head.begin != '@')
            fail_at(at, "expected '@' at the start of a FASTQ record, found '" + printable(head.begin, head.end) + "'" +
                            kFourLines);
        r.header(head, at, with_comments);
        if (lines.done()) fail_cut_short(at, r);
        const size_t before = r.bases();
        r.sequence(lines.next(), at + 1, nucleotides);
        if (lines.done()) fail_cut_short(at, r);
        const Line plus = lines.next();
        if (plus.begin == plus.end || *plus.begin != '+')
            fail_at(at + 2, "record '" + r.last_name() + "': expected '+', found '" + printable(plus.begin, plus.end) +
                                "'" + kFourLines);
        const size_t length = r.bases() - before;
        if (lines.done() && length > 0) fail_cut_short(at, r);
        const Line quality = lines.done() ? Line{nullptr, nullptr} : lines.next();
        const size_t found = size_t(quality.end - quality.begin);
        if (found != length) {
            // a single "*" for missing qualities is complete
            if (lines.in_last_line() && found < length && !(found == 1 && *quality.begin == '*')) fail_cut_short(at, r);
            fail_of_lengths(at + 3, r, length, found);
        }
        add_qualities(quality, at + 3, r);
        r.end_sequence();
    }
}

template <class Into> void parse_nucleotides(const char* begin, const char* end, bool fastq, Into& records) {
    Lines lines(begin, end);
    if (fastq) parse_fastq(lines, records, true, false);
    else parse_fasta(lines, records, true, false);
}

// Length of the longest prefix that ends at a record border known without seeing what follows; 0 if there is none.
// FASTA: before the last line that begins with '>'. FASTQ: a record begins at a line with '@' whose second line after
// begins with '+'; a quality line may begin with '@', too, but then the second line after it is a sequence, which
// never begins with '+'.
inline int64_t last_record_border(const char* begin, const char* end, bool fastq) {
    const auto line_start_before = [&](const char* p) -> const char* {  // start of the line that ends before p
        if (p <= begin) return nullptr;
        const void* newline = p - 1 > begin ? memrchr(begin, '\n', size_t(p - 1 - begin)) : nullptr;
        return newline ? static_cast<const char*>(newline) + 1 : begin;
    };
    // start of the last, perhaps unfinished, line
    const void* newline = memrchr(begin, '\n', size_t(end - begin));
    const char* third = newline ? static_cast<const char*>(newline) + 1 : begin;
    if (!fastq) {
        for (const char* p = third; p && p > begin; p = line_start_before(p))
            if (p < end && *p == '>') return p - begin;
        return 0;
    }
    const char* second = line_start_before(third);
    const char* first = second ? line_start_before(second) : nullptr;
    while (first && first > begin) {
        if (*first == '@' && third < end && *third == '+') return first - begin;
        third = second;
        second = first;
        first = line_start_before(first);
    }
    return 0;
}

}  // namespace gpualign
