// PAF lines, minimap2's tab-separated form of an alignment: 0-based, half-open, query coordinates on the read's own
// strand. No Python here: fuzz/records.cpp reads it too.
#pragma once
#include <initializer_list>
#include <string>

#include "text/record_text.hpp"
#include "abi/text.hpp"
#include "seeds/index/reference.hpp"
#include "text/text.hpp"

namespace gpualign {

// Columns that a record's CIGAR covers, without clips.
struct PafColumns {
    int64_t query = 0, target = 0, total = 0;

    PafColumns(const uint32_t* begin, const uint32_t* end) {
        for (const uint32_t* c = begin; c < end; c++) {
            const uint32_t op = *c & 15, n = *c >> 4;
            if (op == kCigarS) continue;
            if (!skips_reference(op)) query += n;
            if (op != kCigarI) target += n;
            if (op != kCigarN) total += n;
        }
    }
};

class PafWriter {
public:
    PafWriter(const ReferenceView& reference, const ContigNames& contigs, const ReadsView& reads,
        const RecordsView& records, bool eqx, CsForm cs)
        : reference_(reference), contigs_(contigs), reads_(reads), records_(records), eqx_(eqx), cs_form_(cs),
          record_(UnpackedBases(reference), records_) {}

    void read(size_t i) {
        for (size_t r = records_.primary(i); r < records_.primary(i + 1); r++)
            if (records_.mapped(r)) line(i, r);
    }

    const Text& text() const { return out_; }
    Text release() { return std::move(out_); }

private:
    void line(size_t i, size_t r) {
        const int64_t length = reads_.length(i);
        const int32_t contig = records_.contig[r];
        record_.load(r, reads_.bases_of(i), length);
        const PafColumns columns(records_.cigar_begin(r), records_.cigar_end(r));
        const int64_t edits = record_.edits();
        out_.reserve(64);
        reads_.put_name(i, reads_.name_size(i), out_);
        out_.reserve(64);
        if (reads_.paired(i)) out_.put(reads_.mates[i] == kFirstMate ? "/1" : "/2");
        const int64_t before = records_.reverse(r) ? record_.clipped_back() : record_.clipped_front();
        numbers({length, before, before + columns.query});
        out_.put(records_.reverse(r) ? "\t-\t" : "\t+\t");
        out_.put(contigs_.text(contig), size_t(contigs_.size(contig)));
        numbers({reference_.contig_offsets[contig + 1] - reference_.contig_offsets[contig], records_.position[r],
            records_.position[r] + columns.target, columns.total - edits, columns.total, records_.mapq[r]});
        out_.put("\tNM:i:");
        out_.number(edits);
        out_.put("\tAS:i:");
        out_.number(records_.score[r]);
        out_.reserve(64);
        out_.put(records_.flag[r] & kFlagSecondary ? "\ttp:A:S\tcg:Z:" : "\ttp:A:P\tcg:Z:");
        record_.cigar(eqx_, kNoClips, out_);
        if (records_.flag[r] & (kFlagTranscriptForward | kFlagTranscriptReverse)) {
            const bool reverse = records_.flag[r] & kFlagTranscriptReverse;
            out_.reserve(16);
            out_.put(reverse == records_.reverse(r) ? "\tts:A:+" : "\tts:A:-");
        }
        if (cs_form_ != CsForm::none) {
            out_.put("\tcs:Z:");
            record_.cs(cs_form_ == CsForm::whole, out_);
        }
        out_.put('\n');
    }

    void numbers(std::initializer_list<int64_t> values) {
        for (const int64_t value : values) {
            out_.put('\t');
            out_.number(value);
        }
    }

    const ReferenceView& reference_;
    const ContigNames contigs_;
    const ReadsView reads_;
    const RecordsView records_;
    const bool eqx_;
    const CsForm cs_form_;
    RecordText record_;
    Text out_;
};

}  // namespace gpualign
