"""``gpualign mem``: `map` with the command line of bwa mem."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import click

from gpualign.checks import penalty
from gpualign.map.inputs import MapFiles, RecordOptions, Sample, TagOptions
from gpualign.map.params import ALL_LOCI, Chaining, MapParams, MapScoring, Pairing
from gpualign.options import command_line, debug_option, headed, options_of
from gpualign.params import RunOptions
from gpualign.report import print_line

#: why an option of bwa mem has no effect; options with a value, then flags
_IGNORED = {
    "k": "seeds are the minimizers of the index (map -k chooses them)",
    "w": "alignments have no fixed band",
    "d": "alignments are not cut off by a drop of the score",
    "r": "seeds are minimizers of one length",
    "y": "seeds are minimizers of one length",
    "s": "seeds are minimizers of one length",
    "c": "each read follows its rarest seeds first (map --max-hits)",
    "D": "chains are not dropped for a small overlap with the best",
    "W": "chains are not dropped for few seeds",
    "m": "each mate is rescued once",
    "G": "chains have a limit of their own",
    "N": "chains have a limit of their own",
    "X": "overlapping alignments have a limit of their own",
    "Q": "mapping quality is computed differently",
}
_IGNORED_FLAGS = {
    "S": "mates are rescued if a read alone is not enough",
    "e": "full-length exact matches are reported",
    "1": "reading, mapping and writing always overlap",
    "V": "descriptions of contigs are not kept",
    "q": "supplementary alignments always have their own mapping quality",
}
_PRESETS = {"pacbio": "ont", "ont2d": "ont", "intractg": "sr", "pbread": "ont"}
_LARGEST_BATCH = 1 << 24
_XA, _MIN_SCORE = 5, Chaining.min_score


@dataclass
class BwaOptions:
    """bwa mem's options; None: not given.

    Attributes:
        ignored: given options without effect, and why.
    """

    values: dict[str, Any]
    ignored: dict[str, str] = field(default_factory=dict)

    def pair_of(self, name: str, letter: str) -> int | None:
        """The first of INT[,INT]: there is one penalty for insertions and deletions, and one for both ends."""
        text = self.values[name]
        if text is None:
            return None
        try:
            numbers: list[int] = [penalty(int(part)) for part in text.split(",")]
        except ValueError:
            numbers = []
        if not 1 <= len(numbers) <= 2:
            raise click.UsageError(f"-{letter} must be INT or INT,INT, not {text!r}")
        if len(set(numbers)) > 1:
            self.ignored[letter] = f"of {text} only {numbers[0]} counts: there is one such penalty"
        return numbers[0]


def _hidden(command: Any) -> Any:
    """Add bwa's options that have no effect; --help lists them in one line."""
    for letter, reason in _IGNORED.items():
        command = click.option(f"-{letter}", f"ignored_{letter}_value", hidden=True, help=reason)(command)
    for letter, reason in _IGNORED_FLAGS.items():
        command = click.option(f"-{letter}", f"ignored_{letter}", is_flag=True, hidden=True, help=reason)(command)
    return command


_scores = headed(
    "Scores",
    click.option(
        "-A",
        "match",
        type=int,
        metavar="INT",
        help=f"Score of a match; scales -B -O -E -L -U -T.  [default: {MapScoring.match}]",
    ),
    click.option(
        "-B", "mismatch", type=int, metavar="INT", help=f"Penalty for a mismatch.  [default: {MapScoring.mismatch}]"
    ),
    click.option(
        "-O", "gap_open", metavar="INT[,INT]", help=f"Penalty for opening a gap.  [default: {MapScoring.gap_open}]"
    ),
    click.option(
        "-E",
        "gap_extend",
        metavar="INT[,INT]",
        help=f"Penalty for each base of a gap.  [default: {MapScoring.gap_extend}]",
    ),
    click.option(
        "-L", "clip", metavar="INT[,INT]", help=f"Penalty for clipping an end.  [default: {MapScoring.clip_penalty}]"
    ),
    click.option(
        "-U",
        "unpaired",
        type=int,
        metavar="INT",
        help=f"Penalty for unpaired mates.  [default: {Pairing.unpaired_penalty}]",
    ),
    click.option(
        "-T", "min_score", type=int, metavar="INT", help=f"Minimum score of an alignment.  [default: {_MIN_SCORE}]"
    ),
)


