// Formats matches: MUMmer 3's lines, or a table.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "algo/text/mem_lines.hpp"
#include "mems/text.hpp"
#include "index/reference.hpp"

namespace gpualign {

struct NameList {
    const uint8_t* text;
    const int64_t* offsets;
};

// A growing buffer; callers reserve, then write unchecked. Pages that were never written are never touched.
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

    // Releases the bytes; std::free frees them.
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

// The eight decimal digits of a value below 10^8, the first in the lowest byte, computed in parallel by halves,
// quarters, digits. The products divide by 100 and 10, exactly for values this small.
inline uint64_t eight_digits(uint32_t value) {
    const uint64_t halves = value / 10000 | uint64_t(value % 10000) << 32;
    const uint64_t hundreds = (halves * 10486 >> 20) & 0x0000007F0000007Fu;
    const uint64_t pairs = hundreds | (halves - 100 * hundreds) << 16;
    const uint64_t tens = (pairs * 103 >> 10) & 0x000F000F000F000Fu;
    return tens | (pairs - 10 * tens) << 8;
}

// Writes a line into memory that is large enough.
class LineText {
public:
    explicit LineText(char* at) : at_(at) {}

    char* end() const { return at_; }
    void put(char c) { *at_++ = c; }
    void put(const char* text, size_t n) {
        std::memcpy(at_, text, n);
        at_ += n;
    }
    template <size_t N> void put(const char (&text)[N]) { put(text, N - 1); }
    template <class Character> void fill(int64_t n, Character&& character) {
        for (int64_t i = 0; i < n; i++) *at_++ = character(i);
    }
    void number(int64_t value) { at_ = std::to_chars(at_, at_ + 20, value).ptr; }
    // "%8lu"
    void column(uint64_t value) {
        if (value >= 100000000) return number(int64_t(value));
        const uint64_t digits = eight_digits(uint32_t(value));
        // the last digit is shown even where it is 0
        const int leading = trailing_zeros(digits | uint64_t(1) << 56) / 8 * 8;
        const uint64_t text = (digits | 0x3030303030303030u) - (((uint64_t(1) << leading) - 1) & 0x1010101010101010u);
        std::memcpy(at_, &text, 8);
        at_ += 8;
    }

private:
    char* at_;
};

class MemReporter {
public:
    // Reports the range of text positions from `from` on: matches that start there and the headers of strand sequences
    // that begin there.
    MemReporter(const MemText& text, const ReferenceView& reference, const std::vector<std::string>& reference_names,
        NameList queries, MemStyle style, uint64_t from)
        : text_(text), reference_(reference), names_(reference_names), queries_(queries), style_(style) {
        size_t longest = 0;
        for (const std::string& name : names_) longest = std::max(longest, name.size());
        width_ = longest;
        next_ = text.blocks_between(from, from).first;
        look_ahead();
    }

    void put(const Mem& mem) {
        while (next_begin_ <= mem.start) open_next();
        line(mem);
    }

    // Reserves space for about so many matches.
    void expect(size_t matches) { out.reserve(matches * (width_ + 33)); }

    // Ends the range at `to`.
    void finish(uint64_t to) {
        while (next_begin_ < to) open_next();
    }

    TextBuffer out;
    int64_t headers = 0;  // put out

private:
    void look_ahead() { next_begin_ = next_ < text_.blocks() ? text_.block(next_).begin : ~uint64_t(0); }

    void open_next() {
        const TextBlock block = text_.block(next_++);
        look_ahead();
        if (style_.table) return;
        const size_t size = name_size(block);
        LineText line(out.reserve(size + 64));
        put_strand_header(line, style_, name(block), size, block);
        out.advance(line.end());
        headers++;
    }

    void line(const Mem& mem) {
        const TextBlock block = text_.block(next_ ? next_ - 1 : 0);
        if (mem.reference < contig_begin_ || mem.reference >= contig_end_) {
            contig_ = reference_.contig_of(mem.reference);
            contig_begin_ = uint64_t(reference_.contig_offsets[contig_]);
            contig_end_ = uint64_t(reference_.contig_offsets[contig_ + 1]);
        }
        const std::string& target = names_[contig_];
        const size_t string = style_.strings ? mem.length + 1 : 0;
        LineText line(out.reserve((style_.table ? name_size(block) + target.size() : width_) + string + 160));
        if (style_.table)
            put_table_line(
                line, name(block), name_size(block), target.data(), target.size(), block, mem, contig_begin_);
        else put_mummer_line(line, style_, target.data(), target.size(), width_, block, mem, contig_begin_);
        if (string && !style_.table) {
            line.fill(mem.length,
                [&](int64_t i) { return "acgt"[packed_base(text_.view().words, uint64_t(mem.start) + uint64_t(i))]; });
            line.put('\n');
        }
        out.advance(line.end());
    }

    const char* name(const TextBlock& block) const {
        return reinterpret_cast<const char*>(queries_.text + queries_.offsets[block.record]);
    }
    size_t name_size(const TextBlock& block) const {
        return size_t(queries_.offsets[block.record + 1] - queries_.offsets[block.record]);
    }

    const MemText& text_;
    const ReferenceView reference_;
    const std::vector<std::string>& names_;
    const NameList queries_;
    const MemStyle style_;
    size_t width_ = 0;
    size_t next_ = 0;  // the first strand sequence whose header is still to come,
    uint64_t next_begin_ = 0;  // and where it begins
    size_t contig_ = 0;
    uint64_t contig_begin_ = 1, contig_end_ = 0;
};

}  // namespace gpualign
