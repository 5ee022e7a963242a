"""Command lines of every command, in a table for each question that tests ask of all of them.

A new command has a line in each table; tests/test_layout.py names the tables that lack one. In braces stand the files
that the test makes; words without braces are files in the folder where it runs.
"""

from __future__ import annotations

from tests.helpers.paths import AMPLICONS, GENOMES, READS

#: good input, which other tests spoil: bad input, paths, messages, names of outputs, permissions
GOOD = {
    "map": "map {folder}/ref.fa {folder}/reads.fq",
    "index": "index {folder}/ref.fa",
    "mems": "mems {folder}/ref.fa {folder}/reads.fq",
    "align": "align -l 12 -c 12 {folder}/ref.fa {folder}/reads.fq",
    "verify": "verify {folder}/reads.fq {folder}/reads.fq",
    "pairwise": "pairwise {folder}/reads.fq",
    "pairwise --max-gaps": "pairwise --max-gaps 2 {folder}/reads.fq {folder}/one.fq",
    "lcs-filter": "lcs-filter -Q {folder}/one.fq {folder}/reads.fq",
    "search": "search -k 2 {folder}/reads.fq {folder}/reads.fq",
    "cluster": "cluster --id 0.9 {folder}/reads.fq",
    "derep": "derep {folder}/reads.fq",
    "sintax": "sintax --db {folder}/ref.fa {folder}/reads.fq",
    "chimeras": "chimeras --denovo {folder}/reads.fq",
}

#: memory, disks and inputs that fail in the middle
FAULTS = {
    **GOOD,
    "map --save-index": "map {folder}/ref.fa {folder}/reads.fq --save-index {out}/saved.gpi",
    "align --resume": "align -l 12 -c 12 {folder}/ref.fa {folder}/reads.fq --resume {out}/tiles",
    "pairwise --resume": "pairwise {folder}/reads.fq --resume {out}/tiles",
    "map --sort": "map {folder}/ref.fa {folder}/reads.fq --output-format bam --sort --mark-duplicates",
    "pairwise --output-format parquet": "pairwise {folder}/reads.fq --output-format parquet",
    "sort": "sort {folder}/records.sam --output-format bam",
    "markdup": "markdup {folder}/records.sam --output-format bam --order natural --sort-memory 1M",
    "map --bam": "map {folder}/ref.fa {folder}/reads.fq --output-format bam",
}

#: a file system of one page
FULL_DISK = {
    "map": "map ref.fa many.fq -o {disk}/output",
    "map to BAM": "map ref.fa many.fq --output-format bam -o {disk}/output",
    "map sorted": "map ref.fa many.fq --sort --output-format bam -o {disk}/output",
    "map, runs of a sort": "map ref.fa most.fq --sort --sort-memory 1M -o {disk}/output",
    "map to CRAM": "map ref.fa many.fq --output-format cram -o {disk}/output",
    "map, reads that map": "map ref.fa many.fq -o /dev/null --al {disk}/mapped.fq",
    "map, saved index": "map ref.fa reads.fq -o /dev/null -k 11 -w 1 -d {disk}/ref.gpi",
    "index": "index ref.fa -k 11 -w 1 -d {disk}/ref.gpi",
    "mems": "mems -l 12 ref.fa many.fq -o {disk}/output",
    "align": "align -l 12 -c 12 ref.fa many.fq -o {disk}/output",
    "verify": "verify many.fq many.fq -o {disk}/output",
    "pairwise": "pairwise hundred.fq -o {disk}/output",
    "align, tiles": "align -l 12 -c 12 ref.fa many.fq -o /dev/null --resume {disk}/tiles",
    "pairwise, tiles": "pairwise hundred.fq -o /dev/null --resume {disk}/tiles",
    "pairwise --max-gaps": "pairwise --max-gaps 2 hundred.fq reads.fq -o {disk}/output",
    "search": "search -k 9 hundred.fq many.fq -o {disk}/output",
    "search --split": "search -k 9 --best-per-target one.fq many.fq -o /dev/null --split {disk}/split",
    "search --pairs": "search -k 9 hundred.fq many.fq --pairs 9-99 -o /dev/null --amplicons {disk}/output",
    "lcs-filter": "lcs-filter -n 0 -Q one.fq many.fq -o {disk}/output",
    "sort": "sort records.sam --output-format bam -o {disk}/output",
    "sort, runs of a sort": "sort records.sam --sort-memory 1M -o {disk}/output",
    "markdup": "markdup records.sam --sort --output-format cram --reference ref.fa -o {disk}/output",
    "markdup, collated": "markdup sorted.sam --mate-tags --sort-memory 1M -o {disk}/output",
}

