"""The long tables of docs/benchmark-tables.md: for each result which of its figures stand in which column."""

from __future__ import annotations

from collections.abc import Iterable

from report_results import Results
from report_tables import Table, cluster, curves, layouts, promises, references

_MAPPER = (
    "reads/s = reads_per_s | × minimap2 = speed_to_minimap2/wall | reads per CPU s = reads_per_cpu_s | "
    "peak MiB = peak_mib | mapped % = mapped_percent:6 | correct % = correct_percent:6 | "
    "wrong at MAPQ ≥ 20 = wrong_at_mapq/>=20"
)
_INDEX = "s = wall_s | CPU s = cpu_s | peak MiB = peak_mib | size MiB = size_mib"
_PAIRS = (
    "pairs/s = pairs_per_s | × minimap2 = speed_to_minimap2/wall | × minimap2, CPU time = speed_to_minimap2/cpu | "
    "peak MiB = peak_mib | file MiB = file_mib"
)
_DEVICES = "reads/s = reads_per_s | kernels alone, reads/s = kernel_reads_per_s | the CPU's bytes = same_bytes"
_MUMMER = (
    "workload | reads = @reads | MUMmer s = mummer/wall_s | gpualign s = cpu/wall_s | ratio = speed_up | "
    "ratio of CPU time = @cpu ratio | MUMmer MiB = mummer/peak_mib | gpualign MiB = cpu/peak_mib | "
    "same matches = equal_sets"
)
_REGIMES = (
    "symbols = length | pairs | of = @kind | LazyRScan, ms = lazy:ms | TiledDScan = tiled:ms | RScan = rscan:ms | "
    "DScan = dscan:ms | planner = auto:ms | planner / best = auto_over_best"
)
_VSEARCH = (
    "compared with vsearch = file | pairs | scores equal = scores_equal | identities equal = identities_equal | "
    "from 90 % on = pairs_from_90_percent | of these equal = their_identities_equal | s = wall_s | "
    "vsearch s = vsearch_wall_s"
)
_SIDE = (
    "s = wall_s | speed to one GPU = speed_to_one | kernel s, busiest GPU = kernel_s | "
    "speed of kernels to one GPU = kernel_speed_to_one | same bytes = same_bytes"
)
_LEVELS = " | ".join(f"wrong at MAPQ ≥ {level} = wrong_at_mapq/{level}" for level in (0, 1, 10, 20, 30, 60))

