// One bind function per file of bindings; module.cpp calls them all.
#pragma once
#include <nanobind/nanobind.h>

namespace gpualign {
void bind_abi(nanobind::module_& m);
void bind_coverage(nanobind::module_& m);
void bind_bam_index(nanobind::module_& m);
void bind_bam_sort(nanobind::module_& m);
void bind_bam_text(nanobind::module_& m);
void bind_bam_reads(nanobind::module_& m);
void bind_bgzf(nanobind::module_& m);
void bind_cpu(nanobind::module_& m);
void bind_duplicates(nanobind::module_& m);
void bind_distances(nanobind::module_& m);
void bind_scores(nanobind::module_& m);
void bind_fastx(nanobind::module_& m);
void bind_gpu(nanobind::module_& m);
void bind_gzip(nanobind::module_& m);
void bind_mems(nanobind::module_& m);
void bind_pairwise(nanobind::module_& m);
void bind_edit_filter(nanobind::module_& m);
void bind_table(nanobind::module_& m);
void bind_gapsmis(nanobind::module_& m);
void bind_gapsmis_format(nanobind::module_& m);
void bind_index(nanobind::module_& m);
void bind_mapped_file(nanobind::module_& m);
void bind_map(nanobind::module_& m);
void bind_map_counts(nanobind::module_& m);
void bind_map_device(nanobind::module_& m);
void bind_chain_device(nanobind::module_& m);
void bind_long_reads(nanobind::module_& m);
void bind_lcs(nanobind::module_& m);
void bind_sam(nanobind::module_& m);
void bind_text_device(nanobind::module_& m);
void bind_record_changes(nanobind::module_& m);
void bind_alt_records(nanobind::module_& m);
void bind_split_index(nanobind::module_& m);
void bind_paf(nanobind::module_& m);
void bind_fastx_text(nanobind::module_& m);
void bind_pairs(nanobind::module_& m);
void bind_candidates(nanobind::module_& m);
void bind_verify(nanobind::module_& m);
void bind_verify_tasks(nanobind::module_& m);
}  // namespace gpualign
