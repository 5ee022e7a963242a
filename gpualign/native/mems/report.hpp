// Matches as text: MUMmer 3's lines, or a table.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "mems/dots.hpp"
#include "mems/text.hpp"
#include "mems/unique.hpp"
#include "index/reference.hpp"

namespace gpualign {

struct MemStyle {
    bool four_columns;         // the reference record's name on every line
    bool lengths;              // " Len = N" in the header
    bool strings;              // the matching string on a line of its own
    bool forward_coordinates;  // reverse matches by their right-most base on the forward strand
    bool table;                // tab-separated columns instead
};

struct NameList {
    const uint8_t* text;
    const int64_t* offsets;
};

// Bytes that grow; the callers reserve, then write without checks. Memory that was never written is never touched.
class TextBuffer {
public:
    TextBuffer() = default;
    TextBuffer(const TextBuffer&) = delete;
    TextBuffer& operator=(const TextBuffer&) = delete;
    ~TextBuffer() { std::free(bytes_); }

    char* reserve(size_t more) {
        if (size_ < used_ + more) grow(std::max({used_ + more, size_ + size_ / 2, size_t(1) << 16}));
        return bytes_ + used_;
    }
    void advance(const char* end) { used_ = size_t(end - bytes_); }
    size_t size() const { return used_; }

    // Hands the bytes over; std::free releases them.
    uint8_t* release() {
        grow(std::max<size_t>(used_, 1));
        uint8_t* bytes = reinterpret_cast<uint8_t*>(bytes_);
        bytes_ = nullptr;
        used_ = size_ = 0;
        return bytes;
    }

private:
    void grow(size_t size) {
        char* bytes = static_cast<char*>(std::realloc(bytes_, size));
        if (bytes == nullptr) throw std::bad_alloc();
        bytes_ = bytes;
        size_ = size;
    }

    char* bytes_ = nullptr;
    size_t used_ = 0, size_ = 0;
};

inline char* put_text(char* p, const void* text, size_t n) {
    std::memcpy(p, text, n);
    return p + n;
}

inline char* put_number(char* p, uint64_t value) {
    char digits[20];
    int n = 0;
    do digits[n++] = char('0' + value % 10);
    while (value /= 10);
    while (n) *p++ = digits[--n];
    return p;
}

// The eight decimal digits of a value below 10^8, the first in the lowest byte: halves, quarters, digits, side by side. The
// products divide by 100 and 10, exactly for values this small.
inline uint64_t eight_digits(uint32_t value) {
    const uint64_t halves = value / 10000 | uint64_t(value % 10000) << 32;
    const uint64_t hundreds = (halves * 10486 >> 20) & 0x0000007F0000007Fu;
    const uint64_t pairs = hundreds | (halves - 100 * hundreds) << 16;
    const uint64_t tens = (pairs * 103 >> 10) & 0x000F000F000F000Fu;
    return tens | (pairs - 10 * tens) << 8;
}

// "%8lu"
inline char* put_column(char* p, uint64_t value) {
    if (value >= 100000000) return put_number(p, value);
    const uint64_t digits = eight_digits(uint32_t(value));
    // the last digit is shown even where it is 0
    const int leading = trailing_zeros(digits | uint64_t(1) << 56) / 8 * 8;
    const uint64_t text = (digits | 0x3030303030303030u) - (((uint64_t(1) << leading) - 1) & 0x1010101010101010u);
    std::memcpy(p, &text, 8);
    return p + 8;
}

class MemReporter {
public:
    // Reports the range of text positions from `from` on: matches that start there and the headers of strand sequences
    // that begin there.
    MemReporter(const MemText& text, const ReferenceView& reference, const std::vector<std::string>& reference_names,
                NameList queries, MemStyle style, bool unique_in_query, uint64_t from, size_t max_dots)
        : text_(text), reference_(reference), names_(reference_names), queries_(queries), style_(style),
          unique_in_query_(unique_in_query) {
        dots.maximum = max_dots;
        size_t longest = 0;
        for (const std::string& name : names_) longest = std::max(longest, name.size());
        width_ = longest;
        if (from && text.blocks()) next_ = text.block_at(from);
        while (next_ < text.blocks() && text.block(next_).begin < from) next_++;
        look_ahead();
    }

    void put(const Mem* mems, size_t count) {
        for (size_t i = 0; i < count; i++) {
            while (next_begin_ <= mems[i].start) open_next();
            if (unique_in_query_) held_.push_back(mems[i]);
            else line(mems[i]);
        }
    }

    // Makes space for so many matches, about, at once.
    void expect(size_t matches) { out.reserve(matches * (width_ + 33)); }

    bool full() const { return out.size() >= limit; }

