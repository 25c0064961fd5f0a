"""A folder that cannot be written is one line and exit code 1, before Spark starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planopt_tests.cli.conftest import Planopt

pytestmark = pytest.mark.fast


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Folders that are read-only from now on, also for whoever may write everywhere."""
    folders: list[Path] = []
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) not in folders and real(path, mode))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    return folders


@pytest.mark.parametrize(("place", "what"), [(".", "the store"), (".planopt", "the report")])
def test_a_run_in_a_read_only_folder_does_not_start(
    folder: Path, planopt: Planopt, read_only: list[Path], place: str, what: str
) -> None:
    (folder / ".planopt").mkdir()
    read_only.append(folder / place)
    said = planopt("run")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("PLN-506")
    assert f"{what} cannot be written there" in said.err
    assert planopt("run", "--json").facts["error"]["code"] == "PLN-506"


@pytest.mark.parametrize("command", ["demo", "ui"])
def test_the_demo_is_not_written_into_one(
    tmp_path: Path, planopt: Planopt, read_only: list[Path], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    place = tmp_path / "empty"
    place.mkdir()
    monkeypatch.chdir(place)
    read_only.append(place)
    said = planopt(command)
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f"PLN-506 {place}/.planopt/demo: the demo cannot be written there. "
        "Fix: check permissions and space, or name another folder\n"
    )
    assert not list(place.iterdir())


@pytest.mark.parametrize("home", ["", "elsewhere"])
def test_neither_does_one_whose_dagster_home_is(
    folder: Path, planopt: Planopt, read_only: list[Path], monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    place = folder / home if home else folder / ".planopt" / "dagster"
    place.mkdir(parents=True)
    if home:
        monkeypatch.setenv("DAGSTER_HOME", str(place))
    read_only.append(place)
    for command in ("run", "ui"):
        said = planopt(command, "-w", str(folder / "planopt.yaml"))
        assert said.code == 1
        (line,) = (line for line in said.err.splitlines() if line.startswith("PLN-506"))
        assert "Dagster's storage cannot be written there" in line


def test_a_report_that_cannot_be_written_is_one_line(folder: Path, planopt: Planopt) -> None:
    (folder / ".planopt").write_text("a file where the folder should be")
    said = planopt("report")
    assert (said.code, said.err[:7]) == (1, "PLN-506")
    assert planopt("report", "--output", "planopt.yaml/report.html").err.startswith("PLN-506")


def test_a_store_that_cannot_be_written_is_one_line(folder: Path, planopt: Planopt) -> None:
    (folder / "store").write_text("a file where the folder should be")
    said = planopt("pin", "by_shop", "--set", "spark.sql.shuffle.partitions=2")
    assert (said.code, said.err[:7]) == (1, "PLN-303")
