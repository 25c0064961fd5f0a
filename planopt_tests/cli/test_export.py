"""`planopt export`: as a process without Java once, and its forms, files and exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from planopt_assets import cli
from planopt_assets.errors import PolicyVetoed
from planopt_assets.job import export
from planopt_assets.model.policy import Policy
from planopt_tests.cli.conftest import Planopt
from planopt_tests.cli.test_cli import NO_JAVA
from planopt_tests.cli.test_cli import planopt as process
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
    done = process("export", cwd=folder, env=NO_JAVA)
    assert done.returncode == 0, done.stderr
    assert "SET spark.sql.shuffle.partitions=2;" in done.stdout
    assert "-- cities: original, nothing to set" in done.stdout


def test_one_query_goes_to_a_file(folder: Path, planopt: Planopt) -> None:
    done = planopt("export", "by_shop", "--format", "submit", "--out", "conf.txt")
    assert (done.code, done.out) == (0, "")
    assert "--conf spark.sql.shuffle.partitions=2" in (folder / "conf.txt").read_text()


def test_json_is_one_object(planopt: Planopt) -> None:
    for words in (["--json"], ["--format", "json"]):
        done = planopt("export", *words)
        assert done.code == 0, done.err
        assert {q["id"]: q["generation"] for q in done.facts["queries"]} == {"by_shop": 1, "cities": 0}


def test_before_anything_was_promoted_everything_is_original(planopt: Planopt) -> None:
    done = planopt("export", "cities", "--json")
    assert done.code == 0, done.err
    assert done.facts["queries"][0]["settings"] == {}


def test_a_query_asked_for_by_name_that_cannot_be_exported_is_an_error(folder: Path, planopt: Planopt) -> None:
    hinted = Policy.of(hints=["broadcast(join0.right shops)"])
    promote_by_hand(str(folder / "store"), *chain("cities", hinted))
    named = planopt("export", "cities")
    assert (named.code, named.err[:7]) == (1, "PLN-504")
    everything = planopt("export")
    assert everything.code == 0
    assert everything.err.startswith(
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
def test_a_mistake_is_one_message_and_its_exit_code(planopt: Planopt, words: list[str], code: int, says: str) -> None:
    done = planopt("export", *words)
    assert done.code == code
    assert says in done.err
    assert "Traceback" not in done.err


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


def test_an_error_on_the_way_leaves_nothing_half_written(folder: Path, planopt: Planopt) -> None:
    other = Policy.of({"spark.sql.shuffle.partitions": "8"})
    promote_by_hand(str(folder / "store"), *chain("cities", other))
    done = planopt("export", "--format", "submit", "--out", "conf.txt")
    assert (done.code, done.err[:7]) == (1, "PLN-504")
    assert not (folder / "conf.txt").exists()


def test_line_ends_of_a_text_stay(folder: Path, planopt: Planopt) -> None:
    write_workload_file(folder, '  - {id: cities, sql: "SELECT city\\r\\nFROM shops"}')
    assert planopt("export", "--out", "all.sql").code == 0
    assert b"SELECT city\r\nFROM shops;\n" in (folder / "all.sql").read_bytes()


def test_a_broken_chain_is_an_error_and_nothing_is_exported(folder: Path, planopt: Planopt) -> None:
    promote_by_hand(str(folder / "store"), *chain("cities", FEWER), previous_hash="chn_smuggled")
    done = planopt("export", "--json")
    assert done.code == 1
    assert done.facts["error"]["code"] == "PLN-403"


@pytest.mark.parametrize("words", [["--json"], ["by_shop", "--format", "submit"], ["--format", "python"]])
def test_a_setting_outside_the_catalogue_is_refused_though_the_hashes_fit(folder: Path, words: list[str]) -> None:
    smuggled = Policy.of({"spark.sql.ansi.enabled": "false"})
    promote_by_hand(str(folder / "store"), chain("by_shop", FEWER, smuggled)[1])
    file, out = folder / "planopt.yaml", folder / "all.txt"
    done = CliRunner().invoke(cli.app, ["export", *words, "--out", str(out), "--workload", str(file)])
    assert isinstance(done.exception, PolicyVetoed)
    assert done.exception.what == "generation 2 is not applied: spark.sql.ansi.enabled may change results"
    assert not out.exists()
