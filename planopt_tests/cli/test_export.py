"""`planopt export` as a process: without Java, with exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planopt_assets.model.policy import Policy
from planopt_tests.cli.test_cli import NO_JAVA, ok, planopt
from planopt_tests.conftest import make_tables, write_workload_file
from planopt_tests.promoted import chain, promote_by_hand
from planopt_tests.rows import FEWER

pytestmark = pytest.mark.fast

QUERIES = """\
  - {id: by_shop, sql: "SELECT shop, count(*) AS n FROM sales GROUP BY shop"}
  - {id: cities, sql: "SELECT city FROM shops"}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_workload_file(make_tables(tmp_path, files=1), QUERIES)
    promote_by_hand(str(tmp_path / "store"), *chain("by_shop", FEWER))
    return tmp_path


def test_all_queries_go_to_standard_output(folder: Path) -> None:
    done = planopt("export", cwd=folder, env=NO_JAVA)
    assert done.returncode == 0, done.stderr
    assert "SET spark.sql.shuffle.partitions=2;" in done.stdout
    assert "-- cities: original, nothing to set" in done.stdout


def test_one_query_goes_to_a_file(folder: Path) -> None:
    done = planopt("export", "by_shop", "--format", "submit", "--out", "conf.txt", cwd=folder, env=NO_JAVA)
    assert (done.returncode, done.stdout) == (0, "")
    assert "--conf spark.sql.shuffle.partitions=2" in (folder / "conf.txt").read_text()


def test_json_is_one_object(folder: Path) -> None:
    for words in (["--json"], ["--format", "json"]):
        facts = ok(planopt("export", *words, cwd=folder, env=NO_JAVA))
        assert {q["id"]: q["generation"] for q in facts["queries"]} == {"by_shop": 1, "cities": 0}


def test_before_anything_was_promoted_everything_is_original(folder: Path) -> None:
    facts = ok(planopt("export", "cities", "--json", cwd=folder, env=NO_JAVA))
    assert facts["queries"][0]["settings"] == {}


def test_a_query_asked_for_by_name_that_cannot_be_exported_is_an_error(folder: Path) -> None:
    hinted = Policy.of(hints=["broadcast(join0.right shops)"])
    promote_by_hand(str(folder / "store"), *chain("cities", hinted))
    named = planopt("export", "cities", cwd=folder, env=NO_JAVA)
    assert (named.returncode, named.stderr[:7]) == (1, "PLN-504")
    everything = planopt("export", cwd=folder, env=NO_JAVA)
    assert everything.returncode == 0
    assert everything.stderr.startswith("cities is not exported: no text can carry broadcast(join0.right shops)")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["by_shap"], 1, "PLN-501"),
        (["--format", "toml"], 2, "--format"),
        (["--out", "nowhere/x.sql"], 1, "PLN-504"),
    ],
)
def test_a_mistake_is_one_message_and_its_exit_code(folder: Path, words: list[str], code: int, says: str) -> None:
    done = planopt("export", *words, cwd=folder, env=NO_JAVA)
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_chain_is_an_error_and_nothing_is_exported(folder: Path) -> None:
    promote_by_hand(str(folder / "store"), *chain("cities", FEWER), previous_hash="chn_smuggled")
    done = planopt("export", "--json", cwd=folder, env=NO_JAVA)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "PLN-403"
