"""The device side of `verify`."""