_records_and_tags = headed(
    "Records and tags",
    click.option("-R", "read_group", metavar="STR", help=r"Read group: '@RG\tID:x\tSM:y'."),
    click.option("-H", "header", metavar="STR/FILE", help="A header line, if it begins with @, or a file of them."),
    click.option("-a", "everything", is_flag=True, help="Report all alignments, as secondary records."),
    click.option("-C", "comments", is_flag=True, help="Copy comments that are SAM tags."),
    click.option("-M", "as_secondary", is_flag=True, help="Flag supplementary alignments as secondary (0x100)."),
    click.option("-Y", "soft", is_flag=True, help="Soft-clip supplementary records."),
    click.option("-5", "five_prime", is_flag=True, help="Of a split read the alignment at its 5' end is primary."),
    click.option("-u", "scored", is_flag=True, help="Write XB, with score and MAPQ, instead of XA."),
    click.option(
        "-h",
        "hits",
        metavar="INT[,INT]",
        help=f"Write XA if a read has at most INT secondary alignments.  [default: {_XA},{TagOptions.xa_alt}]",
    ),
    click.option(
        "-z",
        "share",
        type=float,
        metavar="FLOAT",
        help=f"Minimum share of the best score for XA.  [default: {TagOptions.xa_share}]",
    ),
    click.option("-j", "no_alt", is_flag=True, help="Treat ALT contigs as primary ones."),
)


@click.command("mem", context_settings={"help_option_names": ["--help"]})
@click.argument("reference", metavar="REF")
@click.argument("reads", metavar="R1")
@click.argument("mates", metavar="[R2]", required=False)
@headed(
    "Reads",
    click.option("-p", "interleaved", is_flag=True, help="Neighbouring reads of the same name in R1 are pairs."),
    click.option("-P", "apart", is_flag=True, help="Map the mates of a pair one by one."),
    click.option("-I", "insert_size", metavar="MEAN[,SD[,MAX[,MIN]]]", help="Insert size.  [default: estimated]"),
    click.option("-x", "preset", type=click.Choice(tuple(_PRESETS)), help="Kind of reads."),
    click.option("--meth", is_flag=True, help="Bisulfite or EM-seq reads, as for `map`."),
)
@_scores
@_records_and_tags
@headed(
    "Output",
    click.option(
        "-o",
        "-f",
        "output",
        metavar="FILE",
        help="Output; .bam and .cram choose the format.  [default: standard output]",
    ),
    click.option("--sort", is_flag=True, help="Sort by coordinate."),
    click.option("--write-index", is_flag=True, help="With --sort: write an index next to the output."),
    click.option("--report", "report_page", metavar="FILE.html", help="Write the run report as an HTML page."),
)
@headed(
    "Running",
    click.option(
        "-t", "threads", type=click.IntRange(min=1), default=1, show_default=True, metavar="INT", help="CPU threads."
    ),
    click.option(
        "-K",
        "batch",
        type=click.IntRange(min=1),
        metavar="INT",
        help="Bases per batch; the output does not depend on it.",
    ),
    click.option("-v", "verbosity", type=int, default=3, show_default=True, metavar="INT", help="0 or 1: only errors."),
    click.option("--device", metavar="DEV", help=f"As for `map`.  [default: {RunOptions.device}]"),
    options_of(MapFiles, "preload"),
    options_of(RunOptions, "json"),
)
@debug_option
@_hidden
def command(**values: Any) -> None:
    """Map reads or pairs with the options of bwa mem 0.7.17 and later, and write SAM as bwa's users expect it.

    REF is what bwa takes: a FASTA file, or the name of an index of bwa or minimap2 with its FASTA file next to it. The
    index is built the first time and kept as REF.gpi. R1 and R2 are what `gpualign map` reads.

    Records have NM, MD, AS, XS, XA, SA, MC, MQ and HN. Mapping quality is gpualign's own. The output does not depend on
    -t and -K. Of bwa's options -k -w -d -r -y -s -c -D -W -m -G -N -X -Q -S -1 -e -V -q have no effect; a line on
    standard error says why, unless -v is below 2.

    \b
    Examples:
      gpualign mem -t 8 -R '@RG\\tID:x\\tSM:y' ref.fa r_1.fq.gz r_2.fq.gz > out.sam
      gpualign mem -5SP -t 8 ref.fa hic_1.fq.gz hic_2.fq.gz | samtools view -b -o hic.bam
    """
    from gpualign.map.bwa_reference import alt_file, find_reference
    from gpualign.map.run import run_map
    from gpualign.records.alignment_output import AlignmentLayout

    bwa = BwaOptions(values)
    if values["interleaved"] and values["mates"] is not None:
        bwa.ignored["p"] = "there is a second file, so the first one is not interleaved"
        values["interleaved"] = False
    params, records = _params(bwa), _records(bwa)
    quiet = values["verbosity"] < 2
    for letter, reason in {**bwa.ignored, **_ignored(values)}.items():
        if not quiet:
            what = "" if letter in bwa.ignored else " has no effect"
            print_line("mem", f"-{letter}{what}: {reason}")
    options = RunOptions(
        output=values["output"],
        threads=values["threads"],
        device=values["device"] or RunOptions.device,
        batch_size=min(values["batch"] or RunOptions.batch_size, _LARGEST_BATCH),
        quiet=quiet,
        json=values["json"],
        command_line=command_line(),
    )
    reference = find_reference(values["reference"])
    files = MapFiles(
        reference,
        (values["reads"],),
        () if values["mates"] is None else (values["mates"],),
        interleaved=values["interleaved"],
        check_names=not values["interleaved"],  # bwa takes any mixture of pairs and single reads
        alt=None if values["no_alt"] or values["meth"] else alt_file(reference),
        preload=bool(values["preload"]),
        keep_index=True,
        report_page=values["report_page"],
    )
    layout = AlignmentLayout(order="coordinate" if values["sort"] else "input", write_index=values["write_index"])
    run_map(Sample(files, params, records, layout.of(options.output), options), "mem")


