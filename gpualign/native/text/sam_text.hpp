// SAM records as text. No Python here: fuzz/records.cpp reads it too.
#pragma once
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "text/other_hits.hpp"
#include "text/read_view.hpp"
#include "text/record_text.hpp"
#include "text/record_view.hpp"
#include "text/sam_options.hpp"
#include "index/reference.hpp"
#include "text/text.hpp"

namespace gpualign {

class SamWriter {
public:
    SamWriter(const ReferenceView& reference, const ContigNames& contigs, const ReadsView& reads, const RecordsView& records,
              const SamOptions& options)
        : reference_(reference), contigs_(contigs), reads_(reads), records_(records), options_(options), record_(reference, records),
          other_(reference, records), hits_(contigs_, reads_, records_, options_) {}

    // Room for about that many bytes.
    void reserve(size_t bytes) { out_.reserve(bytes); }

    // Asks for what the records of a read some way ahead will want of the reference: places lie all over it.
    [[gnu::always_inline]] void ahead(size_t i) const {
        for (size_t r = records_.primary(i); r < records_.primary(i + 1); r++)
            if (records_.mapped(r)) reference_.prefetch(records_.position[r], records_.contig[r], reads_.length(i));
    }

    // All records of a read, the primary one first.
    void read(size_t i) {
        read_ = i;
        mate_ = reads_.mate_of(i);
        mate_mapped_ = mate_ != kNone && records_.mapped(records_.primary(mate_));
        if (mate_mapped_) {
            if (options_.eqx) other_.load(records_.primary(mate_), reads_.letters(mate_), reads_.length(mate_));
            else other_.load(records_.primary(mate_));
            other_.cigar(options_.eqx, 'S', mate_cigar_);
        }
        describe_parts(i);
        if (wants_hits()) hits_.describe(i, record_);
        for (size_t r = records_.primary(i); r < records_.primary(i + 1); r++)
            if (options_.secondary_records || !is(r, kFlagSecondary)) record(i, r);
    }

    const Text& text() const { return out_; }
    Text release() { return std::move(out_); }

private:
    static constexpr size_t kNone = ReadsView::kNone;

    void record(size_t i, size_t r) {
        const int64_t length = reads_.length(i);
        const bool mapped = records_.mapped(r), hard = is(r, kFlagSupplementary) && !options_.soft_supplementary;
        if (mapped) {
            record_.load(r, reads_.letters(i), length);
            record_.cigar(options_.eqx, hard ? 'H' : 'S', cigar_);
        }
        make_room(i, length, mapped ? int64_t(record_.span()) : 0);
        reads_.put_name(i, out_);
        out_.put('\t');
        out_.number(shown_flag(r));
        out_.put('\t');
        const size_t at = mapped ? r : place_of(i);  // an unmapped end stands where its mate is
        contig_name(at);
        out_.put('\t');
        out_.number(at == kNone ? 0 : records_.position[at] + 1);
        out_.put('\t');
        out_.number(mapped ? records_.mapq[r] : 0);
        out_.put('\t');
        if (mapped) out_.put(cigar_);
        else out_.put('*');
        out_.put('\t');
        mate_fields(r, at);
        out_.put('\t');
        if (is(r, kFlagSecondary) && !options_.secondary_sequence) out_.put("*\t*");
        else sequence(i, r, hard ? record_.clipped_front() : 0, length - (hard ? record_.clipped_back() : 0));
        if (mapped) tags(r);
        if (mate_mapped_) {
            out_.put("\tMC:Z:");
            out_.put(mate_cigar_);
            out_.put("\tMQ:i:");
            out_.number(records_.mapq[records_.primary(mate_)]);
        }
        if (options_.mate_qualities && mate_ != kNone && reads_.qualities) {
            out_.put("\tms:i:");
            out_.number(quality_sum(mate_));
        }
        if (!options_.read_group.empty()) {
            out_.put("\tRG:Z:");
            out_.put(options_.read_group);
        }
        if (const int64_t extra = reads_.comment_size(i)) {
            out_.put('\t');
            out_.put(reads_.comment(i), size_t(extra));
        }
        out_.put('\n');
    }

    bool wants_hits() const { return options_.max_other_hits || options_.suboptimal_score || options_.hits; }

    uint16_t shown_flag(size_t r) const {
        if (!options_.split_as_secondary || !is(r, kFlagSupplementary)) return records_.flag[r];
        return uint16_t((records_.flag[r] & ~kFlagSupplementary) | kFlagSecondary);
    }

    // The base qualities of at least 15, by which samtools markdup chooses among duplicates.
    int64_t quality_sum(size_t i) const {
        constexpr char kZero = 33, kLeast = 15;
        const char* qualities = reads_.quality(i);
        int64_t sum = 0;
        for (int64_t c = 0; c < reads_.length(i); c++)
            if (qualities[c] - kZero >= kLeast) sum += qualities[c] - kZero;
        return sum;
    }

    bool is(size_t r, uint16_t flag) const { return records_.flag[r] & flag; }

    // The record whose place read i stands at: its own primary one, its mate's, or none.
    size_t place_of(size_t i) const {
        if (records_.mapped(records_.primary(i))) return records_.primary(i);
        const size_t mate = reads_.mate_of(i);
        return mate != kNone && records_.mapped(records_.primary(mate)) ? records_.primary(mate) : kNone;
    }

    int64_t contig_name_size(size_t r) const { return contigs_.size(records_.contig[r]); }

