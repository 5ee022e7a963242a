"""What a stage is, and where stages run: CPU threads, GPUs, a cluster. No command is known here."""