#: threads, batches, instruction sets and devices
SAME_BYTES = {
    "map": "map {genomes} {reads}",
    "map, pairs": "map -p {genomes} {pairs}",
    "map, long": "map -x ont {genomes} {reads}",
    "mems": "mems -l 15 -b {genomes} {reads}",
    "mems, unique": "mems -mum -l 12 {genomes} {reads}",
    "align": "align -l 14 -c 20 --maxmatch {genomes} {reads}",
    "verify": "verify -p -k -1 {reads} {shifted}",
    "verify, places": "verify -p -a {genomes} {reads} --candidates {places}",
    "pairwise": "pairwise {few}",
    "pairwise, identity": "pairwise --strand both --id 0.3 {few}",
    "pairwise, gaps": "pairwise --max-gaps 2 --mode semi-global {few} {query}",
    "search": "search {few} {reads} -e 0.1 -p",
    "search, long targets": "search {few} {genomes} -k 12 --hits all --paf",
    "search, one a target": "search {few} {reads} -k 3 --best-per-target --within 60",
    "search, products of primers": "search {few} {genomes} -k 12 --pairs 50-9000",
    "cluster": "cluster {reads} --id 0.8 --strand both -p",
    "cluster, single": "cluster {reads} --id 0.8 --linkage single",
    "pairwise, nearest": "pairwise {reads} {reads} --id 0.8 --top 2 --top-ties --strand both",
    "chimeras": "chimeras {reads} --denovo",
    "sintax": "sintax {reads} --db {genomes} --strand both",
    "lcs-filter": "lcs-filter -Q {query} -n 50 --strand both --subsequence {reads}",
    "lcs-filter, streamed": "lcs-filter -Q {query} -n 0 --input-order {reads}",
}

