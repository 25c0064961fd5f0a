"""The release gate on real plans: what must hold a release back does, and what must not does not."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from planopt_assets.cli import app
from planopt_assets.loop.release.baseline import baseline_of
from planopt_assets.loop.release.gate import Released, ReleaseGate
from planopt_assets.model.redaction import learn, marked_literals
from planopt_assets.model.workload import Knobs, Query
from planopt_tests.conftest import make_tables, workload_of, write_workload_file
from planopt_tests.one_pass import BY_SHOP

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from planopt_tests.one_pass import OnePass

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

FILTERED = "SELECT shop, count(*) AS n FROM sales WHERE id < 200 GROUP BY shop"
JOINED = "SELECT a.id FROM sales a JOIN sales b ON a.id = b.id"
DISTINCT = "SELECT shop, count(DISTINCT id) AS n FROM sales GROUP BY shop"
# The same result from 3,000 times the rows.
REPEATED = (
    "SELECT shop, count(DISTINCT id) AS n FROM"
    " (SELECT s.* FROM sales s CROSS JOIN (SELECT explode(sequence(1, 3000)) AS k)) GROUP BY shop"
)


def gated(folder: Path, before: str, after: str, *, run: bool = False, **changes: object) -> Released:
    old = workload_of(folder, [Query("q", sql=before)])
    new = replace(workload_of(folder, [Query("q", sql=after)]), **changes)
    (answer,) = ReleaseGate(old, new, run=run).answers()
    return answer


def kinds(answer: Released, severity: str) -> set[str]:
    return {f.kind for f in answer.findings if f.severity == severity}


def test_another_predicate_passes_and_its_plan_is_shown(unchanging_tables: Path) -> None:
    answer = gated(unchanging_tables, FILTERED, FILTERED.replace("< 200", "< 250"))
    assert (answer.outcome, answer.words) == ("passed", "predicate: id < 200 -> id < 250")
    assert "scan of sales is handed" in answer.plan_diff


def test_a_lost_pushdown_fails_and_names_predicate_and_fix(unchanging_tables: Path) -> None:
    answer = gated(unchanging_tables, FILTERED, FILTERED.replace("id < 200", "abs(id) < 200"))
    assert "pushdown" in kinds(answer, "error")
    (lost,) = [f for f in answer.findings if f.kind == "pushdown"]
    assert lost.words.startswith("sales: ")
    assert "abs(id" in lost.words


def test_a_lost_join_condition_fails_by_the_cost_model(unchanging_tables: Path) -> None:
    slower = JOINED.replace("a.id = b.id", "a.id <= b.id AND b.id <= a.id")
    assert kinds(gated(unchanging_tables, JOINED, slower), "error") == {"cost"}
    assert gated(unchanging_tables, slower, JOINED).outcome == "passed"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT shop FROM sales WHERE id < 200 GROUP BY shop", "column n is gone from the result"),
        (FILTERED.replace("count(*)", "sum(1.5)"), "column n was bigint and is decimal(12,1)"),
    ],
)
def test_a_lost_or_changed_column_fails(unchanging_tables: Path, text: str, words: str) -> None:
    answer = gated(unchanging_tables, FILTERED, text)
    assert words in [f.words for f in answer.findings if f.severity == "error"]


def test_a_query_that_cannot_be_planned_fails_and_a_mended_one_does_not(unchanging_tables: Path) -> None:
    broken = FILTERED.replace("shop", "shoop")
    assert kinds(gated(unchanging_tables, FILTERED, broken), "error") == {"refused"}
    mended = gated(unchanging_tables, broken, FILTERED)
    assert mended.outcome == "warned"  # a person should know that nothing was compared
    assert "nothing is compared" in mended.findings[0].words


def test_no_answer_holds_a_secret(unchanging_tables: Path) -> None:
    """Edits and plans show literals, and the answer goes into pull requests."""
    secret = "SELECT id FROM sales WHERE item = /* secret */ 'k-93fa-{n}'"
    old, new = secret.format(n="old"), secret.format(n="new")
    learn([*marked_literals(old), *marked_literals(new)])
    answer = gated(unchanging_tables, old, new)
    assert "predicate" in answer.words
    assert "k-93fa" not in str(answer.facts())


@pytest.mark.parametrize("pinned", [False, True], ids=["set", "pinned"])
def test_each_side_has_the_settings_of_its_own_file(unchanging_tables: Path, pinned: bool) -> None:
    old = workload_of(unchanging_tables, [Query("q", sql=FILTERED)])
    seven = (("spark.sql.shuffle.partitions", "7"),)
    changed = {"knobs": Knobs(pin=seven)} if pinned else {"spark_settings": (*old.spark_settings, *seven)}
    old = replace(old, **changed)  # type: ignore[arg-type]
    (answer,) = ReleaseGate(old, workload_of(unchanging_tables, [Query("q", sql=FILTERED)])).answers()
    assert "Exchange hashpartitioning 7\n" in answer.plan_diff
    assert "Exchange hashpartitioning 200" in answer.plan_diff


def test_a_slower_rewrite_fails_and_a_faster_one_passes_when_both_are_run(unchanging_tables: Path) -> None:
    slower = gated(unchanging_tables, DISTINCT, REPEATED, run=True)
    assert "measured" in kinds(slower, "error"), slower.findings
    faster = gated(unchanging_tables, REPEATED, DISTINCT, run=True)
    assert faster.outcome == "passed", faster.findings
    assert faster.gain is not None
    assert faster.gain.ratio < 1


def test_another_result_is_told_and_is_no_regression(unchanging_tables: Path) -> None:
    answer = gated(unchanging_tables, FILTERED, FILTERED.replace("< 200", "< 201"), run=True)
    assert "results" in kinds(answer, "warning")
    assert not kinds(answer, "error")


def test_a_store_is_a_baseline_too(one_pass: OnePass, tmp_path: Path) -> None:
    seen = one_pass.copied(tmp_path, after="observe")
    respelled = replace(BY_SHOP, sql="select shop , COUNT(*) n from sales group by shop")
    dropped = replace(BY_SHOP, sql="SELECT shop FROM sales GROUP BY shop")
    for query, expected in ((respelled, "passed"), (dropped, "failed")):
        after = replace(seen, queries=(query,), store=str(tmp_path / "fresh"))
        with baseline_of(after, seen.store) as before:
            (answer,) = ReleaseGate(before, after).answers()
        assert answer.outcome == expected, answer


def test_the_command_exits_with_3_and_writes_for_people_and_for_ci(tmp_path: Path, spark: SparkSession) -> None:
    folder = make_tables(tmp_path)
    file = write_workload_file(folder, f"  - id: q\n    sql: {FILTERED}\n  - id: other\n    sql: {JOINED}")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "planopt.yaml"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    planopt = CliRunner()
    nothing = planopt.invoke(app, ["gate", "-w", str(file)])
    assert (nothing.exit_code, nothing.stdout) == (0, "release gate: no query changed\n")
    file.write_text(file.read_text().replace("id < 200", "abs(id) < 200"))
    written = ["--markdown", str(tmp_path / "said.md"), "--junit", str(tmp_path / "said.xml")]
    failed = planopt.invoke(app, ["gate", "-w", str(file), "--json", *written])
    assert failed.exit_code == 3, failed.output
    facts = json.loads(failed.stdout)
    assert [(q["query_id"], q["outcome"]) for q in facts["queries"]] == [("q", "failed"), ("other", "passed")]
    assert "`q` | ❌ regression" in (tmp_path / "said.md").read_text()
    assert 'failures="1"' in (tmp_path / "said.xml").read_text()
