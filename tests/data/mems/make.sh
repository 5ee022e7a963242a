#!/usr/bin/env bash
# Makes the expected files with MUMmer 3.23 (Debian's mummer): make.sh GENOMES.fa READS.fastq.gz
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
awk -v d="$work" '/^>/{n++} {print > (d "/" n ".fa")}' "$1"
zcat "$2" | awk 'NR > 320 {next} NR % 4 == 1 {print ">" substr($1, 2)} NR % 4 == 2' > "$work/reads.fa"
mummer -maxmatch -b -n -l 12 "$work/1.fa" "$work/2.fa" > genomes.maxmatch.b.l12.txt
mummer -mum -b -c -L -n -l 12 "$work/1.fa" "$work/2.fa" > genomes.mum.b.c.L.l12.txt
mummer -mumreference -s -n -l 14 "$work/1.fa" "$work/3.fa" > genomes.mumreference.s.l14.txt
mummer -maxmatch -b -n -l 15 "$1" "$work/reads.fa" > reads.maxmatch.b.l15.txt
mummer -mum -r -L -n -l 11 "$1" "$work/reads.fa" > reads.mum.r.L.l11.txt
mummer -F -n -l 10 "$work/4.fa" "$work/reads.fa" > reads.F.l10.txt
