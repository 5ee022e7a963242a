"""Kernel objects: the device side of each command."""
