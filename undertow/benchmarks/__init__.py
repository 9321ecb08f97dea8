"""Benchmarks: how fast, against what."""
