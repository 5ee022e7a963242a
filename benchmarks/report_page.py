"""docs/benchmarks.md: a table for each command, its figure and what they say; and the README's block of figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from report_results import Results, entries, table
from report_tables import broken_promises

INTRODUCTION = """# Benchmarks

`make report` writes this page from the files in [benchmarks/results](../benchmarks/results). Every number is in one of
them, with the machine, the versions and the date. [benchmark-tables.md](benchmark-tables.md) has all tables, each with
its file, and [benchmarks/README.md](../benchmarks/README.md) says how the figures are measured.

TCUPS and GCUPS are 10¹² and 10⁹ cells of the dynamic programming matrix a second: the product of two lengths, summed
over the pairs. "Kernel" is the time of a GPU's kernels by its own events, "command" the whole program by the clock.
GPU: one NVIDIA H200. CPU: two cores, unless the table says otherwise.
"""


def benchmarks_page(results: Results) -> str:
    """The text of docs/benchmarks.md."""
    parts = [INTRODUCTION, "## At a glance\n", "![ratios](figures/overview.svg)\n", overview_lines(results)]
    for title, section in _SECTIONS.items():
        parts += [f"## {title}\n", *section(results)]
    return "\n".join(parts)


# -- at a glance


def overview_ratios(results: Results) -> list[tuple[str, float]]:
    """How many times as fast as its peer in one run on the same machine. Mems by CPU time, as MUMmer has one thread."""
    near = results["verification"].figures["near"]["ratio_to"]
    gaps = {name: row for (name,), row in entries(results["gapsmis"].figures["cpu"], 1)}
    peers: dict[str, dict[str, float]] = {
        "map vs minimap2": {
            name: tools["gpualign"]["speed_to_minimap2"]["wall"]
            for name, tools in results["map-speed"].figures["map"].items()
        },
        "verification loop vs edlib without its calls": {"": near["edlib_without_calls"]},
        "pairwise vs parasail": {
            name: row["times_parasail"] for (name,), row in entries(results["pairwise-cpu"].figures, 1)
        },
        "lcs-filter vs RapidFuzz": {symbols(row["case"]): row["ratio"] for row in results["lcs-cpu"].figures["rows"]},
        "bounded gaps vs a plain loop": {name: row["scores_times_plain"] for name, row in gaps.items()},
        "mems vs MUMmer": {row["workload"]: _cpu_ratio(row) for row in results["mems"].figures["workloads"]},
    }
    return [
        (f"{peer} ({case})" if case else peer, ratio) for peer, cases in peers.items() for case, ratio in cases.items()
    ]


def _cpu_ratio(row: dict[str, Any]) -> float:
    return float(row["mummer"]["cpu_s"] / row["cpu"]["cpu_s"])


def overview_lines(results: Results) -> str:
    """The smallest and the largest of each command's ratios, and what a GPU does."""
    spans: dict[str, list[float]] = {}
    for name, ratio in overview_ratios(results):
        spans.setdefault(name.split(" (")[0], []).append(ratio)
    rows = [(name, _span(ratios), len(ratios)) for name, ratios in spans.items()]
    full = [row["tcups"] for row in results["verify-kernels"].figures["rows"] if row["label"] == "full columns"]
    lcs = max(row["tcups"] for row in results["lcs-kernel"].figures["rows"])
    linear = results["pairwise-gpu"].figures["score only, linear, 1536"]["tcups"]
    gaps = results["gapsmis"].figures["gpu"]["K=2 scores"]["kernel_tcups"]
    single = [one for name, one in results["map-devices"].figures["map_devices"].items() if name.startswith("single")]
    largest = max(single, key=lambda one: int(one["reads"]))
    return (
        f"{table(('on the CPU, in the same run', 'times as fast', 'cases'), rows)}\n"
        f"Kernels on one NVIDIA H200, in 10¹² cells a second: edit distances {min(full):.0f} to {max(full):.0f}, LCS "
        f"lengths up to {lcs:.0f}, Needleman-Wunsch scores {linear:.1f}, alignments with at most two gaps "
        f"{gaps:.1f}.\n\n"
        f"`map` takes {largest['reads']:,} reads of 150 bases from FASTQ to SAM at "
        f"{largest['cuda']['reads_per_s'] / 1e6:.2f} M reads a second with that GPU and 16 CPU threads; the bytes are "
        "those of the CPU alone.\n"
    )


