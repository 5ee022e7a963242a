#!/usr/bin/env python3
"""Write the tables of docs/commands/*.md that come from the code, and the figures of a guide.

    python docs/generate.py            # write
    python docs/generate.py --check    # exit 1 where a page differs from what the code says

The tables stand between markers, such as `<!-- options:begin -->`; what is around them is written by hand. The texts of
options are those of `--help`, and so are their headings.
The figures of docs/guides/germline.md are those of the newest benchmarks/results/map-references-*.json.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click

from gpualign.cli import COMMANDS as NAMES
from gpualign.cli import cli
from gpualign.map.params import PRESETS
from gpualign.options import sections
from gpualign.run.gpu.device import FREE_SHARE, HEADROOM_BYTES
from gpualign.run.tuning import RESIDENT_SHARE
from gpualign.seeds.index.run import choose_index_params

DOCS = Path(__file__).resolve().parent
COMMANDS, GERMLINE = DOCS / "commands", DOCS / "guides" / "germline.md"
RESULTS = DOCS.parent / "benchmarks" / "results"
_SCALE = 1 << 30
#: bytes of a minimizer's entry on a device, and the most that its share of the bucket table takes
#: (gpualign/map/device/target.py); bytes of a base's code and of its bit in the ACGT mask
_ENTRY, _BUCKET, _BASE, _MASK = 6, 4 / 8, 1 / 4, 1 / 8
_GRCH38 = 3_100_000_000


def _without_default(text: str) -> tuple[str, str]:
    """Split the brackets off a help text: 'x.  [default: 1; x>=1]' is ('x.', '1')."""
    match = re.fullmatch(r"(.*?)\s*\[([^\[]*)\]", text, re.DOTALL)
    if match is None:
        return text, ""
    parts = [part.strip() for part in match[2].split(";")]
    if parts[0].startswith("default: "):
        kept = [part for part in parts if not re.fullmatch(r"[\d.<=]*x[<>=]+\d+", part)]
        return match[1], "; ".join(kept).removeprefix("default: ")
    return match[1], "required" if parts == ["required"] else ""


def option_tables(command: str) -> str:
    """What --help says: a table for each heading."""
    group = click.Context(cli)
    found = cli.get_command(group, command)
    assert found is not None
    context = click.Context(found, info_name=command, parent=group, **found.context_settings)
    tables = []
    for heading, options in sections(found, context).items():
        lines = [f"| {heading} | | default |", "|---|---|---|"]
        for option in options:
            shown, help = option.get_help_record(context) or ("", "")
            text, default = _without_default(help)
            cells = (f"`{shown}`".replace("|", "\\|"), _escaped(text), _escaped(default))
            lines.append(f"| {' | '.join(cells)} |")
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def _escaped(text: str) -> str:
    return re.sub(r"([|*<>])", r"\\\1", " ".join(text.split()))


def bytes_a_base(w: int) -> float:
    """Device memory of the reference and its index, at most."""
    return 2 / (w + 1) * (_ENTRY + _BUCKET) + _BASE + _MASK


def resident_bytes(free: int) -> float:
    """Device memory for the reference and its index, where so many bytes are free."""
    return RESIDENT_SHARE * max(FREE_SHARE * free, free - 8 * HEADROOM_BYTES)


def gpu_memory() -> str:
    usual = choose_index_params(_GRCH38)
    header = "| GPU memory | for reference and index | longest reference with the default index | GRCh38 |"
    lines = [header, "|---|---|---|---|"]
    for gigabytes in (8, 12, 16, 24, 80):
        held = resident_bytes(gigabytes * _SCALE)
        bases = min(held / bytes_a_base(usual.w), (1 << 32) - 2)
        w = next(w for w in range(usual.w, 257) if bytes_a_base(w) * _GRCH38 <= held)
        human = "fits" if w == usual.w else f"fits with `-w {w}`"
        lines.append(f"| {gigabytes} GiB | {held / _SCALE:.1f} GiB | {bases / 1e9:.1f} Gbp | {human} |")
    return "\n".join(lines)


#: preset of `map -x` -> the reads that it is for
_READS = {
    "sr": "short reads, Illumina and similar",
    "sr-sensitive": "short reads that differ more from the reference",
    "hifi": "long reads with few errors: PacBio HiFi, duplex nanopore",
    "ont": "long reads with more errors: nanopore, PacBio CLR",
    "rna": "short reads of RNA, single or pairs, across introns",
    "splice": "long reads of RNA: cDNA, direct RNA",
    "splice:hq": "long reads of RNA with few errors: PacBio Iso-Seq",
    "asm5": "contigs of genomes that differ by up to 5 %",
    "asm10": "contigs of genomes that differ by up to 10 %",
    "asm20": "contigs of genomes that differ by up to 20 %",
}
_SHORT = {"match": "-A", "mismatch": "-B", "gap_open": "-O", "gap_extend": "-E", "clip_penalty": "-L"}


def presets() -> str:
    """What each preset sets; options have the names of its fields or letters."""
    lines = ["| `-x` | for | sets | a long gap costs at most |", "|---|---|---|---|"]
    for name, fields in PRESETS.items():
        names = {"error_rate": "-e", "k": "-k", "w": "-w", **_SHORT}
        shown = {field: names.get(field, f"--{field.replace('_', '-')}") for field in fields if "long" not in field}
        given = " ".join(
            f"{option} {fields[field]}" for field, option in shown.items() if field not in ("chaining", "splicing")
        )
        long_gap = (
            f"{fields['long_gap_open']} + {fields['long_gap_extend']} a base" if fields.get("long_gap_open") else ""
        )
        lines.append(f"| `{name}` | {_READS[name]} | {f'`{given}`' if given else 'the defaults'} | {long_gap} |")
    return "\n".join(lines)


def human_sized() -> str:
    """What a genome of human size took: the largest one of `benchmarks/map_references.py`."""
    results = [json.loads(path.read_text()) for path in RESULTS.glob("map-references-*.json")]
    newest = max((result for result in results if result["rows"]), key=lambda result: str(result["machine"]["date"]))
    machine, rows = newest["machine"], newest["rows"]
    gbp = float(rows[0]["reference"].split()[-2].replace(",", "")) / 1000
    gpus = f"{len(machine['gpus'])} x {machine['gpus'][0].partition(',')[0]}"
    lines = [
        f"| a made-up genome of {gbp:.1f} Gbp, {gpus}, {machine['cores']} CPU threads | |",
        "|---|---|",
        f"| index built | {rows[0]['index_s']:.0f} s |",
        f"| index | {rows[0]['index_bytes_a_base'] * gbp:.1f} GB |",
    ]
    for row in rows:
        left = row["mapped_host_mb"]
        where = f", {left:,} MiB of the index read from host memory" if left else ""
        reads = f"{row['reads']:,} reads, {row['peak_vram_mb']:,} MiB of each GPU's memory{where}"
        limit = f" with `--max-gpu-mem {row['max_gpu_mem']}`" if row["max_gpu_mem"] else ""
        marked = f"a sorted, marked and indexed BAM file with `--sort-memory {row['sort_memory']}`"
        for output, kind in (("SAM", f"SAM{limit}"), ("marked", f"{marked}{limit}")):
            if output in row:
                lines.append(f"| {reads}, to {kind} | {row[output]['reads_per_s']:,} reads/s, with the start |")
    return "\n".join(lines)


def contents() -> dict[Path, str]:
    """Every page, as it should be."""
    pages = {GERMLINE: _filled(GERMLINE.read_text(), "figures", human_sized(), GERMLINE)}
    for command in NAMES:
        path = COMMANDS / f"{command}.md"
        if not path.exists():
            continue
        text = _filled(path.read_text(), "options", option_tables(command), path)
        if command == "map":
            text = _filled(text, "gpu-memory", gpu_memory(), path)
            text = _filled(text, "presets", presets(), path)
        pages[path] = text
    return pages


def _filled(text: str, name: str, block: str, path: Path) -> str:
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    filled, found = re.subn(f"{begin}\n.*?{end}", lambda _: f"{begin}\n{block}\n{end}", text, flags=re.DOTALL)
    if found != 1:
        raise SystemExit(f"docs/generate.py: {path.name} needs the markers {begin} and {end} once")
    return filled


def main() -> None:
    pages = contents()
    changed = [path for path, text in pages.items() if path.read_text() != text]
    if "--check" in sys.argv[1:]:
        if changed:
            raise SystemExit(f"{', '.join(path.name for path in changed)}: run python docs/generate.py")
        return
    for path in changed:
        path.write_text(pages[path])


if __name__ == "__main__":
    main()