    // Ends the range at `to`.
    void finish(uint64_t to) {
        while (next_begin_ < to) open_next();
        flush();
    }

    TextBuffer out;
    size_t limit = ~size_t(0);  // bytes after which the search pauses
    int64_t headers = 0;  // put out
    LongestDots dots;

private:
    void flush() {
        if (held_.empty()) return;
        keep_unique_in_query(held_);
        for (const Mem& mem : held_) line(mem);
        held_.clear();
    }

    void look_ahead() { next_begin_ = next_ < text_.blocks() ? text_.block(next_).begin : ~uint64_t(0); }

    void open_next() {
        flush();
        const TextBlock block = text_.block(next_++);
        look_ahead();
        if (style_.table) return;
        const int64_t begin = queries_.offsets[block.record], end = queries_.offsets[block.record + 1];
        char* p = out.reserve(size_t(end - begin) + 64);
        p = put_text(p, "> ", 2);
        p = put_text(p, queries_.text + begin, size_t(end - begin));
        if (block.reverse) p = put_text(p, " Reverse", 8);
        if (style_.lengths) p = put_number(put_text(p, "  Len = ", 8), block.length);
        *p++ = '\n';
        out.advance(p);
        headers++;
    }

    void line(const Mem& mem) {
        const TextBlock block = text_.block(next_ ? next_ - 1 : 0);
        if (dots.maximum) {
            const uint64_t left = block.reverse ? block.begin + block.length - mem.start - mem.length : mem.start - block.begin;
            dots.add({text_.bases_before(block.record) + left, mem.reference, mem.length, block.reverse});
        }
        if (mem.reference < contig_begin_ || mem.reference >= contig_end_) {
            contig_ = reference_.contig_of(mem.reference);
            contig_begin_ = uint64_t(reference_.contig_offsets[contig_]);
            contig_end_ = uint64_t(reference_.contig_offsets[contig_ + 1]);
            first_column_ = "  " + names_[contig_];
            first_column_.resize(width_ + 4, ' ');
        }
        if (style_.table) table_line(block, mem);
        else mummer_line(block, mem);
    }

    void mummer_line(const TextBlock& block, const Mem& mem) {
        char* p = out.reserve(width_ + 80 + (style_.strings ? mem.length + 1 : 0));
        if (style_.four_columns) p = put_text(p, first_column_.data(), first_column_.size());
        uint64_t query = mem.start - block.begin + 1;
        if (style_.forward_coordinates && block.reverse) query = block.length - query + 1;
        p = put_column(p, mem.reference - contig_begin_ + 1);
        p = put_column(put_text(p, "  ", 2), query);
        p = put_column(put_text(p, "  ", 2), mem.length);
        *p++ = '\n';
        if (style_.strings) {
            for (uint32_t i = 0; i < mem.length; i++)
                *p++ = "acgt"[packed_base(text_.view().words, uint64_t(mem.start) + i)];
            *p++ = '\n';
        }
        out.advance(p);
    }

    // query qlen strand qstart qend ref rstart rend length; qstart < qend on the forward strand
    void table_line(const TextBlock& block, const Mem& mem) {
        const int64_t name = queries_.offsets[block.record], name_end = queries_.offsets[block.record + 1];
        const std::string& target = names_[contig_];
        uint64_t begin = mem.start - block.begin;
        if (block.reverse) begin = block.length - begin - mem.length;
        const uint64_t at = mem.reference - contig_begin_;
        char* p = out.reserve(size_t(name_end - name) + target.size() + 160);
        const auto number = [&](uint64_t value) { *(p = put_number(p, value)) = '\t'; p++; };
        p = put_text(p, queries_.text + name, size_t(name_end - name));
        *p++ = '\t';
        number(block.length);
        *p++ = block.reverse ? '-' : '+';
        *p++ = '\t';
        number(begin + 1);
        number(begin + mem.length);
        p = put_text(p, target.data(), target.size());
        *p++ = '\t';
        number(at + 1);
        number(at + mem.length);
        p = put_number(p, mem.length);
        *p++ = '\n';
        out.advance(p);
    }

    const MemText& text_;
    const ReferenceView reference_;
    const std::vector<std::string>& names_;
    const NameList queries_;
    const MemStyle style_;
    const bool unique_in_query_;
    size_t width_ = 0;
    size_t next_ = 0;  // the first strand sequence whose header is still to come,
    uint64_t next_begin_ = 0;  // and where it begins
    size_t contig_ = 0;
    uint64_t contig_begin_ = 1, contig_end_ = 0;
    std::string first_column_;  // its name, as wide as the longest
    std::vector<Mem> held_;  // of the current strand sequence, until all of them are known
};

}  // namespace gpualign
