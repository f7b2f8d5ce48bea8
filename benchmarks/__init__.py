"""Benchmarks of rankwright against its peers: ``python -m benchmarks``."""