def _span(values: list[float], form: str = ".1f") -> str:
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return low if low == high else f"{low} to {high}"


# -- the commands


def _map(results: Results) -> Iterator[str]:
    rows: list[tuple[Any, ...]] = []
    sets: dict[str, dict[str, Any]] = {}
    for name in ("map-speed", "map", "long-reads"):
        for case, tools in results[name].figures["map"].items():
            sets.setdefault(case, tools)
    for case, tools in sets.items():
        ours, theirs = tools["gpualign"], tools["minimap2"]
        correct = (f"{one['correct_percent']:.2f}" for one in (ours, theirs))
        rows.append((case, *(_rates(ours, theirs, "reads_per_s")), *correct))
    for key, case in (("pairs_to_sam", "pairs to SAM"), ("pairs_to_sorted_bam", "pairs to sorted BAM")):
        tools = results["map-pairs"].figures[key]
        rows.append((case, *_rates(tools["gpualign"], tools["minimap2"], "pairs_per_s"), None, None))
    devices = results["map-devices"].figures["map_devices"]
    for case, one in devices.items():
        ratio = one["cuda"]["reads_per_s"] / one["minimap2"]["reads_per_s"]
        rates = (one[tool]["reads_per_s"] for tool in ("cuda", "minimap2"))
        rows.append((f"{case}, GPU, 16 threads", *rates, round(ratio, 1), None, None))
    heads = ("reads or pairs a second", "gpualign", "minimap2", "times as fast", "correct %", "minimap2's")
    yield "![reads a second](figures/map.svg)\n"
    yield table(heads, rows)
    yield _map_reading(results)


def _rates(ours: dict[str, Any], theirs: dict[str, Any], key: str) -> tuple[Any, ...]:
    return ours[key], theirs[key], round(ours["speed_to_minimap2"]["wall"], 1)


def _map_reading(results: Results) -> str:
    sets = results["map-accuracy"].figures["sets"]
    kept = sum(not broken_promises(tools["gpualign"]) for tools in sets.values())
    leads = {
        peer: [
            100 * (row["correct_by_gpualign_alone"] - row["correct_here_alone"]) / row["reads"]
            for (_, tool), row in entries(sets, 2)
            if tool == peer
        ]
        for peer in ("bwa", "minimap2")
    }
    every = [tools["tools"]["gpualign"]["missed"] for tools in results["all-places"].figures["all_places"].values()]
    kernel = results["map-kernels"].figures["map_kernels"]["single 1,000,000"]["reads_per_s"]
    agree = results["real-reads"].figures["real_reads"]["miseq_ecoli"]
    wide = results["map"].figures["map"]["chr20_se250e5"]["gpualign -e 0.12"]["correct_percent"]
    return (
        f"- **Where reads belong.** In simulated reads gpualign has {_span(leads['bwa'], '+.3f')} % more of them right "
        f"than bwa, and {_span(leads['minimap2'], '+.3f')} % more than minimap2. In {kept} of {len(sets)} sets no "
        f"level "
        "of MAPQ has more than twice the wrong reads that it promises. Of real reads that bwa and gpualign both map "
        "with "
        f"confidence {agree['agree']} of {agree['both_sure']} agree (one MiSeq run). Reads with more errors than "
        f"the default "
        f"limit want `-e`: with `-e 0.12` {wide:.2f} % of chr20_se250e5 are right.\n"
        f"- **All alignments.** `--sensitivity full --all` misses {sum(every)} of those that RazerS 3, Yara or "
        f"gpualign "
        "find; where reads have thousands, RazerS 3 and Yara are faster.\n"
        f"- **On a GPU** the kernel alone maps {kernel / 1e6:.0f} M reads a second. The command is slower: it reads, "
        "parses and prints on the host. More GPUs pay only where a read costs more (`-x sr-sensitive`).\n"
    )


