"""Where the repository's files are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TESTS = ROOT / "tests"
EXAMPLES = ROOT / "examples" / "data"
GENOMES = EXAMPLES / "genomes.fa"
READS = EXAMPLES / "SRR059298_25k.fastq.gz"
AMPLICONS = EXAMPLES / "amplicons.fa"
