"""The device side of `lcs-filter`."""
