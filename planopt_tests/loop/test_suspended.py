"""A query whose tables outgrew the evidence of its policy: it is suspended, people see it, and it is tried again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.decide import decide as decide_module
from planopt_assets.decide.answer import Answer, no_change
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.loop.decisions import decisions_for
from planopt_assets.loop.run import read_standings, words_of
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.steps import planned_steps
from planopt_assets.loop.verdict_gates import conditions_hold, not_regressed
from planopt_assets.model.conditions import Circumstances
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.workload import Budgets, Query, Table, Workload
from planopt_assets.promote.dependence import conditions_of
from planopt_assets.promote.suspension import NOT_RECORDED
from planopt_assets.promote.transitions import Accept, next_generation
from planopt_assets.report.standing_facts import standing_facts
from planopt_assets.report.why import why_facts
from planopt_assets.store.codecs.deciding import CANDIDATES, DECISIONS, EDGES, VERDICTS
from planopt_assets.store.codecs.forms import dumped
from planopt_assets.store.lineage import promotion_edges
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.rows import FEWER, candidate
from planopt_tests.store.written import WrittenStore

pytestmark = pytest.mark.fast

QUERY = Query("q", sql="SELECT shop, count(*) AS n FROM sales GROUP BY shop", runs_per_day=24)


@pytest.fixture
def written(tmp_path: Path) -> WrittenStore:
    commit(tmp_path, 10)
    tables = (Table("sales", str(tmp_path / "sales")),)
    store = str(tmp_path / "store")
    quiet = Budgets(explore=0.0)
    return WrittenStore(
        Workload("demo", tmp_path / "planopt.yaml", store, tables, (QUERY,), master="local[2]", budgets=quiet)
    )


@pytest.fixture(autouse=True)
def no_rule_proposes(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(evidence: Evidence) -> Answer:
        return no_change("nothing to gain", {})

    monkeypatch.setattr(decide_module, "RULES", (("any_rule", rule),))


def commit(folder: Path, rows: int) -> None:
    values = pa.table({"shop": pa.array(np.arange(rows, dtype=np.int64) * 7919)})
    write_deltalake(folder / "sales", values, mode="append")


def standing(written: WrittenStore, **changes: float) -> Standing:
    return read_standings(replace(written.workload, **changes))["q"]  # type: ignore[arg-type]


def conditions_now(written: WrittenStore) -> str:
    state = Pins().state("sales", str(written.workload.tables[0].path))
    return dumped(conditions_of(FEWER, Circumstances(cores=2, tables=(state,)), ()).facts())


def judge(written: WrittenStore, run_id: str, conditions: str | None) -> None:
    """The policy accepted on the tables as they are, and promoted."""
    found = standing(written)
    planned = candidate(FEWER, input_fingerprint=found.input_fingerprint)
    written.append("candidate_plans", CANDIDATES.to_row(planned), run_id=run_id)
    told = {"candidate_id": planned.id, "conditions": conditions}
    verdict_id = written.judge(found, FEWER, "accept", run_id, **told)
    stored = tuple(Snapshot(written.workload.store, "demo").read(VERDICTS))
    event = Accept(verdict_id, planned.id, found.input_fingerprint, stored)
    promotion = next_generation("demo", "q", found.chain, event)
    written.promote((*found.chain, promotion), run_id)
    for edge in promotion_edges(promotion):
        written.append("lineage", EDGES.to_row(edge), run_id=run_id)


def decide(written: WrittenStore, run_id: str) -> None:
    snapshot = Snapshot(written.workload.store, "demo")
    for decision in decisions_for(written.workload, snapshot, standing(written), standing(written).base):
        written.append("policy_decisions", DECISIONS.to_row(decision), run_id=run_id)


def needs(found: Standing) -> dict[str, str]:
    return {s.stage: s.need for s in planned_steps(found)}


@pytest.fixture
def grown(written: WrittenStore, tmp_path: Path) -> WrittenStore:
    """Promoted on ten rows; now there are two millions, more than what counts as small."""
    written.observe(QUERY, "r1")
    decide(written, "r1")
    judge(written, "r1", conditions_now(written))
    assert (standing(written).suspended, standing(written).state) == ("", "accepted")
    commit(tmp_path, 2_000_000)
    return written


def test_growth_suspends_the_policy_before_anything_ran(grown: WrittenStore) -> None:
    found = standing(grown)
    assert found.suspended.startswith("spark.sql.shuffle.partitions was proven with ")
    assert (found.state, standing_facts(found)["state"], found.active and found.active.state) == (
        *("suspended", "suspended"),
        "accepted",
    )
    assert standing_facts(found)["state_reason"] == found.suspended
    assert [(p.state, p.in_force) for p in found.policies] == [("suspended", True)]


def test_people_see_it_in_gates_words_and_why(grown: WrittenStore) -> None:
    found = standing(grown)
    gate = conditions_hold(found)
    assert (gate.passed, gate.severe, gate.words) == (
        False,
        False,
        f"shuffle.partitions=2 is suspended: {found.suspended}",
    )
    assert not_regressed(found).passed  # it is not worse: nobody knows
    assert words_of(found.chain, found.suspended)["state"] == "suspended"
    facts = why_facts(found)
    assert f"not applied: suspended: {found.suspended}" in facts["in_force"]
    assert facts["depends_on"][0].startswith("spark.sql.shuffle.partitions depends on the size of sales (")


def test_it_comes_back_when_the_size_returns_and_by_a_wider_factor(grown: WrittenStore, tmp_path: Path) -> None:
    assert standing(grown, similar_within=1e6).suspended == ""
    write_deltalake(tmp_path / "sales", pa.table({"shop": pa.array(range(10), pa.int64())}), mode="overwrite")
    assert standing(grown).suspended == ""
    assert conditions_hold(standing(grown)).passed


def test_it_is_tried_again_although_no_rule_proposes_it(grown: WrittenStore) -> None:
    grown.observe(QUERY, "r2")
    decide(grown, "r2")
    found = standing(grown)
    assert not found.proposed
    assert needs(found) == {
        "observe": "done",
        "decide": "done",
        "replan": "needed",
        "validate": "depends",
        "promote": "depends",
    }
    assert found.incumbent(found.tried) == FEWER


def test_a_new_verdict_on_these_inputs_ends_it(grown: WrittenStore) -> None:
    grown.observe(QUERY, "r2")
    decide(grown, "r2")
    judge(grown, "r2", conditions_now(grown))
    decide(grown, "r3")  # what it needs beyond the accepted policy: its trials do not tell
    found = standing(grown)
    assert (found.suspended, needs(found)["replan"], len(found.chain)) == ("", "done", 2)


def test_within_the_factor_nothing_is_suspended_and_nothing_is_tried(written: WrittenStore, tmp_path: Path) -> None:
    written.observe(QUERY, "r1")
    decide(written, "r1")
    judge(written, "r1", conditions_now(written))
    commit(tmp_path, 10)
    written.observe(QUERY, "r2")
    decide(written, "r2")
    found = standing(written)
    assert (found.suspended, found.incumbent(found.tried), needs(found)["replan"]) == ("", None, "off")


def test_a_promotion_from_before_is_not_trusted_and_tried_again(written: WrittenStore, tmp_path: Path) -> None:
    written.observe(QUERY, "r1")
    judge(written, "r1", None)
    assert standing(written).suspended == NOT_RECORDED
    commit(tmp_path, 1)
    written.observe(QUERY, "r2")
    decide(written, "r2")
    found = standing(written)
    assert (found.incumbent(found.tried), needs(found)["replan"]) == (FEWER, "needed")


def test_the_policy_in_force_meets_whatever_is_tried() -> None:
    from planopt_assets.replan.candidates import incumbent

    assert incumbent(FEWER, {"pol_other": "kept"}, suspended=False) == FEWER
    assert incumbent(FEWER, {"pol_other": "dropped"}, suspended=False) is None
    assert incumbent(FEWER, {"pol_other": "kept", FEWER.id: "kept"}, suspended=True) is None
