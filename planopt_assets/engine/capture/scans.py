"""Reads the scans of a planned or executed query from the JVM."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from planopt_assets.engine.jvm.bridge import Jvm, each
from planopt_assets.engine.jvm.scan_walk import AskedScan
from planopt_assets.model.location import plain_path
from planopt_assets.model.scan import Expression, Funnel, ScanFacts, Size, TableScanInfo
from planopt_assets.observe.plans.metrics import FILE_BYTES, FILES, ROWS
from planopt_assets.observe.plans.plan_json import Json
from planopt_assets.observe.pushdown.expressions import expressions, key
from planopt_assets.observe.pushdown.logical_plan import Relation, relations
from planopt_assets.observe.pushdown.offers import column_offers
from planopt_assets.observe.pushdown.physical_plan import ScanNode, scan_nodes
from planopt_assets.observe.pushdown.placement import placed, pushed_filters

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_PLACES = ("partition", "data", "skipping", "unused")


class PlannedScans(NamedTuple):
    """Scans as planned, each with its key in the plan: its path and the ids of its columns.

    `offers` is what their tables offer at the versions read, by name: a plan reads every name from one place.
    A position in the plan is no key, because execution may merge equal sub-queries.
    """

    facts: tuple[ScanFacts, ...]
    keys: tuple[tuple[str, frozenset[int]], ...]
    offers: dict[str, TableScanInfo]


class ScanReader:
    """Scans of registered tables, as plain data. `tables` maps a location to the registered name."""

    def __init__(self, jvm: Jvm, tables: Mapping[str, str]) -> None:
        self._tables = tables
        self._clustering = jvm.scala_object("org.apache.spark.sql.delta.skipping.clustering.ClusteringColumnInfo")
        self._offers: dict[tuple[str, int], TableScanInfo] = {}  # by location and version

    def planned(
        self, executed_plan: JavaObject, asked: Sequence[AskedScan], tree: Json, optimized: Sequence[Json]
    ) -> PlannedScans:
        """Every scan as planned. Call it before the query runs.

        `asked` are the scans as read from the JVM, `tree` is Spark's physical plan, `optimized` the logical plan as
        JSON.
        """
        nodes = scan_nodes(tree)
        by_key = {(scan.path, scan.ids): scan for scan in reversed(asked) if scan.path in self._tables}
        found = {at: scan for at, node in enumerate(nodes) if (scan := by_key.get((node.path, node.ids)))}
        snapshots = _Snapshots(executed_plan)
        wanted = relations(optimized)
        offers = {at: self._offers_of(scan, snapshots) for at, scan in found.items()}
        return PlannedScans(
            tuple(self._facts(scan, nodes[at], at, wanted, offers[at]) for at, scan in found.items()),
            tuple((nodes[at].path, nodes[at].ids) for at in found),
            {offered.table: offered for offered in offers.values()},
        )

    @staticmethod
    def measured(planned: PlannedScans, tree: Json, values: Mapping[int, int]) -> tuple[ScanFacts, ...]:
        """The same scans with what the finished run read and matched. A scan that never ran is unchanged."""
        after = {(node.path, node.ids): node for node in scan_nodes(tree)}
        done = []
        for scan, key_ in zip(planned.facts, planned.keys, strict=True):
            node = after.get(key_)
            done.append(scan if node is None else replace(scan, funnel=_run(scan.funnel, node, values)))
        return tuple(done)

    def _facts(
        self, scan: AskedScan, node: ScanNode, position: int, wanted: tuple[Relation, ...], offers: TableScanInfo
    ) -> ScanFacts:
        predicates = {**dict.fromkeys(_PLACES, ()), **{place: _list(tree) for place, tree in scan.filters.items()}}
        conjuncts, runtime = placed(predicates, next((r for r in wanted if scan.ids & r.ids), None))
        stored = {column.path.partition(".")[0].casefold() for column in offers.columns}
        return ScanFacts(
            table=offers.table,
            version=offers.version,
            position=position,
            file_index=scan.index,
            native=node.metadata.get("Batched") == "true",
            columns=tuple(name for name in scan.names if name.casefold() in stored),
            conjuncts=conjuncts,
            pushed_filters=pushed_filters(node.metadata.get("PushedFilters", "[]")),
            skipping_filters=tuple(key(e) for e in predicates["skipping"]),
            unused_filters=tuple(key(e) for e in predicates["unused"]),
            runtime_filters=runtime,
            skipping_type=scan.skipping,
            funnel=_funnel(scan, offers),
        )

    def _offers_of(self, scan: AskedScan, snapshots: _Snapshots) -> TableScanInfo:
        """What the table offers at the version the scan reads. Read once per version, because it never changes."""
        table, version, snapshot = self._tables[scan.path], scan.version, None
        if version is None:
            snapshot = snapshots.of(scan)
            version = int(snapshot.version())
        if (scan.path, version) not in self._offers:
            snapshot = snapshot or snapshots.of(scan)
            metadata = snapshot.metadata()
            self._offers[scan.path, version] = TableScanInfo(
                table,
                version,
                column_offers(
                    json.loads(metadata.schemaString()),
                    json.loads(snapshot.statCollectionLogicalSchema().json()),
                    _strings(metadata.partitionColumns()),
                ),
                tuple(_strings(self._clustering.extractLogicalNames(snapshot))),
                _option(snapshot.numOfFilesIfKnown()),
                _option(snapshot.sizeInBytesIfKnown()),
            )
        return self._offers[scan.path, version]


class _Snapshots:
    """Delta's snapshots behind the scans of a plan. Read only if needed, because it takes many calls."""

    def __init__(self, executed_plan: JavaObject) -> None:
        self._plan = executed_plan

    def of(self, scan: AskedScan) -> JavaObject:
        for found in _scans(_initial(self._plan)):
            location = found.relation().location()
            if plain_path(str(location.rootPaths().mkString())) == scan.path:
                return location.preparedScan().scannedSnapshot() if scan.prepared else location.getSnapshot()
        raise AssertionError(f"a scan of {scan.path} was there a moment ago")


