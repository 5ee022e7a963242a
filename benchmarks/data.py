"""The data of the benchmarks: real genomes from Debian's example packages, and reads simulated from them.

    python benchmarks/data.py [FOLDER]      fetch and simulate everything

Everything goes to .cache/bench (git ignores it), or to the folder that GPUALIGN_BENCH_DATA names, and is made once:
ref/<genome>.fa, sim/<set>/reads.fq and sim/<set>/truth.tsv.gz. Needs apt and dpkg-deb for the genomes (any Debian
release; nothing is installed) and mason of Debian's seqan-apps for the reads. Seeds are fixed: same bytes each time.
"""

from __future__ import annotations

import gzip
import itertools
import lzma
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MASON = Path(os.environ.get("MASON_DIR", "/usr/lib/seqan/bin"))

#: genome -> (Debian package, file in it below usr/share/doc)
GENOMES = {
    "chr20": ("vt-examples", "vt/examples/ref/20.fa.gz"),
    "chrXtrunc": ("smalt-examples", "smalt/test/data/hs37chrXtrunc.fa.gz"),
    "pf": ("smalt-examples", "smalt/test/data/genome_1.fa.gz"),
    "ecoli_mg1655": ("ragout-examples", "ragout/examples/E.Coli/references/MG1655-K12.fasta.gz"),
    "ecoli_dh1": ("ragout-examples", "ragout/examples/E.Coli/references/DH1.fasta.gz"),
    "ecoli_536": ("bowtie-examples", "bowtie/examples/genomes/NC_008253.fna.gz"),
    "ssuis_sc84": ("abacas-examples", "abacas-examples/SS_SC84.dna.gz"),
    **{
        f"saureus_{strain.lower()}": ("ragout-examples", f"ragout/examples/S.Aureus/references/{strain}.fasta.gz")
        for strain in ("COL", "JKD6008", "N315", "RF122", "USA300_FPR3757")
    },
    "biomarks50k": ("vsearch-examples", "vsearch-examples/BioMarKs50k.fsa.gz"),
}
#: genome -> (genome of one contig, how many of its first lines)
_PARTS = {"chr20_10M": ("chr20", 166_667)}


@dataclass(frozen=True)
class ReadSet:
    """Simulated single-end reads. Rates are per base; an Illumina read's end has six times its start's mismatches.

    Attributes:
        variants: whether the donor differs from the reference by 0.1 % of variants, 15 % of them short indels.
    """

    genome: str
    reads: int
    length: int
    mismatches: float
    insertions: float
    deletions: float
    seed: int
    variants: bool = False

    @property
    def profile(self) -> list[str]:
        rates = {
            "mismatch": self.mismatches,
            "mismatch-begin": 0.5 * self.mismatches,
            "mismatch-end": 3 * self.mismatches,
            "insert": self.insertions,
            "deletion": self.deletions,
        }
        return [text for name, rate in rates.items() for text in (f"--illumina-prob-{name}", f"{rate:g}")]


READ_SETS = {
    "chr20_se150": ReadSet("chr20", 200_000, 150, 0.0098, 0.0001, 0.0001, seed=3, variants=True),
    "ecoli_se100": ReadSet("ecoli_mg1655", 100_000, 100, 0.018, 0.001, 0.001, seed=5),
    "chr20_se250e5": ReadSet("chr20", 50_000, 250, 0.035, 0.0075, 0.0075, seed=6),
}


def folder() -> Path:
    named = os.environ.get("GPUALIGN_BENCH_DATA")
    return Path(named) if named else Path(__file__).resolve().parent.parent / ".cache" / "bench"


