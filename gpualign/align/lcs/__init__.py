"""Longest common subsequences."""
