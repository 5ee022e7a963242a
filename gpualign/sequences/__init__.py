"""Batches, encodings, references, substitution matrices, identity: what sequences are to every command."""
