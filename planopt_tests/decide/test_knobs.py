"""The knob catalogue and the veto: every objection, and the case without one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.decide import knobs
from planopt_assets.decide.knobs import CATALOGUE, RESULT_CHANGING, knob, objection, size_in_bytes
from planopt_assets.model.workload import Knobs
from planopt_tests.decide.cases import MAX_BYTES, OPEN_COST, SHUFFLE

pytestmark = pytest.mark.fast

ANYTHING = Knobs()


# May be set


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda k: k.name)
def test_a_knob_of_the_catalogue_may_be_set_to_its_bounds_and_between(entry: knobs.Knob) -> None:
    values = (entry.low, (entry.low + entry.high) // 2, entry.high)
    assert [objection(entry.name, str(value), ANYTHING) for value in values] == [None, None, None]


def test_an_allowed_knob_may_be_set() -> None:
    assert objection(SHUFFLE, "8", Knobs(allow=(SHUFFLE,))) is None


def test_a_knob_may_be_set_while_others_are_denied_or_pinned() -> None:
    assert objection(SHUFFLE, "8", Knobs(deny=(OPEN_COST,), pin=((MAX_BYTES, "1"),))) is None


# May not be set


@pytest.mark.parametrize(
    "name",
    [
        "spark.sql.ansi.enabled",
        "spark.sql.session.timeZone",
        "spark.sql.caseSensitive",
        "spark.sql.files.ignoreCorruptFiles",
        "spark.sql.files.ignoreMissingFiles",
        "spark.sql.legacy.timeParserPolicy",
        "spark.sql.legacy.parquet.nanosAsLong",
    ],
)
def test_a_setting_that_may_change_results_may_not_be_set(name: str) -> None:
    assert objection(name, "1", ANYTHING) == f"{name} may change results"


def test_a_setting_that_may_change_results_may_not_be_set_even_if_the_workload_allows_it() -> None:
    assert objection("spark.sql.ansi.enabled", "false", Knobs(allow=("spark.sql.ansi.enabled",))) is not None


def test_a_setting_outside_the_catalogue_may_not_be_set() -> None:
    assert objection("spark.sql.codegen.wholeStage", "1", ANYTHING) == (
        "spark.sql.codegen.wholeStage is not in the knob catalogue"
    )


def test_a_knob_marked_as_changing_results_may_not_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = tuple(replace(k, may_change_results=k.name == SHUFFLE) for k in CATALOGUE)
    monkeypatch.setattr(knobs, "CATALOGUE", marked)
    assert objection(SHUFFLE, "8", ANYTHING) is not None
    assert objection(OPEN_COST, "8", ANYTHING) is None


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda k: k.name)
def test_a_value_outside_the_bounds_may_not_be_set(entry: knobs.Knob) -> None:
    for value in (entry.low - 1, entry.high + 1):
        assert objection(entry.name, str(value), ANYTHING) == (
            f"{entry.name}={value} is outside {entry.low}..{entry.high}"
        )


def test_a_denied_knob_may_not_be_set() -> None:
    assert objection(SHUFFLE, "8", Knobs(deny=(SHUFFLE,))) == f"{SHUFFLE} is denied in the workload file"


def test_a_knob_that_is_not_among_the_allowed_may_not_be_set() -> None:
    assert objection(SHUFFLE, "8", Knobs(allow=(OPEN_COST,))) == (
        f"{SHUFFLE} is not among the allowed knobs of the workload file"
    )


def test_a_pinned_knob_may_not_be_set_not_even_to_its_pinned_value() -> None:
    assert objection(SHUFFLE, "8", Knobs(pin=((SHUFFLE, "8"),))) == f"{SHUFFLE} is pinned in the workload file"


# The catalogue itself


def test_the_catalogue_has_every_knob_once_and_none_that_changes_results() -> None:
    names = [k.name for k in CATALOGUE]
    assert len(names) == len(set(names))
    assert not [n for n in names if n.startswith(RESULT_CHANGING)]


def test_a_knob_is_found_by_its_full_name_only() -> None:
    assert knob(SHUFFLE) == CATALOGUE[0]
    assert knob("shuffle.partitions") is None


# Sizes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("42", 42),
        ("0", 0),
        ("4194304b", 4 * 1024**2),
        ("64k", 64 * 1024),
        ("64KB", 64 * 1024),
        ("128MB", 128 * 1024**2),
        ("1g", 1024**3),
        ("1TB", 1024**4),
    ],
)
def test_sizes_are_read_as_spark_shows_them(text: str, size: int) -> None:
    assert size_in_bytes(text) == size
