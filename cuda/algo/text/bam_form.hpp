// A record as BAM's bytes (SAM specification, section 4.2). Integers become the smallest type that holds them, as in
// htslib.
#pragma once
#include "algo/text/bases.hpp"
#include "algo/text/record_writer.hpp"

namespace gpualign {

// The most operations in the field of the CIGAR; a longer one goes into the tag CG.
constexpr uint32_t kMaxBamOperations = 65535;

// The smallest bin of the tree that holds `span` bases from `begin` on (section 5.3).
GPUALIGN_HD uint16_t bam_bin(int64_t begin, int64_t span) {
    const int64_t last = begin + (span > 1 ? span : 1) - 1;
    int64_t first_bin = 4681;
    for (int shift = 14; shift < 29; shift += 3, first_bin = (first_bin - 1) / 8)
        if (begin >> shift == last >> shift) return uint16_t(first_bin + (begin >> shift));
    return 0;
}

template <class Out> class BamForm {
public:
    GPUALIGN_HD BamForm(Out& out, const ContigNames&, const ReadsView& reads) : out_(out), reads_(reads) {}

    GPUALIGN_HD Out& out() { return out_; }

    template <class Bases> GPUALIGN_HD void head(const RecordHead& head, const AlignedText<Bases>& text, bool eqx) {
        const int64_t n = head.to - head.from, name = reads_.record_name_size(head.read);
        operations_ = 0;
        int64_t span = 0;
        if (head.mapped)
            text.operations(eqx, head.clip, [&](uint32_t op, uint32_t length) {
                operations_++;
                if (op == kCigarM || skips_reference(op) || op == kCigarEqual || op == kCigarX) span += length;
            });
        const bool packed = operations_ <= kMaxBamOperations;
        start_ = out_.size();
        out_.reserve(64);
        value(uint32_t(0));  // the size, known at the end
        value(head.contig);
        value(int32_t(head.position));
        value(uint8_t((name ? name : 1) + 1));
        value(head.mapq);
        value(bam_bin(head.position, head.flag & kFlagUnmapped ? 1 : span));
        value(uint16_t(packed ? operations_ : 2));
        value(head.flag);
        value(uint32_t(n));
        value(head.mate_contig);
        value(int32_t(head.mate_position));
        value(int32_t(head.template_length));
        reads_.put_name(head.read, name, out_);
        out_.reserve(16);
        out_.put('\0');
        if (packed) {
            if (head.mapped) cigar(head, text, eqx);
        } else {  // a stand-in; the whole comes last
            value(uint32_t(n) << 4 | kCigarS);
            value(uint32_t(span) << 4 | kCigarN);
        }
        put_bases(head, text);
    }
    GPUALIGN_HD void number(const char (&name)[3], int64_t x) {
        out_.reserve(16);
        if (x < 0) {
            if (x >= -0x80) return put_number(name, 'c', int8_t(x));
            if (x >= -0x8000) return put_number(name, 's', int16_t(x));
            return put_number(name, 'i', int32_t(x));
        }
        if (x <= 0xff) return put_number(name, 'C', uint8_t(x));
        if (x <= 0xffff) return put_number(name, 'S', uint16_t(x));
        put_number(name, 'I', uint32_t(x));
    }
    GPUALIGN_HD void character(const char (&name)[3], char c) {
        const char tag[] = {name[0], name[1], 'A', c, 0};
        out_.reserve(16);
        out_.put(tag);
    }
    template <class Write> GPUALIGN_HD void text(const char (&name)[3], Write&& write) {
        const char begin[] = {name[0], name[1], 'Z', 0};
        out_.reserve(32);
        out_.put(begin);
        write(out_);
        out_.reserve(16);
        out_.put('\0');
    }
    // Records with such tags are made of lines of SAM.
    GPUALIGN_HD void share(const char (&)[3], double) {}
    GPUALIGN_HD void tags(const char*, uint64_t) {}
    template <class Bases> GPUALIGN_HD void end(const RecordHead& head, const AlignedText<Bases>& text, bool eqx) {
        if (operations_ > kMaxBamOperations) {
            out_.reserve(16);
            out_.put("CGBI");
            value(operations_);
            cigar(head, text, eqx);
        }
        out_.patch(start_, uint32_t(out_.size() - start_ - sizeof(uint32_t)));
    }

private:
    template <class T> GPUALIGN_HD void value(T x) { out_.value(x); }
    template <class T> GPUALIGN_HD void put_number(const char (&name)[3], char type, T x) {
        const char begin[] = {name[0], name[1], type, 0};
        out_.put(begin);
        out_.value(x);
    }
    template <class Bases> GPUALIGN_HD void cigar(const RecordHead& head, const AlignedText<Bases>& text, bool eqx) {
        text.operations(eqx, head.clip, [&](uint32_t op, uint32_t length) {
            out_.reserve(16);
            value(length << 4 | op);
        });
    }
    template <class Bases> GPUALIGN_HD void put_bases(const RecordHead& head, const AlignedText<Bases>& text) {
        const int64_t n = head.to - head.from;
        const char* given = reads_.bases_of(head.read);
        const bool mapped = head.mapped;
        const auto code = [&](int64_t i) {
            return bam_base(uint8_t(mapped ? text.bases().read(head.from + i) : given[head.from + i]));
        };
        out_.fill(
            (n + 1) / 2, [&](int64_t i) { return char(code(2 * i) << 4 | (2 * i + 1 < n ? code(2 * i + 1) : 0)); });
        if (!reads_.qualities) return out_.fill(n, [](int64_t) { return char(0xff); });
        const char* qualities = reads_.quality(head.read);
        if (head.flag & kFlagReverse) {
            const char* last = qualities + reads_.length(head.read) - head.from - 1;
            out_.fill(n, [last](int64_t i) { return char(last[-i] - 33); });
        } else {
            const char* begin = qualities + head.from;
            out_.fill(n, [begin](int64_t i) { return char(begin[i] - 33); });
        }
    }

    Out& out_;
    const ReadsView reads_;
    uint64_t start_ = 0;
    uint32_t operations_ = 0;
};

}  // namespace gpualign
