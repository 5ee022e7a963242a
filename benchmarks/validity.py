"""Do the tools that come after a mapper take our output without a word?

    python benchmarks/validity.py [--sets bundled,ecoli_se100,chr20_pairs]

Each set is mapped to SAM, BAM, sorted BAM with an index, and sorted CRAM. `samtools quickcheck`, `view`, `flagstat`,
`idxstats`, `collate | fixmate | sort | markdup` and `bcftools mpileup` must end well, say nothing on standard error
that is not a count, and see every record; where Picard is installed, its ValidateSamFile must find no error and no
warning. Result: benchmarks/results/validity-<machine>.json. Needs Debian's samtools and bcftools (and picard-tools).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import data
import harness
import map as map_benchmark
import pairs

EXAMPLES = harness.FOLDER.parent / "examples" / "data"
#: {fasta}, {sam}, {bam} in input order, {sorted}, {cram}, {out}: a scratch file
CHECKS = {
    "quickcheck": "samtools quickcheck -v {bam} {sorted} {cram}",
    "view SAM": "samtools view -c {sam}",
    "view BAM": "samtools view -c {bam}",
    "view sorted BAM": "samtools view -c {sorted}",
    "view CRAM": "samtools view -c -T {fasta} {cram}",
    "same records in CRAM": (
        "cmp <(samtools view {sorted} | cut -f 1-11) <(samtools view -T {fasta} {cram} | cut -f 1-11)"
    ),
    "calmd changes nothing": (
        "cmp <(samtools view {sorted} | tr '\\t' '\\n' | grep -E '^(NM:i|MD:Z):') "
        "<(samtools calmd {sorted} {fasta} 2> {out} | grep -v ^@ | tr '\\t' '\\n' | grep -E '^(NM:i|MD:Z):')"
    ),
    "flagstat": "samtools flagstat {sorted}",
    "idxstats": "samtools idxstats {sorted}",
    "fixmate": "samtools collate -O -u {bam} {out} | samtools fixmate -m -u - {out}.fixed",
    "fixmate changes nothing": (
        "cmp <(samtools view {bam} | cut -f 1-9 | sort) <(samtools view {out}.fixed | cut -f 1-9 | sort)"
    ),
    "markdup": "samtools sort -u {out}.fixed | samtools markdup - {out}.marked",
    "mpileup": "bcftools mpileup -f {fasta} -Ou {sorted} -o {out}.bcf",
}
#: Picard takes an N of the read for equal to an N of the reference, which samtools and mappers do not, so calmd is the
#: judge of NM. It wants sorted records where it has the reference. That of Debian 12 reads CRAM up to version 3.0 only,
#: and htslib writes 3.1.
PICARD = {
    "Picard's ValidateSamFile, input order": "PicardCommandLine ValidateSamFile I={bam}",
    "Picard's ValidateSamFile, sorted": "PicardCommandLine ValidateSamFile I={sorted} R={fasta} IGNORE=INVALID_TAG_NM",
}
_PICARD_IS_CONTENT = "No errors found"
READ_GROUP = r"@RG\tID:x\tSM:y\tPL:ILLUMINA"  # without one Picard warns
#: what these programs say when all is well
_COUNTS = ("[mpileup]", "[bam_sort_core]", "[bam_mating_core]")


def inputs(name: str) -> tuple[Path, list[Path]]:
    """Reference and reads of a set."""
    if name == "bundled":
        return EXAMPLES / "genomes.fa", [EXAMPLES / "SRR059298_25k.fastq.gz"]
    if name.endswith("_pairs"):
        genome = name.removesuffix("_pairs")
        return data.genome(genome), list(pairs.pair_set(genome, 100_000))
    return data.genome(data.READ_SETS[name].genome), [data.read_set(name)[0]]


def check(name: str, threads: int) -> dict[str, str]:
    """Each check's verdict: "ok" or what went wrong."""
    fasta, reads = inputs(name)
    with tempfile.TemporaryDirectory(dir=data.folder()) as scratch:
        files = {key: Path(scratch) / f"{key}.{key}" for key in ("sam", "bam", "cram", "out")}
        files |= {"sorted": Path(scratch) / "sorted.bam", "fasta": Path(scratch) / "reference.fa"}
        files["fasta"].write_bytes(fasta.read_bytes())  # samtools puts its index next to it
        for key, options in (
            ("sam", ""),
            ("bam", ""),
            ("sorted", "--sort --write-index"),
            ("cram", "--sort --write-index"),
        ):
            command = [map_benchmark.GPUALIGN, "map", files["fasta"], *reads, "-o", files[key], "-t", threads, "-q"]
            command += ["-R", READ_GROUP, "--device", "cpu", *options.split()]
            subprocess.run(list(map(str, command)), check=True)
        verdicts = {}
        counts = set()
        for what, command in CHECKS.items():
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command.format(**files)], capture_output=True, text=True
            )
            said = [line for line in done.stderr.splitlines() if not line.startswith(_COUNTS)]
            verdicts[what] = "ok" if done.returncode == 0 and not said else f"exit {done.returncode}: {said[:3]}"
            if command.startswith("samtools view -c"):
                counts.add(done.stdout.strip())
        if shutil.which("PicardCommandLine"):
            for what, command in PICARD.items():
                done = subprocess.run(command.format(**files).split(), capture_output=True, text=True)
                said = [line for line in done.stdout.splitlines() if line.startswith(("ERROR", "WARNING"))]
                content = done.returncode == 0 and not said and _PICARD_IS_CONTENT in done.stdout + done.stderr
                verdicts[what] = "ok" if content else f"exit {done.returncode}: {said[:3]}"
        verdicts["every form has every record"] = "ok" if len(counts) == 1 else f"records: {sorted(counts)}"
        return {**verdicts, "records": counts.pop()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="bundled,ecoli_se100,chr20_pairs")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    table = {}
    for name in arguments.sets.split(","):
        table[name] = check(name, arguments.threads)
        wrong = {what: verdict for what, verdict in table[name].items() if verdict != "ok"}
        print(name, wrong, flush=True)
    harness.save("validity", harness.machine(["samtools", "bcftools", "picard"], ["pysam"]), {"validity": table})


if __name__ == "__main__":
    main()
