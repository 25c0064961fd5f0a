"""What planopt recorded of the scans of one execution, against what the oracle expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from planopt_assets.engine.execution.execute import Measured
from planopt_assets.model.scan import Size
from planopt_assets.observe.signals.scans import scans
from planopt_assets.observe.signals.tree import Tree
from planopt_tests.oracle.log_reader import Snapshot
from planopt_tests.oracle.skipping import ANYTHING, Predicate


class Amount(NamedTuple):
    files: int | None
    bytes: int | None


NEVER_RUN = Amount(None, None)


@dataclass(frozen=True, slots=True)
class ExpectedScan:
    """The funnel of one scan: the table, what partition values leave, what planning leaves, what is read."""

    table: str
    total: Amount
    partition: Amount
    scanned: Amount
    read: Amount


def expected_scan(table: str, files: Snapshot, predicate: Predicate, at_run_time: Predicate = ANYTHING) -> ExpectedScan:
    """`at_run_time` is known only when the query runs: dynamic pruning."""
    return ExpectedScan(
        table,
        amount(files, ANYTHING),
        amount(files, predicate.on_partitions(files)),
        amount(files, predicate),
        amount(files, predicate & at_run_time),
    )


def amount(files: Snapshot, predicate: Predicate) -> Amount:
    """The files in which the predicate may hold, and their bytes."""
    kept: pa.Array = files.sizes.filter(predicate.may_hold(files))
    return Amount(len(kept), pc.sum(kept).as_py() or 0)


def mismatches(done: Measured, expected: Sequence[ExpectedScan]) -> list[str]:
    """Everything in which the record and the oracle differ; plan, counters and funnel are looked at one by one."""
    in_plan = [(s.table, Amount(s.files, s.bytes)) for s in scans(Tree(done.final), done.splits)]
    in_funnel = [
        ExpectedScan(s.table, *map(_amount, (s.funnel.total, s.funnel.partition, s.funnel.scanned, s.funnel.read)))
        for s in done.scans
    ]
    return [
        *_unequal("plan", in_plan, [(e.table, e.read) for e in expected if e.read != NEVER_RUN]),
        *_unequal("files", [done.counters.scan_files], [sum(e.read.files or 0 for e in expected)]),
        *_unequal("bytes", [done.counters.scan_bytes], [sum(e.read.bytes or 0 for e in expected)]),
        *_unequal("funnel", in_funnel, expected),
    ]


def _unequal(what: str, recorded: Iterable[object], expected: Iterable[object]) -> list[str]:
    """Scans may stand in any order, but as often as expected."""
    have, want = Counter(recorded), Counter(expected)
    return [] if have == want else [f"{what}: recorded {[*(have - want)]}, expected {[*(want - have)]}"]


def _amount(size: Size) -> Amount:
    return Amount(size.files, size.bytes)
