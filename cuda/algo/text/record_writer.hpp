// The records of a read: which there are and what each holds. A Form writes that as a line of SAM (sam_form.hpp) or as
// BAM's bytes (bam_form.hpp).
#pragma once
#include "algo/text/aligned_text.hpp"

namespace gpualign {

// The columns of a record that every one has.
struct RecordHead {
    uint64_t read, record;
    uint16_t flag;
    uint8_t mapq;
    bool mapped;
    int32_t contig, mate_contig;      // -1: none
    int64_t position, mate_position;  // -1: none
    int64_t template_length;
    uint32_t clip;     // the operation for clipped ends, S or H
    int64_t from, to;  // bases of the read as it is printed; none where they are equal
};

// MM, ML (Mm, Ml before they were SAM's) and MN speak of modified bases by counting from the read's first one.
GPUALIGN_HD bool counts_bases(const char* tag) {
    const char second = tag[1];
    return tag[0] == 'M' && (second == 'M' || second == 'L' || second == 'N' || second == 'm' || second == 'l');
}

template <class Form, class Bases> class RecordWriter {
public:
    // `edits`: a number a record, one more than its edits or 0 where they have not been counted yet.
    GPUALIGN_HD RecordWriter(const Bases& bases, const ContigNames& contigs, const ReadsView& reads,
        const RecordsView& records, const SamOptions& options, int32_t* edits, Form& form)
        : contigs_(contigs), reads_(reads), records_(records), options_(options), edits_(edits), form_(form),
          text_(bases, records), other_(bases, records) {}

    // All records of a read, the primary one first; returns how many.
    GPUALIGN_HOST_DEVICE uint32_t read(uint64_t i) {
        read_ = i;
        mate_ = reads_.mate_of(i);
        mate_mapped_ = mate_ != kNone && records_.mapped(records_.primary(mate_));
        uint32_t written = 0;
        for (uint64_t r = first(); r < last(); r++) {
            if (!options_.secondary_records && is(r, kFlagSecondary)) continue;
            record(r);
            written++;
        }
        return written;
    }

private:
    static constexpr uint64_t kNone = ReadsView::kNone;

    GPUALIGN_HD uint64_t first() const { return records_.primary(read_); }
    GPUALIGN_HD uint64_t last() const { return records_.primary(read_ + 1); }
    GPUALIGN_HD bool is(uint64_t r, uint16_t flag) const { return records_.flag[r] & flag; }
    GPUALIGN_HD bool is_alt(int32_t contig) const {
        return contig < options_.alt_contig_count && options_.alt_contigs[contig];
    }

    GPUALIGN_HD void record(uint64_t r) {
        const bool mapped = records_.mapped(r);
        if (mapped) text_.load(r, reads_.bases_of(read_), reads_.length(read_));
        const RecordHead head = head_of(r, mapped);
        form_.head(head, text_, options_.eqx);
        if (mapped) tags(r);
        if (mapped && options_.bisulfite) bisulfite_tags(r, head);
        if (mate_mapped_) {
            const uint64_t mate = records_.primary(mate_);
            if (options_.eqx) other_.load(mate, reads_.bases_of(mate_), reads_.length(mate_));
            else other_.load(mate);
            form_.text("MC", [&](auto& out) { other_.cigar(options_.eqx, kCigarS, out); });
            form_.number("MQ", records_.mapq[mate]);
        }
        if (options_.mate_qualities && mate_ != kNone && reads_.qualities)
            form_.number("ms", form_.out().sum(reads_.length(mate_),
                                   [&](int64_t c) { return counted_quality(reads_.quality(mate_)[c]); }));
        if (options_.read_group_size)
            form_.text("RG", [&](auto& out) { out.put(options_.read_group, uint64_t(options_.read_group_size)); });
        if (reads_.comment_size(read_)) copied_tags(head);
        form_.end(head, text_, options_.eqx);
    }

    // Tags that came with the read.
    GPUALIGN_HD void copied_tags(const RecordHead& head) {
        const char* tag = reads_.comment(read_);
        const char* const end = tag + reads_.comment_size(read_);
        const bool whole = head.from < head.to && head.to - head.from == reads_.length(read_);
        const bool all = whole && !options_.alt_contig_count;
        for (const char* next; tag < end; tag = next + 1) {
            for (next = all ? end : tag; next < end && *next != '\t';) next++;
            const bool ours = options_.alt_contig_count && tag[0] == 'p' && tag[1] == 'a';
            if (all || (!ours && (whole || !counts_bases(tag)))) form_.tags(tag, uint64_t(next - tag));
        }
    }

    GPUALIGN_HD RecordHead head_of(uint64_t r, bool mapped) const {
        RecordHead head;
        const int64_t length = reads_.length(read_);
        const bool hard = is(r, kFlagSupplementary) && !options_.soft_supplementary;
        const uint64_t at = mapped ? r : place_of(read_);  // an unmapped end stands where its mate is
        const uint64_t mate_at = mate_ == kNone ? kNone : place_of(mate_);
        head.read = read_, head.record = r, head.flag = shown_flag(r), head.mapped = mapped;
        head.mapq = mapped ? records_.mapq[r] : uint8_t(0);
        head.contig = at == kNone ? -1 : records_.contig[at];
        head.position = at == kNone ? -1 : records_.position[at];
        head.mate_contig = mate_at == kNone ? -1 : records_.contig[mate_at];
        head.mate_position = mate_at == kNone ? -1 : records_.position[mate_at];
        // leads from the first sequenced base that is aligned to that of the mate, as in samtools fixmate
        const bool measured = mapped && mate_mapped_ && records_.contig[r] == records_.contig[mate_at];
        head.template_length = measured ? first_sequenced(mate_at) - first_sequenced(r) : 0;
        head.clip = hard ? kCigarH : kCigarS;
        head.from = hard && mapped ? text_.clipped_front() : 0;
        head.to = length - (hard && mapped ? text_.clipped_back() : 0);
        if (head.from >= head.to || (is(r, kFlagSecondary) && !options_.secondary_sequence)) head.from = head.to = 0;
        return head;
    }

    GPUALIGN_HD uint16_t shown_flag(uint64_t r) const {
        const uint16_t flag = uint16_t(records_.flag[r] & ~kFlagsUnwritten);
        if (!options_.split_as_secondary || !is(r, kFlagSupplementary)) return flag;
        return uint16_t((flag & ~kFlagSupplementary) | kFlagSecondary);
    }

    // What a base counts by which samtools markdup chooses among duplicates: its quality from 15 on.
    GPUALIGN_HD static int32_t counted_quality(char quality) { return quality - 33 >= 15 ? quality - 33 : 0; }

    // The record whose position read i is given: its own primary one, its mate's, or none.
    GPUALIGN_HD uint64_t place_of(uint64_t i) const {
        if (records_.mapped(records_.primary(i))) return records_.primary(i);
        const uint64_t mate = reads_.mate_of(i);
        return mate != kNone && records_.mapped(records_.primary(mate)) ? records_.primary(mate) : kNone;
    }

    GPUALIGN_HD int64_t first_sequenced(uint64_t r) const {
        return records_.reverse(r) ? records_.end(r) : records_.position[r];
    }

    // NM of a record; `text` has its bases, or gets them.
    GPUALIGN_HD int64_t edits_of(uint64_t r, AlignedText<Bases>& text, bool loaded) {
        const int32_t known = edits_[r];
        if (known) return known - 1;
        if (!loaded) text.load(r, reads_.bases_of(read_), reads_.length(read_));
        const int64_t edits = text.edits();
        form_.out().store(edits_ + r, int32_t(edits) + 1);
        return edits;
    }

    // NM and MD come from the bases and the CIGAR, AS and ed from the mapper, SA from the read's other segments.
    GPUALIGN_HD void tags(uint64_t r) {
        form_.number("NM", edits_of(r, text_, true));
        form_.text("MD", [&](auto& out) { text_.md(out); });
        form_.number("AS", records_.score[r]);
        if (records_.distance[r] >= 0) form_.number("ed", records_.distance[r]);
        if (is(r, kFlagTranscriptForward | kFlagTranscriptReverse)) transcript_tags(r);
        if (options_.cs != CsForm::none)
            form_.text("cs", [&](auto& out) { text_.cs(options_.cs == CsForm::whole, out); });
        if ((options_.max_other_hits || options_.suboptimal_score || options_.hits) && !is(r, kFlagSecondary))
            other_hits(r);
        if (r == first() && options_.alt_contig_count) alt_share(r);
        if (!is(r, kFlagSecondary)) other_parts(r);
    }

    // XS, the strand of the transcript, as STAR and HISAT2 write it, and ts, whether it is the read's, as minimap2.
    GPUALIGN_HD void transcript_tags(uint64_t r) {
        const bool reverse = is(r, kFlagTranscriptReverse);
        form_.character("XS", reverse ? '-' : '+');
        form_.character("ts", reverse == records_.reverse(r) ? '+' : '-');
    }

    // YD and YC as bwa-meth writes them: to which strand's conversion the read belongs, f or r, and how it was
    // converted. XR, XG and XM as Bismark does.
    GPUALIGN_HD void bisulfite_tags(uint64_t r, const RecordHead& head) {
        const bool read_g_to_a = is(r, kFlagGToA), g_to_a = records_.reverse(r) != read_g_to_a;
        const auto of_read = [&](auto& out) { out.put(read_g_to_a ? "GA" : "CT", 2); };
        form_.text("YD", [&](auto& out) { out.put(g_to_a ? 'r' : 'f'); });
        form_.text("YC", of_read);
        if (options_.bisulfite & kTagXR) form_.text("XR", of_read);
        if (options_.bisulfite & kTagXG) form_.text("XG", [&](auto& out) { out.put(g_to_a ? "GA" : "CT", 2); });
        if (options_.bisulfite & kTagXM && head.from < head.to)
            form_.text("XM", [&](auto& out) { text_.methylation(g_to_a, head.clip == kCigarS, out); });
    }

    // XS, HN, and a read's secondary alignments as XA or XB, as in bwa; of records that are not primary XS alone.
    GPUALIGN_HD void other_hits(uint64_t r) {
        int32_t count = 0, best = 0;  // secondary alignments that compete; the best score of any
        bool alt = false;
        for (uint64_t other = first() + 1; r == first() && other < last(); other++) {
            if (!is(other, kFlagSecondary)) continue;
            best = best > records_.score[other] ? best : records_.score[other];
            count += competes(other);
            alt |= competes(other) && is_alt(records_.contig[other]);
        }
        if (options_.suboptimal_score) form_.number("XS", best);
        if (r != first()) return;
        if (options_.hits) form_.number("HN", 1 + count);
        if (count == 0 || count > (alt ? options_.max_other_alt_hits : options_.max_other_hits)) return;
        form_.text(options_.other_hits_scored ? "XB" : "XA", [&](auto& out) {
            for (uint64_t other = first() + 1; other < last(); other++)
                if (is(other, kFlagSecondary) && competes(other)) other_hit(other, out);
        });
    }
    GPUALIGN_HD bool competes(uint64_t r) const {
        return records_.score[r] >= options_.other_hits_share * records_.score[first()];
    }

    template <class Out> GPUALIGN_HD void other_hit(uint64_t r, Out& out) {
        const int64_t edits = place_and_cigar(r, false, out);
        out.put(',');
        out.number(edits);
        if (options_.other_hits_scored) {
            out.put(',');
            out.number(records_.score[r]);
            out.put(',');
            out.number(records_.mapq[r]);
        }
        out.put(';');
    }

    // SA: what the other parts of a read that is aligned in several are.
    GPUALIGN_HD void other_parts(uint64_t r) {
        bool several = false;
        for (uint64_t other = first() + 1; other < last(); other++) several |= is(other, kFlagSupplementary);
        if (!several) return;
        form_.text("SA", [&](auto& out) {
            for (uint64_t other = first(); other < last(); other++) {
                if (other == r || is(other, kFlagSecondary)) continue;
                const int64_t edits = place_and_cigar(other, true, out);
                out.put(',');
                out.number(records_.mapq[other]);
                out.put(',');
                out.number(edits);
                out.put(';');
            }
        });
    }

    // A record of this read within a tag, as SA or XA has it; returns its edits.
    template <class Out> GPUALIGN_HD int64_t place_and_cigar(uint64_t r, bool as_part, Out& out) {
        const bool strand_first = !as_part;
        if (options_.eqx) other_.load(r, reads_.bases_of(read_), reads_.length(read_));
        const int64_t edits = edits_of(r, other_, options_.eqx);
        other_.load(r);
        out.put(contigs_.text(records_.contig[r]), uint64_t(contigs_.size(records_.contig[r])));
        out.put(',');
        if (strand_first) out.put(records_.reverse(r) ? '-' : '+');
        out.number(records_.position[r] + 1);
        if (!strand_first) out.put(records_.reverse(r) ? ",-" : ",+");
        out.put(',');
        other_.cigar(options_.eqx, kCigarS, out);
        return edits;
    }

    // pa: the score of a record on the primary assembly as a share of that of a better one on an ALT contig.
    GPUALIGN_HD void alt_share(uint64_t r) {
        if (is_alt(records_.contig[r])) return;
        for (uint64_t other = r + 1; other < last(); other++) {
            if (!is(other, kFlagSupplementary) || !is_alt(records_.contig[other])) continue;
            form_.share("pa", double(records_.score[r]) / records_.score[other]);
            return;
        }
    }

    const ContigNames contigs_;
    const ReadsView reads_;
    const RecordsView records_;
    const SamOptions options_;
    int32_t* edits_;
    Form& form_;
    AlignedText<Bases> text_, other_;
    uint64_t read_ = 0, mate_ = kNone;
    bool mate_mapped_ = false;
};

}  // namespace gpualign