def genome(name: str) -> Path:
    """The genome as plain FASTA; fetched if it is not there."""
    path = folder() / "ref" / f"{name}.fa"
    if name in _PARTS and not path.exists():
        whole, lines = _PARTS[name]
        with genome(whole).open("rb") as source:
            path.write_bytes(b"".join(itertools.islice(source, 1 + lines)))
    if not path.exists():
        package, inside = GENOMES[name]
        packed = packaged(package, inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        opener = lzma.open if packed.suffix == ".xz" else gzip.open
        with opener(packed, "rb") as source, part.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
        part.rename(path)
    return path


def packaged(package: str, inside: str) -> Path:
    """A file below usr/share/doc of a Debian package; fetched if it is not there."""
    return _unpacked(package) / "usr/share/doc" / inside


def _unpacked(package: str) -> Path:
    debs = folder() / "deb"
    target = debs / "x" / package
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        if not list(debs.glob(f"{package}_*.deb")):
            _check(["apt-get", "-o", "APT::Sandbox::User=root", "download", package], "apt-get update", debs)
        deb = next(iter(debs.glob(f"{package}_*.deb")))
        _check(["dpkg-deb", "-x", str(deb), str(target)], "apt-get install dpkg")
    return target


def _check(command: list[str], hint: str, where: Path | None = None) -> None:
    try:
        done = subprocess.run(command, cwd=where, capture_output=True, text=True)
    except FileNotFoundError:
        raise SystemExit(f"{command[0]} is missing (try: {hint})") from None
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed (try: {hint})\n{done.stderr[-1000:]}")


def read_set(name: str) -> tuple[Path, Path]:
    """Reads (FASTQ) and truth (name, mate, reference, strand, 1-based start and end, CIGAR) of a simulated set."""
    target = folder() / "sim" / name
    reads, truth = target / "reads.fq", target / "truth.tsv.gz"
    if not (reads.exists() and truth.exists()):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as scratch:
            _simulate(READ_SETS[name], Path(scratch))
            target.mkdir(exist_ok=True)
            for file in (reads, truth):
                (Path(scratch) / file.name).rename(file)
    return reads, truth


def _simulate(wanted: ReadSet, scratch: Path) -> None:
    reference = genome(wanted.genome)
    command = [str(MASON / "mason_simulator"), "-q", "-ir", str(reference), "--seed", str(wanted.seed)]
    command += ["-n", str(wanted.reads), "--illumina-read-length", str(wanted.length)]
    command += ["--fragment-mean-size", str(max(400, 2 * wanted.length)), "--fragment-size-std-dev", "50"]
    command += ["-o", str(scratch / "raw.fq"), "-oa", str(scratch / "raw.sam"), "--read-name-prefix", "r"]
    command += wanted.profile
    if wanted.variants:
        _variants(reference, scratch / "variants.vcf")
        command += ["-iv", str(scratch / "variants.vcf")]
    _check(command, "apt-get install seqan-apps")
    _write_set(wanted, reference, scratch)


def _variants(reference: Path, out: Path) -> None:
    command = [str(MASON / "mason_variator"), "-q", "-ir", str(reference), "-ov", str(out), "-s", "2"]
    command += ["--snp-rate", "0.00085", "--small-indel-rate", "0.00015"]
    for kind in ("indel", "inversion", "translocation", "duplication"):
        command += [f"--sv-{kind}-rate", "0"]
    _check(command, "apt-get install seqan-apps")


def _write_set(wanted: ReadSet, reference: Path, scratch: Path) -> None:
    """Reads and truth from mason's output. Some of the bases that mason changes become N, which no sequencer does: each
    becomes a base that is not the reference's, so that the error rate stays."""
    contigs = read_fasta(reference)
    rng = random.Random(wanted.seed)
    replaced: dict[str, bytes] = {}
    with (scratch / "raw.sam").open() as sam, gzip.GzipFile(scratch / "truth.tsv.gz", "wb", mtime=0) as truth:
        truth.write(b"#name\tmate\tref\tstrand\tstart\tend\tcigar\n")
        for line in sam:
            if line.startswith("@"):
                continue
            name, flag, contig, position, _, cigar, _, _, _, bases = line.split("\t")[:10]
            if int(flag) & 4:  # a read from within an inserted variant comes from no locus
                truth.write(f"{name}\t0\t*\t.\t0\t0\t*\n".encode())
                continue
            start = int(position)
            length = sum(count for count, operation in parse_cigar(cigar) if operation in "M=XDN")
            strand = "-" if int(flag) & 16 else "+"
            truth.write(f"{name}\t0\t{contig}\t{strand}\t{start}\t{start + length - 1}\t{cigar}\n".encode())
            if "N" in bases:
                fixed = _without_n(bases.encode(), contigs[contig], start - 1, cigar, rng)
                replaced[name] = reverse_complement(fixed) if strand == "-" else fixed
    with (scratch / "reads.fq").open("wb") as out:
        for name, bases, qualities in read_fastq(scratch / "raw.fq"):
            out.write(b"@%s\n%s\n+\n%s\n" % (name.encode(), replaced.get(name, bases), qualities))


def _without_n(bases: bytes, contig: bytes, at: int, cigar: str, rng: random.Random) -> bytes:
    fixed, read = bytearray(bases), 0
    for count, operation in parse_cigar(cigar):
        if operation in "M=XIS":
            for i in range(read, read + count):
                if fixed[i] == ord("N"):
                    there = contig[at + i - read] if operation in "M=X" else 0
                    fixed[i] = rng.choice([base for base in b"ACGT" if base != there])
            read += count
        if operation in "M=XDN":
            at += count
    return bytes(fixed)


# -- small readers, independent of the project's own


def sam_records(sam: Path, without: int) -> Iterator[tuple[int, list[str]]]:
    """(flag, all fields) of the records that have none of the flags ``without``."""
    with sam.open() as file:
        for line in file:
            if line.startswith("@"):
                continue
            fields = line.rstrip("\n").split("\t")
            flag = int(fields[1])
            if not flag & without:
                yield flag, fields


def parse_cigar(cigar: str) -> list[tuple[int, str]]:
    return [(int(count), operation) for count, operation in re.findall(r"(\d+)([MIDNSHPX=])", cigar)]


def reverse_complement(bases: bytes) -> bytes:
    return bases.translate(bytes.maketrans(b"ACGTacgt", b"TGCAtgca"))[::-1]


def read_fasta(path: Path) -> dict[str, bytes]:
    """Upper-case bases by name, the first word of the header."""
    opener = gzip.open if path.suffix == ".gz" else open
    parts: dict[str, list[bytes]] = {}
    with opener(path, "rb") as file:
        for line in file:
            if line.startswith(b">"):
                current = parts.setdefault(line[1:].split()[0].decode(), [])
            else:
                current.append(line.strip())
    return {name: b"".join(lines).upper() for name, lines in parts.items()}


def read_fastq(path: Path) -> Iterator[tuple[str, bytes, bytes]]:
    """(name, bases, qualities) of four-line FASTQ."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        while header := file.readline():
            bases = file.readline().rstrip()
            file.readline()
            yield header[1:].split()[0].decode(), bases, file.readline().rstrip()


def main() -> None:
    if len(sys.argv) > 1:
        os.environ["GPUALIGN_BENCH_DATA"] = sys.argv[1]
    for name in GENOMES:
        print(genome(name))
    for name in READ_SETS:
        print(*read_set(name))


if __name__ == "__main__":
    main()
