// Matches as text: MUMmer 3's lines, or a table.
#pragma once
#include "abi/mems.hpp"
#include "algo/seeds/matches/strands.hpp"

namespace gpualign {

// The line before the matches of a strand of a record.
template <class Out>
GPUALIGN_HD void put_strand_header(
    Out& out, const MemStyle& style, const char* name, uint64_t name_size, const TextBlock& strand) {
    out.put("> ");
    out.put(name, name_size);
    if (strand.reverse) out.put(" Reverse");
    if (style.lengths) {
        out.put("  Len = ");
        out.number(strand.length);
    }
    out.put('\n');
}

// A match in a contig, whose name is filled up to `width`.
template <class Out>
GPUALIGN_HD void put_mummer_line(Out& out, const MemStyle& style, const char* contig, uint64_t contig_size,
    uint64_t width, const TextBlock& strand, const Mem& mem, uint64_t contig_begin) {
    if (style.four_columns) {
        out.put("  ");
        out.put(contig, contig_size);
        out.fill(int64_t(width - contig_size + 2), [](int64_t) { return ' '; });
    }
    const uint64_t query = mem.start - strand.begin + 1;
    out.column(mem.reference - contig_begin + 1);
    out.put("  ");
    out.column(style.forward_coordinates && strand.reverse ? strand.length - query + 1 : query);
    out.put("  ");
    out.column(mem.length);
    out.put('\n');
}

// query qlen strand qstart qend ref rstart rend length; qstart < qend on the forward strand
template <class Out>
GPUALIGN_HD void put_table_line(Out& out, const char* name, uint64_t name_size, const char* contig,
    uint64_t contig_size, const TextBlock& strand, const Mem& mem, uint64_t contig_begin) {
    uint64_t begin = mem.start - strand.begin;
    if (strand.reverse) begin = strand.length - begin - mem.length;
    const uint64_t at = mem.reference - contig_begin;
    out.put(name, name_size);
    out.put('\t');
    out.number(strand.length);
    out.put('\t');
    out.put(strand.reverse ? '-' : '+');
    out.put('\t');
    out.number(int64_t(begin + 1));
    out.put('\t');
    out.number(int64_t(begin + mem.length));
    out.put('\t');
    out.put(contig, contig_size);
    out.put('\t');
    out.number(int64_t(at + 1));
    out.put('\t');
    out.number(int64_t(at + mem.length));
    out.put('\t');
    out.number(mem.length);
    out.put('\n');
}

// The headers and matches of a part of a query text: which line each is, and what is in it.
class MemLineWriter {
public:
    GPUALIGN_HD explicit MemLineWriter(const MemLines& lines)
        : lines_(lines), strands_{lines.begins, lines.records, (lines.strands & 1) != 0, (lines.strands & 2) != 0} {}

    // Lines, those of matches that begin outside the part included, which are empty.
    GPUALIGN_HD uint32_t count() const { return lines_.headers + lines_.matches; }

    // The number of line `item`: of a header, of which item counts first, or a match.
    GPUALIGN_HD uint32_t number(uint32_t item) const {
        if (item < lines_.headers) return item + matches_before(strands_.block(lines_.first_header + item).begin);
        const uint32_t match = item - lines_.headers, start = lines_.starts[match];
        if (lines_.headers == 0) return match;
        const uint32_t strand = strands_.block_at(start) + 1;  // so many begin up to it
        const uint32_t here = strand > lines_.first_header ? strand - lines_.first_header : 0;
        return match + (here < lines_.headers ? here : lines_.headers);
    }

    template <class Out> GPUALIGN_HD void put(uint32_t item, Out& out) const {
        if (item < lines_.headers) {
            const TextBlock strand = strands_.block(lines_.first_header + item);
            return put_strand_header(out, lines_.style, name(strand.record), name_size(strand.record), strand);
        }
        const uint32_t match = item - lines_.headers;
        const Mem mem{lines_.starts[match], lines_.references[match], lines_.lengths[match]};
        if (mem.start < lines_.from || mem.start >= lines_.to) return;
        const TextBlock strand = strands_.block(strands_.block_at(mem.start));
        const uint32_t contig = contig_of(mem.reference);
        const char* target = reinterpret_cast<const char*>(lines_.contig_names + lines_.contig_name_offsets[contig]);
        const uint64_t size = uint64_t(lines_.contig_name_offsets[contig + 1] - lines_.contig_name_offsets[contig]);
        const uint64_t begin = uint64_t(lines_.contig_offsets[contig]);
        if (lines_.style.table)
            put_table_line(out, name(strand.record), name_size(strand.record), target, size, strand, mem, begin);
        else put_mummer_line(out, lines_.style, target, size, lines_.width, strand, mem, begin);
    }

private:
    GPUALIGN_HD const char* name(uint32_t record) const {
        return reinterpret_cast<const char*>(lines_.names + lines_.name_offsets[record]);
    }
    GPUALIGN_HD uint64_t name_size(uint32_t record) const {
        return uint64_t(lines_.name_offsets[record + 1] - lines_.name_offsets[record]);
    }

    GPUALIGN_HD uint32_t matches_before(uint64_t position) const {
        uint32_t begin = 0, end = lines_.matches;
        while (begin < end) {
            const uint32_t middle = begin + (end - begin) / 2;
            if (lines_.starts[middle] < position) begin = middle + 1;
            else end = middle;
        }
        return begin;
    }
    GPUALIGN_HD uint32_t contig_of(uint64_t position) const {
        uint32_t begin = 0, end = lines_.contigs;
        while (end - begin > 1) {
            const uint32_t middle = begin + (end - begin) / 2;
            if (uint64_t(lines_.contig_offsets[middle]) <= position) begin = middle;
            else end = middle;
        }
        return begin;
    }

    const MemLines& lines_;
    const StrandLayout strands_;
};

}  // namespace gpualign
