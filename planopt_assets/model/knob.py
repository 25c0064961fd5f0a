"""A knob: one setting that planopt may turn, and the values it may take."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

KnobKind = Literal["int", "bytes", "float", "bool", "choice", "list"]
KnobSource = Literal["spark_sql", "delta", "parquet"]

UNSET = "<undefined>"
"""Spark's own word for a setting without a default that nobody set."""

_WHOLE = re.compile(r"0|-?[1-9]\d*", re.ASCII)
_DECIMAL = re.compile(r"(?:0|[1-9]\d*)\.\d+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Knob:
    """One setting: the values it may take, what it influences, and whether another value may change a result.

    Numbers have bounds, `choice` and `list` have words. A `parquet` knob is an option of the Parquet reader itself,
    which is handed every session setting; Spark does not know its name.
    """

    name: str
    kind: KnobKind
    influences: str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()
    may_change_results: bool = False
    opt_in: bool = False  # proposed only where the workload's `knobs.allow` names it
    source: KnobSource = "spark_sql"
    visible_in_plan: bool = True  # False: it may work while the query runs, and the plan made before stays the same
    measured: str = ""  # on TPC-H SF1, two cores, one value for all queries

    def objection(self, value: str) -> str | None:
        """Why it may not take this value, or None; each value has one spelling, so that equal policies have one id.

        >>> Knob("n", "int", "…", 1, 9).objection("10")
        'n=10 is outside 1..9'
        >>> Knob("n", "bytes", "…", 1, 2048).objection("1k")
        'n=1k is no plain number'
        """
        if self.kind == "bool":
            return None if value in ("true", "false") else f"{self.name}={value} is neither true nor false"
        if self.kind in ("choice", "list"):
            words = value.split(",") if self.kind == "list" else [value]
            strange = [w for w in words if w not in self.choices]
            return f"{self.name}: {strange[0]!r} is not among its values" if strange else None
        if not (_WHOLE.fullmatch(value) or (self.kind == "float" and _DECIMAL.fullmatch(value))):
            return f"{self.name}={value} is no plain number"
        if not self.low <= float(value) <= self.high:
            return f"{self.name}={value} is outside {self.low}..{self.high}"
        return None