#: a Dask cluster
ON_DASK = {
    "map": "map genomes.fa reads.fq --batch-size 20K",
    "map, sorted and marked": "map genomes.fa reads.fq --batch-size 20K --sort --mark-duplicates",
    "map in one batch": "map genomes.fa reads.fq.gz",
    "map, pairs": "map genomes.fa 1.fq 2.fq --batch-size 20K",
    "map, pairs in gzip": "map genomes.fa 1.fq.gz 2.fq.gz --batch-size 20K",
    "map, pairs in bgzf": "map genomes.fa 1.bgz 2.bgz --batch-size 20K -C --insert-size 300,50",
    "map, interleaved bgzf": "map genomes.fa -p pairs.bgz --batch-size 20K",
    "map, pairs of lanes": "map genomes.fa -1 1.bgz -1 1.fq -2 2.bgz -2 2.fq --batch-size 20K --paf",
    "map, bgzf": "map genomes.fa reads.bgz --batch-size 20K",
    "mems, bgzf": "mems -maxmatch -b -l 12 genomes.fa reads.bgz --batch-size 10K",
    "lcs-filter, bgzf": "lcs-filter -Q query.fa reads.bgz -n 20 --batch-size 10K",
    "verify": "verify genomes.fa reads.fq -c candidates.tsv --all --cigar --batch-size 4K",
    "verify records": "verify few.fa few.fa --strand both --batch-size 1K",
    "pairwise": "pairwise few.fa --strand both",
    "pairwise --id": "pairwise few.fa reads.fq --id 0.7 --blast6",
    "cluster": "cluster some.fa --id 0.6 --strand both -p --batch-size 4K",
    "cluster, single linkage": "cluster few.fa --id 0.5 --linkage single",
    "sintax": "sintax reads.fq --db genomes.fa --strand both --batch-size 40K",
    "max gaps": "pairwise few.fa --max-gaps 2 --batch-size 4K",
    "max gaps, best": "pairwise few.fa query.fa --max-gaps 1 --best",
    "lcs-filter": "lcs-filter -Q query.fa reads.fq -n 20 --strand both --subsequence --batch-size 10K",
    "lcs-filter stream": "lcs-filter -Q query.fa reads.fq -n 0 --input-order --min-ratio 0.5 --fasta --batch-size 30K",
    "lcs-filter ties": "lcs-filter -Q query.fa --multi-query reads.fq -n 3 --keep-ties --batch-size 10K",
    "lcs-filter lines": "lcs-filter -Q query.fa --multi-query reads.fq -n 9 --lines --batch-size 30K",
    "search": "search query.fa reads.fq -e 0.2 -p --batch-size 10K",
    "search in bgzf": "search query.fa reads.bgz -k 5 --best-per-target --batch-size 10K",
    "search for groups of patterns": "search reads.fq query.fa -e 0.2 -p",
    "search for groups of patterns, one a target": "search reads.fq few.fa -e 0.3 --best-per-target",
    "search for pairs of primers": "search few.fa long.fa -k 9 --pairs 50-4000 --batch-size 4K",
    "search of a long target": "search few.fa long.fa -k 9 --hits best --batch-size 4K",
    "mems": "mems -maxmatch -b -l 12 genomes.fa reads.fq --batch-size 10K",
    "mems of a long query": "mems -b -l 12 genomes.fa long.fa --batch-size 4K",
    "mums of a long query": "mems -mum -b -l 12 genomes.fa long.fa --batch-size 4K",
}

#: the timeline in the report, and the step that computes
TIMELINES = {
    "map": (["map", GENOMES, READS], "map"),
    "pairwise": (["pairwise", AMPLICONS, "--mode", "local"], "compute"),
    "bounded gaps": (["pairwise", AMPLICONS, AMPLICONS, "--max-gaps", "1", "--score-only"], "compute"),
    "search": (["pairwise", AMPLICONS, AMPLICONS, "--top", "2"], "compute"),
    "lcs-filter": (["lcs-filter", "--multi-query", "-Q", AMPLICONS, AMPLICONS], "compute"),
    "mems": (["mems", "-maxmatch", "-l", "40", GENOMES, READS], "compute"),
    "verify": (["verify", AMPLICONS, AMPLICONS, "-e", "0.9"], "compute"),
    "sintax": (["sintax", AMPLICONS, "--db", AMPLICONS], "compute"),
}

#: ten times the input in the same memory; pairwise holds its sequences, so it gets ten times the pairs, and so do the
#: queries of verify's candidates
GROWING = {
    "map": "map {folder}/ref.fa {folder}/{n}.fq",
    "map to BAM": "map --bam {folder}/ref.fa {folder}/{n}.fq.gz",
    "map, sorted": "map --bam --sort --sort-memory 4M {folder}/ref.fa {folder}/{n}.fq",
    "map, pairs": "map --no-check-names {folder}/ref.fa {folder}/{n}.fq {folder}/{n}.fq.gz",
    "mems": "mems -l 30 {folder}/ref.fa {folder}/{n}.fq",
    "verify": "verify {folder}/{n}.fq {folder}/{n}.fq",
    "verify, places": "verify {folder}/ref.fa {folder}/few.fq --candidates {folder}/{n}.tsv",
    "pairwise": "pairwise --score-only {folder}/{n}.fa {folder}/few.fq",
    "pairwise, gaps": "pairwise --max-gaps 1 --score-only {folder}/{n}.fa {folder}/few.fq",
    "search": "search {folder}/few.fq {folder}/{n}.fq -k 5",
    "search, one a target": "search {folder}/few.fq {folder}/{n}.fq -k 5 --best-per-target",
    "search, near the ends": "search {folder}/one.fq {folder}/{n}.fq.gz -k 5 --within 40",
    "search, a long target": "search {folder}/few.fq {folder}/{n}.long.fa -k 5 -p",
    "lcs-filter": "lcs-filter -Q {folder}/one.fq {folder}/{n}.fq",
    "lcs-filter, all": "lcs-filter -n 0 --input-order -Q {folder}/one.fq {folder}/{n}.fq",
}