def _verify(results: Results) -> Iterator[str]:
    full = {row["query"]: row for row in results["verify-kernels"].figures["rows"] if row["label"] == "full columns"}
    band = {row["query"]: row for row in results["verify-kernels"].figures["band"] if row["true_share"] == 0.05}
    rows = [
        (
            f"{row['query']} × {row['window']}, limit {row['limit']}",
            row["gpualign_pairs_per_s"],
            row["edlib_pairs_per_s"],
            row["ratio"],
            full.get(row["query"], {}).get("gpairs_per_s"),
            band.get(row["query"], {}).get("gpairs_per_s"),
        )
        for row in results["verify"].figures["core"]
    ]
    heads = (
        "query × window",
        "one thread, pairs/s",
        "edlib",
        "times as fast",
        "GPU, 10⁹ pairs/s",
        "in a band, limit 5 %",
    )
    command = results["verify"].figures["command"]
    times = {device: _span([row["wall_s"] for row in command if row["device"] == device]) for device in ("cuda", "cpu")}
    sample = results["verify-kernels"].figures["sample"]
    yield "![verify](figures/verify.svg)\n"
    yield table(heads, rows)
    yield (
        "- The kernel is fastest with one thread a pair, as long as a query fits the registers; longer queries are "
        "shared "
        "by threads. The figure is that of Chacón et al. (2014), Figs. 4, 7 and 8.\n"
        f"- Of {sample['pairs']:,} sampled pairs {sample['different']} differ from edlib.\n"
        f"- The whole command takes {times['cuda']} s on the GPU and {times['cpu']} s on 16 CPU threads for "
        f"{command[0]['report']['candidates']:,} candidates: text takes the time. A GPU pays where queries are long or "
        "the pairs are made in memory.\n"
    )


def _pairwise(results: Results) -> Iterator[str]:
    gpu, rows = results["pairwise-gpu"].figures, []
    for (name,), row in entries(results["pairwise-cpu"].figures, 1):
        scoring, length = name.rsplit(" ", 1)
        device = gpu[f"score only, {scoring}, {length}"]
        best = max(row["parasail_gcups"].values())
        rows.append((name, row["gcups"], best, row["times_parasail"], device["tcups"], int(device["pairs_per_s"])))
    heads = ("scores", "CPU, GCUPS", "parasail", "times as fast", "GPU, TCUPS", "GPU, pairs/s")
    each = [row for name in ("pairwise-regimes", "pairwise-long-regimes") for row in results[name].figures]
    worst = max(row["auto_over_best"] for row in each)
    search = gpu["25,000 x 1,500 all against all, --id 0.97"]
    genomes = results["pairwise-genomes"].figures["alignment, linear"]
    vsearch = results["pairwise-vsearch"].figures
    core = max(row["gcups"] for row in results["pairwise-core"].figures)
    yield table(heads, rows)
    yield "![four kernels](figures/pairwise.svg)\n"
    yield (
        f"- **Which kernel** depends on lengths and numbers of pairs (after Truong et al. 2014, Figs. 8 to 10). The "
        f"planner's choice takes at most {worst} times as long as the fastest.\n"
        f"- **With a filter**: {search['pairs']:,} pairs within 97 % identity, whole command, {search['wall_s']} s "
        f"on the "
        "GPU.\n"
        f"- **Long pairs**: one core computes up to {core:.0f} GCUPS. The GPU aligns two E. coli genomes "
        f"({' × '.join(f'{n:,}' for n in genomes['letters'])}) in {genomes['wall_s']:.1f} s.\n"
        f"- **As vsearch**: {vsearch['scores_equal']:,} of {vsearch['pairs']:,} scores are equal, and "
        f"{vsearch['their_identities_equal']:,} of {vsearch['pairs_from_90_percent']:,} identities from 90 % on; below "
        f"that pairs have several optimal alignments. {vsearch['wall_s']:.1f} s, vsearch "
        f"{vsearch['vsearch_wall_s']:.1f} s.\n"
    )


def _bounded_gaps(results: Results) -> Iterator[str]:
    gpu, cpu = (results["gapsmis"].figures[key] for key in ("gpu", "cpu"))
    rows = [
        (
            name,
            *(row[key] for key in ("scores_gcups", "plain_one_core_gcups", "scores_times_plain", "traceback_gcups")),
            gpu[f"{name} scores"]["kernel_tcups"],
            gpu[f"{name} traceback"]["kernel_tcups"],
        )
        for (name,), row in entries(cpu, 1)
    ]
    tracebacks = [row["all texts"] for (name,), row in entries(gpu, 1) if name.startswith("traceback table")]
    shares = [(row["gpu"] - row["alignment only"]) / (row["hybrid"] - row["alignment only"]) for row in tracebacks]
    heads = (
        "gaps",
        "CPU, GCUPS",
        "plain loop, one core",
        "times as fast",
        "with traceback",
        "GPU, TCUPS",
        "with traceback",
    )
    yield "![bounded gaps](figures/bounded-gaps.svg)\n"
    yield table(heads, rows)
    yield (
        "Texts of 250 symbols, patterns of 50 to 200; a cell counts once for each of K + 1 layers. Right in the "
        "figure: "
        f"tracing back on the GPU adds {_span(shares, '.0%')} of what copying the directions to the host and tracing "
        "back there adds (after Carroll et al., Figs. 5 to 14 and Table 1).\n"
    )


