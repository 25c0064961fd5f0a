"""Every field of the rows that a policy rests on, replaced by what planopt never writes.

Whatever is asked of such a store, there is an answer or an error that names table, column and query. No policy is in
force that was not proven.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.engine.delta.pins import Pins
from planopt_assets.errors import PlanoptError, RowDamaged
from planopt_assets.job.in_force import read_in_force
from planopt_assets.loop.agenda import agenda_of
from planopt_assets.loop.decisions import decisions_for
from planopt_assets.loop.gates import evaluate
from planopt_assets.loop.markdown import verdict_markdown
from planopt_assets.loop.run import read_standings
from planopt_assets.loop.stages.promote import accept_event, chosen
from planopt_assets.loop.standing import Standing
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query, Table, Workload
from planopt_assets.promote.transitions import next_generation
from planopt_assets.report.diff import diff_facts
from planopt_assets.report.standing_facts import standing_facts
from planopt_assets.report.why import why_facts
from planopt_assets.store.codecs.deciding import CANDIDATES, DECISIONS, VERDICTS
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.promoted import chain
from planopt_tests.rows import FEWER, candidate
from planopt_tests.store.written import WrittenStore
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast

QUERY = Query("q", sql="SELECT shop, count(*) AS n FROM sales WHERE shop < 5 GROUP BY shop", runs_per_day=24)
DAMAGED = ("active_policies", "verdicts", "policy_decisions", "candidate_plans")
SMUGGLED = Policy.of({"spark.sql.ansi.enabled": "false"}).to_json()

TEXTS = [None, "", "{no json", "\x1b[31m"]
VALUES: dict[str, list[Any]] = {
    "string": TEXTS,
    "int64": [None, -1, 0, 2**62],
    "int32": [None, -1, 0],
    "double": [None, float("nan"), float("-inf")],
    "bool": [None, True, False],
    "list<element: string>": [None, [], [None], ["ver-forged"]],
    "timestamp[us, tz=UTC]": [None, datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)],
}
JSON = {"policy", "policy_before", "policy_after", "criteria", "arithmetic"}
DOCUMENTS = [
    *("null", "7", '"x"', "[1]", "{}", "[" * 100_000, SMUGGLED),
    *('{"settings": {"a": 1}, "hints": []}', '{"settings": [], "hints": []}', '{"settings": {}, "hints": "cnf"}'),
    *('{"settings": {}, "hints": [7]}', '{"settings": {}, "hints": [], "rewrites": {"a": 1}}'),
    *('[{"name": "results_equal"}]', '[{"name": "x", "passed": 1, "baseline": null, "candidate": null}]'),
    '{"saving_cpu_ns_per_run": "many"}',
]
CASES = [(table, field.name) for table in DAMAGED for field in TABLES[table]]
Rows = dict[str, list[dict[str, Any]]]


def values(table: str, column: str) -> list[Any]:
    """What is put into a column: nulls, and everything that its type allows and planopt does not mean."""
    known = VALUES[str(TABLES[table].field(column).type).replace("item", "element")]
    return [*known, *DOCUMENTS] if column in JSON else known


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workload, Rows]:
    """A query with a policy in force, as a run leaves it: the workload, and all rows by table."""
    folder = tmp_path_factory.mktemp("damaged")
    write_deltalake(folder / "sales", pa.table({"shop": pa.array([1, 2], pa.int64())}))
    tables = (Table("sales", str(folder / "sales")),)
    workload = Workload("demo", folder / "planopt.yaml", str(folder / "store"), tables, (QUERY,), master="local[2]")
    store = WrittenStore(replace(workload, mode="auto"))
    inputs = store.observe(QUERY, "r1")
    snapshot = Snapshot(workload.store, "demo")
    standing = read_standings(workload)["q"]
    for decision in decisions_for(workload, snapshot, standing):
        store.append("policy_decisions", DECISIONS.to_row(decision), run_id="r1")
    planned = replace(candidate(FEWER), input_fingerprint=inputs, plan_fingerprint="pln_2", topology_hash="top_2")
    store.append("candidate_plans", CANDIDATES.to_row(planned), run_id="r1")
    verdict_id = store.judge(standing, FEWER, "accept", "r1", candidate_id=planned.id)
    (promotion,) = chain("q", FEWER, workload="demo")
    promotion = replace(promotion, verdict_id=verdict_id, candidate_id=planned.id, input_fingerprint=inputs)
    store.promote((promotion,), "r1")
    stored = StoredRows(workload.store, "demo")
    return workload, {name: stored.rows(name) for name in TABLES}


def standing_of(workload: Workload, store: Snapshot) -> Standing:
    return read_standings(workload, Pins(), snapshot=store)["q"]


Ask = Callable[[Workload, Snapshot, Standing], object]
ASKED: dict[str, Ask] = {
    "status": lambda w, store, standing: json.dumps(standing_facts(standing), default=str),
    "why": lambda w, store, standing: json.dumps(why_facts(standing), default=str),
    "diff": lambda w, store, standing: diff_facts(standing, store.read(CANDIDATES)),
    "check": lambda w, store, standing: evaluate(["q"], store, {"q": standing}),
    "plan": lambda w, store, standing: list(agenda_of(w, store, {"q": standing}, ["q"]).facts()),
    "decide": lambda w, store, standing: decisions_for(w, store, standing),
    "verdicts": lambda w, store, standing: [verdict_markdown(v.policy, v.judgement) for v in standing.past_verdicts],
}


def promoted_by(workload: Workload, store: Snapshot, standing: Standing) -> Policy | None:
    """What a person's `promote` would put in force where the chain has nothing yet."""
    bare = replace(standing, chain=())
    verdict = chosen(bare, by_hand=True)
    if verdict is None:
        return None
    event = accept_event(bare, verdict, store.read(VERDICTS, query_id="q"), workload.knobs, by_hand=True)
    return next_generation("demo", "q", (), event).policy