#: the report: words of a command, its inputs, its reference, and outputs besides the main one
REPORTS: dict[str, tuple[list[str], list[str], str | None, list[str]]] = {
    "map": (["map", "r.fa", "q.fq", "--sort", "--write-index", "--un", "u.fq"], ["q.fq"], "r.fa", ["u.fq", "out.bai"]),
    "mem": (["mem", "-v", "1", "r.fa", "q.fq"], ["q.fq"], "r.fa", []),
    "sort": (["sort", "a.sam"], ["a.sam"], None, []),
    "markdup": (["markdup", "a.sam", "--duplicate-metrics", "m.txt"], ["a.sam"], None, ["m.txt"]),
    "verify": (["verify", "r.fa", "r.fa"], ["r.fa"], "r.fa", []),
    "pairwise": (["pairwise", "q.fa"], ["q.fa"], None, []),
    "bounded gaps": (["pairwise", "--max-gaps", "1", "q.fa", "r.fa"], ["q.fa", "r.fa"], None, []),
    "pairwise --top": (["pairwise", "--top", "1", "q.fa", "r.fa"], ["q.fa", "r.fa"], None, []),
    "cluster": (["cluster", "--id", "0.9", "q.fa", "--members", "d"], ["q.fa"], None, ["d"]),
    "derep": (["derep", "q.fa", "--uc", "u"], ["q.fa"], None, ["u"]),
    "sintax": (["sintax", "q.fa", "--db", "r.fa"], ["q.fa", "r.fa"], None, []),
    "chimeras": (["chimeras", "q.fa", "--denovo", "--chimeras", "c.fa"], ["q.fa"], None, ["c.fa"]),
    "lcs-filter": (["lcs-filter", "-Q", "q.fa", "r.fa"], ["q.fa", "r.fa"], None, []),
    "mems": (["mems", "r.fa", "q.fa"], ["q.fa"], "r.fa", []),
    "align": (["align", "r.fa", "q.fa", "--coords", "c"], ["q.fa"], "r.fa", ["c"]),
    "search": (["search", "q.fa", "r.fa", "-k", "1", "--counts", "c.tsv"], ["q.fa", "r.fa"], None, ["c.tsv"]),
}

#: by table: the commands that are not in it, and why
LEFT_OUT = {
    "GOOD": {"sort": "tests/markdup", "markdup": "tests/markdup"},
    "FAULTS": {},
    "FULL_DISK": {
        "cluster": "it writes as pairwise does",
        "derep": "it writes as cluster does",
        "sintax": "it writes as cluster does",
        "chimeras": "it writes as cluster does",
    },
    "SAME_BYTES": {
        "sort": "tests/markdup",
        "markdup": "tests/markdup",
        "index": "tests/seeds/index",
        "derep": "tests/derep",
    },
    "ON_DASK": {
        "sort": "not on a cluster",
        "markdup": "not on a cluster",
        "index": "not on a cluster",
        "align": "not on a cluster",
        "derep": "not on a cluster",
        "chimeras": "tests/chimeras",
    },
    "GROWING": {
        "sort": "tests/records/test_record_sorter.py",
        "markdup": "tests/markdup",
        "index": "it holds its reference",
        "cluster": "it holds its sequences",
        "align": "it holds its genomes",
        "derep": "it holds its sequences",
        "sintax": "it holds its sequences",
        "chimeras": "it holds its sequences",
    },
    "TIMELINES": {
        "sort": "the writer computes",
        "markdup": "the writer computes",
        "index": "no report",
        "search": "as lcs-filter",
        "cluster": "as pairwise",
        "align": "tests/genomes",
        "derep": "tests/derep",
        "chimeras": "tests/chimeras",
    },
    "REPORTS": {"index": "no report"},
}
