"""Scans of registered tables: what each read, in how many tasks, and how its predicates were used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planopt_assets.model.plan import PlanNode
from planopt_assets.model.scan import ScanFacts, ScanOutcome, Size
from planopt_assets.model.signals import Scan
from planopt_assets.observe.plans.fingerprint import scanned_table
from planopt_assets.observe.plans.metrics import FILE_BYTES, FILES, ROWS
from planopt_assets.observe.pushdown.normal_form import unpushed_normal_form
from planopt_assets.observe.signals.tree import Tree

Fact = tuple[ScanFacts, ScanOutcome]


def scans(tree: Tree, splits: Mapping[str, list[int]], facts: Sequence[Fact] = ()) -> tuple[Scan, ...]:
    """Every scan in plan order. `splits` lists, per table, the tasks of its scans in plan order.

    Facts are matched by table and by the numbers that the run read, which come from the same operator. Scans with equal
    numbers are matched in order.
    """
    tasks = {table: list(counts) for table, counts in splits.items()}
    left = list(facts)
    found = []
    for node in tree.plan.nodes:
        if (table := scanned_table(node)) is not None:
            count = tasks[table].pop(0) if tasks.get(table) else 0
            at = next((i for i, (fact, _) in enumerate(left) if fact.table == table and _reads(node, fact)), None)
            found.append(_scan(node, table, count, left.pop(at) if at is not None else None))
    return tuple(found)


def _reads(node: PlanNode, fact: ScanFacts) -> bool:
    read = fact.funnel.read
    known = read.files is not None  # a scan that never ran read nothing
    return known and read == Size(node.metric(FILES), node.metric(FILE_BYTES), node.metric(ROWS))


def _scan(node: PlanNode, table: str, splits: int, fact: Fact | None) -> Scan:
    files, size = node.metric(FILES) or 0, node.metric(FILE_BYTES) or 0
    if fact is None:
        return Scan(node.index, table, files, size, splits, row_bytes=node.row_bytes)
    scan, outcome = fact
    return Scan(
        node.index,
        table,
        files,
        size,
        splits,
        table_bytes=scan.funnel.total.bytes,
        read_rows=scan.funnel.read.rows,
        matched_rows=scan.funnel.matched.rows,
        row_bytes=node.row_bytes,
        native=scan.native,
        families=outcome.families,
        causes=tuple(sorted({c.cause for c in outcome.conjuncts if c.cause})),
        runtime_filters=len(scan.runtime_filters),
        file_rows=scan.funnel.scanned.rows if scan.funnel.scanned.files == scan.funnel.read.files else None,
        normal_form=unpushed_normal_form(scan),
    )