def answers(workload: Workload, tables: Rows, asked: dict[str, Ask]) -> dict[str, object]:
    """Everything that is asked of a store, with its answer. Only planopt's own errors are one."""
    store = _Stored(**tables)
    try:
        standing = standing_of(workload, store)
    except PlanoptError as error:
        return dict.fromkeys(asked, error)
    return {name: _answer(partial(ask, workload, store, standing)) for name, ask in asked.items()}


def _answer(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except PlanoptError as error:
        return error


@pytest.mark.parametrize(("table", "column"), CASES)
def test_a_damaged_field_is_an_answer_or_an_error_that_names_it(
    whole: tuple[Workload, Rows], table: str, column: str
) -> None:
    workload, rows = whole
    for value in values(table, column):
        tables = {**rows, table: [{**rows[table][0], column: value}]}
        found = answers(workload, tables, {**ASKED, "promote": promoted_by})
        for name, answer in found.items():
            if isinstance(answer, RowDamaged):
                told = (answer.table, column in answer.column.split(", "), answer.query_id)
                assert told == (table, True, tables[table][0]["query_id"] or ""), (name, value)
        assert found["promote"] in (None, FEWER) or isinstance(found["promote"], PlanoptError), value
        applied = read_in_force(workload, "q", timeout_s=60, open_store=lambda *_, t=tables: _Stored(**t))
        assert applied.policy in (ORIGINAL, FEWER), value
        assert applied.failure is None or applied.failure.code != "PLN-000", applied.reason


@pytest.mark.parametrize("column", ["policy", "state", "reason", "generation", "previous_hash", "schema_version"])
def test_a_promotion_without_a_field_is_not_applied(whole: tuple[Workload, Rows], column: str) -> None:
    workload, rows = whole
    tables = {**rows, "active_policies": [{**rows["active_policies"][0], column: None}]}
    found = read_in_force(workload, "q", timeout_s=60, open_store=lambda *_: _Stored(**tables))
    assert found.policy == ORIGINAL
    assert found.reason.startswith("PLN-403 table active_policies: generation 1 of query 'q' cannot be read")
    assert f"column {column} of table active_policies, stored by run r1: it is null" in found.reason
    assert found.observable


class _Stored(MemorySnapshot):
    """Rows as files hold them: only those of this workload are found."""

    def table(self, name: str, columns: list[str] | None = None, **wanted: Any) -> pa.Table:
        return super().table(name, columns, workload="demo", **wanted)


def test_the_store_that_is_damaged_here_is_sound(whole: tuple[Workload, Rows]) -> None:
    workload, rows = whole
    found = answers(workload, rows, {**ASKED, "promote": promoted_by})
    assert not [answer for answer in found.values() if isinstance(answer, PlanoptError)]
    assert found["promote"] == FEWER
    assert read_in_force(workload, "q", timeout_s=60, open_store=lambda *_: _Stored(**rows)).policy == FEWER
