"""What every command writes, as sums: record them at one commit, compare at another, as when code is only moved.

    python tests/baseline.py record sums.json
    python tests/baseline.py compare sums.json [--device cuda] [NAME ...]

The inputs are the bundled reads, and long reads and pairs cut from the bundled genomes with a fixed seed; with --genome
FASTA (a chromosome, say) the same commands run on reads of it as well. Sums leave out versions, options and times.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pysam

DATA = Path(__file__).parent.parent / "examples" / "data"
SCORES = "--match 2 --mismatch -3 --gapopen 5 --gapext 2"
#: fields of --json that depend on the machine, the moment or where the files lie
UNSTEADY = (
    "version",
    "command_line",
    "date",
    "inputs",
    "outputs",
    "reference",
    "device",
    "threads",
    "seconds",
    "cpu_seconds",
    "cpu_batches",
    "gpu_batches",
    "thread_seconds",
    "timeline",
)

COMMANDS = {
    "map": "map {ref} {reads}",
    "map-eqx": "map --eqx --secondary --secondary-seq -Y {ref} {reads}",
    "map-all": "map --all -e 0.05 {ref} {reads}",
    "map-strata": "map -N 20 --strata 1 -U {ref} {reads}",
    "map-end-to-end": "map --end-to-end -A 2 -B 5 -O 8 -E 2 -R @RG\\tID:a\\tSM:b {ref} {reads}",
    "map-sensitive": "map -x sr-sensitive -C {ref} {reads}",
    "map-full": "map --sensitivity full {ref} {few}",
    "map-paf": "map --paf {ref} {reads}",
    "map-bam": "map --bam {ref} {reads}",
    "map-cram": "map --output-format cram {ref} {reads}",
    "map-sorted": "map --bam --sort {ref} {r1} {r2}",
    "map-pairs": "map {ref} {r1} {r2}",
    "map-pairs-sensitive": "map -x sr-sensitive -N 3 {ref} {r1} {r2}",
    "map-pairs-size": "map -I 300,30 --rf {ref} {r1} {r2}",
    "map-interleaved": "map -p {ref} {interleaved}",
    "map-fasta": "map {ref} {few_fasta}",
    "map-ont": "map -x ont {ref} {long}",
    "map-hifi": "map -x hifi --secondary {ref} {long}",
    "map-ont-paf": "map -x ont --paf {ref} {long}",
    "map-long-default": "map {ref} {long}",
    "map-unmapped": "map --un {out}.fq --al {out}.al.fq {ref} {reads}",
    "map-json": "map --json {out}.json --report {out}.html {ref} {r1} {r2}",
    "verify": "verify -p -k -1 {reads} {shifted}",
    "verify-places": "verify -p -a {ref} {reads} -c {places}",
    "verify-best": "verify -n 1 --strand both -e 0.2 {ref} {reads} -c {places}",
    "verify-prefix": "verify -m prefix -e 0.3 {reads} {shifted}",
    "verify-global": "verify -m global -p -k 40 {reads} {shifted}",
    "verify-long": "verify -p -k -1 {long} {long_shifted}",
    "verify-json": "verify --json {out}.json {ref} {reads} -c {places}",
    "pairwise": "pairwise {few_fasta}",
    "pairwise-identity": "pairwise --strand both --id 0.97 --iddef 2 {amplicons}",
    "pairwise-scores": "pairwise --score-only {scores} {few_fasta}",
    "pairwise-linear": "pairwise --gap 6 --self {few_fasta}",
    "pairwise-semi": "pairwise --mode semi-global {scores} {few_fasta}",
    "pairwise-overlap": "pairwise --mode semi-global --free-ends query-start,target-end {few_fasta}",
    "pairwise-local": "pairwise --mode local {few_fasta}",
    "pairwise-matrix": "pairwise --matrix BLOSUM62 --gapopen 11 --gapext 1 {proteins}",
    "pairwise-matrix-local": "pairwise --matrix BLOSUM62 --mode local --gapopen 11 --gapext 1 --score-only {proteins}",
    "pairwise-columns": "pairwise --userfields query+target+id+caln+qlo+qhi+mism+opens {few_fasta}",
    "pairwise-paf": "pairwise --paf {few_fasta}",
    "pairwise-blast": "pairwise --blast6 {few_fasta}",
    "pairwise-phylip": "pairwise --matrix-out square {few_fasta}",
    "pairwise-list": "pairwise --pairs {pairs} {few_fasta}",
    "pairwise-two": "pairwise --one-to-one {few_fasta} {few_shifted}",
    "pairwise-long": "pairwise {two_genomes}",
    "pairwise-json": "pairwise --json {out}.json {few_fasta}",
    "gaps": "pairwise --max-gaps 2 {few_fasta}",
    "gaps-semi": "pairwise --max-gaps 1 --mode semi-global --free-start {query} {few_fasta}",
    "gaps-best": "pairwise --max-gaps 3 --best --mode semi-global {query} {few_fasta}",
    "gaps-scores": "pairwise --max-gaps 2 --score-only --matrix BLOSUM62 --gapopen 11 --gapext 1 {proteins}",
    "lcs": "lcs-filter -Q {query} -n 50 --strand both --subsequence {reads}",
    "lcs-streamed": "lcs-filter -Q {query} -n 0 --input-order --min-ratio 0.5 {reads}",
    "lcs-fasta": "lcs-filter -Q {query} --keep-ties --fasta {reads}",
    "lcs-protein": "lcs-filter -Q {few_protein} --multi-query --alphabet protein --subsequence {proteins}",
    "lcs-lines": "lcs-filter -Q {line} --lines --subsequence {ref}",
    "lcs-json": "lcs-filter -Q {query} --json {out}.json {reads}",
    "mems": "mems -l 15 -b {ref} {reads}",
    "mems-unique": "mems -mum -b -c -l 12 {ref} {reads}",
    "mems-max": "mems -maxmatch -l 20 -b -L -s -F {ref} {ref}",
    "mems-reverse": "mems -maxmatch -r -n -l 14 {ref} {reads}",
    "mems-table": "mems -tsv -maxmatch -max-occ 2 -l 11 {ref} {few}",
    "mems-json": "mems --json {out}.json -l 30 {ref} {reads}",
    "align": "align -l 14 -c 20 {ref} {reads}",
    "index": "index {ref} -k 11 -w 5 -d {out}.gpi",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("sums", type=Path)
    parser.add_argument("names", nargs="*", help="of commands, as the table has them; nothing: all")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--genome", type=Path, action="append", default=[], help="FASTA; its reads are cut here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpualign-baseline-") as folder:
        sums = {
            f"{label}{name}": one_sum(command, inputs, arguments.device)
            for label, inputs in input_sets(Path(folder), arguments.genome)
            for name, command in COMMANDS.items()
            if not arguments.names or name in arguments.names
        }
    if arguments.action == "record":
        arguments.sums.write_text(json.dumps(sums, indent=1, sort_keys=True) + "\n")
        return
    recorded = json.loads(arguments.sums.read_text())
    differ = [name for name, value in sums.items() if recorded.get(name) != value]
    print("\n".join(f"differs: {name}" for name in differ) or f"{len(sums)} outputs: the same")
    sys.exit(bool(differ))


def one_sum(command: str, inputs: dict[str, Path], device: str) -> dict[str, str]:
    """Exit code, and a sum of standard output and of each file that one command wrote."""
    out = inputs["out"]
    words = shlex.split(command.format(**inputs, scores=SCORES).replace("\\", "\\\\"))
    words += [] if words[0] == "index" else ["--device", device]
    done = subprocess.run([sys.executable, "-m", "gpualign", *words, "-t", "2"], capture_output=True, check=False)
    if done.returncode:
        print(f"{words}: {done.stderr.decode()[-300:]}", file=sys.stderr)
    sums = {"exit": str(done.returncode), "stdout": digest(content(done.stdout, words, inputs))}
    for path in sorted(out.parent.glob("out*")):
        if path.suffix == ".html":
            sums[path.name] = "a page" if b"</html>" in path.read_bytes() else "broken"
        else:
            sums[path.name] = digest(fields(path) if path.suffix == ".json" else path.read_bytes())
        path.unlink()
    return sums


def content(output: bytes, words: list[str], inputs: dict[str, Path]) -> bytes:
    """Text as it is but for @PG lines and where the reference lies; BAM and CRAM as text."""
    if output[:4] in (b"\x1f\x8b\x08\x04", b"CRAM"):
        inputs["out"].write_bytes(output)
        output = pysam.view("-h", "-T", str(inputs["ref"]), str(inputs["out"])).encode()
        inputs["out"].unlink()
    output = re.sub(rb"\tUR:[^\t\n]*", b"", output)
    return b"".join(line for line in output.splitlines(keepends=True) if not line.startswith(b"@PG\t"))


def fields(path: Path) -> bytes:
    """A report's fields: names of all, values of those that are results."""

    report = json.loads(path.read_text())
    unsteady = [name for name in report if name in UNSTEADY or name.endswith(("_s", "_mb"))]
    return json.dumps(report | dict.fromkeys(unsteady), sort_keys=True).encode()


