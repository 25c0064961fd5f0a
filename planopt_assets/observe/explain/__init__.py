"""The parts of reading `EXPLAIN FORMATTED`: its tree, its paragraphs, and what a paragraph says of an operator."""
