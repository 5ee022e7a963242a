# %% [markdown]
# # gpualign in Python, with real data
#
# Three questions, each from files to a picture: how related are some genes, where do reads of a sick bee come from, and
# which parts of two viruses has their recombinant. Open this file as a notebook (VS Code, Jupyter with jupytext) or run
# it: `python examples/tutorial.py FOLDER` writes the pictures to FOLDER. It needs gpualign[plot,tables].

# %%
import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from Bio import Phylo
from Bio.Phylo.TreeConstruction import DistanceMatrix, DistanceTreeConstructor
from matplotlib.figure import Figure

import gpualign

DATA = Path(__file__).parent / "data"
PICTURES = Path(sys.argv[1] if len(sys.argv) > 1 else "tutorial")
PICTURES.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## Amplicons: from identities to a tree
#
# `pairwise` aligns all pairs. A result is a table: a column is a NumPy array, and a row has its fields as attributes.

# %%
genes = gpualign.read_sequences(DATA / "amplicons.fa")
pairs = gpualign.pairwise(genes)
print(pairs[["query", "target", "identity", "cigar"]])

# %% [markdown]
# In a notebook a table shows its first alignments; elsewhere they can be printed.

# %%
closest = pairs[np.argsort(-pairs["identity"], kind="stable")]
print(closest.alignment(0))

# %% [markdown]
# pandas, Polars and Arrow take the columns without copying them. How many pairs are of one species, by the usual 97 %?

# %%
frame = pairs.to_pandas()
print(frame["identity"].describe())
print(f"{(frame['identity'] >= 0.97).sum()} of {len(frame)} pairs are at least 97 % identical")

# %% [markdown]
# The distances, 1 - identity, make a neighbour-joining tree (Saitou and Nei 1987), which Biopython builds.

# %%
distances = np.zeros((len(genes), len(genes)))
distances[pairs["query"], pairs["target"]] = 1 - pairs["identity"]
distances += distances.T
names = [genes.name(i)[:8] for i in range(len(genes))]
triangle = [distances[i, : i + 1].tolist() for i in range(len(genes))]
tree = DistanceTreeConstructor().nj(DistanceMatrix(names, triangle))
tree.root_at_midpoint()
tree.ladderize()
for clade in tree.get_nonterminals():
    clade.name = None  # inner nodes have no names

figure = Figure(figsize=(7, 12), layout="constrained")
axes = figure.subplots()
Phylo.draw(tree, axes=axes, do_show=False, show_confidence=False)  # type: ignore[attr-defined, no-untyped-call]
for label in axes.texts:
    label.set_fontsize(5)
axes.spines[["left", "top", "right"]].set_visible(False)
axes.set(title="120 genes of 18S rRNA, neighbour joining", xlabel="1 - identity", ylabel="", yticks=[])
figure.savefig(PICTURES / "tree.png", dpi=80)

# %% [markdown]
# ## Reads: from FASTQ to coverage
#
# `Mapper.stream` takes any iterator of reads and gives each with its hits, as they come: here (name, sequence, quality)
# from a file, but it may as well be an instrument. Hits have mappy's names: `ctg`, `r_st`, `r_en`, `strand`, `mapq`.


# %%
def reads(path: Path) -> Iterator[tuple[str, str, str]]:
    """Name, sequence and quality of each record of a FASTQ file."""
    with gzip.open(path, "rt") as file:
        for header, sequence, _, quality in zip(*[file] * 4, strict=True):
            yield header[1:].split()[0], sequence.rstrip(), quality.rstrip()


mapped = 0
with gpualign.Mapper(DATA / "genomes.fa") as mapper:
    coverage = {name: np.zeros(length + 1) for name, length in zip(mapper.names, mapper.lengths, strict=True)}
    for _read, hits in mapper.stream(reads(DATA / "SRR059298_25k.fastq.gz")):
        for hit in hits[:1]:  # the primary one
            coverage[hit.ctg][hit.r_st] += 1
            coverage[hit.ctg][hit.r_en] -= 1
            mapped += 1
print(f"{mapped} reads are of these viruses")

# %% [markdown]
# The same in one call is `mapper.map(path)`, a table of all records. Where the genomes are equal, a read lies on any of
# them, with a mapping quality of 0.

# %%
figure = Figure(figsize=(8, 6), layout="constrained")
for axes, (name, steps) in zip(figure.subplots(len(coverage), sharex=True, sharey=True), coverage.items(), strict=True):
    axes.fill_between(np.arange(len(steps)), np.cumsum(steps), step="post", linewidth=0, color="#0072b2")
    axes.set(title=name, ylabel="reads", yscale="symlog", ylim=(0, None))
axes.set_xlabel("position")
figure.suptitle("Reads of a honey bee on four viral genomes")
figure.savefig(PICTURES / "coverage.png", dpi=80)

# %% [markdown]
# ## Genomes: from exact matches to a dot plot
#
# HM067437 is a recombinant of the two viruses before it in the file. Long exact matches show what it has of which.

# %%
genomes = gpualign.read_sequences(DATA / "genomes.fa")
parents, recombinant = genomes.part(0, 2), genomes.part(2, 3)
matches = gpualign.find_mems(parents, recombinant, 25, kind="maxmatch")
print(matches.to_polars().group_by("ref").agg(pl.len().alias("matches"), pl.sum("length")).sort("ref"))

figure = Figure(figsize=(9, 5), layout="constrained")
for number, axes in enumerate(figure.subplots(1, 2, sharey=True)):
    some = matches[matches["ref"] == number]
    starts = np.stack([some["ref_start"], some["query_start"]])
    axes.plot(*np.stack([starts, starts + some["length"]], axis=1), color="#0072b2", linewidth=3, solid_capstyle="butt")
    axes.set(xlabel=parents.name(number), ylabel=recombinant.name(0) if number == 0 else "", aspect="equal")
figure.suptitle("Exact matches of 25 bases or more")
figure.savefig(PICTURES / "dotplot.png", dpi=80)
