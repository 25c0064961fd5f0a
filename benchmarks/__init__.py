"""Benchmarks: ratios measured in one run, interleaved, with their spread."""
