"""`planopt export` as a process: without Java, with exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from planopt_assets import cli
from planopt_assets.errors import PolicyVetoed
from planopt_assets.job import export
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
    assert everything.stderr.startswith(
        "cities is not exported: broadcast(join0.right shops) cannot be written into the text"
    )


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


def test_queries_are_looked_up_one_after_the_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []
    find = export.exported

    def noted(query: Any, *given: Any) -> Any:
        looked_up.append(query.id)
        return find(query, *given)

    def written(workload: str, queries: Iterator[Any], form: str) -> Iterator[str]:
        for _ in queries:
            yield f"{len(looked_up)} "

    monkeypatch.setattr(export, "exported", noted)
    monkeypatch.setattr(export, "rendered", written)
    done = CliRunner().invoke(cli.app, ["export", "-w", str(folder / "planopt.yaml")], catch_exceptions=False)
    assert done.stdout == "1 2 "


def test_an_error_on_the_way_leaves_nothing_half_written(folder: Path) -> None:
    other = Policy.of({"spark.sql.shuffle.partitions": "8"})
    promote_by_hand(str(folder / "store"), *chain("cities", other))
    done = planopt("export", "--format", "submit", "--out", "conf.txt", cwd=folder, env=NO_JAVA)
    assert (done.returncode, done.stderr[:7]) == (1, "PLN-504")
    assert not (folder / "conf.txt").exists()


def test_line_ends_of_a_text_stay(tmp_path: Path) -> None:
    make_tables(tmp_path, files=1)
    write_workload_file(tmp_path, '  - {id: cities, sql: "SELECT city\\r\\nFROM shops"}')
    assert planopt("export", "--out", "all.sql", cwd=tmp_path, env=NO_JAVA).returncode == 0
    assert b"SELECT city\r\nFROM shops;\n" in (tmp_path / "all.sql").read_bytes()


def test_a_broken_chain_is_an_error_and_nothing_is_exported(folder: Path) -> None:
    promote_by_hand(str(folder / "store"), *chain("cities", FEWER), previous_hash="chn_smuggled")
    done = planopt("export", "--json", cwd=folder, env=NO_JAVA)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "PLN-403"


@pytest.mark.parametrize("words", [["--json"], ["by_shop", "--format", "submit"], ["--format", "python"]])
def test_a_setting_outside_the_catalogue_is_refused_though_the_hashes_fit(folder: Path, words: list[str]) -> None:
    smuggled = Policy.of({"spark.sql.ansi.enabled": "false"})
    promote_by_hand(str(folder / "store"), chain("by_shop", FEWER, smuggled)[1])
    file, out = folder / "planopt.yaml", folder / "all.txt"
    done = CliRunner().invoke(cli.app, ["export", *words, "--out", str(out), "--workload", str(file)])
    assert isinstance(done.exception, PolicyVetoed)
    assert done.exception.what == "generation 2 is not applied: spark.sql.ansi.enabled may change results"
    assert not out.exists()
