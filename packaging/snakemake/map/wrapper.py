"""Snakemake wrapper of ``gpualign map``."""

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=False, stderr=True)  # noqa: F821
extra = snakemake.params.get("extra", "")  # noqa: F821
output = snakemake.output[0]  # noqa: F821
# a saved index has the reference in it
reference = snakemake.input.get("idx") or snakemake.input.ref  # noqa: F821

for name, option in (("json", "--json"), ("html", "--report"), ("metrics", "--duplicate-metrics")):
    if path := snakemake.output.get(name):  # noqa: F821
        extra += f" {option} {path}"
if index := snakemake.output.get("idx"):  # noqa: F821
    if index not in (f"{output}.bai", f"{output}.csi", f"{output}.crai"):
        raise ValueError(f"idx must be {output} with .bai, .csi or .crai, not {index}")
    extra += " --write-index"

shell("gpualign map {extra} --threads {snakemake.threads} -o {output} {reference} {snakemake.input.reads} {log}")
