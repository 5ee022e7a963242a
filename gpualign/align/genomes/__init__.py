"""Alignments between genomes from their exact matches."""
