"""The device side of `pairwise`."""
