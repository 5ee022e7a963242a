#!/bin/sh
# What an installed gpualign must do, with nothing but its own example: sh packaging/smoke.sh [FOLDER OF PROGRAMS]
set -eu
[ $# -eq 0 ] || PATH="$1:$PATH"
data=$(cd "$(dirname "$0")/../examples/data" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"   # not in the source tree, whose folder would be imported instead

gpualign --version
gpualign map -q --device cpu "$data/genomes.fa" "$data/SRR059298_25k.fastq.gz" -o reads.sam
# one primary record a read: neither secondary (256) nor supplementary (2048)
[ "$(awk '!/^@/ && int($2 / 256) % 2 == 0 && int($2 / 2048) % 2 == 0' reads.sam | wc -l)" -eq 25000 ]
gpualign verify -q --device cpu "$data/genomes.fa" "$data/SRR059298_25k.fastq.gz" --candidates reads.sam -o near.tsv
gpualign pairwise -q --device cpu "$data/amplicons.fa" --id 0.97 -o similar.tsv
head -n 2 "$data/amplicons.fa" | gpualign lcs-filter --quiet --device cpu -Q - "$data/amplicons.fa" -n 3 -o best.tsv
[ "$(wc -l < best.tsv)" -eq 4 ]
gpualign mems -q --device cpu -n -maxmatch -b -l 40 "$data/genomes.fa" "$data/genomes.fa" -o exact.txt
[ "$(grep -c '^>' exact.txt)" -eq 8 ]
for file in near.tsv similar.tsv exact.txt; do [ -s "$file" ]; done
echo "gpualign works"
