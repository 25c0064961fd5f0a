"""Closed-loop plan optimizer for Spark SQL on Delta tables."""

__version__ = "0.1.0"
