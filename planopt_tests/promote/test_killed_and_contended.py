"""Real processes, killed between any two writes or writing at the same moment: promoted exactly once, chain whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import dagster as dg
import pytest
from pyspark.sql import SparkSession

from planopt_assets.defs.instance import dagster_home
from planopt_assets.loop.run import read_standings
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.store.crash_points import EXIT_CODE, OF_POLICIES
from planopt_assets.store.lineage import Node, tree
from planopt_assets.workload import load_workload
from planopt_tests.cli.test_cli import here, ok
from planopt_tests.conftest import make_tables, write_workload_file
from planopt_tests.fresh_python import ROOT
from planopt_tests.one_pass import OnePass
from planopt_tests.promote.lenient_planopt import lenient_planopt as planopt
from planopt_tests.promote.racing_promotion import promote_when_both_are_ready
from planopt_tests.stored_rows import StoredRows
from planopt_tests.without_java import without_java

pytestmark = pytest.mark.e2e

SQL = {
    "by_shop": "SELECT shop, count(*) AS n FROM sales GROUP BY shop",
    "by_note": "SELECT note, count(*) AS n FROM sales GROUP BY note",
    "by_both": "SELECT shop, note, count(*) AS n FROM sales GROUP BY shop, note",
}
QUERIES = "\n".join(f'  - {{id: {query}, sql: "{text}", runs_per_day: 1000}}' for query, text in SQL.items())
PARTITIONS = "spark.sql.shuffle.partitions"
# Where it dies, and what is run. All queries are tried in one go; then one after the other is promoted.
DEATHS: dict[str, tuple[str, ...]] = {
    "after_validate_trials": (),
    "after_validate_verdicts": (),
    "after_promotion_commit": ("by_shop",),
    "after_promote_lineage": ("by_shop", "by_note"),
    "after_promote_event": ("by_both",),
}


def promoted(folder: Path, query: str) -> list[tuple[int, str, str]]:
    """Every generation of the query, read and checked."""
    chain = read_standings(load_workload(folder / "planopt.yaml"))[query].chain
    return [(p.generation, p.state, p.policy.id) for p in chain]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workload whose every run was killed, each one at the next point; the last one with its Spark."""
    folder = make_tables(tmp_path_factory.mktemp("killed"))
    write_workload_file(folder, QUERIES, mode="auto")
    assert tuple(DEATHS) == OF_POLICIES
    commands = [[point, "run", *queries, "--json"] for point, queries in DEATHS.items()]
    done = planopt(json.dumps(commands), cwd=folder, module="planopt_tests.promote.forking_planopt")
    ended = [*map(int, done.stdout.split()), done.returncode]
    assert ended == [EXIT_CODE] * len(commands), (done.stdout, done.stderr)
    return folder


def test_killed_at_every_point_and_started_again_each_policy_is_promoted_exactly_once(
    killed: Path, spark: SparkSession
) -> None:
    facts = here("run", cwd=killed)
    assert {query["id"] for query in facts["queries"]} == set(SQL)
    for query in facts["queries"]:
        assert query["outcome"] == "accept"
        assert promoted(killed, query["id"]) == [(1, "accepted", query["policy_id"])]
    store = StoredRows(str(killed / "store"), "tests")
    edges = Counter((r["child_id"], r["parent_id"]) for r in store.rows("lineage", stage="promote"))
    assert set(edges.values()) == {1}
    assert {child for child, _ in edges} == {f"pro-{query}-g1" for query in SQL}
    for child in {child for child, _ in edges}:
        assert {n.id for n in _all(tree(store, child)) if n.kind == "table"} == {"sales@v5"}
    assert ok(without_java("run", "--json", cwd=killed))["nothing_to_do"]


def test_trials_of_a_run_that_died_before_its_verdict_speak_for_nothing(killed: Path) -> None:
    store = StoredRows(str(killed / "store"), "tests")
    first, second = dict.fromkeys(t["run_id"] for t in store.rows("trials"))
    judged = {trial for v in store.rows("verdicts") for trial in v["trial_ids"]}
    assert {v["run_id"] for v in store.rows("verdicts")} == {second}
    assert {t["run_id"] for t in store.rows("trials") if t["trial_id"] in judged} == {second} != {first}