    void make_room(size_t i, int64_t length, int64_t span) {
        const auto name_size = [&](size_t read) {
            const size_t at = place_of(read);
            return at == kNone ? 1 : contig_name_size(at);
        };
        int64_t longest_name = name_size(i);
        for (size_t r = records_.primary(i); r < records_.primary(i + 1); r++)
            if (records_.mapped(r)) longest_name = std::max(longest_name, contig_name_size(r));
        const int64_t mate = mate_ == kNone ? 0 : int64_t(mate_cigar_.size()) + name_size(mate_);
        out_.reserve(size_t(2 * length + 320 + longest_name + mate + reads_.comment_size(i) + 4 * span + reads_.name_size(i)) +
                     cigar_.size() + parts_.size() + options_.read_group.size() + hits_.size() +
                     (options_.cs == CsForm::none ? 0 : size_t(3 * length + 2 * span)));
    }

    void contig_name(size_t at) {
        if (at == kNone) out_.put('*');
        else out_.put(contig_name_of(at), size_t(contig_name_size(at)));
    }
    const char* contig_name_of(size_t r) const { return contigs_.text(records_.contig[r]); }

    // RNEXT, PNEXT, TLEN. TLEN leads from the first sequenced base that is aligned to that of the mate, as in samtools fixmate.
    void mate_fields(size_t r, size_t at) {
        const size_t mate_at = mate_ == kNone ? kNone : place_of(mate_);
        if (mate_at == kNone) {
            out_.put("*\t0\t0");
            return;
        }
        if (records_.contig[at] == records_.contig[mate_at]) out_.put('=');
        else contig_name(mate_at);
        out_.put('\t');
        out_.number(records_.position[mate_at] + 1);
        out_.put('\t');
        if (!records_.mapped(r) || !mate_mapped_ || records_.contig[r] != records_.contig[mate_at]) {
            out_.put('0');
            return;
        }
        out_.number(first_sequenced(mate_at) - first_sequenced(r));
    }

    int64_t first_sequenced(size_t r) const { return records_.reverse(r) ? records_.end(r) : records_.position[r]; }

    // Letters [from, to) of the read as it is printed.
    void sequence(size_t i, size_t r, int64_t from, int64_t to) {
        if (from >= to) {
            out_.put("*\t*");
            return;
        }
        out_.put((records_.mapped(r) ? record_.oriented() : reads_.letters(i)) + from, size_t(to - from));
        out_.put('\t');
        if (!reads_.qualities) {
            out_.put('*');
            return;
        }
        const char* qualities = reads_.quality(i);
        if (records_.reverse(r)) out_.put_backwards(qualities + reads_.length(i) - to, size_t(to - from));
        else out_.put(qualities + from, size_t(to - from));
    }

    // NM and MD come from the letters and the CIGAR, AS and ed from the mapper, SA from the read's other parts.
    void tags(size_t r) {
        const int64_t edits = record_.edits(md_);
        out_.put("\tNM:i:");
        out_.number(edits);
        out_.put("\tMD:Z:");
        out_.put(md_);
        out_.put("\tAS:i:");
        out_.number(records_.score[r]);
        if (records_.distance[r] >= 0) {
            out_.put("\ted:i:");
            out_.number(records_.distance[r]);
        }
        if (options_.cs != CsForm::none) {
            record_.cs(options_.cs == CsForm::whole, cs_);
            out_.put("\tcs:Z:");
            out_.put(cs_);
        }
        if (wants_hits() && !is(r, kFlagSecondary)) hits_.put(out_, r == records_.primary(read_));
        if (r == records_.primary(read_) && !options_.alt_contigs.empty()) alt_share(r);
        if (part_ends_.empty() || is(r, kFlagSecondary)) return;
        out_.put("\tSA:Z:");
        size_t from = 0;
        for (const auto& [part, end] : part_ends_) {
            if (part != r) out_.put(parts_.data() + from, end - from);
            from = end;
        }
    }

    // pa: the score of a record on the primary assembly as a share of that of a better one on an ALT contig.
    void alt_share(size_t r) {
        if (options_.is_alt(records_.contig[r])) return;
        for (size_t other = r + 1; other < records_.primary(read_ + 1); other++) {
            if (!is(other, kFlagSupplementary) || !options_.is_alt(records_.contig[other])) continue;
            char text[32];
            out_.put(text, size_t(std::snprintf(text, sizeof text, "\tpa:f:%.3f", double(records_.score[r]) / records_.score[other])));
            return;
        }
    }

    // What SA says of each part of a read that is aligned in several.
    void describe_parts(size_t i) {
        parts_.clear();
        part_ends_.clear();
        const size_t first = records_.primary(i), last = records_.primary(i + 1);
        bool several = false;
        for (size_t r = first + 1; r < last; r++) several |= is(r, kFlagSupplementary);
        if (!several) return;
        for (size_t r = first; r < last; r++) {
            if (is(r, kFlagSecondary)) continue;
            record_.load(r, reads_.letters(i), reads_.length(i));
            record_.cigar(options_.eqx, 'S', cigar_);
            parts_.append(contig_name_of(r), size_t(contig_name_size(r)));
            parts_ += ',';
            append_number(parts_, records_.position[r] + 1);
            parts_ += records_.reverse(r) ? ",-," : ",+,";
            parts_ += cigar_;
            parts_ += ',';
            append_number(parts_, records_.mapq[r]);
            parts_ += ',';
            append_number(parts_, record_.edits(md_));
            parts_ += ';';
            part_ends_.emplace_back(r, parts_.size());
        }
    }

    const ReferenceView& reference_;
    const ContigNames contigs_;
    const ReadsView reads_;
    const RecordsView records_;
    const SamOptions options_;
    RecordText record_, other_;
    OtherHits hits_;
    size_t read_ = 0, mate_ = kNone;
    bool mate_mapped_ = false;
    std::string md_, cigar_, cs_, mate_cigar_, parts_;
    std::vector<std::pair<size_t, size_t>> part_ends_;
    Text out_;
};

}  // namespace gpualign
