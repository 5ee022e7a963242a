"""``gpualign align``: genome against genome, with the options of nucmer and its companions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gpualign.errors import UsageError
from gpualign.fields import take
from gpualign.genomes.params import AlignOutputs, AlignParams
from gpualign.options import headed, options_of, output_option, run_options, take_run_options

F = TypeVar("F", bound=Callable[..., Any])


def _flag(name: str, heading: str, text: str, *spellings: str) -> Callable[[F], F]:
    return headed(heading, click.option(*spellings, name, is_flag=True, help=text))


@click.command(name="align", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("files", metavar="REF QUERY | FILE.delta", nargs=-1, required=True)
@_flag("mum", "Matches", "Use matches that are unique in the reference and in the query.", "--mum")
@_flag("maxmatch", "Matches", "Use all matches, not only those that are unique in the reference.", "--maxmatch")
@options_of(AlignParams, "min_match", "max_seed_occurrences")
@_flag("forward", "Matches", "Align only the forward strand of the query.", "-f", "--forward")
@_flag("reverse", "Matches", "Align only the reverse strand of the query.", "-r", "--reverse")
@options_of(AlignParams, "min_cluster", "max_gap", "diagonal_difference", "diagonal_factor")
@options_of(AlignParams, "break_length", "extend", "optimize", "simplify")
@options_of(AlignParams, "min_length", "filter")
@output_option
@options_of(AlignOutputs)
@run_options
def command(**values: Any) -> None:
    """Align the sequences of QUERY to those of REF, with the options and formats of nucmer.

    Matches, clusters and extensions are nucmer's, and so are the alignments. The output is a delta file, or what its
    name says: .paf, .sam, .maf or .chain (.gz compresses). Given a saved FILE.delta, of gpualign or of nucmer, align
    filters, tabulates or converts it.

    \b
    Examples:
      gpualign align ref.fa query.fa -o out.delta --coords out.coords --snps out.snps
      gpualign align ref.fa query.fa --filter 1 -o one_to_one.paf
      gpualign align out.delta --filter 1 -o out.1delta --snps out.snps --snps-style CTH
    """
    options = take_run_options(values)
    kinds = [kind for kind in ("mum", "maxmatch") if values.pop(kind)]
    strands = [strand for strand in ("forward", "reverse") if values.pop(strand)]
    for given in (kinds, strands):
        if len(given) > 1:
            raise UsageError(f"--{given[0]} and --{given[1]} are mutually exclusive")
    files = values.pop("files")
    if len(files) > 2:
        raise UsageError("give REF and QUERY, or a FILE.delta")
    given = [name for name in ("min_match", "min_cluster", "max_gap", "extend", "resume") if values[name] is not None]
    if len(files) == 1 and (kinds or strands or given):
        raise UsageError(
            "FILE.delta holds alignments: options of how sequences are aligned, and --resume, need REF and QUERY"
        )
    values["kind"] = kinds[0] if kinds else None
    values["strands"] = strands[0] if strands else None
    outputs = take(AlignOutputs, values)
    params = take(AlignParams, values)
    from gpualign.genomes.run import run_align

    run_align(files, params, outputs, options)
