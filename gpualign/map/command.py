"""``gpualign map``."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import click

from gpualign.fields import take
from gpualign.map.inputs import ENDINGS, MapFiles, RecordOptions, Sample, TagOptions
from gpualign.map.output_options import output_options, sorting_options, take_layout, take_tags
from gpualign.map.params import (
    ALL_LOCI,
    PRESET_ALIASES,
    PRESETS,
    MapParams,
    MapScoring,
    Pairing,
    Reporting,
    Seeding,
    Splicing,
)
from gpualign.options import headed, options_of, run_options, take_run_options
from gpualign.records.methylation import MethylationRules
from gpualign.records.options import mark_option, marking_options, read_group_options, take_marking, take_read_group
from gpualign.text.paths import listed_files


class _Preset(click.Choice):  # type: ignore[type-arg]
    """A preset, also by minimap2's name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(PRESET_ALIASES.get(value, value), param, ctx)


class _MapCommand(click.Command):
    """Takes ``-ax PRESET`` as minimap2's, where -a asks for SAM, the default here."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = [name for option in self.params if getattr(option, "is_flag", False) for name in option.opts]
        flags = "".join(name[1] for name in names if len(name) == 2)
        cluster = re.compile(rf"-(?=[{flags}]*a[{flags}]*x)([{flags}]+)(x.*)")
        found = [cluster.fullmatch(word) for word in args]
        words = [
            f"-{match[1].replace('a', '')}{match[2]}" if match else word
            for word, match in zip(args, found, strict=True)
        ]
        return super().parse_args(ctx, words)


@click.command("map", cls=_MapCommand)
@click.argument("reference", metavar="REF")
@click.argument("reads", metavar="READS", required=False)
@click.argument("mates", metavar="[READS2]", required=False)
@headed(
    "Reads",
    click.option(
        "-1", "first_ends", metavar="FILE", multiple=True, help="R1 files of pairs, instead of READS; repeatable."
    ),
    click.option("-2", "second_ends", metavar="FILE", multiple=True, help="R2 files, as many as for -1."),
    options_of(MapFiles, "interleaved", "check_names"),
    options_of(RecordOptions, "copy_comments"),
    click.option(
        "--samples",
        "sheet",
        metavar="FILE",
        help="Map the samples of this table (CSV or TSV: sample, fastq_1, fastq_2, …) instead of READS. -o is the "
        "folder for their outputs, SAMPLE.bam if the table names no output. --coverage, --duplicate-metrics and "
        "--methylation are endings: .bedgraph makes SAMPLE.bedgraph.",
    ),
    click.option(
        "--resume", metavar="DIR", help="With --samples: record finished samples in DIR, and skip them next time."
    ),
)
@headed(
    "Kind of reads",
    click.option(
        "-x",
        "--preset",
        type=_Preset(tuple(PRESETS)),
        default="sr",
        show_default=True,
        help="Kind of reads: sets several options at once (see Presets); explicit options win. minimap2's names are "
        "taken, too.",
    ),
    click.option(
        "--hic",
        is_flag=True,
        help="Hi-C: map mates one by one; of a split read the alignment at its 5' end is primary (bwa's -5SP).",
    ),
    click.option(
        "--meth",
        is_flag=True,
        help="Bisulfite or EM-seq reads: R1 has C converted to T, R2 G to A; converted bases are not edits.",
    ),
    click.option("--pbat", is_flag=True, help="With --meth: a PBAT library; R1 has G converted to A, R2 C to T."),
    click.option(
        "--non-directional", is_flag=True, help="With --meth: map each template both ways, and keep the better one."
    ),
)
@headed(
    "Pairs",
    options_of(Pairing),
    click.option(
        "--fr", is_flag=True, help="Mates face each other. Without --fr, --rf and --ff the first pairs decide."
    ),
    click.option("--rf", is_flag=True, help="Mates face away from each other."),
    click.option("--ff", is_flag=True, help="Mates lie on the same strand."),
)
@options_of(Seeding, "k", "w")
@options_of(Splicing)
@options_of(MapFiles, "junctions", "two_pass", "junctions_out", "counts")
@options_of(MapFiles, "save_index", "preload", "alt")
@options_of(MapParams, "error_rate")
@options_of(Seeding, "max_hits", "max_candidates")
@headed(
    "Sensitivity",
    click.option(
        "--sensitivity",
        type=click.Choice(("default", "full")),
        default="default",
        show_default=True,
        help="full: find every alignment within the error limit, with k and w chosen for the reads and all seed hits; "
        "slow in repeats.",
    ),
)
@options_of(MapParams, "end_to_end")
@options_of(MapScoring)
@headed(
    "Which alignments",
    options_of(Reporting, "secondary"),
    click.option("--secondary", "five", is_flag=True, help="Same as -N 5."),
    click.option(
        "-a",
        "--all",
        "everywhere",
        is_flag=True,
        help="Report all alignments within the error limit. In -ax PRESET, -a is minimap2's: SAM, the default output.",
    ),
    options_of(Reporting, "strata"),
)
@options_of(TagOptions, "xa")
@options_of(RecordOptions, "no_unmapped")
@read_group_options
@options_of(RecordOptions, "eqx", "soft_supplementary", "secondary_sequence")
@options_of(TagOptions, "cs", "extra")
@output_options
@options_of(MapFiles, "unmapped_reads", "mapped_reads", "report_page")
@sorting_options
@mark_option
@marking_options
@options_of(MapFiles, "methylation")
@options_of(MethylationRules)
@run_options
def command(
    preset: str,
    sensitivity: str,
    five: bool,
    everywhere: bool,
    **values: Any,
) -> None:
    """Map reads or read pairs to a reference and write SAM, BAM, CRAM or PAF.

    REF is FASTA (plain or compressed), GenBank, EMBL or an index saved with -d. READS is FASTA, FASTQ (plain or
    compressed), SAM, BAM or CRAM; '-' is standard input. With READS2 the two files hold R1 and R2 of pairs.
    Separate the files of several lanes by commas, or repeat -1 and -2; they are mapped as one input.

    Every candidate is verified by its edit distance. A read that needs more than RATE * length edits is clipped or
    split. Reads of more than 1,000 bases are mapped by chaining, as with -x hifi and -x ont but with the scores of
    short reads, and without using their mates. The output is in input order and the same for any number of threads.

    A reference may have up to 4,294,967,294 bases. Reads lie across introns with -x rna, for short reads and pairs, and
    with -x splice and splice:hq, for long ones; other presets split a read over an intron.

    \b
    Presets:
      sr            short reads: the defaults below
      sr-sensitive  -e 0.12 --max-hits 10000 --max-candidates 512
      rna           short reads of RNA: those of sr, across introns
      hifi          long reads with few errors, by chaining: -k 19 -w 19 -A 1 -B 4 -O 6 -E 2 -L 0 --max-hits 200
      ont           long reads with many errors, by chaining: -k 15 -w 10 -A 2 -B 4 -O 4 -E 2 -L 0 --max-hits 200
      splice        long reads of RNA (cDNA; -u f for direct RNA): -k 15 -w 5 -A 1 -B 2 -O 2 -E 1 -L 0 --max-hits 200
      splice:hq     the same with few errors: -B 4 -O 6
      asm5, asm10   contigs of genomes that differ by up to 5 % (10 %), by chaining: -k 19 -w 19 -A 1 -B 19 (9) -L 0
      asm20         the same up to 20 %: -k 19 -w 10 -A 1 -B 4 -L 0

    minimap2's presets are taken as well: short is sr; map-hifi, map-ccs, map-iclr, lr:hq and lr:hqae are hifi; map-ont,
    map-pb and lr are ont; cdna is splice.

    With chaining, reads may be clipped at both ends or split, -e does not apply, and --max-hits counts for each 500
    bases of a read. A saved index has its own -k and -w, which must be those of the preset.

    \b
    Examples:
      gpualign map ref.fa reads.fq.gz -o out.sam
      gpualign map -x ont ref.fa reads.fq.gz -o out.sam
      gpualign map -x rna ref.fa rna_1.fq.gz rna_2.fq.gz --two-pass --sort -o out.bam
      gpualign map -x splice ref.fa cdna.fq.gz --junctions genes.gtf --sort -o out.bam
      gpualign map ref.fa reads_1.fq.gz reads_2.fq.gz --sort --mark-duplicates --write-index -o out.bam
      gpualign map ref.fa L1_1.fq.gz,L2_1.fq.gz L1_2.fq.gz,L2_2.fq.gz -o out.sam.gz
      gpualign map ref.fa --samples sheet.csv -o mapped --json mapped.json
    """
    options, layout = take_run_options(values), take_layout(values)
    values["duplicates"] = take_marking(values, values.pop("mark_duplicates"))
    layout = dataclasses.replace(layout, hold=values["duplicates"] is not None)
    values["read_group"] = take_read_group(values)
    from gpualign.map.run import run_map

    given_secondary = values["secondary"] is not None
    if everywhere and given_secondary:
        raise click.UsageError("-a reports all alignments, -N some: choose one")
    if everywhere or (values["strata"] is not None and not given_secondary and not five):
        values["secondary"] = ALL_LOCI
    elif five and not given_secondary:
        values["secondary"] = 5
    values["tags"] = take_tags(values)
    values["alt"] = "" if values["alt"] == "names" else values["alt"]
    if values.pop("hic"):
        values |= {"together": False, "five_prime": True}
    values["reads"], values["mates"] = _take_files(values)
    values["full"] = sensitivity == "full"
    values["orientation"] = _take_orientation(values)
    values["meth"] = _take_library(values)
    values["methylation_rules"] = take(MethylationRules, values)
    values["command_line"] = options.command_line
    sheet, resume = values.pop("sheet"), values.pop("resume")
    files, records = take(MapFiles, values), take(RecordOptions, values)
    given = {name: value for name, value in values.items() if value is not None}
    params = MapParams.of_preset(preset, **given)
    if sheet is None:
        if resume is not None:
            raise click.UsageError("--resume needs --samples")
        run_map(Sample(files, params, records, layout.of(options.output), options))
        return
    from gpualign.map.samples import SampleSheet, run_samples

    _check_sheet_options(files, records)
    run_samples(SampleSheet(sheet, files, options.output, resume), params, options, layout, records)


def _check_sheet_options(files: MapFiles, records: RecordOptions) -> None:
    """Refuse options that --samples sets for each sample, and names of files that are no endings."""
    given = {"-R": records.read_group, "--un": files.unmapped_reads, "--al": files.mapped_reads}
    for name, value in (*given.items(), ("--two-pass", files.two_pass or None)):
        if value is not None:
            raise click.UsageError(f"{name} is for one sample: leave it out with --samples")
    for field, example in ENDINGS.items():
        ending = getattr(files, field)
        if ending is not None and (ending[:1] != "." or "/" in ending):
            option = f"--{field.replace('_', '-')}"
            raise click.UsageError(f"with --samples, {option} is the ending of each sample's file, such as {example}")


def _take_library(values: dict[str, Any]) -> str | None:
    """The kind of bisulfite library; None: the reads are no bisulfite reads."""
    meth, pbat, both = (values.pop(name) for name in ("meth", "pbat", "non_directional"))
    if not meth and (pbat or both):
        raise click.UsageError(f"--{'pbat' if pbat else 'non-directional'} needs --meth")
    if pbat and both:
        raise click.UsageError("--pbat and --non-directional are mutually exclusive")
    return ("pbat" if pbat else "non-directional" if both else "directional") if meth else None


def _take_orientation(values: dict[str, Any]) -> str | None:
    given = [name for name in ("fr", "rf", "ff") if values.pop(name)]
    if len(given) > 1:
        raise click.UsageError(f"--{given[0]} and --{given[1]} are mutually exclusive")
    return given[0] if given else None


def _take_files(values: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files of reads, or of R1 and R2."""
    named = [text for text in (values["reads"], values["mates"]) if text is not None]
    ends = values.pop("first_ends"), values.pop("second_ends")
    if values["sheet"] is not None:
        if named or any(ends):
            raise click.UsageError("the reads are named by --samples or on the command line, not by both")
        return (), ()
    if not any(ends):
        if not named:
            raise click.UsageError("Missing argument 'READS'.")
        return listed_files(named[0]), listed_files(named[1]) if len(named) > 1 else ()
    if named:
        raise click.UsageError("the reads are named by READS or by -1 and -2, not by both")
    if not all(ends):
        raise click.UsageError("-1 and -2 go together")
    first, second = (tuple(file for text in files for file in listed_files(text)) for files in ends)
    return first, second
