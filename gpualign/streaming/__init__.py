"""The loop that keeps input order, prefetching, and the timeline of threads and devices."""
