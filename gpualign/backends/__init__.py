"""Backends: the same kernels on the CPU and on CUDA devices, with the same results."""