def _ignored(values: dict[str, Any]) -> dict[str, str]:
    """Given options without effect, and why."""
    with_values = {letter: why for letter, why in _IGNORED.items() if values[f"ignored_{letter}_value"] is not None}
    flags = {letter: why for letter, why in _IGNORED_FLAGS.items() if values[f"ignored_{letter}"]}
    if values["apart"]:
        flags.pop("S", None)  # -SP maps mates one by one, which -P does here
    if values["five_prime"]:
        flags.pop("q", None)
    return with_values | flags


def _params(bwa: BwaOptions) -> MapParams:
    values = bwa.values
    preset = values["preset"]
    explicit: dict[str, Any] = {"match": values["match"], "mismatch": values["mismatch"]}
    explicit |= {name: bwa.pair_of(name, letter) for name, letter in (("gap_open", "O"), ("gap_extend", "E"))}
    explicit["clip_penalty"] = bwa.pair_of("clip", "L")
    explicit["unpaired_penalty"] = values["unpaired"]
    if preset == "intractg":
        explicit = {**explicit, **{k: v for k, v in {"mismatch": 9, "gap_open": 16}.items() if explicit[k] is None}}
    elif (scale := values["match"] or 1) > 1:
        usual = {name: getattr(MapScoring, name) for name in ("mismatch", "gap_open", "gap_extend", "clip_penalty")}
        usual["unpaired_penalty"] = Pairing.unpaired_penalty
        explicit |= {name: scale * value for name, value in usual.items() if explicit[name] is None}
    explicit = {name: value for name, value in explicit.items() if value is not None}
    explicit["insert_size"] = values["insert_size"]
    explicit["together"] = not values["apart"]
    explicit["meth"] = "directional" if values["meth"] else None
    explicit["secondary"] = ALL_LOCI if values["everything"] else _tags(bwa).needed
    return MapParams.of_preset(_PRESETS.get(preset or "", "sr"), **explicit)


def _tags(bwa: BwaOptions) -> TagOptions:
    values = bwa.values
    maximum = _numbers_of(f"{_XA},{TagOptions.xa_alt}" if values["hits"] is None else values["hits"])
    share = values["share"]
    return TagOptions(
        xa=0 if values["everything"] else maximum[0],
        xa_alt=maximum[1],
        secondary_records=values["everything"],
        xa_share=TagOptions.xa_share if share is None else share,
        scored=values["scored"],
        extra=("XS", "HN"),
    )


def _numbers_of(text: str) -> tuple[int, int]:
    """Parse INT[,INT]: the limit for reads without hits on ALT contigs, and with them."""
    numbers = text.split(",")
    if not 1 <= len(numbers) <= 2 or not all(number.isdigit() for number in numbers):
        raise click.UsageError(f"-h must be INT or INT,INT, not {text!r}")
    return int(numbers[0]), int(numbers[-1])


def _records(bwa: BwaOptions) -> RecordOptions:
    values = bwa.values
    minimum = values["min_score"]
    return RecordOptions(
        soft_supplementary=values["soft"],
        copy_comments=values["comments"],
        min_score=_MIN_SCORE * (values["match"] or 1) if minimum is None else minimum,
        five_prime=values["five_prime"],
        split_as_secondary=values["as_secondary"],
        tags=_tags(bwa),
        header_lines=_header_lines(values["header"]),
        read_group=values["read_group"],
        command_line=command_line(),
    )


def _header_lines(given: str | None) -> tuple[str, ...]:
    """Lines given by -H: one, with \\t for tabs, or those of a file."""
    if given is None:
        return ()
    if given.startswith("@"):
        return (given.replace("\\t", "\t"),)
    from gpualign.text.files import InputFile

    with InputFile(given) as file:
        text = file.read(1 << 26).decode("utf-8", "replace")
    return tuple(line for line in text.splitlines() if line)
