"""The rules, in the order they are asked; the tuple is the architecture.

A rule is one file and one pure function from evidence to an answer. To add one: write the file, list it here with
the reason for its place, give it fixtures in `planopt_tests/decide/fixtures`. Changing what a rule answers raises
`RULES_VERSION`, which re-opens queries that were settled under the old one.
"""

from __future__ import annotations

from collections.abc import Callable

from planopt_assets.decide.answer import Answer
from planopt_assets.decide.rules import right_size_shuffle, right_size_splits
from planopt_assets.model.evidence import Evidence

RULES_VERSION = 1

RULES: tuple[tuple[str, Callable[[Evidence], Answer]], ...] = (
    # First, because what a shuffle costs decides how much any later change can gain.
    (right_size_shuffle.NAME, right_size_shuffle.right_size_shuffle),
    # Second: independent of shuffles, it only changes how scans are cut.
    (right_size_splits.NAME, right_size_splits.right_size_splits),
)
