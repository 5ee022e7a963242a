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
    tuple val(meta), path("*.bam") , emit: bam
    tuple val(meta), path("*.bai") , emit: index, optional: true
    tuple val(meta), path("*.json"), emit: json
    path "versions.yml"            , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args   = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def sort   = sort_bam ? '--sort --write-index' : ''
    def mapper = task.ext.mem ? 'mem' : 'map'
    """
    gpualign $mapper \\
        $args \\
        $sort \\
        -t $task.cpus \\
        -R '@RG\\tID:${meta.id}\\tSM:${meta.id}' \\
        --json ${prefix}.json \\
        -o ${prefix}.bam \\
        $reference \\
        $reads

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        gpualign: \$(gpualign --version | sed 's/gpualign //')
    END_VERSIONS
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.bam
    ${sort_bam ? "touch ${prefix}.bam.bai" : ''}
    echo '{}' > ${prefix}.json

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        gpualign: \$(gpualign --version | sed 's/gpualign //')
    END_VERSIONS
    """
}
