"""The five stages over a real store: rows land once, lead back to their sources, and a killed run goes on."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from planopt_assets.errors import PromotionConflict, PromotionRefused, RowNotFound
from planopt_assets.loop.accept import accept_topology
from planopt_assets.loop.decisions import decisions_for
from planopt_assets.loop.run import read_standings
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.promote import accept_event, promote
from planopt_assets.loop.stages.validate import validate
from planopt_assets.loop.step import STAGES as STAGE_NAMES
from planopt_assets.loop.steps import step
from planopt_assets.model.automation import TrialWindow
from planopt_assets.model.workload import Query, Workload
from planopt_assets.promote.transitions import next_generation
from planopt_assets.store import writer
from planopt_assets.store.lineage import Node, tree
from planopt_assets.store.schemas import ABOUT_TABLES, SCHEMA_VERSION, TABLES
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.one_pass import BY_SHOP, STAGES, OnePass, new_run, run_all
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.spark

QUERIES = [
    BY_SHOP,
    Query("cities", sql="SELECT city FROM shops WHERE shop = 3", runs_per_day=1000),
    Query("forbidden", sql="SELECT reflect('java.lang.System', 'getProperty', 'user.name') AS me FROM shops"),
    Query("broken", sql="SELECT nowhere FROM sales"),
]
IDS = [q.id for q in QUERIES]
OF_QUERIES = [name for name in TABLES if name not in ABOUT_TABLES]


SAID_AND_DONE: list[tuple[str, set[str], set[str]]] = []
"""Of each stage of the pass below: the queries that needed it as `planopt plan` would say, and those it worked on."""


@pytest.fixture(scope="module")
def done(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Workload:
    """A workload after one whole pass in mode auto; tests that use it only read."""
    folder = make_tables(tmp_path_factory.mktemp("loop"))
    workload = workload_of(folder, QUERIES, mode="auto", capture="debug")
    run = new_run(workload)
    SAID_AND_DONE.clear()
    for name, stage in zip(STAGE_NAMES, STAGES, strict=True):
        found = read_standings(workload, run.workspace.pins)
        results = stage(run, IDS)
        said = {q for q in IDS if step(found[q], name).needed}
        SAID_AND_DONE.append((name, said, {r.query_id for r in results if r.changed}))
    accept_topology(run, "by_shop", "looked at it")
    return workload


@pytest.fixture
def fresh(spark: SparkSession, tables: Path) -> Workload:
    return workload_of(tables, QUERIES[:1], mode="auto")


@pytest.fixture
def judged(one_pass: OnePass, tmp_path: Path) -> Workload:
    """Accepted by a run in mode advise: nothing is promoted."""
    return replace(one_pass.copied(tmp_path, after="validate"), mode="advise")


def test_each_stage_did_what_the_plan_said(done: Workload) -> None:
    assert [(name, done) for name, _, done in SAID_AND_DONE] == [(name, said) for name, said, _ in SAID_AND_DONE]
    assert [len(said) for _, said, _ in SAID_AND_DONE] == [4, 4, 1, 1, 1]


def test_each_kind_of_query_ends_as_it_must(done: Workload) -> None:
    standings = read_standings(done)
    assert {q: s.outcome for q, s in standings.items()} == {
        "by_shop": "accept",
        "cities": "no_change",
        "forbidden": "refused",
        "broken": "cannot_tell",
    }
    assert standings["cities"].reason == "no shuffle takes its partition count from the setting"
    assert "PLN-101" in standings["forbidden"].reason
    assert "UNRESOLVED_COLUMN" in standings["broken"].reason
    active = standings["by_shop"].active
    assert active is not None
    assert dict(active.policy.settings) == {"spark.sql.shuffle.partitions": "2"}


def test_delta_rs_and_spark_read_the_same_rows_from_every_table(done: Workload, spark: SparkSession) -> None:
    reader = StoredRows(done.store, done.name)
    for name in OF_QUERIES:
        by_spark = spark.read.format("delta").load(f"{done.store}/{name}")
        assert by_spark.count() == reader.table(name).num_rows > 0, name
        assert by_spark.columns == TABLES[name].names


def test_every_row_says_where_it_belongs(done: Workload) -> None:
    reader = StoredRows(done.store, done.name)
    for name in OF_QUERIES:
        for row in reader.rows(name):
            assert (row["workload"], row["schema_version"]) == ("tests", SCHEMA_VERSION)
            assert row["query_id"] in IDS
            assert row["run_id"]
            assert row["recorded_at"] is not None


def test_a_stage_lands_in_one_commit_per_table(done: Workload) -> None:
    reader = StoredRows(done.store, done.name)
    commits = {name: reader.version(name) + 1 for name in OF_QUERIES}
    # The rules are asked a second time, about the policy that was accepted.
    assert commits == dict.fromkeys(OF_QUERIES, 1) | {"runtime_counters": 2, "policy_decisions": 2, "lineage": 6}


def test_an_active_policy_leads_to_verdict_trials_decision_observation_and_tables(done: Workload) -> None:
    active = read_standings(done)["by_shop"].active
    assert active is not None
    root = tree(Snapshot(done.store, done.name), active.id)
    kinds = {"promotion", "verdict", "candidate", "trial", "decision", "observation", "table"}
    assert {n.kind for n in _all(root)} == kinds
    assert {n.id for n in _all(root) if n.kind == "table"} == {"sales@v5"}


def test_an_unknown_row_has_no_lineage(done: Workload) -> None:
    with pytest.raises(RowNotFound, match="PLN-304"):
        tree(Snapshot(done.store, done.name), "ver-nothing")


def test_unchanged_inputs_leave_nothing_to_do_and_start_no_session(done: Workload) -> None:
    before = {name: StoredRows(done.store, done.name).version(name) for name in OF_QUERIES}
    steady = [q for q in IDS if q != "broken"]
    run = run_all(done, steady)
    assert all(run.standings()[q].settled for q in steady)
    assert not run.workspace.started
    assert {name: StoredRows.of(run).version(name) for name in OF_QUERIES} == before


def test_decide_on_stored_rows_gives_the_same_bytes(done: Workload) -> None:
    rows = StoredRows(done.store, done.name)
    for query_id, standing in read_standings(done).items():
        bases = [None, standing.base] if standing.base else [None]
        again = [d for base in bases for d in decisions_for(done, Snapshot(done.store, done.name), standing, base)]
        stored = rows.rows("policy_decisions", query_id=query_id)
        assert [d.id for d in again] == [d["decision_id"] for d in stored], query_id
        assert [json.dumps(dict(d.arithmetic)) for d in again] == [d["arithmetic"] for d in stored]
        assert [d.reason for d in again] == [d["reason"] for d in stored]


def test_new_rows_in_a_table_reopen_only_the_queries_that_read_it(done: Workload, tmp_path: Path) -> None:
    shutil.copytree(done.file.parent, tmp_path, dirs_exist_ok=True)
    workload = workload_of(tmp_path, QUERIES[:2], mode="auto")
    assert {q: s.settled for q, s in read_standings(workload).items()} == {"by_shop": True, "cities": True}
    make_tables(tmp_path, files=1)  # one more commit to sales and to shops
    settled = {q: s.settled for q, s in read_standings(workload).items()}
    assert settled == {"by_shop": False, "cities": False}
    run_all(workload, ["cities"])
    settled = {q: s.settled for q, s in read_standings(workload).items()}
    assert settled == {"by_shop": False, "cities": True}


def test_advise_stops_before_promotion_and_a_person_may_promote(judged: Workload) -> None:
    (result,) = promote(new_run(judged), ["by_shop"])
    assert result.summary == "accepted, waiting for a person: planopt promote by_shop"
    assert read_standings(judged)["by_shop"].active is None
    promote(replace(new_run(judged), by_hand=True), ["by_shop"])
    active = read_standings(judged)["by_shop"].active
    assert active is not None
    assert active.generation == 1


def test_a_query_only_looked_at_goes_on_when_the_mode_allows_more(fresh: Workload) -> None:
    looked = replace(fresh, mode="observe")
    run_all(looked, ["by_shop"])
    standing = read_standings(looked)["by_shop"]
    assert (standing.outcome, standing.settled, standing.decisions, standing.active) == ("no_change", True, [], None)
    assert "only looks" in standing.reason
    run = run_all(fresh, ["by_shop"])
    assert run.standings()["by_shop"].outcome == "accept"
    assert StoredRows.of(run).version("plan_artifacts") == 0  # observed once


def test_a_refused_query_is_looked_at_again_when_its_table_is_registered(spark: SparkSession, tables: Path) -> None:
    query = Query("shops_by_path", sql=f"SELECT city FROM delta.`{tables}/data/shops` VERSION AS OF 0")
    whole = workload_of(tables, [query])
    partial = replace(whole, tables=tuple(t for t in whole.tables if t.name == "sales"))
    run_all(partial, ["shops_by_path"])
    refused = read_standings(partial)["shops_by_path"]
    assert (refused.outcome, refused.settled) == ("refused", True)
    assert not read_standings(whole)["shops_by_path"].settled
    run_all(whole, ["shops_by_path"])
    assert read_standings(whole)["shops_by_path"].outcome == "no_change"


def test_a_query_that_failed_is_tried_again_by_every_run(done: Workload) -> None:
    broken = read_standings(done)["broken"]
    assert (broken.outcome, broken.settled) == ("cannot_tell", False)


def test_a_commit_during_a_run_does_not_exist_for_it(fresh: Workload, tables: Path) -> None:
    run = new_run(fresh)
    observe(run, ["by_shop"])
    make_tables(tables, files=1)
    for stage in STAGES[1:]:
        stage(run, ["by_shop"])
    assert run.standings()["by_shop"].outcome == "accept"
    assert read_standings(fresh)["by_shop"].outcome == "not_run"


def test_when_the_budget_of_the_run_is_spent_the_rest_is_left_for_the_next_run(
    one_pass: OnePass, tmp_path: Path
) -> None:
    planned = one_pass.copied(tmp_path, after="replan")
    run = new_run(planned)
    run.workspace.started_at -= planned.budgets.per_run
    (result,) = validate(run, ["by_shop"])
    assert result.summary == "the run's budget is spent: left for the next run"
    assert run.standings()["by_shop"].unjudged
    run_all(planned, ["by_shop"])
    assert read_standings(planned)["by_shop"].outcome == "accept"


def test_outside_the_hours_of_trials_a_query_is_left_for_a_run_at_night(one_pass: OnePass, tmp_path: Path) -> None:
    planned = replace(one_pass.copied(tmp_path, after="replan"), trial_window=TrialWindow(22, 6))
    run = replace(new_run(planned), now=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))
    (result,) = validate(run, ["by_shop"])
    assert result.summary == "trials run from 22:00 to 06:00 (UTC): left for a run at that time"
    assert not run.standings()["by_shop"].past_verdicts
    assert run.standings()["by_shop"].unjudged


def test_promotion_by_hand_is_refused_without_an_accepted_verdict(done: Workload) -> None:
    run = replace(new_run(done), by_hand=True)
    for query_id in ("cities", "forbidden", "broken"):
        with pytest.raises(PromotionRefused, match="PLN-401"):
            promote(run, ["by_shop", query_id])
    assert read_standings(done)["by_shop"].active.generation == 1  # type: ignore[union-attr]


def test_a_verdict_on_older_inputs_is_stale(judged: Workload, tmp_path: Path) -> None:
    make_tables(tmp_path, files=1)
    with pytest.raises(PromotionRefused, match="not run on these inputs yet"):
        promote(replace(new_run(judged), by_hand=True), ["by_shop"])


def test_the_same_rows_appended_twice_by_one_run_are_there_once(done: Workload, spark: SparkSession) -> None:
    row = {
        "query_id": "by_shop",
        "child_id": "x",
        "child_kind": "t",
        "parent_id": "y",
        "parent_kind": "t",
        "stage": "s",
    }
    for _ in range(2):
        writer.append(
            lambda: spark, f"{done.store}-twice", workload="tests", run_id="r1", stage="s", rows={"lineage": [row]}
        )
    assert StoredRows(f"{done.store}-twice", "tests").table("lineage").num_rows == 1


def test_of_two_promotions_of_one_generation_exactly_one_wins(judged: Workload) -> None:
    run = new_run(judged)
    standing = run.standings()["by_shop"]
    assert standing.best is not None
    event = accept_event(standing, standing.best, standing.verdicts, judged.knobs, by_hand=True)
    first = next_generation("tests", "by_shop", (), event)
    run.store.commit(first, "run-1")
    with pytest.raises(PromotionConflict, match="PLN-402"):
        run.store.commit(first, "run-2")
    assert StoredRows.of(run).table("active_policies").num_rows == 1


def test_an_edited_promotion_breaks_the_chain(one_pass: OnePass, tmp_path: Path, spark: SparkSession) -> None:
    promoted = one_pass.copied(tmp_path, after="promote")
    assert read_standings(promoted)["by_shop"].active is not None
    path = f"{promoted.store}/active_policies"
    stored = spark.read.format("delta").load(path)
    edited = stored.withColumn("policy", F.lit('{"settings":{},"hints":[],"layouts":[]}')).localCheckpoint()
    edited.write.format("delta").mode("overwrite").save(path)
    broken = read_standings(promoted)["by_shop"]
    assert (broken.outcome, broken.active, broken.settled) == ("broken", None, True)
    assert broken.reason.startswith("PLN-403 table active_policies: generation 1 of query 'by_shop' does not follow")


@pytest.mark.parametrize("after", ["observe", "decide_queries", "replan"])  # later: promote/test_killed_and_contended
def test_killed_at_any_commit_and_run_again_it_is_promoted_exactly_once(
    one_pass: OnePass, tmp_path: Path, after: str
) -> None:
    """The store at the moment of death is what the stage left; of the process that died nothing else is there."""
    promoted_once(one_pass.copied(tmp_path, after=after))


def test_killed_within_a_stage_nothing_more_is_written_and_run_again_it_is_promoted_exactly_once(
    fresh: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, made = writer.write, []

    def dying(*args: object, **kwargs: object) -> None:
        if made:
            raise KeyboardInterrupt("killed")
        made.append(args)
        real(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(writer, "write", dying)
    with pytest.raises(KeyboardInterrupt):
        run_all(fresh, ["by_shop"])
    monkeypatch.undo()
    assert len([table for table in Path(fresh.store).iterdir() if not table.name.startswith("_")]) == 1
    promoted_once(fresh)


def promoted_once(workload: Workload) -> None:
    run_all(workload, ["by_shop"])
    standing = read_standings(workload)["by_shop"]
    assert (standing.outcome, standing.settled) == ("accept", True)
    assert standing.active is not None
    assert standing.active.generation == 1
    root = tree(StoredRows(workload.store, workload.name), standing.active.id)
    assert {n.id for n in _all(root) if n.kind == "table"} == {"sales@v5"}


def _all(node: Node) -> list[Node]:
    return [node, *[below for parent in node.parents for below in _all(parent)]]
