"""The knob catalogue: every setting planopt may ever touch, as one table.

Defaults are not here: they are read from the running Spark. A name that Spark does not know is an error at start.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from planopt_assets.model.ids import content_id
from planopt_assets.model.workload import Knobs

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Knob:
    """One setting: its bounds, what it influences, and whether a different value may change a result."""

    name: str
    low: int
    high: int
    unit: str  # `count` or `bytes`
    influences: str
    may_change_results: bool = False


CATALOGUE: tuple[Knob, ...] = (
    Knob("spark.sql.shuffle.partitions", 1, 20_000, "count", "partitions every shuffle is written into"),
    Knob(
        "spark.sql.files.maxPartitionBytes", 1 * MIB, 1024 * MIB, "bytes", "largest piece of a file one scan task reads"
    ),
    Knob(
        "spark.sql.files.openCostInBytes",
        0,
        64 * MIB,
        "bytes",
        "what opening one more file counts when files are packed",
    ),
)

# Same rows must come out whatever planopt sets: these may be read, never proposed or pinned in by a rule.
RESULT_CHANGING: tuple[str, ...] = (
    "spark.sql.ansi.enabled",
    "spark.sql.session.timeZone",
    "spark.sql.caseSensitive",
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.legacy.",
)

CATALOGUE_VERSION = content_id("knb", [asdict(k) for k in CATALOGUE])


def knob(name: str) -> Knob | None:
    return next((k for k in CATALOGUE if k.name == name), None)


def objection(name: str, value: str, limits: Knobs) -> str | None:
    """Why automation may not set this knob to this value, or None.

    >>> objection("spark.sql.ansi.enabled", "false", Knobs())
    'spark.sql.ansi.enabled may change results'
    """
    if any(name == other or (other.endswith(".") and name.startswith(other)) for other in RESULT_CHANGING):
        return f"{name} may change results"
    entry = knob(name)
    if entry is None or entry.may_change_results:
        return f"{name} is not in the knob catalogue"
    if not (value.isdecimal() and entry.low <= int(value) <= entry.high):
        return f"{name}={value} is outside {entry.low}..{entry.high}"
    if name in limits.deny:
        return f"{name} is denied in the workload file"
    if limits.allow and name not in limits.allow:
        return f"{name} is not among the allowed knobs of the workload file"
    if name in dict(limits.pin):
        return f"{name} is pinned in the workload file"
    return None


def size_in_bytes(text: str) -> int:
    """Spark shows byte settings as `134217728b`, `128MB` or a plain number.

    >>> size_in_bytes("128MB"), size_in_bytes("4194304b"), size_in_bytes("42")
    (134217728, 4194304, 42)
    """
    digits = text.rstrip("bBkKmMgGtT")
    unit = text[len(digits) :].lower().removesuffix("b")
    power = "kmgt".index(unit) + 1 if unit else 0
    return int(digits) * int(1024**power)
