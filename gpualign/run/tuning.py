"""Tuning of the engine: batches in flight, memory, copies, compression.

Unless a comment names a machine, the history does not record where a number was measured.
"""

#: batches in flight on a device: one computes, one is copied
SLOTS = 2
#: batches staged per device beyond those in flight
STAGED_AHEAD = 2
#: seconds after which a device's thread polls its batches: after an error the driver makes no callback
POLL_S = 0.1
#: seconds that a short call spins before it sleeps
SPIN_S = 5e-3
#: bytes of input from which "auto" will choose a GPU, so that the driver is started early
EARLY_BYTES = 32 << 20

#: growth factor of a buffer, so that slowly growing batches do not reallocate each time
GROWTH = 1.25
#: largest array to stage in pinned memory if it is copied once: pinning more takes longer than copying it
MAX_STAGED = 16 << 20
#: bytes pinned at a time; small buffers are cut from such a chunk
PINNED_CHUNK = 32 << 20
#: limit of the pinned pool: bytes (2 GiB were too little for an H200 with 16 cores), and share of the free host memory
MAX_PINNED, MAX_PINNED_SHARE = 4 << 30, 1 / 8
#: size from which pinning a buffer takes long enough to be done ahead
LARGE_PINNED = 16 << 20

#: share of the device's budget for arrays that may also stay on the host; batches need the rest
RESIDENT_SHARE = 0.7
#: smallest array staged in pinned memory, size of its parts, and threads that fill them: the driver copies pageable
#: memory, such as an index's, at a fraction of the bus's speed
STAGED_BYTES, PART_BYTES, COPIERS = 1 << 29, 1 << 23, 8

#: about how many bytes of BGZF blocks a device inflates at a time
INFLATED_GROUP_BYTES = 8 << 20
#: groups that a device may have to inflate next to a stage's batches, the same if spare CPU threads inflate the others,
#: or if these threads also sort, and contents that it may have to deflate, which is slow
INFLATED_NEXT_TO_BATCHES, INFLATED_NEXT_TO_THREADS, INFLATED_NEXT_TO_SORTING, DEFLATED_NEXT_TO_BATCHES = 6, 1, 4, 2
#: these limits for a device without a stage, and its slots; CPU threads that deflate as fast as a device
INFLATED_ALONE, DEFLATED_ALONE, SLOTS_ALONE, DEFLATING_THREADS = 6, 12, 10, 20
#: CPU threads per device from which on some are spare
SPARE_THREADS = 8
#: threads per block of the kernels around nvCOMP, and of the scan that places blocks
BGZF_THREADS, BGZF_PLACERS = 256, 1024
#: share of the device's budget for scratch memory of the blocks deflated at once
DEFLATE_SCRATCH_SHARE = 0.05
