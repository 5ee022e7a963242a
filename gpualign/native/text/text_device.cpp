// Layout of the structs of cuda/abi/text.hpp and cuda/abi/fastq.hpp for Python.
#include "abi/fastq.hpp"
#include "abi/fields.hpp"
#include "algo/text/bam_form.hpp"
#include "algo/text/group_text.hpp"
#include "algo/text/sam_form.hpp"
#include "arrays.hpp"
#include "bindings.hpp"

namespace gpualign {

std::vector<AbiStruct> text_abi() {
    return {
        GPUALIGN_STRUCT(SamOptions, eqx, soft_supplementary, secondary_sequence, secondary_records, max_other_hits,
            max_other_alt_hits, other_hits_share, other_hits_scored, suboptimal_score, hits, mate_qualities, bisulfite,
            reserved, split_as_secondary, cs, read_group_size, alt_contig_count, read_group, alt_contigs),
        GPUALIGN_STRUCT(
            ReadColumns, names, bases, qualities, comments, mates, name_offsets, base_offsets, comment_offsets),
        GPUALIGN_STRUCT(
            RecordColumns, flag, contig, position, mapq, score, distance, cigar, cigar_offsets, record_offsets),
        GPUALIGN_STRUCT(ContigColumns, names, offsets),
        GPUALIGN_STRUCT(TextTarget, words, acgt_mask, contig_offsets, run_starts, run_ends, run_bases, runs, names),
        GPUALIGN_STRUCT(TextBatch, target, reads, records, options, wanted, edits, sizes, block_sums, totals, out,
            capacity, count, reserved),
        GPUALIGN_STRUCT(FastqText, text, lines_before, starts, bytes, first_line),
        GPUALIGN_STRUCT(FastqFacts, odd, longest, odd_symbols, reserved),
        GPUALIGN_STRUCT(FastqBatch, first, second, names, bases, qualities, mates, name_offsets, base_offsets,
            tie_breaks, templates, sizes, places, block_sums, facts, zeros, reads, mates_each, template_reads,
            check_names, all_dots, longest, zero_count, reserved),
        GPUALIGN_STRUCT(BgzfBatch, content, totals, capacity, given, given_bytes, deflated, deflated_bytes, status,
            space, space_bytes, block_offsets, out, out_bytes, first, count),
        GPUALIGN_STRUCT(InflateBatch, deflated, deflated_bytes, texts, text_bytes, checksums, inflated_bytes, status,
            damaged, count, reserved)};
}

void bind_text_device(nb::module_& m) {
    m.attr("TEXT_READS_SCANNED") = uint32_t(TextBatch::kScanned);
    m.attr("FASTQ_LONGEST_NAME") = uint32_t(FastqBatch::kLongestName);
    m.attr("FASTQ_READS_SCANNED") = uint32_t(FastqBatch::kScanned);
    m.attr("BGZF_CONTENT") = uint32_t(BgzfBatch::kContent);
    m.attr("BGZF_MAX_BLOCKS") = uint32_t(BgzfBatch::kMaxBlocks);
}

}  // namespace gpualign
