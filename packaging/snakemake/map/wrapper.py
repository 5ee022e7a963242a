"""Snakemake wrapper of ``gpualign map``."""

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=False, stderr=True)  # noqa: F821
extra = snakemake.params.get("extra", "")  # noqa: F821
report = snakemake.output.get("json", "")  # noqa: F821
report = f"--json {report}" if report else ""

page = snakemake.output.get("html", "")  # noqa: F821
report += f" --report {page}" if page else ""

shell(
    "gpualign map {extra} {report} --threads {snakemake.threads} -o {snakemake.output[0]}"
    " {snakemake.input.ref} {snakemake.input.reads} {log}"
)
