// A record as a line of SAM (specification, sections 1.4 and 1.5).
#pragma once
#include "algo/text/record_writer.hpp"

namespace gpualign {

template <class Out> class SamForm {
public:
    GPUALIGN_HD SamForm(Out& out, const ContigNames& contigs, const ReadsView& reads)
        : out_(out), contigs_(contigs), reads_(reads) {}

    GPUALIGN_HD Out& out() { return out_; }

    template <class Bases> GPUALIGN_HD void head(const RecordHead& head, const AlignedText<Bases>& text, bool eqx) {
        reads_.put_name(head.read, reads_.record_name_size(head.read), out_);
        column(head.flag);
        out_.put('\t');
        contig(head.contig);
        column(head.position + 1);
        column(head.mapq);
        out_.put('\t');
        if (head.mapped) text.cigar(eqx, head.clip, out_);
        else out_.put('*');
        out_.put('\t');
        if (head.mate_contig >= 0 && head.mate_contig == head.contig) out_.put('=');
        else contig(head.mate_contig);
        column(head.mate_position + 1);
        column(head.template_length);
        out_.put('\t');
        put_bases(head, text);
    }
    GPUALIGN_HD void number(const char (&name)[3], int64_t value) {
        begin(name, 'i');
        out_.number(value);
    }
    GPUALIGN_HD void character(const char (&name)[3], char c) {
        begin(name, 'A');
        out_.put(c);
    }
    template <class Write> GPUALIGN_HD void text(const char (&name)[3], Write&& write) {
        begin(name, 'Z');
        write(out_);
    }
    // A number between 0 and 1, on the CPU alone.
    GPUALIGN_HD void share(const char (&name)[3], double value) {
        begin(name, 'f');
        out_.thousandths(value);
    }
    // Whole tags as text.
    GPUALIGN_HD void tags(const char* text, uint64_t size) {
        out_.put('\t');
        out_.put(text, size);
    }
    template <class Bases> GPUALIGN_HD void end(const RecordHead&, const AlignedText<Bases>&, bool) { out_.put('\n'); }

private:
    GPUALIGN_HD void begin(const char (&name)[3], char type) {
        const char text[] = {'\t', name[0], name[1], ':', type, ':', 0};
        out_.reserve(32);
        out_.put(text);
    }
    GPUALIGN_HD void column(int64_t value) {
        out_.put('\t');
        out_.number(value);
    }
    GPUALIGN_HD void contig(int32_t contig) {
        if (contig < 0) out_.put('*');
        else out_.put(contigs_.text(contig), uint64_t(contigs_.size(contig)));
    }
    template <class Bases> GPUALIGN_HD void put_bases(const RecordHead& head, const AlignedText<Bases>& text) {
        const int64_t n = head.to - head.from;
        if (n == 0) return out_.put("*\t*");
        if (head.mapped) text.bases().put_read(head.from, n, out_);
        else out_.put(reads_.bases_of(head.read) + head.from, uint64_t(n));
        out_.put('\t');
        if (!reads_.qualities) return out_.put('*');
        const char* qualities = reads_.quality(head.read);
        if (head.flag & kFlagReverse) out_.put_backwards(qualities + reads_.length(head.read) - head.to, uint64_t(n));
        else out_.put(qualities + head.from, uint64_t(n));
    }

    Out& out_;
    const ContigNames contigs_;
    const ReadsView reads_;
};

}  // namespace gpualign
