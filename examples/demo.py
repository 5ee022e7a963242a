"""``make demo``: maps the example's reads, and says what it did, how fast, and what to try next."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

DATA = Path("examples/data")
PROGRAM = Path(sys.executable).parent / "gpualign"


def main() -> None:
    report = Path("demo.json")
    command = ["map", str(DATA / "genomes.fa"), str(DATA / "SRR059298_25k.fastq.gz"), "-o", "demo.sam"]
    print(f"$ gpualign {' '.join(command)}", flush=True)
    subprocess.run([PROGRAM, *command, "--json", report], check=True)
    told = json.loads(report.read_text())
    report.unlink()
    with open("demo.sam") as sam:
        records = [line.split("\t") for line in sam if not line.startswith("@")]
    primary = [record for record in records if not int(record[1]) & 0x900]
    mapped = [record for record in primary if not int(record[1]) & 4]
    print(f"""
What it did: of {len(primary):,} reads of a honey bee, {len(mapped):,} map to the genomes of four viruses; demo.sam has
the alignments. The first that maps:

  {_shown(mapped[0])}

How fast: {told["wall_s"]:.1f} s on {_device(told)}; {len(primary) / told["wall_s"]:,.0f} reads a second with start-up.

What next:
  . .venv/bin/activate
  gpualign verify {DATA}/genomes.fa {DATA}/SRR059298_25k.fastq.gz --candidates demo.sam -e 0.05 | head
  gpualign pairwise {DATA}/amplicons.fa --plot similar.png -o similar.tsv
  gpualign map --help
  gpualign devices        # what a GPU needs
examples/README.md has an example of every command, with pictures.""")


def _device(told: dict[str, object]) -> str:
    return f"{told['threads']} CPU threads" if told["device"] == "cpu" else str(told["device"])


def _shown(record: list[str]) -> str:
    return "  ".join([*record[:6], "…"])


if __name__ == "__main__":
    main()
