"""The options of each command by purpose, for `--help` and for the tables of docs/commands."""

from __future__ import annotations

import click

_MESSAGES = "--no-progress --quiet --json --debug --help"
_LOCAL = f"--threads --device --max-gpu-mem --batch-size {_MESSAGES}"
_RUNNING = f"--threads --device --max-gpu-mem --batch-size --dask {_MESSAGES}"
_TABLE = "--output --output-format --no-header"
_READ_GROUP = "--read-group --rg-id --rg"
_DUPLICATES = "--optical-distance --use-read-groups --by-strand --keep --duplicate-count --duplicate-metrics"
_UMIS = "--barcode-tag --barcode-name --umi-distance --duplex --group"
_RECORDS = "--output --output-format --compression-level --write-index --sort-memory --tmp-dir --reference"
_OF_SAMTOOLS = "-@ -m -T"

#: command -> heading -> options in order, each by its longest name
GROUPS: dict[str, dict[str, str]] = {
    "map": {
        "Reads": "-1 -2 --interleaved --no-check-names --copy-comments --samples --resume",
        "Kind of reads": "--preset --hic --meth --pbat --non-directional",
        "Pairs": "--insert-size --fr --rf --ff",
        "Index": "-k -w --save-index --preload --alt",
        "Sensitivity": "--error-rate --max-hits --max-candidates --sensitivity --end-to-end",
        "Scores": "--match --mismatch --gap-open --gap-extend --clip",
        "Which alignments": "-N --secondary --all --strata --xa --sam-hit-only",
        "Records and tags": f"{_READ_GROUP} --eqx --soft-supplementary --secondary-seq --cs --tags",
        "Output": "--output --output-format --bam --paf --compression-level --un --al --report",
        "Sorting and coverage": "--sort --sort-memory --tmp-dir --write-index --coverage",
        "Duplicates": f"--mark-duplicates --remove-duplicates {_DUPLICATES}",
        "UMIs": _UMIS,
        "Methylation": "--methylation --min-mapq --min-quality --rrbs --max-unconverted",
        "Running": _RUNNING,
    },
    "mem": {
        "Reads": "-p -P -I -x --meth",
        "Scores": "-A -B -O -E -L -U -T",
        "Records and tags": "-R -H -C -M -Y -5 -a -h -z -u -j",
        "Output": "-o --sort --write-index --report",
        "Running": "-t -K -v --device --preload --json --debug --help",
    },
    "sort": {
        "Order": "--by-name --name-order --template",
        "Output": _RECORDS,
        "As in samtools sort": _OF_SAMTOOLS,
        "Running": _LOCAL,
    },
    "markdup": {
        "Duplicates": f"--remove-duplicates --tag-duplicates {_DUPLICATES}",
        "UMIs": _UMIS,
        "Order": "--sort --order",
        "Records and tags": f"{_READ_GROUP} --mate-tags",
        "Output": f"{_RECORDS} --coverage",
        "As in samtools": _OF_SAMTOOLS,
        "Running": _LOCAL,
    },
    "index": {"Index": "--save-index -k -w --meth", "Running": "--threads --quiet --debug --help"},
    "pairwise": {
        "Pairs": "--pairs --one-to-one --self --strand",
        "Alignment": "--mode --free-ends --match --mismatch --matrix --gapopen --gapext --gap",
        "Identity": "--id --iddef --acceptall",
        "Database search": "--top --evalue --min-bits --min-score",
        "Limited number of gaps": "--max-gaps --free-start --best",
        "Columns and formats": "--score-only --userfields --paf --blast6 --matrix-out --matrix-value --plot",
        "Output": _TABLE,
        "Running": f"--resume --max-memory {_RUNNING}",
    },
    "cluster": {
        "Clusters": "--id --iddef --min-coverage --order --first --linkage --strand --min-length --max-length",
        "Scores": "--match --mismatch --matrix --gapopen --gapext",
        "Abundances": "--sizein --sizeout --biom-tsv",
        "Further outputs": "--path --uc --centroids --relabel --members --plot",
        "Output": _TABLE,
        "Running": f"--resume --max-memory {_RUNNING}",
    },
    "makedb": {"Output": "--output --tmp-dir --quiet --json --debug --help"},
    "lcs-filter": {
        "Query and subjects": "--query --multi-query --alphabet --lines --strand",
        "Selection": "--top --keep-ties --min-length --min-ratio --ratio-of --invert",
        "Columns and formats": "--subsequence --fasta --input-order",
        "Output": _TABLE,
        "Running": _RUNNING,
    },
    "mems": {
        "Which matches": "--mumreference --mum --maxmatch -l --max-occ -b -r -n",
        "MUMmer's format": "-F -L -s -c",
        "Index": "--index --save-index",
        "Output": f"--tsv --dotplot {_TABLE}",
        "Running": _RUNNING,
    },
    "search": {
        "Patterns": "--pattern --alphabet --pam --fixed",
        "Errors": "--max-errors --error-rate --mismatches-only --max-bulges --max-n --ends --overhang-cost",
        "Which hits": "--hits --strand --within --merge --best-per-target --margin",
        "Columns and formats": "--path --bed --paf --counts --plot --split",
        "Output": f"{_TABLE} --reference",
        "Running": _RUNNING,
    },
    "verify": {
        "Candidates": "--candidates --mode --strand",
        "Limit": "--max-errors --error-rate",
        "Which pairs": "--best --all",
        "Output": f"--cigar {_TABLE}",
        "Running": _RUNNING,
    },
    "devices": {"Options": "--check --json --debug --help"},
}


def write_options(command: click.Command, context: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the options of a command's help, each group under its heading."""
    rows = {}
    for option in command.get_params(context):
        if isinstance(option, click.Option) and (row := option.get_help_record(context)) is not None:
            rows[max(option.opts, key=len)] = row
    for heading, names in GROUPS.get(command.name or "", {"Options": " ".join(rows)}).items():
        with formatter.section(heading):
            formatter.write_dl([rows[name] for name in names.split()])
