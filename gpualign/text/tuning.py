"""Tuning of input and output: sizes of reads and chunks, threads, prefetching.

Unless a comment names a machine, the history does not record where a number was measured.
"""

#: about how many bytes of BGZF blocks a CPU thread inflates at a time
GROUP_BYTES = 1 << 20
#: about how many bytes a device deflates at a time
DEVICE_CONTENT = 16 << 20
#: bytes of a piece of the text that a device inflated
PIECE_BYTES = 8 << 20
#: threads that compress, and as many that inflate, about 0.5 and 1 GB/s each
MAX_BGZF_THREADS = 8

#: compressed bytes of a part of a gzip stream, and limit of its text as a multiple of them; more is decoded in order.
#: At two bytes a symbol a part's memory is below the 32 MiB up to which malloc keeps it for the next part: fresh pages
#: cost a third of the decoding
GZIP_PART_BYTES, MAX_EXPANSION = 1 << 20, 15
#: decoding threads per thread that resolves references
GZIP_DECODERS = 2
#: smallest gzip file that is worth several threads
LARGE_GZIP = 8 * GZIP_PART_BYTES
#: compressed bytes that ISA-L gets at a time: after them it waits for the GIL, for milliseconds if other threads
#: compute
GZIP_READ_SIZE = 1 << 23

#: threads that parse each file of pairs
PARSERS = 4
#: maximum threads that inflate each gzip stream for GPUs, and the number from which they are faster than one thread
MAX_INFLATERS, MIN_INFLATERS = 8, 6

#: bytes to read at a time, and bytes of a pipe to read ahead before more are allowed
READ_SIZE, PIPE_READ_AHEAD = 1 << 18, 1 << 22
#: batches by which one of two pipes may be read ahead of the other, as R1 and R2 differ in length
PAIRS_AHEAD = 4
#: chunks to cut ahead: a reader of two files takes several of one at a time
CHUNKS_AHEAD = 4
#: inflated pieces of a file of records to have ahead of the thread that finds their borders, and chunks ahead of those
#: that compute; with 8 and 4 markdup took 40 MB more, and no less time (2-core EPYC)
PIECES_AHEAD = RECORDS_AHEAD = 2
#: parts to inflate ahead, and bytes of a part: large, as the thread waits for the GIL after each
PARTS_AHEAD, PART_BYTES = 4, 1 << 23
#: bytes per chunk of a reference, and threads that parse a long record, while one packs it
REFERENCE_CHUNK, REFERENCE_PARSERS = 1 << 20, 2
#: buffer of a pipe to samtools: with the default of 64 KiB two processes often wait for each other
PIPE_BYTES = 1 << 20
#: batches' records that may be queued for writing
QUEUED_BATCHES = 4
