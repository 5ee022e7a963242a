"""What a command's help says of its options, the message for a command without arguments, and what an option of another
program is called here."""

from __future__ import annotations

import inspect
from functools import partial

import click

from gpualign.options import sections

#: what --help shows of commands whose options fill several screens; --help-all shows the rest
COMMON = {
    "map": "-p -x --meth -R --sort --mark-duplicates --write-index --coverage -o --output-format -e -N -d --report -t "
    "--device --json",
    "pairwise": "--mode --strand --id --iddef --match --mismatch --matrix --gapopen --gapext --top --evalue "
    "--score-only --userfields --blast6 --plot -o -t --device --json",
    "search": "-P -k -e --alphabet --pam --strand --within --best-per-target --split --counts --trim -o "
    "-t --device --json",
}
#: options of other programs (vsearch, BLAST, bwa, samtools, minimap2, bowtie2, cd-hit, cutadapt, STAR), without dashes
#: and underscores, and what may be meant
OTHER_NAMES = {
    "identity": "--id",
    "minidentity": "--id",
    "percidentity": "--id",
    "maxaccepts": "--top",
    "maxtargetseqs": "--top",
    "numalignments": "--top",
    "maxhits": "--top",
    "out": "--output",
    "outfile": "--output",
    "outputfile": "--output",
    "blast6out": "--blast6",
    "outfmt": "--output-format",
    "outputfmt": "--output-format",
    "bam": "--output-format",
    "cram": "--output-format",
    "cpus": "--threads",
    "cores": "--threads",
    "numthreads": "--threads",
    "nthreads": "--threads",
    "runthreadn": "--threads",
    "gpu": "--device",
    "gpus": "--device",
    "rg": "--read-group",
    "rgid": "--read-group",
    "markdup": "--mark-duplicates",
    "markduplicates": "--mark-duplicates",
    "rmdup": "--remove-duplicates",
    "removeduplicates": "--remove-duplicates",
    "mismatches": "--max-errors",
    "maxmismatches": "--max-errors",
    "editdistance": "--max-errors",
    "errors": "--max-errors",
    "errorrate": "--error-rate",
    "adapter": "--trim",
    "querycoverage": "--query-cov",
    "qcovhspperc": "--query-cov",
    "wordsize": "-k",
    "kmersize": "-k",
    "index": "--save-index",
    "local": "--mode",
    "glocal": "--mode",
    "nosecondary": "-N",
    "secondary": "-N",
    "sortbyname": "--by-name",
    "memory": "--sort-memory",
    "unout": "--un",
    "unmapped": "--un",
}


def meant(error: click.NoSuchOption, command: click.Command) -> str | None:
    """The option of a command that is called so in other programs; None: there is none."""
    ours = OTHER_NAMES.get(error.option_name.lower().replace("-", "").replace("_", ""))
    return ours if any(ours in parameter.opts for parameter in command.params) else None


def short_usage(name: str, command: click.Command) -> str:
    """Purpose, usage and the first example of a command's help, and how to get more."""
    text = command.help or ""
    purpose = " ".join(text.split("\n\n")[0].split())
    with click.Context(command, info_name=f"gpualign {name}") as context:
        usage = " ".join(command.collect_usage_pieces(context))
    lines = [purpose, "", f"Usage:   gpualign {name} {usage}"]
    _, found, examples = text.partition("Examples:\n")
    if found:
        lines.append(f"Example: {examples.splitlines()[0].strip()}")
    whole = "--help-all" if name in COMMON else "--help"
    return "\n".join([*lines, "", f"gpualign {name} {whole} explains every option."])


def arrange_help(name: str, command: click.Command) -> None:
    """Give a command its two helps: --help, which may show only what most runs need, and --help-all."""

    def show_all(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            context.meta[_ALL] = True
            click.echo(context.get_help(), color=context.color)
            context.exit()

    if all(option.name != "help_all" for option in command.params):
        option = click.Option(
            ["--help-all"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            hidden=name not in COMMON,
            callback=show_all,
            help="Explain every option.",
        )
        vars(option)["heading"] = "Running"
        command.params.append(option)
    command.format_options = partial(write_options, name, command)  # type: ignore[method-assign]
    command.format_help_text = partial(write_text, name, command)  # type: ignore[method-assign]


_ALL = "gpualign.cli.usage.all"


def _in_short(name: str, context: click.Context) -> bool:
    return name in COMMON and not context.meta.get(_ALL)


def write_text(name: str, command: click.Command, context: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the description of a command's help, in short without what is between the arguments and the examples."""
    text = inspect.cleandoc(command.help or "")
    if _in_short(name, context):
        description, _, examples = text.partition("\b\nExamples:")
        text = "\n\n".join(description.split("\n\n")[:2]) + "\n\n\b\nExamples:" + examples
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(text)


def write_options(name: str, command: click.Command, context: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the options of a command's help, each group under its heading, in short the first sentence of some."""
    found = sections(command, context)
    if not _in_short(name, context):
        for heading, options in found.items():
            with formatter.section(heading):
                formatter.write_dl([row for option in options if (row := option.get_help_record(context)) is not None])
        return
    every = [option for options in found.values() for option in options]
    common = [option for option in every if not set(COMMON[name].split()).isdisjoint(option.opts)]
    with formatter.section("Options (--help-all has all of them)"):
        rows = (option.get_help_record(context) for option in common)
        formatter.write_dl([(shown, _first_sentence(help)) for shown, help in filter(None, rows)])
    formatter.write_paragraph()
    formatter.write_text(f"gpualign {name} --help-all explains all {len(every)} options.")


def _first_sentence(help: str) -> str:
    """With the default that the rest may say."""
    sentence, dot, rest = help.partition(". ")
    default = rest[rest.rindex("[default:") :] if "[default:" in rest else ""
    return f"{sentence}{dot.strip()}  {default}".strip().replace(" (see Presets)", "") if dot else help
