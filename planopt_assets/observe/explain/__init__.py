"""Reads `EXPLAIN FORMATTED`: its tree, its paragraphs, and the details of an operator in a paragraph."""