def test_dagster_learned_of_the_promotion_with_its_state_and_reason(killed: Path) -> None:
    with dg.DagsterInstance.from_config(str(dagster_home(load_workload(killed / "planopt.yaml")))) as instance:
        found = instance.fetch_materializations(dg.AssetKey("active_policies"), limit=10).records
    told = {r.partition_key: r.asset_materialization.metadata for r in found if r.asset_materialization}
    assert (told["by_both"]["generation"].value, told["by_both"]["state"].value) == (1, "accepted")
    assert told["by_both"]["reason"].value


def test_a_person_pins_and_rolls_back_and_only_writing_needs_java(killed: Path, spark: SparkSession) -> None:
    refused = without_java("pin", "by_shop", "--set", "spark.sql.ansi.enabled=false", cwd=killed)
    assert (refused.returncode, refused.stderr[:7]) == (1, "PLN-408")
    assert "may change results" in refused.stderr
    idle = ok(without_java("unpin", "by_shop", "--json", cwd=killed))
    assert (idle["changed"], idle["summary"]) == (False, "no policy is pinned")
    why = ["--reason", "measured elsewhere", "--by", "ada"]
    pinned = here("pin", "by_shop", "--set", f"{PARTITIONS}=4", *why, cwd=killed)
    assert (pinned["generation"], pinned["state"], pinned["reason"]) == (2, "fixed", "measured elsewhere")
    kept = without_java("promote", "by_shop", cwd=killed)
    assert (kept.returncode, kept.stderr[:7]) == (1, "PLN-405")
    assert ok(without_java("run", "--json", cwd=killed))["nothing_to_do"]  # automation leaves it alone
    back = here("rollback", "by_shop", "--to", "original", "--reason", "enough", "--by", "ada", cwd=killed)
    assert back["summary"] == "generation 3 (reverted by ada): original, because enough"
    assert ok(without_java("run", "--json", cwd=killed))["nothing_to_do"]  # nor does it promote that again
    accepted = promoted(killed, "by_shop")[0][2]
    four = Policy.of({PARTITIONS: "4"})
    assert promoted(killed, "by_shop") == [
        (1, "accepted", accepted),
        (2, "fixed", four.id),
        (3, "reverted", ORIGINAL.id),
    ]
    status = next(q for q in ok(without_java("status", "--json", cwd=killed))["queries"] if q["id"] == "by_shop")
    assert (status["state"], status["generation"], status["active_policy"]) == ("reverted", 3, ORIGINAL.facts())
    states = {p["policy_id"]: p["state"] for p in status["policies"]}
    assert (states[accepted], states[four.id]) == ("reverted", "reverted")


def test_of_two_processes_that_promote_at_once_exactly_one_wins_and_the_other_says_so(
    one_pass: OnePass, tmp_path: Path
) -> None:
    one_pass.copied(tmp_path, after="validate")
    file = write_workload_file(tmp_path, QUERIES.splitlines()[0], mode="auto")
    assert promoted(tmp_path, "by_shop") == []
    (tmp_path / "meeting").mkdir()
    command = [sys.executable, "-m", "planopt_tests.promote.racing_promotion", str(file), "by_shop", "one"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as one:
        said = [promote_when_both_are_ready(file, "by_shop", "other"), one.communicate(timeout=300)[0].strip()]
    lost, won = sorted(said)
    assert [words.partition(":")[0] for words in (lost, won)] == ["lost", "won"], said
    assert lost.startswith("lost: PLN-402 query by_shop: somebody else wrote generation 1")
    assert [(number, state) for number, state, _ in promoted(tmp_path, "by_shop")] == [(1, "accepted")]
    assert len(list((tmp_path / "meeting").iterdir())) == 2  # both were about to write


def _all(node: Node) -> list[Node]:
    return [node, *[below for parent in node.parents for below in _all(parent)]]
