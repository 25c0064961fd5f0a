"""Operators, scans and tables of an observation, as rows."""

from __future__ import annotations

from dataclasses import asdict

from benchmarks.store_scale.nights import Night, Row, plain
from benchmarks.store_scale.plans import Node
from benchmarks.store_scale.queries import Spec
from benchmarks.store_scale.sources import FACT, Source, grown
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.scan import ConjunctOutcome
from planopt_assets.model.signals import Aggregation, Exchange, Join, JoinInput, Scan, Signals, Stage


def node_row(query: Spec, night: Night, phase: str, place: int, node: Node) -> Row:
    """Before it ran an operator is only estimated."""
    parent, kind, detail = node
    row: Row = {
        "phase": phase,
        "node": place,
        "parent": parent,
        "kind": kind,
        "detail": detail,
        "metrics": "{}",
        "statistics_source": "plan",
        "estimated_at_runtime": False,
        "estimated_bytes": grown(FACT.bytes, night.number) + place,
    }
    if phase == "initial" or kind == "Project":
        return row
    rows = grown(FACT.rows, night.number) // (place + 1)
    metrics = {"number of output rows": rows}
    if kind == "Scan parquet":
        metrics |= {
            "number of files read": 120,
            "scan time": 679,
            "size of files read": grown(FACT.bytes, night.number),
        }
    if kind == "Exchange":
        metrics |= {
            "data size": rows * 24,
            "local blocks read": 800,
            "records read": rows,
            "shuffle bytes written": rows,
        }
        row |= {"smallest_partition_bytes": 9_912, "median_partition_bytes": 11_996, "largest_partition_bytes": 15_601}
    return row | {
        "metrics": plain(metrics),
        "actual_rows": rows,
        "actual_bytes": rows * 60,
        "error_factor": 2.5,
        "error_by": "bytes",
        "operator_ms": place * 7,
    }


def scan_row(query: Spec, night: Night, place: int, source: Source) -> Row:
    """The fact table is filtered and every file may match; dimensions are read as they are."""
    files, size, rows = (grown(n, night.number) for n in (source.files, source.bytes, source.rows))
    filtered = source is FACT
    reason = "chooses files by their statistics"
    text = f"sold_on >= '{query.since}'"
    conjunct = ConjunctOutcome(text, "range", "data", "files", "files", "pushed", reason=reason)
    funnel = {
        f"{stage}_{unit}": n
        for stage in ("total", "partition", "scanned", "read")
        for unit, n in (("files", files), ("bytes", size), ("rows", rows))
    }
    return {
        "binding": 0,
        "scan": place,
        "table": source.name,
        "table_version": night.number,
        "table_class": "small plain",
        "native": True,
        "file_index": "PreparedDeltaFileIndex",
        "outcome": "full_pushdown" if filtered else "no_predicate",
        "reason": f"{text}: {reason}" if filtered else "nothing is asked of this table but its rows",
        "conjuncts": plain([asdict(conjunct)] if filtered else []),
        "families": ["range"] if filtered else [],
        "pushed_filters": [f"GreaterThanOrEqual(sold_on,{query.since})"] if filtered else [],
        "runtime_filters": [],
        "skipping_type": "dataSkippingOnlyV1" if filtered else "noSkippingV1",
        **funnel,
        "matched_rows": rows * 3 // 4 if filtered else rows,
        "pruned_share": 0.0,
        "columns": list(query.columns_of(source)),
    }


def table_row(source: Source, table: PinnedTable, night: Night) -> Row:
    return {
        "table": source.name,
        "location": table.location,
        "table_id": table.table_id,
        "version": table.version,
        "committed_at": night.at("observe"),
        "min_reader": 1,
        "min_writer": 2,
        "reader_features": [],
        "writer_features": ["appendOnly", "invariants"],
        "unknown_reader_features": [],
        "unknown_writer_features": [],
        "contract": plain(source.contract),
        "metadata": source.ddl,
        "statistics_columns": list(source.columns),
    }


def signals_json(query: Spec, night: Night) -> str:
    """What rules look at: one aggregation, two shuffles, and a scan, a join and a stage per table."""
    rows, size = grown(FACT.rows, night.number), grown(FACT.bytes, night.number)
    left = JoinInput(rows * 3 // 4, size, size * 2, False, (FACT.name,), target=f"join0.left {FACT.name}")
    joins = [
        Join(5 + 2 * place, "Inner", "BroadcastHashJoin", "BroadcastHashJoin", "right", left, _input(d, place), rows)
        for place, d in enumerate(query.joined)
    ]
    scans = [
        Scan(
            9 + 4 * place,
            s.name,
            s.files,
            grown(s.bytes, night.number),
            splits=4,
            table_bytes=grown(s.bytes, night.number),
            read_rows=grown(s.rows, night.number),
            matched_rows=grown(s.rows, night.number),
            row_bytes=60,
            file_rows=grown(s.rows, night.number),
        )
        for place, s in enumerate(query.sources)
    ]
    stages = [
        Stage(place, (), 2, s.rows, s.files, 0, tuple(range(9 + 4 * place, 13 + 4 * place)))
        for place, s in enumerate(query.sources)
    ]
    shuffles = [Exchange(node, 200, 400_000, rows // 30, 9_912, 11_996, 15_601, 2) for node in (2, 5)]
    groups = [Aggregation(6, rows, rows // 6, 1_000, len(query.groups))]
    found = Signals(tuple(shuffles), tuple(scans), tuple(joins), tuple(groups), stages=tuple(stages))
    return plain(asdict(found))


def _input(source: Source, place: int) -> JoinInput:
    target = f"join{place}.right {source.name}"
    return JoinInput(source.rows, source.rows * 36, source.bytes, False, (source.name,), target=target)
