// A read's secondary alignments as tags of its primary record: XA or XB as in bwa, XS, HN.
#pragma once
#include <algorithm>
#include <string>

#include "text/read_view.hpp"
#include "text/record_text.hpp"
#include "text/record_view.hpp"
#include "text/sam_options.hpp"

namespace gpualign {

class OtherHits {
public:
    OtherHits(const ContigNames& contigs, const ReadsView& reads, const RecordsView& records, const SamOptions& options)
        : contigs_(contigs), reads_(reads), records_(records), options_(options) {}

    // Takes read i; `record` is used for its alignments.
    void describe(size_t i, RecordText& record) {
        text_.clear();
        count_ = best_ = 0;
        bool alt = false;
        const size_t first = records_.primary(i), last = records_.primary(i + 1);
        for (size_t r = first + 1; r < last; r++) {
            if (!(records_.flag[r] & kFlagSecondary)) continue;
            best_ = std::max(best_, records_.score[r]);
            count_ += competes(first, r);
            alt |= competes(first, r) && options_.is_alt(records_.contig[r]);
        }
        if (count_ == 0 || count_ > (alt ? options_.max_other_alt_hits : options_.max_other_hits)) return;
        for (size_t r = first + 1; r < last; r++)
            if (records_.flag[r] & kFlagSecondary && competes(first, r)) add(i, r, record);
    }

    // Bytes that put() writes at most.
    size_t size() const { return text_.size() + 64; }

    void put(Text& out, bool primary) const {
        if (options_.suboptimal_score) {
            out.put("\tXS:i:");
            out.number(primary ? best_ : 0);
        }
        if (!primary) return;
        if (options_.hits) {
            out.put("\tHN:i:");
            out.number(1 + count_);
        }
        if (text_.empty()) return;
        out.put(options_.other_hits_scored ? "\tXB:Z:" : "\tXA:Z:");
        out.put(text_);
    }

private:
    bool competes(size_t primary, size_t r) const { return records_.score[r] >= options_.other_hits_share * records_.score[primary]; }

    void add(size_t i, size_t r, RecordText& record) {
        record.load(r, reads_.letters(i), reads_.length(i));
        record.cigar(options_.eqx, 'S', cigar_);
        text_.append(contigs_.text(records_.contig[r]), size_t(contigs_.size(records_.contig[r])));
        text_ += records_.reverse(r) ? ",-" : ",+";
        append_number(text_, records_.position[r] + 1);
        text_ += ',';
        text_ += cigar_;
        text_ += ',';
        append_number(text_, record.edits(md_));
        if (options_.other_hits_scored) {
            text_ += ',';
            append_number(text_, records_.score[r]);
            text_ += ',';
            append_number(text_, records_.mapq[r]);
        }
        text_ += ';';
    }

    const ContigNames contigs_;
    const ReadsView reads_;
    const RecordsView records_;
    const SamOptions& options_;
    int32_t count_ = 0, best_ = 0;  // secondary alignments that compete; the best score of any
    std::string text_, cigar_, md_;
};

}  // namespace gpualign
