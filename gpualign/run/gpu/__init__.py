"""The CUDA side: compiler and cache, devices, buffers. PyCUDA is imported in ``driver.py`` only."""
