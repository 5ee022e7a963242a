"""``gpualign search``."""

from __future__ import annotations

from typing import Any

import click

from gpualign.errors import UsageError
from gpualign.fields import take
from gpualign.options import headed, options_of, run_options, table_options, take_run_options
from gpualign.search.params import SearchFiles, SearchParams
from gpualign.search.trim_params import ADAPTER_ERROR_RATE, TrimFiles, TrimParams
from gpualign.text.paths import listed_files


@click.command("search", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="[PATTERNS] TARGETS...")
@headed(
    "Patterns", click.option("-P", "--pattern", metavar="SEQ[,SEQ]", help="Patterns, instead of the file PATTERNS.")
)
@options_of(SearchParams)
@headed(
    "Columns and formats",
    click.option("--bed", is_flag=True, help="Write BED, with the distance as the score."),
    click.option("--paf", is_flag=True, help="Write PAF."),
)
@options_of(TrimParams)
@options_of(TrimFiles)
@table_options
@options_of(SearchFiles)
@run_options
def command(**values: Any) -> None:
    """Find all hits of patterns in TARGETS with at most k errors; none is missed.

    PATTERNS are FASTA, FASTQ, or lines: a pattern each, or a name, a tab and a pattern. TARGETS are FASTA, FASTQ, SAM,
    BAM, CRAM, or an index (.gpi). Columns: pattern, target, strand, tstart, tend, plen, distance; 1-based and
    inclusive, in the order of targets and starts.

    \b
    Examples:
      gpualign search guides.txt genome.fa -k 3 --pam NGG -p -o sites.tsv
      gpualign search -P GATTACA,ACGTNNACGT reads.fq.gz -k 1
      gpualign search barcodes.fa reads.fq.gz -e 0.25 --within 150 --best-per-target --split by_barcode
      gpualign search -P AGATCGGAAGAGC r1.fq.gz r2.fq.gz --trim 3 -o out1.fq.gz --paired-output out2.fq.gz
    """
    options = take_run_options(values)
    from gpualign.plots.drawing import check_plot
    from gpualign.search.run import run_search

    names, given = values.pop("files"), values.pop("pattern")
    bed, paf = values.pop("bed"), values.pop("paf")
    if bed and paf:
        raise UsageError("--bed and --paf are two formats of one output: give one of them")
    trim, mates = take(TrimParams, values), take(TrimFiles, values)
    no_patterns = trim.wanted and trim.trim is None
    targets_only = given is not None or no_patterns or values["candidates"] is not None
    if no_patterns and any(value is not None for value in (given, values["max_errors"], values["error_rate"])):
        raise UsageError("adapters, and their errors, are cut off where --trim says: give it, too")
    if len(names) < 2 and not targets_only:
        raise UsageError("name a file of patterns (or give them with -P) and at least one of targets")
    values["patterns"], targets = (None, names) if targets_only else (names[0], names[1:])
    values["targets"] = tuple(file for text in targets for file in listed_files(text))
    values["given"] = ("",) * no_patterns if given is None else tuple(text.strip() for text in given.split(","))
    values["form"] = "bed" if bed else "paf" if paf else "table"
    values["pam"] = values["pam"] or values["candidates"]
    files = take(SearchFiles, values)
    if trim.wanted:
        from gpualign.search.trim import run_trim

        if values["max_errors"] is None and values["error_rate"] is None:
            values["error_rate"] = ADAPTER_ERROR_RATE
        values["merge"] = bool(values["merge"])
        run_trim(take(SearchParams, values), trim, files, mates, options)
        return
    if files.pairs is not None:
        from gpualign.search.pcr import run_pcr

        values["merge"] = bool(values["merge"])
        run_pcr(take(SearchParams, values), files, options)
        return
    if mates != TrimFiles():
        raise UsageError("options of mates are for reads that are trimmed: give --trim")
    if files.form != "table" and options.output_format != "tsv":
        raise UsageError(f"--{files.form} is text: it cannot be used with {options.output_format}")
    if files.plot is not None:
        check_plot(files.plot)
    if values["merge"] is None:  # what is counted is loci
        values["merge"] = any((files.counts, files.summary, files.plot))
    values["path"] = values["path"] or files.score is not None or files.matched == "lower"
    run_search(take(SearchParams, values), files, options)
