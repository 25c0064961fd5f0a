"""Reads the scans of a planned or executed query out of the JVM."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.plan_walk import PlanWalk
from planopt_assets.model.scan import Expression, Funnel, ScanFacts, Size, TableScanInfo
from planopt_assets.observe.pushdown.expressions import expressions, key
from planopt_assets.observe.pushdown.logical_plan import Relation, relations
from planopt_assets.observe.pushdown.offers import column_offers
from planopt_assets.observe.pushdown.physical_plan import ScanNode, plain_path, scan_nodes
from planopt_assets.observe.pushdown.placement import is_internal, placed, pushed_filters
from planopt_assets.observe.signals import FILE_BYTES, FILES, ROWS

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

    from planopt_assets.engine.jvm import Jvm

_ID = re.compile(r"#(\d+)L?")


class ScanReader:
    """Scans of registered tables, as plain data; `tables` maps a location to the registered name."""

    def __init__(self, jvm: Jvm, tables: Mapping[str, str]) -> None:
        self._jvm = jvm
        self._tables = tables
        self._walk = PlanWalk(jvm)
        self._plan_info = jvm.scala_object("org.apache.spark.sql.execution.SparkPlanInfo")
        self._clustering = jvm.scala_object("org.apache.spark.sql.delta.skipping.clustering.ClusteringColumnInfo")
        self._offers: dict[tuple[str, int], TableScanInfo] = {}

    def planned(self, executed_plan: JavaObject, optimized_plan: JavaObject) -> tuple[ScanFacts, ...]:
        """What planning did with every scan: the same before and after execution."""
        initial = _initial(executed_plan)
        nodes = scan_nodes(self._plan_tree(initial))
        asked = relations(self._jvm.tree(optimized_plan))
        found = []
        for scan in _scans(initial):
            location = scan.relation().location()
            path = plain_path(str(location.rootPaths().mkString()))
            ids = _ids(scan.output().toString())
            for position, node in enumerate(nodes):
                if (node.path, node.ids) == (path, ids) and path in self._tables:
                    relation = next((r for r in asked if ids & r.ids), None)
                    found.append(self._facts(scan, location, node, position, relation))
        unique = {facts.position: facts for facts in found}
        return tuple(unique[position] for position in sorted(unique))

    def measured(self, facts: tuple[ScanFacts, ...], executed_plan: JavaObject) -> tuple[ScanFacts, ...]:
        """The same scans with what the finished run read and matched; a scan that never ran stays as it is."""
        before = scan_nodes(self._plan_tree(_initial(executed_plan)))
        after = {(node.path, node.ids): node for node in scan_nodes(self._plan_tree(executed_plan))}
        values = self._walk.metric_values(executed_plan)
        done = []
        for scan in facts:
            planned = before[scan.position]
            node = after.get((planned.path, planned.ids))
            done.append(scan if node is None else replace(scan, funnel=_run(scan.funnel, node, values)))
        return tuple(done)

    def offers(self, facts: ScanFacts) -> TableScanInfo:
        """What the table of a scan offers at the version it was read."""
        return self._offers[facts.table, facts.version]

    def _facts(
        self, scan: JavaObject, location: JavaObject, node: ScanNode, position: int, relation: Relation | None
    ) -> ScanFacts:
        index = location.getClass().getSimpleName()
        prepared = location.preparedScan() if index == "PreparedDeltaFileIndex" else None
        snapshot = prepared.scannedSnapshot() if prepared else location.getSnapshot()
        table, version = self._tables[node.path], int(snapshot.version())
        self._remember_offers(table, version, snapshot)
        filters = {"partition": scan.partitionFilters(), "data": scan.dataFilters()}
        if prepared:
            filters |= {"skipping": prepared.dataFilters().toSeq(), "unused": prepared.unusedFilters().toSeq()}
        trees = self._predicates(filters)
        conjuncts, runtime = placed(trees, relation)
        return ScanFacts(
            table=table,
            version=version,
            position=position,
            file_index=index,
            native=node.metadata.get("Batched") == "true",
            columns=tuple(c for c in scan.requiredSchema().fieldNames() if not is_internal(c)),
            conjuncts=conjuncts,
            pushed_filters=pushed_filters(node.metadata.get("PushedFilters", "[]")),
            skipping_filters=tuple(key(e) for e in trees.get("skipping", ())),
            unused_filters=tuple(key(e) for e in trees.get("unused", ())),
            runtime_filters=runtime,
            skipping_type=str(prepared.dataSkippingType().toString()) if prepared else "",
            funnel=_funnel(prepared, snapshot),
        )

    def _remember_offers(self, table: str, version: int, snapshot: JavaObject) -> None:
        """Asked once for a table and version: a version never changes."""
        if (table, version) in self._offers:
            return
        metadata = snapshot.metadata()
        partitions = _strings(metadata.partitionColumns())
        self._offers[table, version] = TableScanInfo(
            table,
            version,
            column_offers(
                json.loads(metadata.schemaString()),
                json.loads(snapshot.statCollectionLogicalSchema().json()),
                partitions,
            ),
            tuple(_strings(self._clustering.extractLogicalNames(snapshot))),
            _option(snapshot.numOfFilesIfKnown()),
            _option(snapshot.sizeInBytesIfKnown()),
        )

    def _predicates(self, filters: Mapping[str, JavaObject]) -> dict[str, tuple[Expression, ...]]:
        """All filters of a scan in one call, as children of one array."""
        sizes = [int(seq.size()) for seq in filters.values()]
        if not sum(sizes):
            return {}
        first, *others = filters.values()
        for seq in others:
            first = first.appendedAll(seq)
        catalyst = self._jvm.root.org.apache.spark.sql.catalyst
        (array,) = expressions(self._jvm.tree(catalyst.expressions.CreateArray(first, False)))
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        return {
            place: array.args[end - size : end] for place, size, end in zip(filters, sizes, ends, strict=True) if size
        }

    def _plan_tree(self, plan: JavaObject) -> Any:
        return self._jvm.to_python(self._plan_info.fromSparkPlan(plan))


def _initial(plan: JavaObject) -> JavaObject:
    return plan.initialPlan() if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec" else plan


def _scans(plan: JavaObject) -> Iterator[JavaObject]:
    """File scans of a plan and of its sub-queries; adaptive plans and finished stages are looked into."""
    for part in _each(plan.collectLeaves()):
        kind = part.getClass().getSimpleName()
        if kind == "FileSourceScanExec":
            yield part
        elif kind == "AdaptiveSparkPlanExec":
            yield from _scans(part.initialPlan())
        elif kind.endswith("QueryStageExec"):
            yield from _scans(part.plan())
    for part in _each(plan.subqueriesAll()):
        yield from _scans(part)


def _funnel(prepared: JavaObject | None, snapshot: JavaObject) -> Funnel:
    total = Size(_option(snapshot.numOfFilesIfKnown()), _option(snapshot.sizeInBytesIfKnown()))
    if prepared is None:
        return Funnel(total)
    known, partition, scanned = (_size(part) for part in (prepared.total(), prepared.partition(), prepared.scanned()))
    return Funnel(known if known.files is not None else total, partition, scanned)


def _run(funnel: Funnel, node: ScanNode, values: Mapping[int, int]) -> Funnel:
    files, size, rows = (values.get(node.metrics.get(name, -1)) for name in (FILES, FILE_BYTES, ROWS))
    return replace(funnel, read=Size(files, size, rows), matched=Size(rows=values.get(node.matched)))


def _size(value: JavaObject | None) -> Size:
    """Delta's `DataSize(bytes, rows, files, rows without the deleted)`, each `Some(n)` or `None`; null under LIMIT."""
    if value is None:
        return Size()
    numbers = [int(n) if n else None for n in re.findall(r"Some\((\d+)\)|None", str(value.toString()))]
    size, rows, files, live = numbers
    return Size(files, size, rows if live is None else live)


def _ids(output: str) -> frozenset[int]:
    return frozenset(int(i) for i in _ID.findall(output))


def _each(seq: JavaObject) -> Iterator[JavaObject]:
    return (seq.apply(i) for i in range(seq.size()))


def _strings(seq: JavaObject) -> list[str]:
    return [str(value) for value in _each(seq)]


def _option(option: JavaObject) -> int | None:
    return int(option.get()) if option.isDefined() else None
