"""Reads the scans of a planned or executed query out of the JVM."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from planopt_assets.engine.jvm import Jvm, each
from planopt_assets.model.location import plain_path
from planopt_assets.model.scan import Expression, Funnel, ScanFacts, Size, TableScanInfo
from planopt_assets.observe.metrics import FILE_BYTES, FILES, ROWS
from planopt_assets.observe.plan_json import Json
from planopt_assets.observe.pushdown.expressions import expressions, key
from planopt_assets.observe.pushdown.logical_plan import Relation, relations
from planopt_assets.observe.pushdown.offers import column_offers
from planopt_assets.observe.pushdown.physical_plan import ScanNode, scan_nodes
from planopt_assets.observe.pushdown.placement import placed, pushed_filters

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_OUTPUT = re.compile(r"^(.*)#(\d+)L?$", re.MULTILINE)
_PLACES = ("partition", "data", "skipping", "unused")


class PlannedScans(NamedTuple):
    """Scans as they were planned, and what each is known by in the plan: its path and the ids of its columns.

    Execution may fold sub-queries that turn out to be the same, so a place in the plan would not do.
    """

    facts: tuple[ScanFacts, ...]
    keys: tuple[tuple[str, frozenset[int]], ...]


class ScanReader:
    """Scans of registered tables, as plain data; `tables` maps a location to the registered name."""

    def __init__(self, jvm: Jvm, tables: Mapping[str, str]) -> None:
        self._jvm = jvm
        self._tables = tables
        self._clustering = jvm.scala_object("org.apache.spark.sql.delta.skipping.clustering.ClusteringColumnInfo")
        self._converters = jvm.root.scala.jdk.javaapi.CollectionConverters
        self._offers: dict[tuple[str, int], TableScanInfo] = {}

    def planned(self, executed_plan: JavaObject, tree: Json, optimized: Sequence[Json]) -> PlannedScans:
        """What planning did with every scan, to be asked before the query runs.

        `tree` is the physical plan as Spark shows it, `optimized` the logical one as JSON.
        """
        initial = _initial(executed_plan)
        nodes = scan_nodes(tree)
        asked = relations(optimized)
        scans: dict[int, _Scan] = {}
        for scan in map(_Scan, _scans(initial)):
            for position, node in enumerate(nodes):
                if scan.path in self._tables and (node.path, node.ids) == (scan.path, scan.ids):
                    scans.setdefault(position, scan)
        trees = self._predicates(scans.values())
        by_position = dict(sorted(zip(scans, trees, strict=True), key=lambda found: found[0]))
        return PlannedScans(
            tuple(
                self._facts(scans[position], nodes[position], position, predicates, asked)
                for position, predicates in by_position.items()
            ),
            tuple((nodes[position].path, nodes[position].ids) for position in by_position),
        )

    @staticmethod
    def measured(planned: PlannedScans, tree: Json, values: Mapping[int, int]) -> tuple[ScanFacts, ...]:
        """The same scans with what the finished run read and matched; a scan that never ran stays as it is."""
        after = {(node.path, node.ids): node for node in scan_nodes(tree)}
        done = []
        for scan, key_ in zip(planned.facts, planned.keys, strict=True):
            node = after.get(key_)
            done.append(scan if node is None else replace(scan, funnel=_run(scan.funnel, node, values)))
        return tuple(done)

    def offers(self, facts: ScanFacts) -> TableScanInfo:
        """What the table of a scan offers at the version it was read."""
        return self._offers[facts.table, facts.version]

    def _facts(
        self,
        scan: _Scan,
        node: ScanNode,
        position: int,
        predicates: Mapping[str, tuple[Expression, ...]],
        asked: tuple[Relation, ...],
    ) -> ScanFacts:
        snapshot = scan.prepared.scannedSnapshot() if scan.prepared else scan.location.getSnapshot()
        table, version = self._tables[scan.path], int(snapshot.version())
        offers = self._remembered_offers(table, version, snapshot)
        conjuncts, runtime = placed(predicates, next((r for r in asked if scan.ids & r.ids), None))
        stored = {column.path.partition(".")[0].casefold() for column in offers.columns}
        return ScanFacts(
            table=table,
            version=version,
            position=position,
            file_index=scan.index,
            native=node.metadata.get("Batched") == "true",
            columns=tuple(name for name in scan.names if name.casefold() in stored),
            conjuncts=conjuncts,
            pushed_filters=pushed_filters(node.metadata.get("PushedFilters", "[]")),
            skipping_filters=tuple(key(e) for e in predicates["skipping"]),
            unused_filters=tuple(key(e) for e in predicates["unused"]),
            runtime_filters=runtime,
            skipping_type=str(scan.prepared.dataSkippingType().toString()) if scan.prepared else "",
            funnel=_funnel(scan.prepared, offers),
        )

    def _remembered_offers(self, table: str, version: int, snapshot: JavaObject) -> TableScanInfo:
        """Asked once for a table and version: a version never changes."""
        if (table, version) not in self._offers:
            metadata = snapshot.metadata()
            self._offers[table, version] = TableScanInfo(
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
        return self._offers[table, version]

    def _predicates(self, scans: Iterable[_Scan]) -> list[dict[str, tuple[Expression, ...]]]:
        """The filters of all scans in one call: as arrays in one array, which is never evaluated."""
        array = self._jvm.root.org.apache.spark.sql.catalyst.expressions.CreateArray
        held = self._jvm.java.util.ArrayList()
        places = []
        for scan in scans:
            filters = scan.filters()
            places.append(tuple(filters))
            for found in filters.values():
                held.add(array(found, False))
        if not places:
            return []
        (read,) = expressions(self._jvm.tree(array(self._converters.asScala(held).toSeq(), False)))
        lists = iter(read.args)
        return [{**dict.fromkeys(_PLACES, ()), **{place: next(lists).args for place in own}} for own in places]


class _Scan:
    """One file scan in the JVM, with the little that tells it apart from others."""

    def __init__(self, scan: JavaObject) -> None:
        self._scan = scan
        self.location = scan.relation().location()
        self.path = plain_path(str(self.location.rootPaths().mkString()))
        output = _OUTPUT.findall(str(scan.output().mkString("\n")))
        self.names = tuple(name for name, _ in output)
        self.ids = frozenset(int(number) for _, number in output)
        self.index = str(self.location.getClass().getSimpleName())
        self.prepared = self.location.preparedScan() if self.index == "PreparedDeltaFileIndex" else None

    def filters(self) -> dict[str, JavaObject]:
        found = {"partition": self._scan.partitionFilters(), "data": self._scan.dataFilters()}
        if self.prepared:
            found |= {"skipping": self.prepared.dataFilters().toSeq(), "unused": self.prepared.unusedFilters().toSeq()}
        return found


def _initial(plan: JavaObject) -> JavaObject:
    return plan.initialPlan() if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec" else plan


def _scans(plan: JavaObject) -> Iterator[JavaObject]:
    """File scans of a plan and of its sub-queries; adaptive plans and finished stages are looked into."""
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


def _funnel(prepared: JavaObject | None, offers: TableScanInfo) -> Funnel:
    whole = Size(offers.files, offers.bytes)
    if prepared is None:
        return Funnel(whole)
    total, partition, scanned = (_size(part) for part in (prepared.total(), prepared.partition(), prepared.scanned()))
    return Funnel(whole if total.files is None else total, partition, scanned)


def _run(funnel: Funnel, node: ScanNode, values: Mapping[int, int]) -> Funnel:
    files, size, rows = (values.get(node.metrics.get(name, -1)) for name in (FILES, FILE_BYTES, ROWS))
    return replace(funnel, read=Size(files, size, rows), matched=Size(rows=values.get(node.matched or -1)))


def _size(value: JavaObject | None) -> Size:
    """Delta's `DataSize(bytes, rows, files, rows without the deleted)`, each `Some(n)` or `None`; null under LIMIT."""
    if value is None:
        return Size()
    numbers = [int(n) if n else None for n in re.findall(r"Some\((\d+)\)|None", str(value.toString()))]
    size, rows, files, live = numbers
    return Size(files, size, rows if live is None else live)


def _strings(seq: JavaObject) -> list[str]:
    return [str(value) for value in each(seq)]


def _option(option: JavaObject) -> int | None:
    return int(option.get()) if option.isDefined() else None
