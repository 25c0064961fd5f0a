"""Go up or down the pruning ladder, one rung at a time, by the rows that the query's scans read and matched.

Worked, up: push-down is off, 20 files hold 2,000,000 rows, an equality matches 20,000 of them (1 %). The lowest rung
that is off is row-group statistics. It skips at least a quarter of the unmatched rows: 1,980,000 x 0.25 x 1,000 ns
= 495 ms.

Worked, down: everything is on, 2,000 files hold 2,000,000 rows, a range matches 1,980,000 (99 %), and the reader
skipped none. The highest rung that a range can use is page statistics: 2,000 files x 0.2 ms = 400 ms of useless
lookups.

At the top of the ladder is the batch size of the vectorised reader. 4,096 rows of 2,000 bytes are 8 MB, more than the
cache of a core. With 1,024 rows a batch is 2 MB. 1,000,000 rows then cost 100 ns less each: 100 ms.
"""

from __future__ import annotations

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.prices import CPU_PER_ROW_NS, scan_dearness
from planopt_assets.decide.pruning_ladder import LADDER, Selectivity, Step, next_step
from planopt_assets.decide.scan_prices import WIDE_ROW_NS
from planopt_assets.decide.setting_in_force import in_force, switched_on
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.signals import Scan

NAME = "climb_pruning_ladder"
BATCH = "spark.sql.parquet.columnarReaderBatchSize"

CACHE_BYTES = 4 * 1024 * 1024
SMALLEST_BATCH = 256


def climb_pruning_ladder(evidence: Evidence) -> Answer:
    """Propose one switch, by the rows read and matched."""
    scans = [s for e in evidence.executions for s in e.scans if s.files and (s.families or s.runtime_filters)]
    if not scans:
        return no_change("no scan has a predicate", {"scans": 0})
    states = [switched_on(evidence, rung.knob) for rung in LADDER]
    if unknown := [rung.knob for rung, on in zip(LADDER, states, strict=True) if on is None]:
        return cannot_tell(f"{unknown[0]} was not recorded with the observation", {"scans": len(scans)})
    known = [s for s in scans if s.native and None not in (s.read_rows, s.matched_rows)]
    if not known:
        return cannot_tell(
            "read_rows or matched_rows is missing for every scan with a predicate", {"scans": len(scans)}
        )
    on = [bool(state) for state in states]
    seen = Selectivity.of(known)
    arithmetic: dict[str, int | float] = {
        "scans": len(known),
        "files": seen.files,
        "file_rows": seen.file_rows,
        "read_rows": seen.read_rows,
        "matched_rows": seen.matched_rows,
        "wanted_share": round(seen.wanted_share, 4),
        "left_out_share": round(seen.left_out_share, 4),
        "rung": max((number for number, state in enumerate(on, 1) if state), default=0),
    }
    step = next_step(on, seen, CPU_PER_ROW_NS * scan_dearness(evidence))
    if step is None:
        return _batch_step(evidence, scans, arithmetic) or no_change(
            f"{seen.wanted_share:.0%} of the rows read matched: no rung to try", arithmetic
        )
    if step.direction == "down" and (lacking := _lacking(known)):
        return cannot_tell(f"file_rows is missing for {lacking} of {len(known)} scans", arithmetic)
    value = "true" if step.direction == "up" else "false"
    return propose(
        {step.rung.knob: value},
        _words(step, seen),
        saved_cpu_ns=step.saved_ns,
        arithmetic={**arithmetic, "step": f"{step.direction}: {step.rung.name}"},
        nodes=[s.node for s in known],
    )


def _batch_step(evidence: Evidence, scans: list[Scan], arithmetic: dict[str, int | float]) -> Answer | None:
    """Smaller batches, if a batch of the widest rows does not fit into a core's cache."""
    size = in_force(evidence, BATCH)
    widest = max((s.row_bytes or 0 for s in scans if s.native), default=0)
    if size is None or not size.isdecimal() or widest * int(size) <= CACHE_BYTES:
        return None
    fitting = fitting_batch(widest)
    wide = [s for s in scans if s.native and (s.row_bytes or 0) * int(size) > CACHE_BYTES]
    rows = sum(s.read_rows or 0 for s in wide)
    if fitting >= int(size) or not rows:
        return None
    return propose(
        {BATCH: str(fitting)},
        f"a batch of {size} rows of {widest:,} bytes does not fit into a core's cache: {fitting} rows do",
        saved_cpu_ns=rows * WIDE_ROW_NS,
        arithmetic={**arithmetic, "row_bytes": widest, "batch_now": int(size), "batch_target": fitting},
        nodes=[s.node for s in wide],
    )


def fitting_batch(row_bytes: int) -> int:
    """Rows of a batch that fills at most half of the cache: the largest power of two, at least 256.

    >>> fitting_batch(2_000), fitting_batch(100_000)
    (1024, 256)
    """
    rows = max(CACHE_BYTES // 2 // row_bytes, SMALLEST_BATCH)
    return 1 << (rows.bit_length() - 1)


def _lacking(scans: list[Scan]) -> int:
    """Scans for which it is unknown whether the reader skipped rows."""
    return sum(s.file_rows is None for s in scans)


def _words(step: Step, seen: Selectivity) -> str:
    wanted = f"{seen.matched_rows:,} of {seen.read_rows:,} rows read matched"
    if step.direction == "up":
        return f"{wanted}: one rung up, to {step.rung.name}"
    return f"{wanted} and the reader skipped hardly any: one rung down, without {step.rung.name}"