def _initial(plan: JavaObject) -> JavaObject:
    return plan.initialPlan() if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec" else plan


def _scans(plan: JavaObject) -> Iterator[JavaObject]:
    """File scans of a plan and its sub-queries, including adaptive plans and finished stages."""
    for part in each(plan.collectLeaves()):
        kind = part.getClass().getSimpleName()
        if kind == "FileSourceScanExec":
            yield part
        elif kind == "AdaptiveSparkPlanExec":
            yield from _scans(part.initialPlan())
        elif kind.endswith("QueryStageExec"):
            yield from _scans(part.plan())
    for part in each(plan.subqueriesAll()):
        yield from _scans(part)


def _funnel(scan: AskedScan, offers: TableScanInfo) -> Funnel:
    whole = Size(offers.files, offers.bytes)
    if not scan.prepared:
        return Funnel(whole)
    total, partition, scanned = map(_size, scan.sizes)
    return Funnel(whole if total.files is None else total, partition, scanned)


def _run(funnel: Funnel, node: ScanNode, values: Mapping[int, int]) -> Funnel:
    files, size, rows = (values.get(node.metrics.get(name, -1)) for name in (FILES, FILE_BYTES, ROWS))
    return replace(funnel, read=Size(files, size, rows), matched=Size(rows=values.get(node.matched or -1)))


def _size(shown: str) -> Size:
    """Delta's `DataSize(bytes, rows, files, rows without the deleted)`, each `Some(n)` or `None`. Null under LIMIT.

    >>> _size("DataSize(Some(900),Some(10),Some(2),None)"), _size("null")
    (Size(files=2, bytes=900, rows=10), Size(files=None, bytes=None, rows=None))
    """
    if shown == "null":
        return Size()
    size, rows, files, live = (int(n) if n else None for n in re.findall(r"Some\((\d+)\)|None", shown))
    return Size(files, size, rows if live is None else live)


def _list(tree: list[Json]) -> tuple[Expression, ...]:
    """The predicates inside the array."""
    (array,) = expressions(tree)
    return array.args


def _strings(seq: JavaObject) -> list[str]:
    return [str(value) for value in each(seq)]


def _option(option: JavaObject) -> int | None:
    return int(option.get()) if option.isDefined() else None