SECTIONS: dict[str, tuple[Table, ...]] = {
    "map: speed": (
        *(Table(name, "set | by", _MAPPER, "map") for name in ("long-reads", "map", "map-speed")),
        *(Table(name, "index of | by", _INDEX, "index") for name in ("map", "map-speed")),
        Table("map-pairs", "pairs to SAM", _PAIRS, "pairs_to_sam"),
        Table("map-pairs", "pairs to sorted BAM", _PAIRS, "pairs_to_sorted_bam"),
    ),
    "map: on GPUs": (
        Table(
            "map-devices",
            "chr20, 150 bases | on",
            _DEVICES,
            "map_devices",
            "Whole commands, FASTQ to SAM unless the row says otherwise. The CPU and minimap2 map a share of "
            "the reads, "
            "so starting is a larger part of their time. Indexes were made before.",
        ),
        Table(
            "map-scaling",
            "chr20, 150 bases | on",
            _DEVICES,
            "map_devices",
            "With the usual options the host delivers fewer reads than several GPUs map, and a kernel ends with "
            "a few "
            "slow reads; `-x sr-sensitive --paf` gives kernels more to do, and less to print.",
        ),
        Table(
            "map-kernels",
            "the kernel alone, reads in a batch",
            "reads/s = reads_per_s | left to the CPU = left_to_cpu",
            "map_kernels",
        ),
        Table(
            "map-kernels",
            "source",
            "% of samples = samples_percent | % of instructions = instructions_percent | lanes of 32 = lanes",
            "map_kernels/profile/by_file",
            "By Nsight Compute; names of files are those of that version.",
        ),
        Table(
            "map-references",
            "reference",
            "index made, s = index_s | bytes a base = index_bytes_a_base | loaded, s = seconds/index | "
            "to the device, s = load_s | device MiB = peak_vram_mb | host MiB = mapped_host_mb | "
            "reads/s = reads_per_s | "
            "without the start = reads_per_s_of_mapping | the CPU's bytes = same_bytes",
            note="Host MiB: of an index for which the device had no space, read over the bus. The synthetic genome is "
            "half repeats (benchmarks/synthetic_genome.py); more of its reads need chaining, on the CPU.",
            rows=references,
        ),
    ),
    "map: accuracy": (
        Table(
            "map-accuracy",
            "simulated | by",
            f"reads | correct % = correct_percent:6 | gpualign's lead = @lead | {_LEVELS}",
            "sets",
            "gpualign's lead: how many percent of the reads more it has right, with the 95 % interval, from the "
            "reads "
            "that only one of the two has right. Compared with bwa nearly all of those have several equally good "
            "alignments, of which gpualign reports the first and bwa any: chance where the interval holds 0.",
        ),
        Table(
            "map-accuracy",
            "set | ",
            "reads | levels = @broken",
            note="A MAPQ of q promises at most one wrong read in 10^(q/10). These are gpualign's levels from 1 to 60 "
            "at which more than twice as many are wrong.",
            rows=promises,
        ),
        Table(
            "map-accuracy",
            "set | peer",
            "levels with more wrong reads = more | reads | wrong | peer's | difference",
            note="ROC: where a peer keeps so many reads of MAPQ 1 to 60, how many are wrong among as many of "
            "gpualign's, at the level where it compares worst. Chance where the 95 % interval holds 0.",
            rows=curves,
        ),
        Table(
            "all-places",
            "genome | | by",
            "reported | missed | beyond the limit = beyond_the_limit | s = wall_s | peak MiB = peak_mib",
            "all_places",
            "`--sensitivity full --all` and mappers that promise the same. What any of them finds, and edlib "
            "confirms, "
            "counts; missed is what one lacks of that.",
        ),
        Table(
            "real-reads",
            "compared with bwa mem",
            "reads | both map = both_mapped | both sure = both_sure | of these agree = agree | "
            "gpualign alone maps = ours_alone | bwa alone maps = theirs_alone",
            "real_reads",
            "Sure is a MAPQ of at least 30, agreement within 10 bases.",
        ),
        Table(
            "samples",
            "samples",
            "`map --samples` s = together_s | one run s = single_s | times as fast as runs of `map` = times_single | "
            "times as fast as bwa mem = times_bwa | peak MiB = together_mib",
            "samples",
            "Pairs of 2 x 150 bases of E. coli. Single runs use a saved index; their median counts for all samples.",
        ),
        Table(
            "pipelines",
            "pipeline",
            "counted | with gpualign mem = gpualign | with bwa mem = bwa | the same = both",
            "pipelines",
            "Of 4,000 reads that are copies bwa mem places some, in repeats, elsewhere than the first.",
        ),
        Table(
            "calling",
            "mapper",
            "true | called | recall | precision | properly paired = records/proper | duplicates = records/duplicates",
            "calling",
            "A pipeline as GATK's and sarek's begin, run unchanged by Snakemake (benchmarks/calling.smk): bwa mem, "
            "sort, Picard MarkDuplicates, bcftools call.",
        ),
        Table(
            "planted-gaps",
            "",
            "errors | of = kind | length | reads | whole = gpualign_whole | minimap2's = minimap2_whole | "
            "both = both_whole | breakpoints = gpualign_breakpoints | minimap2's = minimap2_breakpoints | "
            "both = both_breakpoints",
            "rows",
            "Whole: one operation of a CIGAR has nine tenths of the gap. Breakpoints are found within 50 bases.",
        ),
        Table("variants", "variants called after | kind", "true | called | recall | precision", "variants"),
        Table(
            "validity",
            "read by samtools, bcftools and picard",
            "records | checks = @checks | that complain = @complaints",
            "validity",
        ),
        Table(
            "duplicates",
            "duplicates | compared with",
            "records | same | ties | rules | unexplained",
            "duplicates",
            "Records with the same flag and type of duplicate; a tie is another template of equal score, the rules are "
            "those of docs/formats.md.",
        ),
    ),
    "verify": (
        Table(
            "verify-kernels",
            "",
            "of = label | query | window | TCUPS = tcups | 10⁹ pairs/s = gpairs_per_s | threads a pair = lanes | "
            "words a thread = words",
            "rows",
            "Cells of whole matrices, whatever the limit leaves out.",
        ),
        Table(
            "verify-kernels",
            "",
            "query | window | limit | true candidates = true_share:% | band, 10⁹ pairs/s = gpairs_per_s | "
            "× whole matrices = full_over_band",
            "band",
        ),
        Table(
            "verify-counters",
            "",
            "query | threads a pair = lanes | words a thread = words | instructions a cell = instructions_per_cell | "
            "achieved occupancy = achieved_occupancy:%",
            note="By Nsight Compute.",
        ),
        Table(
            "verify-streams",
            "",
            "query | pairs | kernel s = kernel_s | copy s = copy_s | copies hidden = copies_hidden:%",
            note="Copies hidden: the share of the copying during which a kernel ran or the host had work of its own.",
        ),
        Table(
            "verify",
            "",
            "query | window | limit | gpualign, pairs/s = gpualign_pairs_per_s | "
            "edlib, pairs/s = edlib_pairs_per_s | "
            "ratio",
            "core",
            "One thread each.",
        ),
        Table("verify", "", "whole command on = device | s = wall_s | candidates = report/candidates", "command"),
        Table(
            "verification",
            "windows",
            "pairs/s = pairs_per_s/gpualign | × edlib = ratio_to/edlib | "
            "× edlib's loop = ratio_to/edlib_without_calls | "
            "× with starts = ratio_to/edlib_locations | × its loop = ratio_to/edlib_locations_without_calls",
            note="100 × 140 within 20 errors, one thread. Edlib's loop: the cost of a call taken off its time.",
        ),
    ),
    "pairwise": (
        Table(
            "pairwise-gpu",
            "work",
            "pairs | pairs/s = pairs_per_s | TCUPS = tcups | kernel s = kernel_s | command s = wall_s | "
            "GPU MiB = peak_vram_mb",
            note="With `--id` the cells are those of all pairs, most of which the filter rules out.",
        ),
        Table(
            "pairwise-genomes",
            "one pair",
            "symbols = @symbols | TCUPS = tcups | kernel s = kernel_s | command s = wall_s | "
            "GPU MiB = peak_vram_mb | "
            "score | CIGAR operations = runs",
        ),
        Table(
            "pairwise-modes",
            "scores of other modes",
            "pairs | TCUPS = tcups | kernel s = kernel_s | GPU command s = cuda_wall_s | CPU s = cpu_wall_s | "
            "same bytes = equal_bytes",
        ),
        Table(
            "gpu-peers",
            "",
            "work | length | pairs | gpualign, TCUPS = gpualign_tcups | StringZillas, TCUPS = stringzillas_tcups | "
            "gpualign's kernels, TCUPS = gpualign_kernel_tcups | equal",
            "rows",
            "n × n numbers from memory to memory in one call, on one GPU. gpualign gets every pair by itself, "
            "and short "
            "ones cost more to hand over than to compute.",
        ),
        Table("pairwise-regimes", "", _REGIMES),
        Table("pairwise-long-regimes", "", _REGIMES, note="A kernel that was 20 times slower was not run on more."),
        Table(
            "pairwise-cpu", "on the CPU", "GCUPS = gcups | parasail's best, GCUPS = @parasail | ratio = times_parasail"
        ),
        Table(
            "pairwise-core",
            "",
            "one long pair, one core = mode | gaps | of | symbols each = letters | s = wall_s | GCUPS = gcups | "
            "parasail's best, GCUPS = @parasail",
        ),
        *(
            Table(name, "", _VSEARCH, note="Those that differ have several optimal alignments.")
            for name in ("pairwise-vsearch", "pairwise-windows")
        ),
    ),
    "pairwise --max-gaps": (
        Table(
            "gapsmis",
            "GPU",
            "kernel TCUPS = kernel_tcups | kernel ms = kernel_ms | call ms = call_ms",
            "gpu",
            "Texts of 250 symbols; a cell counts once for each of K + 1 layers.",
        ),
        Table(
            "gapsmis",
            "traceback | texts",
            "alignment only, ms = alignment only | on the host = hybrid | on the GPU = gpu",
            "gpu",
        ),
        Table(
            "gapsmis",
            "CPU",
            "plain loop, one core, GCUPS = plain_one_core_gcups | scores, GCUPS = scores_gcups | "
            "with traceback = traceback_gcups | scores × plain = scores_times_plain",
            "cpu",
        ),
    ),
    "lcs-filter": (
        Table(
            "lcs-kernel",
            "",
            "work = case | update = formulation | words × threads, block = shape | kernel ms = kernel_ms | "
            "TCUPS = tcups",
            "rows",
        ),
        Table("lcs-command", "", "whole command = case | s = wall_s | kernel s = report/devices/0/kernel_s", "rows"),
        Table(
            "lcs-cpu",
            "",
            "on the CPU = case | Crochemore, GCUPS = crochemore_gcups | Allison-Dix, GCUPS = allison-dix_gcups | "
            "RapidFuzz, GCUPS = rapidfuzz_gcups | ratio",
            "rows",
        ),
        Table("lcs-paths", "", "subsequences = case | on = device | ms = s:ms | kernel ms = kernel_s:ms", "rows"),
    ),
    "mems": (
        Table("mems", "", _MUMMER, "workloads", "MUMmer 3.23 has one thread, gpualign two."),
        *(
            Table(
                name,
                "",
                "workload | reads = @reads | CPU command s = cpu/wall_s | GPU command s = cuda/wall_s | "
                "CPU search s = cpu/search_s | "
                "GPU kernel s = cuda/kernel_s",
                "workloads",
            )
            for name in ("mems-devices", "mems-unique-devices")
        ),
        Table("mems-unique", "", _MUMMER, "workloads", "Unique matches at small lengths, one thread each."),
        Table(
            "mems-layouts",
            "layout, ms of all kernels",
            "chr20-chrX-l50 | chr20-chrX-l100 | lmono-120-l20 | ssuis-36-l10",
            note="One choice changed at a time ([the conclusions](design-notes.md#mems-on-a-gpu)).",
            rows=layouts,
        ),
        Table(
            "mems-profile",
            "",
            "the profiler on = workload | % of the memory's bandwidth = dram_throughput_percent | "
            "L2 hits % = l2_hit_percent | % of the arithmetic limit = compute_throughput_percent | "
            "lanes of 32 = active_threads_per_warp",
            note="Of an earlier kernel.",
        ),
    ),
    "Several devices and machines": (
        *(Table(f"devices-{name}", name, _SIDE, "cases") for name in ("pairwise", "lcs-filter", "verify")),
        Table(
            "cluster",
            "command | on",
            "s = wall_s | CPU s = cpu_s | speed to no cluster = speed_to_no_cluster | "
            "CPU time to it = cpu_to_no_cluster | "
            "without the start = without:3 | same bytes = same_bytes",
            note="`start` has nothing to do; its cost is taken off in the last ratio.",
            rows=cluster,
        ),
    ),
}


def tables_page(results: Results) -> Iterable[str]:
    """All sections, each table with its note and where it comes from."""
    for title, tables in SECTIONS.items():
        yield f"## {title}\n"
        for one in tables:
            for found in results.all(one.result):
                yield f"{one.text(found.figures)}\n{one.note}{' ' if one.note else ''}{found.source}\n"
