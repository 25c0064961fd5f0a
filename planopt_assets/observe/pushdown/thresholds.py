"""Thresholds: the share of a table that a kind of predicate is expected to skip at least."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Defaults without history. They may be high: a finding also needs an avoidable cause and few matching rows.
DEFAULT = 0.25
DEFAULTS = {"equality": 0.5, "in_list": 0.5, "prefix": 0.5}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds, learned per (table class, predicate family) if there is enough history."""

    learned: Mapping[tuple[str, str], float] = field(default_factory=dict)
    wanted_share: float = 0.5  # if more of the rows matched, the scan had to read them

    def little(self, table_class: str, family: str) -> float:
        """Skipping less than this share of the bytes is too little.

        >>> learned = Thresholds({("small plain", "range"): 0.7})
        >>> learned.little("small plain", "range"), learned.little("large plain", "range")
        (0.7, 0.25)
        """
        return self.learned.get((table_class, family), DEFAULTS.get(family, DEFAULT))
