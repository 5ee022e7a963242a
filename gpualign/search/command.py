"""``gpualign search``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.errors import UsageError
from gpualign.options import option_of, run_options, table_option, take_run_options
from gpualign.search.params import ALPHABETS, ENDS, HITS, STRANDS, SearchFiles, SearchParams
from gpualign.text.paths import listed_files


@click.command("search", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="[PATTERNS] TARGETS...")
@click.option("-P", "--pattern", metavar="SEQ[,SEQ]", help="Patterns, instead of the file PATTERNS.")
@click.option(
    "-k",
    "--max-errors",
    type=int,
    metavar="INT",
    help="Maximum number of errors of a hit; with as many as its length (without a PAM) a pattern fits everywhere.",
)
@click.option(
    "-e",
    "--error-rate",
    type=float,
    metavar="RATE",
    help="Maximum errors as a share of the pattern's length (without a PAM), rounded down; -k overrides it.",
)
@click.option("--mismatches-only", is_flag=True, help="No insertions and deletions (Hamming distance).")
@click.option("--max-bulges", type=int, metavar="INT", help="Maximum insertions and deletions among the errors.")
@click.option("--strand", type=click.Choice(STRANDS), help="Strands of the targets.  [default: both of dna, else plus]")
@option_of(
    SearchParams,
    "--hits",
    type=click.Choice(HITS),
    help="local: ends where the distance is lowest; all: every end within the limit; best, first: one hit of each "
    "pattern in each target.",
)
@option_of(
    SearchParams,
    "--alphabet",
    type=click.Choice(ALPHABETS),
    help="dna: IUPAC codes, U is T, any case; protein: any case, B J X Z of a pattern stand for several residues; "
    "bytes: each byte matches itself.",
)
@option_of(
    SearchParams,
    "--max-n",
    "max_ambiguous",
    help="Maximum ambiguous bases of the target in a hit; each matches any base that it stands for. With 0 they match "
    "only codes of a pattern that cover them, as N does.",
)
@click.option(
    "--pam",
    metavar="SEQ",
    help="A motif next to each pattern that must match exactly: NGG after it, or 5:TTTV before it.",
)
@click.option(
    "--fixed",
    metavar="PARTS",
    help="Parts of the patterns that must match exactly: 3:NGG (their end), 5:TTTV, or positions such as 1-4,20.",
)
@option_of(SearchParams, "--ends", type=click.Choice(ENDS), help="free: patterns may hang over the ends of targets.")
@option_of(
    SearchParams,
    "--overhang-cost",
    help="With --ends free: cost in errors of each base beyond an end, 0 to 1. The sum is rounded down and counts "
    "towards -k; with 0.5 one base is free, with 0 a single base at an end is a hit.",
)
@click.option(
    "--best-per-target", is_flag=True, help="Write one hit per target: that of the pattern with the fewest errors."
)
@option_of(
    SearchParams,
    "--margin",
    help="With --best-per-target: errors that every other pattern must have more than the best.",
)
@click.option(
    "--merge/--no-merge",
    default=None,
    help="Overlapping hits of a pattern on one strand are one: that with the fewest errors, of these the leftmost.  "
    "[default: --merge with --counts or --plot]",
)
@click.option("--within", type=int, metavar="INT", help="Search only INT bases at either end of each target.")
@click.option(
    "-p",
    "--path",
    is_flag=True,
    help="Also write the alignment (= X I D; I consumes the pattern) and the matched text.",
)
@click.option("--bed", is_flag=True, help="Write BED, with the distance as the score.")
@click.option("--paf", is_flag=True, help="Write PAF.")
@click.option(
    "--split",
    metavar="DIR",
    help="With --best-per-target: also write the targets, to NAME.fastq or NAME.fasta for each pattern, and the others "
    "to unassigned.fastq or .fasta.",
)
@click.option("--counts", metavar="FILE", help="Write the number of hits of each pattern by distance.")
@click.option("--plot", metavar="FILE", help="Draw the hits of each pattern by distance (.png or .svg).")
@click.option("--reference", metavar="FILE", help="FASTA for targets in CRAM.")
@click.option("--no-header", is_flag=True, help="Write no header line.")
@table_option
@run_options
def command(**values: Any) -> None:
    """Find every place in TARGETS where a pattern fits with at most k errors; none is missed.

    PATTERNS are FASTA, FASTQ, or lines: a pattern each, or a name, a tab and a pattern. TARGETS are FASTA, FASTQ, SAM,
    BAM, CRAM, or an index (.gpi). Columns: pattern, target, strand, tstart, tend, plen, distance; 1-based and
    inclusive, in the order of targets and starts.

    \b
    Examples:
      gpualign search guides.txt genome.fa -k 3 --pam NGG -p -o sites.tsv
      gpualign search -P GATTACA,ACGTNNACGT reads.fq.gz -k 1
      gpualign search barcodes.fa reads.fq.gz -e 0.25 --within 150 --best-per-target --split by_barcode
    """
    options = take_run_options(values)
    from gpualign.plots.drawing import check_plot
    from gpualign.search.run import run_search

    names, given = values.pop("files"), values.pop("pattern")
    bed, paf = values.pop("bed"), values.pop("paf")
    if bed and paf:
        raise UsageError("--bed and --paf are two formats of one output: give one of them")
    if given is None and len(names) < 2:
        raise UsageError("name a file of patterns (or give them with -P) and at least one of targets")
    patterns, targets = (None, names) if given is not None else (names[0], names[1:])
    files = SearchFiles(
        patterns=patterns,
        targets=tuple(file for text in targets for file in listed_files(text)),
        given=() if given is None else tuple(text.strip() for text in given.split(",")),
        header=not values.pop("no_header"),
        form="bed" if bed else "paf" if paf else "table",
        split=values.pop("split"),
        counts=values.pop("counts"),
        plot=values.pop("plot"),
        reference=values.pop("reference"),
    )
    if files.form != "table" and options.output_format != "tsv":
        raise UsageError(f"--{files.form} is text: it cannot be used with {options.output_format}")
    if files.plot is not None:
        check_plot(files.plot)
    if values["merge"] is None:  # what is counted is loci
        values["merge"] = files.counts is not None or files.plot is not None
    run_search(SearchParams(**values), files, options)
