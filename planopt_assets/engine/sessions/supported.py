"""The releases of Spark that planopt works with, each with a Delta that is made for it. `make matrix` tries them all.

Any other is refused before Spark starts: planopt reads plans and scans from inside Spark and Delta, and what has moved
there would show in the middle of a run, or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from planopt_assets.errors import SparkUnsupported


@dataclass(frozen=True, slots=True)
class Release:
    """The versions that were tried, of one minor release of Spark."""

    spark: str
    delta: str


SUPPORTED: Final = {
    "4.2": Release("4.2.0", "4.4.0"),
}
_ONE_NAMESPACE = "it does not keep functions of a session apart from its own, and the SQL gate needs that"
REFUSED: Final = {
    "4.0": _ONE_NAMESPACE,
    "4.1": _ONE_NAMESPACE,
    "4.3": "no release of Delta is made for it yet",
}
"""Minor releases that people will ask for, and why not."""


def check_supported(spark: str = "", delta: str = "") -> None:
    """Refuse versions that were never tried; empty are the installed ones. Another patch release is taken as it is.

    >>> check_supported("4.2.1", "4.4.0")
    """
    spark, delta = spark or version("pyspark"), delta or version("delta-spark")
    release = SUPPORTED.get(minor(spark))
    if release is not None and minor(delta) == minor(release.delta):
        return
    if release is None:
        why = REFUSED.get(minor(spark), "planopt was not tried with it")
        what = f"Spark {spark} is not supported: {why}"
    else:
        what = f"Delta {delta} is not supported with Spark {spark}: planopt was tried with Delta {release.delta}"
    pairs = ", ".join(f"pyspark=={one.spark} with delta-spark=={one.delta}" for one in SUPPORTED.values())
    raise SparkUnsupported(what, where="installed packages", fix=f"install one of: {pairs}")


def minor(version_text: str) -> str:
    """
    >>> minor("4.2.0")
    '4.2'
    """
    return ".".join(version_text.split(".")[:2])
