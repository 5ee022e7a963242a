"""The CUDA side: compiler and cache, devices, buffers, launch tuning. PyCUDA is imported in ``device.py`` only."""
