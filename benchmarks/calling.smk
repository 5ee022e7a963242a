# As GATK's best practices and nf-core/sarek begin: every lane mapped by bwa mem and sorted, lanes merged, duplicates marked,
# variants called (by bcftools), and what MultiQC reads. Run in a folder with ref.fa, its index of bwa, and the lanes.
#     snakemake -s calling.smk --cores 2
LANES = ["L1", "L2"]


rule all:
    input:
        "calls.vcf",
        "donor.flagstat",


rule map:
    input:
        ref="ref.fa",
        index="ref.fa.bwt",
        reads=["{lane}_1.fq", "{lane}_2.fq"],
    output:
        temp("{lane}.bam"),
    params:
        group=r"@RG\tID:{lane}\tPU:{lane}\tSM:donor\tLB:donor\tPL:ILLUMINA",
    threads: 2
    shell:
        "bwa mem -K 100000000 -Y -R '{params.group}' -t {threads} {input.ref} {input.reads} 2> {wildcards.lane}.log"
        " | samtools sort -o {output} -"


rule mark:
    input:
        expand("{lane}.bam", lane=LANES),
    output:
        "donor.bam",
    params:
        names=lambda wildcards, input: " ".join(f"INPUT={name}" for name in input),
    shell:
        "PicardCommandLine MarkDuplicates {params.names} OUTPUT={output} METRICS_FILE=donor.metrics"
        " VALIDATION_STRINGENCY=STRICT CREATE_INDEX=true > picard.log 2>&1"


rule count:
    input:
        "donor.bam",
    output:
        "donor.flagstat",
    shell:
        "samtools flagstat {input} > {output}"


rule call:
    input:
        bam="donor.bam",
        ref="ref.fa",
    output:
        "calls.vcf",
    shell:
        "bcftools mpileup -f {input.ref} -Ou {input.bam} 2> pileup.log | bcftools call -mv -Ov -o {output}"