def _lcs(results: Results) -> Iterator[str]:
    keys = ("crochemore_gcups", "allison-dix_gcups", "rapidfuzz_gcups", "ratio")
    rows = [(symbols(row["case"]), *(row[key] for key in keys)) for row in results["lcs-cpu"].figures["rows"]]
    paths = {row["device"]: row for row in results["lcs-paths"].figures["rows"]}
    yield "![lcs-filter](figures/lcs.svg)\n"
    yield table(("CPU, GCUPS", "Crochemore", "Allison-Dix", "RapidFuzz", "times as fast"), rows)
    yield (
        "On the GPU (after Ozsoy et al. 2013, Figs. 8 to 10) neither the alphabet nor mixed lengths cost much; short "
        "queries, few subjects and very long ones do. The longest common subsequences themselves, 100 of 4096 × 4096, "
        f"take {1000 * paths['cpu']['s']:.1f} ms on {paths['cpu']['threads']} CPU threads and "
        f"{1000 * paths['cuda']['s']:.1f} ms on the GPU.\n"
    )


def symbols(case: str) -> str:
    """The name of a case as the pages say it."""
    return case.replace("letters", "symbols")


def _mems(results: Results) -> Iterator[str]:
    rows = [
        (
            row["workload"],
            row["cpu"]["wall_s"],
            row["mummer"]["wall_s"],
            row["speed_up"],
            round(_cpu_ratio(row), 1),
            round(row["cpu"]["peak_mib"]),
            round(row["mummer"]["peak_mib"]),
        )
        for row in results["mems"].figures["workloads"]
    ]
    heads = ("s of the command", "gpualign", "MUMmer", "times as fast", "by CPU time", "peak MiB", "MUMmer's")
    unique = [_cpu_ratio(row) for row in results["mems-unique"].figures["workloads"]]
    equal = [
        row for name in ("mems", "mems-unique") for row in results[name].figures["workloads"] if "equal_sets" in row
    ]
    base = results["mems"].figures["interpreter_mib"]
    yield "![mems](figures/mems.svg)\n"
    yield table(heads, rows)
    yield (
        "- ssuis, lmono, hsill and cbrigg are the workloads of Trapnell and Schatz (2009), Table 2. MUMmer has one "
        "thread, "
        f"gpualign two. In {sum(row['equal_sets'] for row in equal)} of {len(equal)} workloads the matches are "
        f"compared "
        "and the same.\n"
        f"- Unique matches at small lengths take {_span(unique)} times less CPU time than MUMmer's.\n"
        f"- Of gpualign's memory {base} MiB are the interpreter with click and NumPy.\n"
        "- The GPU's kernels take a small part of its command; where matches are few, the start takes the rest.\n"
    )


def _several(results: Results) -> Iterator[str]:
    cluster = results["cluster"].figures["commands"]
    rows = []
    for command in ("map", "verify", "pairwise", "lcs-filter", "mems"):
        found = results.all(f"devices-{command}")
        two = found[0].figures["cases"]["cuda:0,1"] if found else {}
        worker = cluster[command]["2 workers of 1 thread"]
        one = (two.get("speed_to_one"), two.get("kernel_speed_to_one"))
        rows.append((command, *one, worker["speed_to_no_cluster"], worker["cpu_to_no_cluster"]))
    heads = ("times one", "two GPUs, command", "two GPUs, kernels", "two Dask workers, command", "their CPU time")
    yield table(heads, rows)
    yield (
        "Two GPUs compared with one, and two Dask workers of one thread compared with two threads without a "
        "cluster, on "
        "the same cores: what a cluster costs. The output is the same, byte for byte.\n"
    )


_SECTIONS: dict[str, Callable[[Results], Iterator[str]]] = {
    "map": _map,
    "verify": _verify,
    "pairwise": _pairwise,
    "pairwise --max-gaps": _bounded_gaps,
    "lcs-filter": _lcs,
    "mems": _mems,
    "Several devices and machines": _several,
}
