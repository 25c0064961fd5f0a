"""A file with many mistakes is reported once, whole, in an order a person can follow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planopt_assets.errors import WorkloadError, WorkloadErrors
from planopt_assets.workload import load_workload, yaml_reader
from planopt_tests.workload.conftest import RIGHT

pytestmark = pytest.mark.fast

GOLDEN = Path(__file__).parent / "golden"
MistakesIn = Callable[[str | bytes], tuple[WorkloadError, ...]]


def test_the_report_of_a_file_with_many_mistakes_reads_like_this(folder: Path) -> None:
    (folder / "planopt.yaml").write_bytes((GOLDEN / "many_mistakes.yaml").read_bytes())
    with pytest.raises(WorkloadErrors) as caught:
        load_workload("planopt.yaml")
    assert f"{caught.value}\n" == (GOLDEN / "many_mistakes.txt").read_text(encoding="utf-8")


def test_the_facts_of_a_mistake_are_flat_text(mistakes_in: MistakesIn) -> None:
    (error,) = mistakes_in(RIGHT + "mode: advice\n")
    assert error.facts() == {
        "code": "PLN-008",
        "where": "planopt.yaml:8:7",
        "what": "`mode` is `advice`, which is not one of observe, advise, auto",
        "fix": "write `advise`",
        "file": "planopt.yaml",
        "line": "8",
        "column": "7",
        "nearest": "advise",
    }


def test_several_mistakes_are_one_error_that_says_how_many(folder: Path) -> None:
    (folder / "planopt.yaml").write_text(RIGHT + "a: 1\nb: 2\n")
    with pytest.raises(WorkloadErrors) as caught:
        load_workload(folder / "planopt.yaml")
    assert [error.line for error in caught.value.errors] == [8, 9]
    assert caught.value.facts()["what"] == "2 mistakes"
    assert caught.value.facts()["where"] == str(folder / "planopt.yaml")


def test_a_very_long_report_is_cut_but_keeps_every_error(mistakes_in: MistakesIn) -> None:
    errors = mistakes_in(RIGHT + "".join(f"unknown_{number}: 1\n" for number in range(80)))
    assert len(errors) == 80
    lines = str(WorkloadErrors(errors)).splitlines()
    assert len(lines) == 51
    assert lines[-1] == "… and 30 more"


def test_a_wrong_value_that_aliases_repeat_is_one_mistake(mistakes_in: MistakesIn) -> None:
    text = RIGHT + "    parameters: &p [{a: [1]}]\n  - {id: b, sql: SELECT 1, parameters: *p}\n"
    errors = mistakes_in(text)
    assert {(error.code, error.line, error.column) for error in errors} == {("PLN-008", 8, 25)}


def test_mistakes_above_a_line_that_is_no_yaml_are_reported_with_it(mistakes_in: MistakesIn) -> None:
    errors = mistakes_in(RIGHT + "name: again\nseed: !!int 7\nstore: 'open\n")
    assert [(error.code, error.line) for error in errors] == [("PLN-005", 8), ("PLN-006", 9), ("PLN-004", 11)]


def test_mistakes_in_the_value_of_a_repeated_key_are_reported_with_it(mistakes_in: MistakesIn) -> None:
    errors = mistakes_in(RIGHT + "tables: {a: !!str x}\n")
    assert [(error.code, error.line) for error in errors] == [("PLN-005", 8), ("PLN-006", 8)]


def test_an_alias_bomb_is_stopped_at_the_limit(mistakes_in: MistakesIn) -> None:
    levels = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10))]
    (error,) = mistakes_in(RIGHT + "\n".join(levels))
    assert error.code == "PLN-016"
    assert "those that aliases repeat included" in error.what


def test_a_file_of_too_many_values_is_stopped_at_the_limit(
    mistakes_in: MistakesIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_reader, "MAX_VALUES", 500)
    (error,) = mistakes_in(RIGHT + f"roots: [{'a,' * 500}]\n")
    assert (error.code, error.line) == ("PLN-016", 8)


def test_a_tag_runs_nothing(folder: Path, mistakes_in: MistakesIn) -> None:
    mistakes_in(RIGHT + "store: !!python/object/apply:os.mkdir [ran]\n")
    assert not (folder / "ran").exists()