def digest(text: bytes) -> str:
    return hashlib.md5(text, usedforsecurity=False).hexdigest()


def input_sets(folder: Path, genomes: list[Path]) -> Iterator[tuple[str, dict[str, Path]]]:
    with gzip.open(DATA / "SRR059298_25k.fastq.gz", "rt") as file:
        lines = [file.readline().rstrip("\n") for _ in range(4 * 3000)]
    real = [(lines[i][1:].split()[0], lines[i + 1], lines[i + 3]) for i in range(0, len(lines), 4)]
    yield "", write_inputs(folder / "examples", DATA / "genomes.fa", real)
    for genome in genomes:
        yield f"{genome.stem}/", write_inputs(folder / genome.stem, genome, [])


def write_inputs(folder: Path, ref: Path, reads: list[tuple[str, str, str]]) -> dict[str, Path]:
    """The files that the commands name; reads are cut from ``ref`` where none are given."""
    folder.mkdir()
    rng = random.Random(7)
    with pysam.FastxFile(str(ref)) as file:
        contigs = [(record.name, record.sequence.upper()) for record in file]
    reads = reads or [(f"read{i}", *cut(rng, contigs, 150, 0.02)) for i in range(20_000)]
    long = [(f"long{i}", *cut(rng, contigs, rng.randint(1000, 9000), 0.06)) for i in range(60)]
    pairs = [(f"pair{i}", pair(rng, contigs)) for i in range(len(reads) // 2)]
    few = reads[:40]
    proteins = [(f"protein{i}", "".join(rng.choices("ARNDCQEGHILKMFPSTWYV", k=20 + 9 * i))) for i in range(30)]
    proteins += [(f"{name}x", text[5:60] + text[70:]) for name, text in proteins]
    head = [(name, text[:6000]) for name, text in contigs[:2]]
    contents = {
        "reads.fq": fastq(reads),
        "shifted.fq": fastq(reads[1:] + reads[:1]),
        "long.fq": fastq(long),
        "long_shifted.fq": fastq(long[1:] + long[:1]),
        "few.fq": fastq(few),
        "few_fasta.fa": fasta((name, text) for name, text, _ in few),
        "few_shifted.fa": fasta((name, text) for name, text, _ in reads[1:41]),
        "query.fa": fasta([("query", reads[5][1])]),
        "proteins.fa": fasta(proteins),
        "few_protein.fa": fasta(proteins[:3]),
        "two_genomes.fa": fasta([*head, (head[0][0] + "x", cut(rng, head[:1], 5500, 0.08)[0])]),
        "line.txt": reads[7][1] + "\n",
        "r1.fq": fastq((name, *first) for name, (first, _) in pairs),
        "r2.fq": fastq((name, *second) for name, (_, second) in pairs),
        "interleaved.fq": fastq((name, *mate) for name, mates in pairs for mate in mates),
        "pairs.tsv": "".join(f"{a[0]}\t{b[0]}\n" for a, b in zip(few, few[3:], strict=False)),
        "places.tsv": "".join(
            f"{name}\t{contigs[i % len(contigs)][0]}\t{1 + 3 * i}\t{150 + 3 * i}\t.\n"
            for i, (name, _, _) in enumerate(reads[:3000])
        ),
    }
    for name, text in contents.items():
        (folder / name).write_text(text)
    inputs = {name.split(".")[0]: folder / name for name in contents}
    return inputs | {"ref": ref, "amplicons": DATA / "amplicons.fa", "out": folder / "out"}


def cut(rng: random.Random, contigs: list[tuple[str, str]], length: int, rate: float) -> tuple[str, str]:
    """A read from anywhere, either strand, with substitutions, insertions and deletions; and its qualities."""
    text = ""
    while not text.strip("N"):
        _, contig = rng.choice(contigs)
        start = rng.randrange(max(1, len(contig) - length))
        text = contig[start : start + length]
    text = "".join(changed(rng, base, rate) for base in text)
    text = text if rng.random() < 0.5 else reverse_complement(text)
    return text, "".join(rng.choices("#5AFI", k=len(text)))


def changed(rng: random.Random, base: str, rate: float) -> str:
    if rng.random() >= rate:
        return base
    return rng.choice(["", rng.choice("ACGT"), rng.choice("ACGT"), base + rng.choice("ACGT")])


def pair(rng: random.Random, contigs: list[tuple[str, str]]) -> tuple[tuple[str, str], tuple[str, str]]:
    """Two mates of a fragment that face each other; one in thirty is foreign."""
    fragment, qualities = cut(rng, contigs, rng.randint(250, 420), 0.01)
    second = reverse_complement(fragment)[:100] if rng.random() > 1 / 30 else "".join(rng.choices("ACGT", k=100))
    return (fragment[:100], qualities[:100]), (second, qualities[-len(second) :])


def reverse_complement(text: str) -> str:
    return text[::-1].translate(str.maketrans("ACGT", "TGCA"))


def fasta(records: object) -> str:
    return "".join(f">{name}\n{text}\n" for name, text in records)  # type: ignore[attr-defined]


def fastq(records: object) -> str:
    return "".join(f"@{name}\n{text}\n+\n{quality}\n" for name, text, quality in records)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
