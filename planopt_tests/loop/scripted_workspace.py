"""A workspace without Spark for the stage that observes, and what it observes: a table, two plans, an environment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.execution.execute import Measured
from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.arm import Arm
from planopt_assets.model.bundle import Planned
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.provenance import PlanningEnvironment, Rulepack
from planopt_assets.model.table_facts import Column, Protocol, TableFacts
from planopt_assets.model.trial import Digest
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store.codecs.codec import AnyCodec
from planopt_assets.store.schemas import TABLES
from planopt_tests.measured import counters
from planopt_tests.rows import Row

ORDERS = TableFacts(
    "orders",
    "/data/orders",
    "id-1",
    12,
    Protocol.of(3, 7, ["deletionVectors"], ["deletionVectors", "appendOnly"]),
    (Column("id", "long", nullable=False), Column("day", "date")),
    statistics_columns=("id",),
    committed_at_ms=1_700_000_000_123,
    files=3,
    bytes=400,
)

ENVIRONMENT = PlanningEnvironment(
    (("spark.sql.adaptive.enabled", "true"),),
    (("cores", "2"), ("delta", "4.4.0"), ("java", "17"), ("python", "3.11"), ("spark", "4.2.0")),
)
RULEPACK = Rulepack((("optimize: once", ("A", "B")), ("plan: strategies", ("C",))))


def chain(phase: str, *operators: str) -> Plan:
    nodes = tuple(PlanNode(i, i - 1, text.split(" ")[0], text) for i, text in enumerate(operators))
    return Plan(phase, nodes, "spark-plan-info@2")


INITIAL = chain("initial", "Sort", "Exchange hashpartitioning(a#0, 200), ENSURE_REQUIREMENTS", "Filter (k#1 = k-93fa)")
FINAL = chain("final", "Sort", "Filter (k#1 = k-93fa)")
DIGEST = Digest(3, "exact", "bits")


SQL = "SELECT id AS a FROM orders"


@dataclass
class Scripted:
    """What the stage needs of a workspace: every execution was planned as it is told, one after the other."""

    workload: Workload
    plannings: list[Planned]
    read: Sequence[TableFacts] = (ORDERS,)

    store = Workspace.store
    pins = Pins()
    capture = SimpleNamespace(tables={})
    first_expression_id = 0
    broadcast_threshold = 0
    cores = 2
    baseline = Arm(ORIGINAL)
    sessions_lost = 0

    def revive(self) -> None:
        pass

    def serving(self, query: Query) -> AbstractContextManager[None]:
        return nullcontext()

    def is_warm(self, query: Query) -> bool:
        return False

    def execute(self, *_: Any, **__: Any) -> Measured:
        return Measured(counters(), DIGEST, FINAL, INITIAL, planned=self.plannings.pop(0))

    def effective_settings(self, names: Iterable[str]) -> dict[str, str]:
        return {"cores": "2"}

    @property
    def tables(self) -> tuple[PinnedTable, ...]:
        return tuple(PinnedTable(t.name, t.location, t.table_id, t.version) for t in self.read)

    def tables_read(self, query: Query, arm: Arm) -> tuple[PinnedTable, ...]:
        return self.tables

    def facts(self, table: PinnedTable) -> TableFacts:
        return next(t for t in self.read if t.name == table.name)


def rows(codec: AnyCodec, nouns: Iterable[Any]) -> list[Row]:
    """The rows of these nouns, which their table takes as they are."""
    found, schema = [codec.to_row(noun) for noun in nouns], TABLES[codec.table]
    assert not {name for row in found for name in row} - set(schema.names)
    pa.Table.from_pylist(found, schema=schema)
    return found
