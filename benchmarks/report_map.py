"""The section of `map` in docs/benchmarks.md: every number out of a result."""

from __future__ import annotations

from typing import Any

from report_accuracy import accuracy
from report_results import Result, Results
from report_text import number, table


def mapping(results: Results) -> str:
    parts = ["## map\n\n![reads a second](figures/map.svg)\n"]
    for found in results.with_key("map"):
        parts.append(
            f"### {found.file.removesuffix('.json')}\n\n{found.source} Threads: {found.figures.get('threads', '–')}.\n"
        )
        parts += [_mapping_table(name, tools) for name, tools in found.figures["map"].items()]
        if index := found.figures.get("index"):
            parts.append(_index_table(index))
        if brute := found.figures.get("bundled_reads"):
            parts.append(
                "Real reads against every substring of their genomes by edlib: of "
                f"{number(brute['within_limit'])} within the limit {number(brute['percent'], 5)} % are reported with "
                "the best distance.\n"
            )
    parts += [_pairs(found) for found in results.with_key("pairs_to_sam")]
    parts += [_on_devices(found) for found in results.with_key("map_devices")]
    parts += [_kernel_alone(found) for found in results.with_key("map_kernels")]
    parts += [_larger_references(found) for found in results.with_key("references")]
    parts += accuracy(results)
    parts += [_agreement(found) for found in results.with_key("real_reads")]
    parts += [_variants(found) for found in results.with_key("variants")]
    return "\n".join(parts)


def _on_devices(found: Result) -> str:
    """Whole commands with a GPU beside the cores and minimap2."""
    rows: list[tuple[str, ...]] = []
    gpus = len(found.machine["gpus"])
    beside = gpus > 1
    for name, one in found.figures["map_devices"].items():
        for tool in [key for key, row in one.items() if isinstance(row, dict)]:
            row = one[tool]
            kernel = number(row["kernel_reads_per_s"]) if "kernel_reads_per_s" in row else "–"
            same = {True: "yes", False: "NO"}.get(row.get("same_bytes"), "–")
            rows.append((name, tool, number(row["reads_per_s"]), kernel, same))
            if beside:
                rows[-1] += (_beside_one(one, tool),)
    header: tuple[str, ...] = ("chr20, 150 bases", "on", "reads/s", "kernels alone, reads/s", "the CPU's bytes")
    if beside:
        header += ("kernels, times one GPU's",)
    first = next(iter(found.figures["map_devices"].values()))
    text = (
        f"Whole commands, FASTQ to SAM, {found.machine['cores']} threads each; the cores and minimap2 map the first "
        f"{number(first['share'])} reads, so that starting is a larger part of their time than of the GPU's. Indexes "
        f"were made before. The kernels' rate is that of the command's batches. {found.source}"
    )
    if beside:
        text += (
            "\n\nWith the usual options the host hands on fewer reads than several GPUs map, and a kernel that runs "
            "alone ends with a few slow reads; with `-x sr-sensitive --paf` there is more for the kernels to do, less "
            "to print."
        )
    return f"### On {'a GPU' if gpus == 1 else f'{gpus} GPUs'}\n\n{table(header, rows)}\n{text}\n"


def _beside_one(one: dict[str, Any], tool: str) -> str:
    """The kernels' rate of a command beside that of the first one with its options."""
    options = tool.partition(" ")[2]
    if "kernel_reads_per_s" not in one[tool]:
        return "–"
    first = next(key for key in one if key.startswith("cuda") and key.partition(" ")[2] == options)
    return f"{one[tool]['kernel_reads_per_s'] / one[first]['kernel_reads_per_s']:.2f}"


def _kernel_alone(found: Result) -> str:
    """The kernel by size of batch, and where its time goes."""
    figures = dict(found.figures["map_kernels"])
    profile = figures.pop("profile", None)
    rows = [(name, number(row["reads_per_s"]), number(row["left_to_cpu"])) for name, row in figures.items()]
    text = table(("the kernel alone, reads in a batch", "reads/s", "left to the CPU"), rows) + "\n"
    if profile:
        rows = [(name, *(row.values())) for name, row in profile["by_file"].items()]
        text += table(("source", "% of samples", "% of instructions", "lanes at work of 32"), rows)
        seconds = profile["ns"] * 1e-9
        text += (
            f"\nBy Nsight Compute, {number(profile['reads'])} reads: "
            f"{number(profile['warp_instructions'] / profile['reads'], 3)} warp instructions a read, "
            f"{profile['instructions_a_cycle_and_multiprocessor']} a cycle and multiprocessor (of 4), "
            f"{number(profile['dram_bytes'] / seconds / 1e12, 2)} TB/s of memory (of 4.8), L1 hits "
            f"{profile['l1_hits_percent']} %, L2 hits {profile['l2_hits_percent']} %, occupancy "
            f"{profile['occupancy_percent']} %: neither memory nor arithmetic is the limit, but waiting, and lanes "
            "that have nothing to do.\n"
        )
    return f"{text}\n{found.source}\n"


