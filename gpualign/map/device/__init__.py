"""The device side of `map`."""
