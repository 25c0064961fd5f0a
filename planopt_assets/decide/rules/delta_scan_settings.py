"""Switch Delta's scan features back on if a session switched them off and predicates could use them.

Worked: `stats.skipping` is off. A range predicate that could skip files reads 2,000,000 rows of 400 files, and 200,000
match. At least a quarter of the unmatched rows is in files that can be skipped: 1,800,000 x 0.25 x 1,000 ns = 450 ms.
And a quarter of the files need not be opened: 400 x 0.25 x 2 ms = 200 ms.

Properties of the table (statistics of a column, a layout by the predicate's columns) are no session setting. They
belong to `maintain`.
"""

from __future__ import annotations

from dataclasses import dataclass

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.prices import CPU_PER_FILE_NS, CPU_PER_ROW_NS, scan_dearness
from planopt_assets.decide.setting_in_force import switched_on
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.signals import Scan

NAME = "delta_scan_settings"
LEFT_OUT = 0.25  # share of unmatched rows skipped, at least; the thresholds of findings start from the same share
WANTED = 0.5  # if more rows matched, the scan had to read them

_COMPARISONS = frozenset({"equality", "in_list", "range", "prefix"})


@dataclass(frozen=True, slots=True)
class Feature:
    """A switch, and how a scan shows that it could use it: by a cause, or by predicates of these kinds."""

    knob: str
    words: str
    cause: str = ""
    families: frozenset[str] = frozenset()
    skips_files: bool = True

    def misses(self, scan: Scan) -> bool:
        return self.cause in scan.causes if self.cause else bool(self.families & set(scan.families))


FEATURES = (
    Feature("spark.databricks.delta.stats.skipping", "files can be skipped by their statistics", cause="skipping_off"),
    Feature(
        "spark.databricks.delta.generatedColumn.partitionFilterOptimization.enabled",
        "predicates can choose partitions that were generated from their columns",
        families=_COMPARISONS,
    ),
    Feature(
        "spark.databricks.delta.deletionVectors.useMetadataRowIndex",
        "files with deletion vectors can be filtered by the reader",
        families=_COMPARISONS,
        skips_files=False,
    ),
)


def delta_scan_settings(evidence: Evidence) -> Answer:
    """Propose the first feature that is off and that a scan with many unmatched rows could use."""
    scans = [s for e in evidence.executions for s in e.scans if s.files]
    off = [f for f in FEATURES if switched_on(evidence, f.knob) is False]
    arithmetic = {"scans": len(scans), "features_off": len(off)}
    if not off:
        return no_change("no scan feature of Delta is switched off", arithmetic)
    candidates = [(f, [s for s in scans if f.misses(s)]) for f in off]
    missing = [(f, s) for f, s in candidates if s]
    if not missing:
        return no_change("no predicate could use what is switched off", arithmetic)
    unknown = [s for _, found in missing for s in found if s.read_rows is None or s.matched_rows is None]
    for feature, found in missing:
        wasteful = [s for s in found if _unwanted(s) is not None]
        if wasteful:
            return _proposal(feature, wasteful, arithmetic, CPU_PER_ROW_NS * scan_dearness(evidence))
    if unknown:
        return cannot_tell(f"read_rows or matched_rows is missing for {len(unknown)} scans", arithmetic)
    return no_change("most rows that the scans read matched", arithmetic)


def _proposal(feature: Feature, scans: list[Scan], arithmetic: dict[str, int], row_ns: float) -> Answer:
    rows = sum(_unwanted(s) or 0 for s in scans)
    files = sum(s.files for s in scans) if feature.skips_files else 0
    return propose(
        {feature.knob: "true"},
        f"{rows:,} rows were read and did not match: {feature.words}",
        saved_cpu_ns=round(rows * LEFT_OUT * row_ns) + round(files * LEFT_OUT) * CPU_PER_FILE_NS,
        arithmetic={**arithmetic, "unwanted_rows": rows, "files": files, "left_out_share": LEFT_OUT},
        nodes=[s.node for s in scans],
    )


def _unwanted(scan: Scan) -> int | None:
    """Rows that were read and did not match. None: few, or unknown."""
    if not scan.read_rows or scan.matched_rows is None or scan.matched_rows > WANTED * scan.read_rows:
        return None
    return scan.read_rows - scan.matched_rows
