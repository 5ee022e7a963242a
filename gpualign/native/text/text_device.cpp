// Layout of the structs of cuda/abi/text.hpp and cuda/abi/fastq.hpp for Python.
#include "abi/fastq.hpp"
#include "abi/fields.hpp"
#include "algo/text/bam_form.hpp"
#include "algo/text/group_text.hpp"
#include "algo/text/sam_form.hpp"
#include "arrays.hpp"
#include "bindings.hpp"

namespace gpualign {
#define FASTQ(field) GPUALIGN_FIELD(FastqBatch, field)
#define FASTQ_TEXT(field) GPUALIGN_FIELD(FastqText, field)
#define FACTS(field) GPUALIGN_FIELD(FastqFacts, field)
#define OPTION(field) GPUALIGN_FIELD(SamOptions, field)
#define READS(field) GPUALIGN_FIELD(ReadColumns, field)
#define RECORDS(field) GPUALIGN_FIELD(RecordColumns, field)
#define TARGET(field) GPUALIGN_FIELD(TextTarget, field)
#define BATCH(field) GPUALIGN_FIELD(TextBatch, field)
#define INFLATE(field) GPUALIGN_FIELD(InflateBatch, field)
#define BGZF(field) GPUALIGN_FIELD(BgzfBatch, field)

std::vector<AbiStruct> text_abi() {
    return {{"SamOptions", sizeof(SamOptions),
                {OPTION(eqx), OPTION(soft_supplementary), OPTION(secondary_sequence), OPTION(secondary_records),
                    OPTION(max_other_hits), OPTION(max_other_alt_hits), OPTION(other_hits_share),
                    OPTION(other_hits_scored), OPTION(suboptimal_score), OPTION(hits), OPTION(mate_qualities),
                    OPTION(bisulfite), OPTION(reserved), OPTION(split_as_secondary), OPTION(cs),
                    OPTION(read_group_size), OPTION(alt_contig_count), OPTION(read_group), OPTION(alt_contigs)}},
        {"ReadColumns", sizeof(ReadColumns),
            {READS(names), READS(bases), READS(qualities), READS(comments), READS(mates), READS(name_offsets),
                READS(base_offsets), READS(comment_offsets)}},
        {"RecordColumns", sizeof(RecordColumns),
            {RECORDS(flag), RECORDS(contig), RECORDS(position), RECORDS(mapq), RECORDS(score), RECORDS(distance),
                RECORDS(cigar), RECORDS(cigar_offsets), RECORDS(record_offsets)}},
        {"ContigColumns", sizeof(ContigColumns),
            {GPUALIGN_FIELD(ContigColumns, names), GPUALIGN_FIELD(ContigColumns, offsets)}},
        {"TextTarget", sizeof(TextTarget),
            {TARGET(words), TARGET(acgt_mask), TARGET(contig_offsets), TARGET(run_starts), TARGET(run_ends),
                TARGET(run_bases), TARGET(runs), abi_field("names", &TextTarget::names, "ContigColumns")}},
        {"TextBatch", sizeof(TextBatch),
            {abi_field("target", &TextBatch::target, "TextTarget"),
                abi_field("reads", &TextBatch::reads, "ReadColumns"),
                abi_field("records", &TextBatch::records, "RecordColumns"),
                abi_field("options", &TextBatch::options, "SamOptions"), BATCH(wanted), BATCH(edits), BATCH(sizes),
                BATCH(block_sums), BATCH(totals), BATCH(out), BATCH(capacity), BATCH(count), BATCH(reserved)}},
        {"FastqText", sizeof(FastqText),
            {FASTQ_TEXT(text), FASTQ_TEXT(lines_before), FASTQ_TEXT(starts), FASTQ_TEXT(bytes),
                FASTQ_TEXT(first_line)}},
        {"FastqFacts", sizeof(FastqFacts), {FACTS(odd), FACTS(longest), FACTS(odd_symbols), FACTS(reserved)}},
        {"FastqBatch", sizeof(FastqBatch),
            {abi_field("first", &FastqBatch::first, "FastqText"), abi_field("second", &FastqBatch::second, "FastqText"),
                FASTQ(names), FASTQ(bases), FASTQ(qualities), FASTQ(mates), FASTQ(name_offsets), FASTQ(base_offsets),
                FASTQ(tie_breaks), FASTQ(templates), FASTQ(sizes), FASTQ(places), FASTQ(block_sums), FASTQ(facts),
                FASTQ(zeros), FASTQ(reads), FASTQ(mates_each), FASTQ(template_reads), FASTQ(check_names),
                FASTQ(all_dots), FASTQ(longest), FASTQ(zero_count), FASTQ(reserved)}},
        {"BgzfBatch", sizeof(BgzfBatch),
            {BGZF(content), BGZF(totals), BGZF(capacity), BGZF(given), BGZF(given_bytes), BGZF(deflated),
                BGZF(deflated_bytes), BGZF(status), BGZF(space), BGZF(space_bytes), BGZF(block_offsets), BGZF(out),
                BGZF(out_bytes), BGZF(first), BGZF(count)}},
        {"InflateBatch", sizeof(InflateBatch),
            {INFLATE(deflated), INFLATE(deflated_bytes), INFLATE(texts), INFLATE(text_bytes), INFLATE(checksums),
                INFLATE(inflated_bytes), INFLATE(status), INFLATE(damaged), INFLATE(count), INFLATE(reserved)}}};
}

void bind_text_device(nb::module_& m) {
    m.attr("TEXT_READS_SCANNED") = uint32_t(TextBatch::kScanned);
    m.attr("FASTQ_LONGEST_NAME") = uint32_t(FastqBatch::kLongestName);
    m.attr("FASTQ_READS_SCANNED") = uint32_t(FastqBatch::kScanned);
    m.attr("BGZF_CONTENT") = uint32_t(BgzfBatch::kContent);
    m.attr("BGZF_MAX_BLOCKS") = uint32_t(BgzfBatch::kMaxBlocks);
}

}  // namespace gpualign
