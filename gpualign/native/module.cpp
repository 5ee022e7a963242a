#include "bindings.hpp"

#define GPUALIGN_STRING_(x) #x
#define GPUALIGN_STRING(x) GPUALIGN_STRING_(x)

NB_MODULE(GPUALIGN_MODULE, m) {
    m.doc() = "gpualign's CPU kernels, parsers and formatters, built for one instruction-set level.";
    m.attr("isa") = GPUALIGN_STRING(GPUALIGN_MODULE);
    nanobind::set_leak_warnings(false);
    gpualign::bind_abi(m);
    gpualign::bind_coverage(m);
    gpualign::bind_bam_index(m);
    gpualign::bind_bam_sort(m);
    gpualign::bind_bam_text(m);
    gpualign::bind_bam_reads(m);
    gpualign::bind_bgzf(m);
    gpualign::bind_cpu(m);
    gpualign::bind_duplicates(m);
    gpualign::bind_distances(m);
    gpualign::bind_scores(m);
    gpualign::bind_fastx(m);
    gpualign::bind_gpu(m);
    gpualign::bind_gzip(m);
    gpualign::bind_lcs(m);
    gpualign::bind_mems(m);
    gpualign::bind_pairwise(m);
    gpualign::bind_edit_filter(m);
    gpualign::bind_table(m);
    gpualign::bind_gapsmis(m);
    gpualign::bind_gapsmis_format(m);
    gpualign::bind_index(m);
    gpualign::bind_mapped_file(m);
    gpualign::bind_map(m);
    gpualign::bind_map_counts(m);
    gpualign::bind_map_device(m);
    gpualign::bind_chain_device(m);
    gpualign::bind_long_reads(m);
    gpualign::bind_sam(m);
    gpualign::bind_text_device(m);
    gpualign::bind_record_changes(m);
    gpualign::bind_alt_records(m);
    gpualign::bind_split_index(m);
    gpualign::bind_paf(m);
    gpualign::bind_fastx_text(m);
    gpualign::bind_pairs(m);
    gpualign::bind_candidates(m);
    gpualign::bind_verify(m);
    gpualign::bind_verify_tasks(m);
}
