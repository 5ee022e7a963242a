process GPUALIGN_MAP {
    tag "$meta.id"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine == 'singularity' && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/gpualign:0.3.0--py312_0' :
        'biocontainers/gpualign:0.3.0--py312_0' }"

    input:
    tuple val(meta), path(reads)
    tuple val(meta2), path(reference)
    val sort_bam

    output:
    tuple val(meta), path("${prefix}.bam")        , emit: bam     , optional: true
    tuple val(meta), path("${prefix}.cram")       , emit: cram    , optional: true
    tuple val(meta), path("${prefix}.bam.bai")    , emit: bai     , optional: true
    tuple val(meta), path("${prefix}.bam.csi")    , emit: csi     , optional: true
    tuple val(meta), path("${prefix}.cram.crai")  , emit: crai    , optional: true
    tuple val(meta), path("${prefix}.metrics.txt"), emit: metrics , optional: true
    tuple val(meta), path("${prefix}.mosdepth.*") , emit: coverage, optional: true
    tuple val(meta), path("${prefix}.html")       , emit: html    , optional: true
    tuple val(meta), path("${prefix}.json")       , emit: json
    tuple val("${task.process}"), val('gpualign'), eval("gpualign --version | sed 's/gpualign //'"), emit: versions_gpualign, topic: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args    = task.ext.args ?: ''
    prefix      = task.ext.prefix ?: "${meta.id}"
    def form    = args =~ /(-O|--output-format)[ =]cram/ ? 'cram' : 'bam'
    def sort    = sort_bam ? '--sort --write-index' : ''
    def metrics = args =~ /--(mark|remove)-duplicates/ ? "--duplicate-metrics ${prefix}.metrics.txt" : ''
    def mapper  = task.ext.mem ? 'mem' : 'map'
    """
    gpualign $mapper \\
        $args \\
        $sort \\
        $metrics \\
        -t $task.cpus \\
        -R '@RG\\tID:${meta.id}\\tSM:${meta.id}' \\
        --json ${prefix}.json \\
        -o ${prefix}.${form} \\
        $reference \\
        $reads
    """

    stub:
    def args  = task.ext.args ?: ''
    prefix    = task.ext.prefix ?: "${meta.id}"
    def form  = args =~ /(-O|--output-format)[ =]cram/ ? 'cram' : 'bam'
    def index = form == 'cram' ? 'crai' : 'bai'
    """
    touch ${prefix}.${form}
    ${sort_bam ? "touch ${prefix}.${form}.${index}" : ''}
    echo '{}' > ${prefix}.json
    """
}
