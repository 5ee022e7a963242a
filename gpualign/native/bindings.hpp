// A function bind_NAME per file of bindings; module.cpp calls them all.
#pragma once
#include <nanobind/nanobind.h>

// clang-format off
#define GPUALIGN_BINDINGS(X) X(abi) X(coverage) X(methylation) X(conversions) X(bam_index) X(bam_borders) X(bam_sort) X(bam_text) X(bam_reads) X(bgzf) \
    X(cluster) X(cluster_text) X(cpu) X(distinct) X(duplicates) X(distances) X(scores) X(fastx) X(gpu) X(gzip) X(mems) X(near) X(pairwise) X(edit_filter) X(table) \
    X(gapsmis) X(gapsmis_format) X(genomes) X(differences) X(index) X(mapped_file) X(map) X(map_counts) X(map_device) X(chain_device) \
    X(long_reads) X(lcs) X(sam) X(text_device) X(record_changes) X(alt_records) X(paf) X(fastx_text) \
    X(pairs) X(candidates) X(chimeras) X(search) X(sintax) X(trim) X(verify) X(verify_tasks)
// clang-format on

namespace gpualign {

#define GPUALIGN_DECLARE(name) void bind_##name(nanobind::module_& m);
GPUALIGN_BINDINGS(GPUALIGN_DECLARE)
#undef GPUALIGN_DECLARE

}  // namespace gpualign
