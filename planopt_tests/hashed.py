"""Everything that goes into the hashes of one observation, and all of those hashes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planopt_assets.model.bundle import Parts, Planned, bundle_hash
from planopt_assets.model.inputs import PinnedTable, QuerySource, input_fingerprint, query_fingerprint
from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.model.provenance import Planning, PlanningEnvironment, Rulepack
from planopt_assets.model.scan import Funnel, ScanFacts, Size
from planopt_assets.model.table_facts import Column, Constraint, Protocol, TableFacts, snapshot_hash
from planopt_assets.model.workload import Query, Workload
from planopt_assets.observe.bundle import planned_parts
from planopt_assets.observe.plans.logical import normalise_logical
from planopt_assets.observe.sql.canonical import canonical_form, canonical_from_analyzed
from planopt_assets.observe.tables.contract import contract_hash, contract_of
from planopt_tests.rows import scan_facts


@dataclass(frozen=True)
class World:
    """Everything that goes into any hash of one observation."""

    sql: str
    query: Query
    workload: Workload
    versions: dict[str, str]
    settings: dict[str, str]
    environment: dict[str, str]
    batches: tuple[tuple[str, tuple[str, ...]], ...]
    tables: tuple[TableFacts, ...]
    analyzed: list[Any]
    analyzed_text: str
    optimized: list[Any]
    plan: Plan
    scans: tuple[ScanFacts, ...]
    output: tuple[tuple[str, str, bool], ...]
    planning: Planning


WORLD = World(
    sql="SELECT o.id, n.name FROM orders o JOIN nation n ON o.nation = n.id WHERE o.price > 5",
    query=Query("q", sql="", bindings=((("rate", 1.5), ("since", "1995-01-01")),)),
    workload=Workload(
        "demo", Path("planopt.yaml"), "store", (), (), spark_settings=(("spark.a", "1"), ("spark.b", "2"))
    ),
    versions={"judge": "judge@1", "spark": "4.2.0"},
    settings={
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.files.maxPartitionBytes": "128m",
        "spark.sql.shuffle.partitions": "200",
    },
    environment={"cores": "2", "spark": "4.2.0"},
    batches=(("optimize: once", ("A", "B")), ("optimize: again", ("C", "D"))),
    tables=(
        TableFacts(
            "orders",
            "/data/orders",
            "id-1",
            12,
            Protocol.of(1, 3),
            (Column("id", "long", nullable=False), Column("nation", "long"), Column("price", "double", default="0")),
            constraints=(Constraint("check", "positive", "price > 0"), Constraint("check", "some", "id > 0")),
            properties=(("delta.columnMapping.mode", "none"), ("delta.enableDeletionVectors", "false")),
        ),
        TableFacts(
            "nation", "/data/nation", "id-2", 0, Protocol.of(1, 2), (Column("id", "long"), Column("name", "string"))
        ),
    ),
    analyzed=[
        {"class": "x.Filter", "num-children": 1, "condition": {"op": ">", "value": "5"}},
        {"class": "x.Relation"},
    ],
    analyzed_text="Filter (price#71 > 5)\n+- Relation orders[id#70,price#71]",
    optimized=[{"class": "x.Relation", "filters": {"price": "5", "id": "not null"}}],
    plan=Plan(
        "initial",
        (
            PlanNode(0, -1, "SortMergeJoin", "SortMergeJoin [a#0], [b#1], Inner"),
            PlanNode(1, 0, "Exchange", "Exchange hashpartitioning(a#0, 200), ENSURE_REQUIREMENTS"),
            PlanNode(2, 1, "Filter", "Filter (price#2 > 5.0)"),
            PlanNode(3, 2, "Scan parquet", "FileScan parquet Batched: true, Table: orders"),
            PlanNode(4, 0, "Scan parquet", "FileScan parquet Batched: true, Table: nation"),
        ),
        "x",
    ),
    scans=(
        scan_facts("orders", pushed_filters=("GreaterThan(price,5.0)",), funnel=Funnel(total=Size(3, 300, 30))),
        scan_facts("nation", position=1),
    ),
    output=(("id", "bigint", False), ("name", "string", True)),
    planning=Planning((), ()),
)


def planned(world: World) -> Planned:
    return Planned(
        analyzed=normalise_logical(world.analyzed, {}),
        analyzed_text=world.analyzed_text,
        optimized=normalise_logical(world.optimized, {}),
        output=world.output,
        planning=world.planning,
        environment=PlanningEnvironment(tuple(world.settings.items()), tuple(world.environment.items())),
        rulepack=Rulepack(world.batches),
    )


def parts_of(world: World) -> Parts:
    """All parts of the bundle, as observe puts them together."""
    schemas = {t.name: [(c.name, c.type) for c in t.columns] for t in world.tables}
    canonical = canonical_form(world.sql, schemas)
    assert canonical.form == "sqlglot"
    return (
        *planned_parts(planned(world), world.plan, world.scans),
        ("query", canonical.fingerprint),
        ("snapshot", snapshot_hash(world.tables, world.settings)),
        ("contract", contract_hash(contract_of(world.tables))),
    )


def hashes(world: World) -> dict[str, str]:
    parts = parts_of(world)
    pins = tuple(PinnedTable(t.name, t.location, t.table_id, t.version, t.head) for t in world.tables)
    known_as = query_fingerprint(world.query, QuerySource(world.sql))
    inputs = input_fingerprint(
        world.workload, world.query, known_as, pins, world.versions, captured=True, java=world.environment.get("java")
    )
    return {
        **dict(parts),
        "bundle": bundle_hash(parts),
        "canonical plan": canonical_from_analyzed(world.analyzed_text).fingerprint,
        "query text": known_as,
        "inputs": inputs,
    }