def _larger_references(found: Result) -> str:
    rows = []
    for name, one in found.figures["references"].items():
        for run in one["runs"]:
            device = run["devices"][0]
            rows.append(
                (
                    f"{name}, {number(one['bases'] / 1e6, 4)} Mbp",
                    number(one["index_s"], 2),
                    one["index_bytes_a_base"],
                    run["seconds"]["index"],
                    number(device["load_s"], 2) if "load_s" in device else "",
                    number(device["peak_vram_mb"]),
                    number(device["mapped_host_mb"]),
                    number(run["reads_per_s"]),
                    number(run["reads_per_s_of_mapping"]),
                    "yes" if run["same_bytes"] else "NO",
                )
            )
    header = ("reference", "index made, s", "bytes a base", "loaded, s", "to the device, s", "device MiB")
    header += ("host MiB", "reads/s", "once begun", "the CPU's bytes")
    text = (
        "Host MiB: of an index for which the device had no room, read over the bus. The synthetic genome is half "
        "repeats (benchmarks/synthetic_genome.py); its reads go to the CPU, for chaining, more than others do. "
    )
    return f"{table(header, rows)}\n{text}{found.source}\n"


def _pairs(found: Result) -> str:
    """Speed to SAM and to sorted BAM."""
    tables = []
    for form, label in (("sam", "pairs to SAM"), ("sorted_bam", "pairs to sorted BAM")):
        rows = [
            (tool, number(row["pairs_per_s"]), *row["speed_to_minimap2"].values(), row["peak_mib"], row["file_mib"])
            for tool, row in found.figures.get(f"pairs_to_{form}", {}).items()
        ]
        tables.append(table((label, "pairs/s", "× minimap2", "× minimap2, CPU time", "peak MiB", "file MiB"), rows))
    return "\n".join(tables) + f"\n{found.source}\n"


def _agreement(found: Result) -> str:
    rows = [
        (
            name,
            *(number(row[key]) for key in ("reads", "both_mapped", "both_sure", "agree", "ours_alone", "theirs_alone")),
        )
        for name, row in found.figures["real_reads"].items()
    ]
    header = ("beside bwa mem", "reads", "both map", "both sure", "of these agree", "we alone map", "bwa alone maps")
    sure = f"Sure is a MAPQ of at least {found.figures['sure']}, agreement within {found.figures['tolerance']} bases."
    return f"{table(header, rows)}\n{sure} {found.source}\n"


def _variants(found: Result) -> str:
    """One row a mapper and kind of variant; the counts are those of variants.py."""
    cases = [
        (tool, kind, row)
        for tool, kinds in found.figures["variants"].items()
        for kind, row in kinds.items()
        if isinstance(row, dict)
    ]
    names = [key for key, value in cases[0][2].items() if isinstance(value, int | float)] if cases else []
    rows = [(tool, kind, *(number(row.get(name)) for name in names)) for tool, kind, row in cases]
    return f"{table(('variants called behind', 'kind', *names), rows)}\n{found.source}\n"


def _mapping_table(name: str, tools: dict[str, Any]) -> str:
    rows = []
    for tool, row in tools.items():
        speed = row.get("speed_to_minimap2", {}).get("wall")
        wrong = row.get("wrong_at_mapq", {}).get(">=20")
        rows.append(
            (
                tool,
                number(row.get("reads_per_s"), 3),
                number(speed),
                number(row.get("reads_per_cpu_s"), 3),
                number(row.get("peak_mib")),
                number(row.get("mapped_percent"), 6),
                number(row.get("correct_percent"), 6),
                "–" if wrong is None else wrong,
            )
        )
    header = (
        name,
        "reads/s",
        "× minimap2",
        "reads/s of CPU",
        "peak MiB",
        "mapped %",
        "correct %",
        "wrong at MAPQ ≥ 20",
    )
    return table(header, rows)


def _index_table(index: dict[str, Any]) -> str:
    rows = []
    for genome, tools in index.items():
        for tool, row in tools.items():
            rows.append(
                (
                    genome,
                    tool,
                    number(row["wall_s"]),
                    number(row["cpu_s"]),
                    number(row["peak_mib"]),
                    number(row["size_mib"]),
                )
            )
    return table(("index of", "tool", "s", "s of CPU", "peak MiB", "size MiB"), rows)
