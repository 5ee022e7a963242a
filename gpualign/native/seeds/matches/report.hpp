// Formats matches: MUMmer 3's lines, or a table.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algo/text/mem_lines.hpp"
#include "seeds/index/reference.hpp"
#include "seeds/matches/text.hpp"
#include "text/names.hpp"
#include "text/text.hpp"

namespace gpualign {

// The eight decimal digits of a value below 10^8, the first in the lowest byte, computed in parallel by halves,
// quarters, digits. The products divide by 100 and 10, exactly for values this small.
inline uint64_t eight_digits(uint32_t value) {
    const uint64_t halves = value / 10000 | uint64_t(value % 10000) << 32;
    const uint64_t hundreds = (halves * 10486 >> 20) & 0x0000007F0000007Fu;
    const uint64_t pairs = hundreds | (halves - 100 * hundreds) << 16;
    const uint64_t tens = (pairs * 103 >> 10) & 0x000F000F000F000Fu;
    return tens | (pairs - 10 * tens) << 8;
}

// A text with columns of numbers.
class LineText : public Text {
public:
    // "%8lu"
    void column(uint64_t x) {
        if (x >= 100000000) return number(int64_t(x));
        const uint64_t digits = eight_digits(uint32_t(x));
        // the last digit is shown even where it is 0
        const int leading = trailing_zeros(digits | uint64_t(1) << 56) / 8 * 8;
        value((digits | 0x3030303030303030u) - (((uint64_t(1) << leading) - 1) & 0x1010101010101010u));
    }
};

class MemReporter {
public:
    // Reports the range of text positions from `from` on: matches that start there and the headers of strand sequences
    // that begin there.
    MemReporter(const MemText& text, const ReferenceView& reference, const std::vector<std::string>& reference_names,
        Names queries, MemStyle style, uint64_t from)
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

    LineText out;
    int64_t headers = 0;  // put out

private:
    void look_ahead() { next_begin_ = next_ < text_.blocks() ? text_.block(next_).begin : ~uint64_t(0); }

    void open_next() {
        const TextBlock block = text_.block(next_++);
        look_ahead();
        if (style_.table) return;
        const std::string_view name = queries_[block.record];
        out.reserve(name.size() + 64);
        put_strand_header(out, style_, name.data(), name.size(), block);
        headers++;
    }

    void line(const Mem& mem) {
        const TextBlock block = text_.block(next_ ? next_ - 1 : 0);
        if (mem.reference < contig_begin_ || mem.reference >= contig_end_) {
            contig_ = reference_.contig_of(mem.reference);
            contig_begin_ = uint64_t(reference_.contig_offsets[contig_]);
            contig_end_ = uint64_t(reference_.contig_offsets[contig_ + 1]);
        }
        const std::string_view name = queries_[block.record];
        const std::string& target = names_[contig_];
        const size_t string = style_.strings ? mem.length + 1 : 0;
        out.reserve((style_.table ? name.size() + target.size() : width_) + string + 160);
        if (style_.table)
            put_table_line(out, name.data(), name.size(), target.data(), target.size(), block, mem, contig_begin_);
        else put_mummer_line(out, style_, target.data(), target.size(), width_, block, mem, contig_begin_);
        if (string && !style_.table) {
            out.fill(mem.length,
                [&](int64_t i) { return "acgt"[packed_base(text_.view().words, uint64_t(mem.start) + uint64_t(i))]; });
            out.put('\n');
        }
    }

    const MemText& text_;
    const ReferenceView reference_;
    const std::vector<std::string>& names_;
    const Names queries_;
    const MemStyle style_;
    size_t width_ = 0;
    size_t next_ = 0;  // the first strand sequence whose header is still to come,
    uint64_t next_begin_ = 0;  // and where it begins
    size_t contig_ = 0;
    uint64_t contig_begin_ = 1, contig_end_ = 0;
};

}  // namespace gpualign
