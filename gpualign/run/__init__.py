"""Stages, and the backends that run them: CPU threads, GPUs, a cluster. Knows no command."""
